#include <gtest/gtest.h>

#include "tests/support/lone_rank.hpp"

namespace lacuna::test {
namespace {

using Floats = std::vector<float>;

/// Position 0 adds what all others send, each to another piece, in whatever order the messages come.
const Algorithm collecting = {
    .collective = Collective::Allreduce,
    .name = "collecting",
    .summary = "a test's",
    .symmetric = false,
    .build =
        [](GraphBuilder& g) {
          for (Rank peer = 1; g.position() == 0 && peer < g.size(); ++peer) {
            g.receive_reduce(g.output(peer), g.input(peer), peer, Brings::Term);
          }
        },
};

TEST(Slots, AsManyFetchesAsThereAreSlotsWaitAtATimeAndAllComeWhicheverRanksTheyAreFrom) {
  constexpr Rank size = 5;
  constexpr std::size_t piece = 64;
  for (std::uint32_t slots = 1; slots <= size; ++slots) {
    runtime::ExecutorOptions options = quick_executor();
    options.slots = slots;
    LoneRank job(size, options);
    job.wire.fetches_wait = true;
    const Floats input(size * piece, 1), theirs(piece, 2);
    Floats output(size * piece);
    const auto run = job.communicator.post(allreduce_call(input, output), collecting);
    ASSERT_TRUE(run) << run.status().to_string();
    const runtime::MessageHeader header = job.header_of(0, piece * sizeof(float));
    for (Peer peer = 1; peer < size; ++peer) {
      job.wire.arrive(peer, header, std::as_bytes(std::span(theirs)), Delivery::Descriptor);
    }
    job.progress();
    EXPECT_TRUE((*run)->finished && (*run)->status) << slots << " slots: " << job.communicator.status().to_string();
    EXPECT_EQ(Floats(output.begin() + piece, output.end()), Floats((size - 1) * piece, 3)) << slots << " slots";
    EXPECT_EQ(job.wire.fetched_at_once, std::min<std::size_t>(slots, size - 1) * header.bytes) << slots << " slots";
  }
}

}  // namespace
}  // namespace lacuna::test

#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "tests/support/calls.hpp"

namespace lacuna::test {
namespace {

using Sizes = std::vector<std::size_t>;

/// Calls of one collective on three ranks, with memory for all of it.
struct Three {
  explicit Three(Collective collective) {
    for (std::size_t rank = 0; rank < 3; ++rank) {
      Call& call = calls.emplace_back();
      call.collective = collective;
      call.input = inputs[rank].data();
      call.output = outputs[rank].data();
      call.root = 1;
      call.count = 2;
      call.input_blocks = call.output_blocks = {.counts = counts[rank]};
    }
  }
  std::vector<Status> run() {
    Ranks ranks(3, options);
    return ranks.run(calls);
  }

  RanksOptions options{.network = {}, .executor = quick_executor()};
  std::vector<std::vector<float>> inputs = std::vector(3, std::vector<float>(16, 1));
  std::vector<std::vector<float>> outputs = std::vector(3, std::vector<float>(16, -1));
  std::vector<Sizes> counts = std::vector(3, Sizes{2, 2, 2});
  std::vector<Call> calls;
};

void expect_somewhere(const std::vector<Status>& outcome, Code code, const std::string& part) {
  bool found = false;
  for (const Status& status : outcome) {
    found = found || (status.code() == code && status.message().find(part) != std::string::npos);
  }
  EXPECT_TRUE(found) << part << " is missing in " << outcome[0].to_string() << "; " << outcome[1].to_string() << "; "
                     << outcome[2].to_string();
}

/// Messages land before their step, eagerly or as descriptors, or a step takes them that has started.
const std::function<void(RanksOptions&)> ways[] = {
    [](RanksOptions&) {},
    [](RanksOptions& options) { options.executor.eager_bytes = 0; },
    [](RanksOptions& options) { options.network.seed = 3; },
};

TEST(Blocks, ABlockLongerThanItsPlaceIsAnErrorAndWritesNothing) {
  for (const auto& way : ways) {
    for (const bool told : {false, true}) {
      for (Collective collective : {Collective::Gatherv, Collective::Scatterv, Collective::Alltoallv}) {
        if (told && collective == Collective::Scatterv) continue;
        Three three(collective);
        way(three.options);
        Sizes longer = {2, 2, 3}, received(3);
        if (collective == Collective::Gatherv) three.calls[2].count = 3;
        if (collective == Collective::Scatterv) three.calls[1].input_blocks.counts = longer;
        if (collective == Collective::Alltoallv) three.calls[1].input_blocks.counts = longer;
        if (told) three.calls[collective == Collective::Gatherv ? 1 : 2].output_blocks.received = received;
        const std::size_t sender = collective == Collective::Gatherv ? 2 : 1;
        std::fill_n(three.inputs[sender].begin() + (sender == 1 ? 4 : 0), 3, 7.f);  // the long block
        const auto outcome = three.run();
        expect_somewhere(outcome, Code::Mismatch, "sent 3 elements of f32");
        expect_somewhere(outcome, Code::Mismatch, told ? "expects at most 2" : "expects 2");
        // The place of the long block, the memory behind it, and all memory beyond the blocks is as it was.
        const std::size_t receiver = collective == Collective::Gatherv ? 1 : 2;
        const std::size_t place = collective == Collective::Gatherv ? 4 : collective == Collective::Scatterv ? 0 : 2;
        const std::size_t next = collective == Collective::Alltoallv ? 4 : 16;
        for (std::size_t rank = 0; rank < 3; ++rank) {
          const std::vector<float>& output = three.outputs[rank];
          for (std::size_t i = 0; i < output.size(); ++i) {
            const bool untouched = i >= 6 || (rank == receiver && i >= place && i < next);
            EXPECT_TRUE(!untouched || output[i] == -1) << "rank " << rank << " element " << i << " is " << output[i];
            EXPECT_NE(output[i], 7) << "of the long block";
          }
        }
      }
    }
  }
}

TEST(Blocks, AShorterBlockIsAnErrorUnlessItsLengthIsTold) {
  for (const bool told : {false, true}) {
    Three three(Collective::Alltoallv);
    const Sizes shorter = {2, 2, 1};
    Sizes received(3, 9);
    three.calls[0].input_blocks.counts = shorter;
    if (told) three.calls[2].output_blocks.received = received;
    const auto outcome = three.run();
    if (!told) {
      expect_somewhere(outcome, Code::Mismatch, "sent 1 element of f32");
      continue;
    }
    for (const Status& status : outcome) EXPECT_TRUE(status) << status.to_string();
    EXPECT_EQ(received, (Sizes{1, 2, 2}));
    EXPECT_EQ(three.outputs[2], (std::vector<float>{1, -1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}));
  }
}

TEST(Blocks, TablesThatShouldBeAlikeAndAreNotAreAMismatchWhateverTheirSum) {
  for (Collective collective : {Collective::Allgatherv, Collective::ReduceScatterv}) {
    Three three(collective);
    const Sizes other = {2, 1, 3};
    three.calls[0].input_blocks = three.calls[0].output_blocks = {.counts = other};
    expect_somewhere(three.run(), Code::Mismatch, "asked for something else");
  }
}

TEST(Blocks, OffsetsMayDifferBetweenRanks) {
  Three three(Collective::Allgatherv);
  const Sizes offsets[] = {{0, 2, 4}, {1, 5, 9}, {10, 12, 14}};
  for (std::size_t rank = 0; rank < 3; ++rank) three.calls[rank].output_blocks.offsets = offsets[rank];
  for (const Status& status : three.run()) EXPECT_TRUE(status) << status.to_string();
  EXPECT_EQ(three.outputs[1], (std::vector<float>{-1, 1, 1, -1, -1, 1, 1, -1, -1, 1, 1, -1, -1, -1, -1, -1}));
}

TEST(Blocks, TablesMayBeGoneOnceTheCallIsPosted) {
  Three three(Collective::Alltoallv);
  Ranks ranks(3, three.options);
  std::vector<runtime::Run*> runs;
  for (Rank rank = 0; rank < 3; ++rank) {
    runs.push_back(&must_post(ranks, rank, three.calls[static_cast<std::size_t>(rank)]));
    three.counts[static_cast<std::size_t>(rank)].assign(3, std::size_t{1} << 40);
  }
  ASSERT_TRUE(ranks.sweep_until([&] { return runs[0]->finished && runs[1]->finished && runs[2]->finished; }));
  EXPECT_EQ(std::accumulate(three.outputs[0].begin(), three.outputs[0].end(), 0.f), 6 - 10);
}

std::string refusal(const Call& call) {
  Ranks ranks(3);
  const Status status = ranks.post(0, call).status();
  EXPECT_EQ(status.code(), Code::InvalidArgument);
  return std::string(status.message());
}

TEST(Blocks, TablesThatAreNoneAreRefusedWithWhatIsAllowed) {
  const Sizes two = {2, 2}, good = {2, 2, 2}, backwards = {4, 2, 0}, touching = {0, 1, 4}, own = {3, 2, 2};
  const Sizes huge = {2, SIZE_MAX / 4, 2};
  Sizes received(3);
  Call call = Three(Collective::Alltoallv).calls[0];
  call.output_blocks = {.counts = good};
  call.input_blocks = {.counts = two};
  EXPECT_EQ(refusal(call), "alltoallv: the input has 2 counts, must have 3, one for each rank");
  call.input_blocks = {.counts = good, .offsets = two};
  EXPECT_EQ(refusal(call), "alltoallv: the input has 2 offsets, must have 3, one for each rank");
  call.input_blocks = {.counts = good, .offsets = backwards};
  EXPECT_EQ(refusal(call),
            "alltoallv: block 1 of the input begins at element 2, must begin after the blocks before it, at 6 or "
            "later");
  call.input_blocks = {.counts = good, .offsets = touching};
  EXPECT_NE(refusal(call).find("block 1 of the input begins at element 1"), std::string::npos);
  call.input_blocks = {.counts = huge};
  EXPECT_NE(refusal(call).find("at most 2305843009213693951 in all are allowed"), std::string::npos);
  call.input_blocks = {.counts = own};
  EXPECT_EQ(refusal(call), "alltoallv: the own block has 3 elements in the input and 2 in the output");
  call.output_blocks.received = received;
  EXPECT_EQ(refusal(call), "alltoallv: the own block has 3 elements in the input and at most 2 in the output");
  call.input_blocks = {.counts = good, .offsets = {}, .received = received};
  EXPECT_EQ(refusal(call), "alltoallv: counts are received with the output, not the input");
  call = Three(Collective::Allgatherv).calls[0];
  call.output_blocks = {.counts = good, .offsets = {}, .received = received};
  EXPECT_EQ(refusal(call), "allgatherv: all ranks know all lengths; no counts are received");
}

TEST(Blocks, BesideTheRootTablesAreNotLookedAt) {
  Three three(Collective::Gatherv);
  const Sizes nonsense = {7};
  for (std::size_t rank : {0u, 2u}) three.calls[rank].output_blocks = {.counts = nonsense, .offsets = nonsense};
  for (const Status& status : three.run()) EXPECT_TRUE(status) << status.to_string();
}

/// Builds a gather in which each block is sent twice.
void twice(GraphBuilder& g) {
  const Rank me = g.position();
  if (me == 0) g.copy(g.output(0), g.input(0));
  for (int time = 0; time < 2; ++time) {
    if (me != 0) g.send(g.input(me), 0);
    for (Rank from = 1; me == 0 && from < g.size(); ++from) g.receive(g.output(from), from);
  }
}

TEST(Blocks, EveryMessageOfAToldLengthIsSentHoweverShort) {
  static const Algorithm algorithm = {.collective = Collective::Gatherv,
                                      .name = "twice",
                                      .summary = "a test's",
                                      .symmetric = false,
                                      .build = twice,
                                      .order = from_root};
  ASSERT_TRUE(register_algorithm(algorithm));
  Three three(Collective::Gatherv);
  Sizes received(3, 9);
  for (Call& call : three.calls) call.options.algorithm = "twice";
  three.calls[2].count = 0;
  three.calls[1].output_blocks.received = received;
  for (const Status& status : three.run()) EXPECT_TRUE(status) << status.to_string();
  EXPECT_EQ(received, (Sizes{2, 2, 0}));
}

/// Builds a gather in which each position passes on what comes from behind it.
void relay(GraphBuilder& g) {
  const Rank me = g.position(), last = g.size() - 1;
  for (Rank of = me + 1; of <= last; ++of) g.receive(g.scratch(of, g.output(of)), me + 1);
  for (Rank of = me; me > 0 && of <= last; ++of) {
    g.send(of == me ? g.input(me) : g.scratch(of, g.output(of)), me - 1);
  }
}

TEST(Blocks, AProgramThatPassesOnBlocksOfUnknownLengthIsRefused) {
  static const Algorithm algorithm = {.collective = Collective::Gatherv,
                                      .name = "relay",
                                      .summary = "a test's",
                                      .symmetric = false,
                                      .build = relay,
                                      .order = from_root};
  EXPECT_EQ(register_algorithm(algorithm).message(),
            "gatherv relay on 3 ranks: message 1 from position 1 step 2 to position 0 step 1: sends [2, 3) of 3, "
            "receives [2, 3) of 3: only two ranks know this block's length, so it must go straight from one to the "
            "other");
}

/// Builds a scatter in which position 1 sends something whose length only the root knows.
void false_root(GraphBuilder& g) {
  if (g.size() < 3) return;
  if (g.position() == 1) g.send(g.scratch(0, g.input(2)), 2);
  if (g.position() == 2) g.receive(g.output(2), 1);
}

TEST(Blocks, AProgramInWhichAnotherThanTheRootScattersIsRefused) {
  static const Algorithm algorithm = {.collective = Collective::Scatterv,
                                      .name = "false_root",
                                      .summary = "a test's",
                                      .symmetric = false,
                                      .build = false_root,
                                      .order = from_root};
  EXPECT_EQ(register_algorithm(algorithm).message(),
            "scatterv false_root on 3 ranks: message 0 from position 1 step 0 to position 2 step 0: sends [2, 3) of 3, "
            "receives [2, 3) of 3: only two ranks know this block's length, so it must go straight from one to the "
            "other");
}

}  // namespace
}  // namespace lacuna::test

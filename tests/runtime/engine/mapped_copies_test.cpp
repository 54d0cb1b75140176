#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "tests/support/calls.hpp"
#include "tests/support/collective_case.hpp"
#include "tests/support/mapping_transport.hpp"

// Programs that copy what others read into memory that these map.
namespace lacuna::test {
namespace {

constexpr std::size_t chunk = 4096;  // so that longer calls have several parts

/// `hosts` says where each rank is; empty: all on one.
RanksOptions mapping(const bool& maps, std::uint64_t seed = 0, const std::vector<Rank>& hosts = {}) {
  RanksOptions options{.network = {.seed = seed}, .executor = quick_executor(), .hosts = hosts};
  options.executor.mapped_bytes = 1;
  options.executor.chunk_bytes = chunk;
  options.wrap = [&maps, hosts](Rank rank, std::unique_ptr<Transport> transport) -> std::unique_ptr<Transport> {
    std::vector<Peer> apart;
    for (std::size_t other = 0; other < hosts.size(); ++other) {
      if (hosts[other] != hosts[static_cast<std::size_t>(rank)]) apart.push_back(static_cast<Peer>(other));
    }
    return std::make_unique<MappingTransport>(std::move(transport), maps, apart);
  };
  return options;
}

const Algorithm& called(const std::string& name) {
  return **select_algorithm({.collective = Collective::Allreduce, .options = {.algorithm = name}}, 2);
}

const Algorithm& direct() { return called("direct"); }

std::uint64_t mapped_messages(Ranks& ranks) {
  std::uint64_t all = 0;
  for (Rank rank = 0; rank < ranks.size(); ++rank) all += ranks.executor(rank).job_counters().mapped_messages;
  return all;
}

/// Makes a call with new inputs on all ranks, and says what is wrong.
std::string make(Ranks& ranks, const Case& what, Oracles& oracles, std::deque<RankBuffers>& buffers) {
  const Oracle& oracle = oracles.get(what.dtype, what.reduction);
  std::vector<Sampler> samplers(static_cast<std::size_t>(what.size));
  std::vector<Call> calls;
  for (Rank rank = 0; rank < what.size; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    calls.push_back(buffers[at].prepare(what, rank, oracle, samplers[at]));
  }
  const std::vector<Status> ended = ranks.run(calls);
  for (Rank rank = 0; rank < what.size; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    if (!ended[at]) return ended[at].to_string();
    if (std::string wrong = buffers[at].check(what, rank, oracle, chunk); !wrong.empty()) return wrong;
  }
  return {};
}

TEST(MappedCopies, GiveTheRightResultOnAnyNumberOfRanksInAnyOrderOfDelivery) {
  const bool maps = true;
  for (Rank size = 1; size <= 9; ++size) {
    const auto many = static_cast<std::size_t>(size);
    Oracles oracles(size, oracle_elements(9001, size));
    std::deque<RankBuffers> buffers(many);
    for (std::uint64_t seed : {0u, 1u, 2u}) {
      Ranks ranks(size, mapping(maps, seed));
      for (std::size_t count :
           {std::size_t{0}, std::size_t{1}, many - 1, many, many + 1, std::size_t{1000}, std::size_t{9001}}) {
        for (Placement placement : {Placement::OutOfPlace, Placement::InPlace, Placement::Mixed}) {
          const Case what{.algorithm = &direct(), .size = size, .count = count, .placement = placement};
          EXPECT_EQ(make(ranks, what, oracles, buffers), "") << to_string(what) << ", seed " << seed;
        }
      }
      EXPECT_EQ(mapped_messages(ranks) > 0, size > 1);
    }
  }
}

TEST(MappedCopies, GiveTheRightResultInsideSeveralHosts) {
  const bool maps = true;
  for (const auto& names : {std::vector<Rank>{0, 1, 0, 1}, {0, 0, 0, 1, 1, 1}, {0, 1, 2, 2, 1, 0}, {0, 0, 1}}) {
    const auto size = static_cast<Rank>(names.size());
    Oracles oracles(size, oracle_elements(9001, size));
    std::deque<RankBuffers> buffers(names.size());
    for (std::uint64_t seed : {0u, 1u, 2u}) {
      Ranks ranks(size, mapping(maps, seed, names));
      for (std::size_t count : {0, 1, 5, 1000, 9001}) {
        for (Placement placement : {Placement::OutOfPlace, Placement::InPlace, Placement::Mixed}) {
          const Case what{
              .algorithm = &called("two_level"), .size = size, .count = count, .placement = placement, .hosts = names};
          EXPECT_EQ(make(ranks, what, oracles, buffers), "") << to_string(what) << ", seed " << seed;
        }
      }
      EXPECT_EQ(mapped_messages(ranks) > 0, Hosts(names).ranks_on_each() > 1) << "uneven hosts have trees";
    }
  }
}

TEST(MappedCopies, AreOfMessagesInsideAHost) {
  const bool maps = true;
  const std::vector<Rank> names = {0, 1, 0, 1, 0, 1};
  Ranks ranks(6, mapping(maps, 0, names));
  Oracles oracles(6, oracle_elements(6000, 6));
  std::deque<RankBuffers> buffers(6);
  Case what{.algorithm = &called("two_level"), .size = 6, .count = 6000, .hosts = names};
  ASSERT_EQ(make(ranks, what, oracles, buffers), "");
  const std::uint64_t parts = expected_parts(Collective::Allreduce, what.bytes(), 6, chunk);
  EXPECT_EQ(mapped_messages(ranks), parts * 6 * 2 * 2) << "each of 6 ranks sends 2 messages to 2 others of its host";
  what.algorithm = &direct();
  ASSERT_EQ(make(ranks, what, oracles, buffers), "");
  EXPECT_EQ(mapped_messages(ranks), parts * 6 * 2 * 2) << "a program that does not know the hosts makes no copies";
}

TEST(MappedCopies, AreMadeOnceTheRanksOfTheOwnHostMapThem) {
  bool maps = false;
  const std::vector<Rank> names = {0, 0, 1, 1};
  Ranks ranks(4, mapping(maps, 0, names));
  Oracles oracles(4, oracle_elements(1000, 4));
  std::deque<RankBuffers> buffers(4);
  const Case what{.algorithm = &called("two_level"), .size = 4, .count = 1000, .hosts = names};
  ASSERT_EQ(make(ranks, what, oracles, buffers), "");
  EXPECT_EQ(mapped_messages(ranks), 0u);
  maps = true;
  ASSERT_EQ(make(ranks, what, oracles, buffers), "");
  EXPECT_EQ(mapped_messages(ranks), 4 * 2u);
}

TEST(MappedCopies, LetOthersReadAllMessagesWhereTheyLie) {
  const bool maps = true;
  Ranks ranks(3, mapping(maps));
  Oracles oracles(3, oracle_elements(3000, 3));
  std::deque<RankBuffers> buffers(3);
  const Case what{.algorithm = &direct(), .size = 3, .count = 3000};
  ASSERT_EQ(make(ranks, what, oracles, buffers), "");
  const std::uint64_t parts = expected_parts(Collective::Allreduce, what.bytes(), 3, chunk);
  EXPECT_EQ(mapped_messages(ranks), parts * 3 * 2 * 2) << "in each part, each of 3 ranks sends 2 messages to 2 others";
  for (Rank rank = 0; rank < 3; ++rank) {
    const auto traffic = expected_traffic(what, rank, chunk, 8192);
    ASSERT_TRUE(traffic);
    EXPECT_EQ(ranks.counters(rank).payload_sent, traffic->payload);
  }
}

TEST(MappedCopies, AreNotMadeWhileOthersDoNotMapThem) {
  bool maps = false;
  Ranks ranks(2, mapping(maps));
  Oracles oracles(2, oracle_elements(1000, 2));
  std::deque<RankBuffers> buffers(2);
  const Case what{.algorithm = &direct(), .size = 2, .count = 1000};
  const std::size_t taken = MappableHeap::of_process().taken();
  ASSERT_EQ(make(ranks, what, oracles, buffers), "");
  EXPECT_EQ(mapped_messages(ranks), 0u);
  EXPECT_LE(MappableHeap::of_process().taken() - taken, 2 * 4096u) << "only what others are asked about is taken";
  maps = true;
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(make(ranks, what, oracles, buffers), "") << "a call like the one before, which need not be planned anew";
    EXPECT_EQ(mapped_messages(ranks), (i + 1) * 2 * 2u);
  }
}

TEST(MappedCopies, AreMadeByACallThatIsRepeatedOnceOthersMapThem) {
  bool maps = false;
  Ranks ranks(2, mapping(maps));
  const std::vector<float> input(1000, 1.5f);
  std::vector<std::vector<float>> output(2, std::vector<float>(1000));
  const std::vector<Call> calls = {allreduce_call(input, output[0], "direct"),
                                   allreduce_call(input, output[1], "direct")};
  for (const Status& ended : ranks.run(calls)) ASSERT_TRUE(ended) << ended.to_string();
  for (Rank rank = 0; rank < 2; ++rank) {
    EXPECT_FALSE(ranks.communicator(rank).kept().find(calls[static_cast<std::size_t>(rank)]))
        << "its graph makes no copies";
  }
  maps = true;
  for (const Status& ended : ranks.run(calls)) ASSERT_TRUE(ended) << ended.to_string();
  EXPECT_EQ(mapped_messages(ranks), 2 * 2u);
  EXPECT_EQ(output[1], std::vector<float>(1000, 3));
}

TEST(MappedCopies, AreNotMadeOfMemoryThatOthersMap) {
  const bool maps = true;
  Ranks ranks(2, mapping(maps));
  constexpr std::size_t count = 1000;
  std::deque<MemoryBlock> blocks;
  std::vector<Call> calls;
  for (int rank = 0; rank < 2; ++rank) {
    for (int i = 0; i < 2; ++i) blocks.emplace_back(count * sizeof(float), MappableHeap::of_process());
    auto* const input = reinterpret_cast<float*>(blocks[blocks.size() - 2].data());
    std::fill_n(input, count, 1.5f);
    calls.push_back(
        {.collective = Collective::Allreduce, .input = input, .output = blocks.back().data(), .count = count});
    calls.back().options.algorithm = "direct";
  }
  const std::size_t taken = MappableHeap::of_process().taken();
  for (const Status& ended : ranks.run(calls)) EXPECT_TRUE(ended) << ended.to_string();
  for (const Call& call : calls) EXPECT_EQ(static_cast<const float*>(call.output)[count - 1], 3);
  EXPECT_EQ(mapped_messages(ranks), 2 * 2u);
  EXPECT_EQ(MappableHeap::of_process().taken(), taken);
}

TEST(MappedCopies, AreNotMadeOfMessagesThatAreTooShort) {
  const bool maps = true;
  constexpr std::size_t shortest = 128, elements = shortest / sizeof(float);
  for (Rank size : {2, 3, 4}) {
    RanksOptions options = mapping(maps);
    options.executor.mapped_bytes = shortest;
    Ranks ranks(size, options);
    const std::size_t count = static_cast<std::size_t>(size) * elements * (size == 2 ? runtime::lone_copy_factor : 1);
    Oracles oracles(size, oracle_elements(count, size));
    std::deque<RankBuffers> buffers(static_cast<std::size_t>(size));
    ASSERT_EQ(make(ranks, {.algorithm = &direct(), .size = size, .count = count - 1}, oracles, buffers), "");
    EXPECT_EQ(mapped_messages(ranks), 0u);
    ASSERT_EQ(make(ranks, {.algorithm = &direct(), .size = size, .count = count}, oracles, buffers), "");
    EXPECT_EQ(mapped_messages(ranks), static_cast<std::uint64_t>(size * (size - 1) * 2));
  }
}

TEST(MappedCopies, AreNotMadeOfPartsThatAreLong) {
  const bool maps = true;
  for (std::size_t longest : {chunk, chunk - 1}) {
    RanksOptions options = mapping(maps);
    options.executor.copied_bytes = longest;
    Ranks ranks(2, options);
    Oracles oracles(2, oracle_elements(1024, 2));
    std::deque<RankBuffers> buffers(2);
    ASSERT_EQ(make(ranks, {.algorithm = &direct(), .size = 2, .count = 1024}, oracles, buffers), "");
    EXPECT_EQ(mapped_messages(ranks), longest == chunk ? 2 * 2u : 0u);
  }
}

TEST(MappedCopies, TakeNoMoreMemoryWhenCallsAreRepeated) {
  const bool maps = true;
  Ranks ranks(4, mapping(maps, 5));
  Oracles oracles(4, oracle_elements(9000, 4));
  std::deque<RankBuffers> buffers(4);
  const Case what{.algorithm = &direct(), .size = 4, .count = 9000};
  for (int i = 0; i < 10; ++i) ASSERT_EQ(make(ranks, what, oracles, buffers), "");
  const std::size_t taken = MappableHeap::of_process().taken();
  for (int i = 0; i < 30; ++i) ASSERT_EQ(make(ranks, what, oracles, buffers), "");
  EXPECT_EQ(MappableHeap::of_process().taken(), taken);
}

TEST(MappedCopies, AreMadeByExactlyThoseAlgorithmsThatSaySo) {
  for (const Algorithm* algorithm : all_algorithms()) {
    for (Rank size : {2, 3, 8}) {
      if (algorithm->supports && !algorithm->supports({.collective = algorithm->collective}, size)) continue;
      const GraphShape plain{.collective = algorithm->collective, .size = size, .hosts = size};
      GraphShape copying = plain;
      copying.structure.maps_copies = true;
      const std::size_t more =
          build_graph(*algorithm, copying).steps().size() - build_graph(*algorithm, plain).steps().size();
      EXPECT_EQ(more > 0, algorithm->maps_copies) << algorithm->name << " on " << size << " ranks";
    }
  }
}

}  // namespace
}  // namespace lacuna::test

#include "algorithms/phases/sparse_kernels.hpp"
#include "tests/algorithms/topk/sparse_rig.hpp"

// Memory in the worst case: many short messages, and tables of the longest range that there is.
namespace lacuna::test {
namespace {

/// An allreduce of 16 ranks, each of which selects that many elements of each range, and the sums that it should give.
struct Selections {
  Selections(std::size_t taken, std::size_t range) : of_range(taken), count(ranks * range) {
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      std::vector<float>& mine = inputs.emplace_back(count);
      for (std::size_t i = 0; i < count; ++i) {
        const bool selected = (i % range + rank) % range < taken;
        if (selected) mine[i] = static_cast<float>(1 + i % 7 + rank);
      }
      for (std::size_t i = 0; i < count; ++i) sums[i] += mine[i];
    }
  }

  static constexpr std::size_t ranks = 16;
  std::size_t of_range, count;
  Vectors inputs;
  std::vector<float> sums = std::vector<float>(count);
};

void expect_sums(const Selections& given, const char* algorithm, const std::string& options) {
  SCOPED_TRACE(fmt::format("{} {} with {} of a range", algorithm, options, given.of_range));
  Vectors outputs(Selections::ranks, std::vector<float>(given.count, -1));
  std::vector<Call> calls;
  const MethodOptions method =
      *method_options(fmt::format("topk:feedback=0,k={},{}", given.of_range * Selections::ranks, options));
  for (std::size_t rank = 0; rank < Selections::ranks; ++rank) {
    Call& call = calls.emplace_back();
    call.collective = Collective::Allreduce;
    call.input = given.inputs[rank].data();
    call.output = outputs[rank].data();
    call.count = given.count;
    call.options.algorithm = algorithm;
    call.options.method = method;
  }
  Ranks ranks(static_cast<Rank>(Selections::ranks));
  for (const Status& status : ranks.run(calls)) ASSERT_TRUE(status) << status.to_string();
  for (const auto& output : outputs) EXPECT_EQ(output, given.sums);
}

TEST(SparseRooms, HoldTheMessagesOfSixteenRanksHoweverFewEntriesARangeHas) {
  for (std::size_t of_range : {1u, 6u, 7u, 8u, 15u, 31u}) {
    const Selections given(of_range, 64);
    for (const char* format : {"coordinates", "bitmap", "dense"}) {
      expect_sums(given, "sparse_split", fmt::format("ranges=even,format={}", format));
    }
    expect_sums(given, "sparse_split", "ranges=balanced");
  }
}

/// Returns how many places the longest range has whose entries an algorithm indexes at a time.
std::size_t longest_range(std::string_view algorithm, std::size_t count, std::size_t ranks, std::size_t chunks) {
  if (algorithm == "sparse_split") return (count + ranks - 1) / ranks;
  if (algorithm == "sparse_ring") return (count + ranks * chunks - 1) / (ranks * chunks);
  return count;
}

TEST(SparseRooms, OfTablesFitTheLongestRangeThatAnAlgorithmIndexes) {
  for (const char* algorithm : {"sparse_split", "sparse_ring", "sparse_allgather", "sparse_doubling", "gtopk"}) {
    for (Rank size : {2, 4, 16}) {
      for (std::size_t count : {std::size_t{4095}, std::size_t{4096}, std::size_t{4097}, std::size_t{1} << 20}) {
        Call call{.collective = Collective::Allreduce, .count = count};
        MethodState state;
        call.options.algorithm = algorithm;
        call.options.state = &state;
        call.options.method = *method_options("topk:k=100,ranges=even,chunks=2");
        const auto program = select_algorithm(call, size);
        ASSERT_TRUE(program) << program.status().to_string();
        const Hosts hosts = size;
        Plan plan;
        make_plan({call, **program, hosts, 1 << 18}, plan);
        const PartView view{
            .call = call, .plan = plan, .part = plan.parts.front(), .size = size, .position = 1, .count = count};
        const auto ranks = static_cast<std::size_t>(size);
        const std::size_t blocks = kernels::blocks_of(longest_range(algorithm, count, ranks, 2));
        const std::size_t views = ranks * (sizeof(kernels::EntriesView) + sizeof(void*)), tables = ranks * (blocks + 1);
        EXPECT_GE(sparse::views_room.views.capacity(view), views) << algorithm << " P=" << size;
        EXPECT_GE(sparse::views_room.tables.capacity(view), tables) << algorithm << " P=" << size << " count=" << count;
      }
    }
  }
}

}  // namespace
}  // namespace lacuna::test

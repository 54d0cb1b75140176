// The functions of the single collectives, compared with lacuna_execute().
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <functional>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "bindings/c/interface.hpp"
#include "tests/bindings/c/c_given.hpp"
#include "tests/bindings/cpp/facade_ranks.hpp"

namespace lacuna {
namespace {

constexpr std::size_t block = 6;  ///< elements of a block, or of data without blocks
constexpr float unwritten = -7;

/// Returns what is declared between the brackets of this function of lacuna.h; nothing if it is not declared.
std::string parameters_of(const std::string& function) {
  std::stringstream text;
  text << std::ifstream(LACUNA_SOURCE "/bindings/c/lacuna.h").rdbuf();
  const std::string header = text.str();
  std::smatch match;
  const std::regex declaration("LACUNA_EXPORT lacuna_status " + function + R"(\(([^)]*)\);)");
  return std::regex_search(header, match, declaration) ? match[1].str() : std::string();
}

bool has(const std::string& parameters, const std::string& name) {
  return std::regex_search(parameters, std::regex("\\b" + name + "\\b"));
}

TEST(CCollectives, EveryCollectiveHasAFunctionWithTheParametersThatItsTraitsAskFor) {
  for (const CollectiveTraits& traits : collective_traits) {
    const std::string parameters = parameters_of("lacuna_" + std::string(traits.name));
    EXPECT_TRUE(has(parameters, "communicator")) << "lacuna.h lacks lacuna_" << traits.name;
    EXPECT_EQ(has(parameters, "dtype"), moves_data(traits.collective)) << traits.name << ": " << parameters;
    EXPECT_EQ(has(parameters, "reduction"), traits.reduces) << traits.name << ": " << parameters;
    EXPECT_EQ(has(parameters, "root"), has_root(traits.collective)) << traits.name << ": " << parameters;
    EXPECT_EQ(has(parameters, "\\w*counts"), has_tables(traits.collective)) << traits.name << ": " << parameters;
    EXPECT_FALSE(has(parameters, "lacuna_request")) << traits.name << ": " << parameters;
  }
}

TEST(CCollectives, NumbersAreThoseOfTheCore) {
  std::ifstream header(LACUNA_SOURCE "/bindings/c/lacuna.h");
  const std::string text{std::istreambuf_iterator<char>(header), {}};
  for (const CollectiveTraits& traits : collective_traits) {
    std::string name(traits.name);
    for (char& letter : name) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    const std::string line = "LACUNA_" + name + " = " + std::to_string(static_cast<int>(traits.collective));
    EXPECT_TRUE(has(text, line)) << line;
  }
}

/// The buffers of one rank, filled with what only this rank has, and the tables of all ranks.
struct Buffers {
  Buffers(Collective what, Rank rank, Rank root, Rank ranks, bool in_place) {
    const CollectiveTraits& traits = traits_of(what);
    const auto p = static_cast<std::size_t>(ranks), me = static_cast<std::size_t>(rank);
    const auto length = [&](Holds holds) {
      return holds == Holds::Blocks ? p * block : holds == Holds::Data ? block : std::size_t{0};
    };
    counts.assign(p, block);
    for (std::size_t i = 0; i < p; ++i) offsets.push_back(i * block);
    memory.assign(length(traits.input) + length(traits.output), unwritten);
    input = memory.data();
    output = memory.data() + length(traits.input);
    reads = reads_input(what, rank, root);
    writes = writes_output(what, rank, root);
    in_count = length(traits.input);
    out_count = length(traits.output);
    if (in_place && reads && writes) {  // the smaller buffer is block `rank` of the larger one
      const bool blocks_come_in = traits.input == Holds::Blocks && traits.output != Holds::Blocks;
      const bool blocks_go_out = traits.output == Holds::Blocks && traits.input != Holds::Blocks;
      if (blocks_go_out)
        input = output + me * block;
      else
        output = blocks_come_in ? input + me * block : input;
    }
    for (std::size_t i = 0; reads && i < in_count; ++i) input[i] = static_cast<float>(1 + i + 100 * me);
  }

  std::vector<float> result() const { return {output, output + out_count}; }

  std::vector<std::size_t> counts, offsets;
  std::vector<float> memory;
  float *input, *output;
  std::size_t in_count, out_count;
  bool reads, writes;
};

lacuna_status in_one_line(Collective what, lacuna_communicator* rank, Rank root, Buffers& all) {
  const void* in = all.reads ? all.input : nullptr;
  void* out = all.writes ? all.output : nullptr;
  const auto *counts = all.counts.data(), *offsets = all.offsets.data();
  const auto f32 = LACUNA_F32;
  const auto sum = LACUNA_SUM;
  switch (what) {
    case Collective::Allreduce:
      return lacuna_allreduce(rank, in, out, block, f32, sum);
    case Collective::ReduceScatter:
      return lacuna_reduce_scatter(rank, in, out, block, f32, sum);
    case Collective::Allgather:
      return lacuna_allgather(rank, in, out, block, f32);
    case Collective::Broadcast:
      if (all.reads) std::copy_n(all.input, block, all.output);
      return lacuna_broadcast(rank, out, block, f32, root);
    case Collective::Barrier:
      return lacuna_barrier(rank);
    case Collective::Reduce:
      return lacuna_reduce(rank, in, out, block, f32, sum, root);
    case Collective::Gather:
      return lacuna_gather(rank, in, out, block, f32, root);
    case Collective::Scatter:
      return lacuna_scatter(rank, in, out, block, f32, root);
    case Collective::Alltoall:
      return lacuna_alltoall(rank, in, out, block, f32);
    case Collective::Scan:
      return lacuna_scan(rank, in, out, block, f32, sum);
    case Collective::ExclusiveScan:
      return lacuna_exclusive_scan(rank, in, out, block, f32, sum);
    case Collective::ReduceScatterv:
      return lacuna_reduce_scatterv(rank, in, counts, offsets, out, f32, sum);
    case Collective::Allgatherv:
      return lacuna_allgatherv(rank, in, out, counts, nullptr, f32);
    case Collective::Gatherv:
      return lacuna_gatherv(rank, in, block, out, all.writes ? counts : nullptr, nullptr, f32, root);
    case Collective::Scatterv:
      return lacuna_scatterv(rank, in, all.reads ? counts : nullptr, offsets, out, block, f32, root);
    case Collective::Alltoallv:
      return lacuna_alltoallv(rank, in, counts, offsets, out, counts, offsets, f32);
  }
  return LACUNA_UNSUPPORTED;
}

lacuna_status by_description(Collective what, lacuna_communicator* rank, Rank root, Buffers& all) {
  lacuna_buffer input = LACUNA_BUFFER_INIT, output = LACUNA_BUFFER_INIT;
  input.data = all.input;
  input.count = all.in_count;
  output.data = all.output;
  output.count = all.out_count;
  lacuna_blocks blocks = LACUNA_BLOCKS_INIT;
  blocks.counts = all.counts.data();
  lacuna_call call = LACUNA_CALL_INIT;
  call.collective = static_cast<int32_t>(what);
  call.root = root;
  call.input = all.reads ? &input : nullptr;
  call.output = all.writes ? &output : nullptr;
  call.input_blocks = call.output_blocks = &blocks;
  return lacuna_execute(rank, &call, nullptr, nullptr);
}

/// Calls body(rank) on a thread for each rank, with the handles that C programs have.
void on_each_rank(Rank size, const std::function<void(lacuna_communicator*)>& body) {
  auto ranks = test::local(size, Progress::Caller);
  test::on_each(ranks, [&](Communicator& rank) {
    lacuna_communicator handle{std::move(rank)};
    body(&handle);
  });
}

class CCollectiveOf : public testing::TestWithParam<Collective> {};

TEST_P(CCollectiveOf, InOneLineDoesWhatItsDescriptionDoesAlsoInPlace) {
  constexpr Rank size = 3;
  on_each_rank(size, [&](lacuna_communicator* rank) {
    const Rank me = lacuna_rank(rank);
    for (Rank root = 0; root < (has_root(GetParam()) ? size : 1); ++root) {
      Buffers line(GetParam(), me, root, size, false), description(GetParam(), me, root, size, false);
      Buffers in_place(GetParam(), me, root, size, true), in_place_described(GetParam(), me, root, size, true);
      EXPECT_EQ(in_one_line(GetParam(), rank, root, line), LACUNA_OK) << lacuna_last_error();
      EXPECT_EQ(by_description(GetParam(), rank, root, description), LACUNA_OK) << lacuna_last_error();
      EXPECT_EQ(in_one_line(GetParam(), rank, root, in_place), LACUNA_OK) << lacuna_last_error();
      EXPECT_EQ(by_description(GetParam(), rank, root, in_place_described), LACUNA_OK) << lacuna_last_error();
      EXPECT_EQ(line.memory, description.memory) << "rank " << me << ", root " << root;
      EXPECT_EQ(in_place.memory, in_place_described.memory) << "rank " << me << ", root " << root;
      if (!line.writes || (GetParam() == Collective::ExclusiveScan && me == 0)) continue;
      const std::vector<float> result = line.result();
      EXPECT_EQ(in_place.result(), result) << "rank " << me << ", root " << root;
      EXPECT_EQ(std::count(result.begin(), result.end(), unwritten), 0) << "rank " << me << ", root " << root;
    }
  });
}

TEST_P(CCollectiveOf, InOneLineRefusesWhatItsDescriptionRefuses) {
  on_each_rank(1, [&](lacuna_communicator* rank) {
    Buffers all(GetParam(), 0, 0, 1, false);
    EXPECT_EQ(in_one_line(GetParam(), nullptr, 0, all), LACUNA_INVALID_ARGUMENT);
    EXPECT_STREQ(lacuna_last_error(), "communicator is null");
    all.input = all.output = nullptr;
    if (moves_data(GetParam()) && GetParam() != Collective::Broadcast) {  // the test would copy the input
      EXPECT_EQ(in_one_line(GetParam(), rank, 0, all), LACUNA_INVALID_ARGUMENT);
      EXPECT_NE(std::string(lacuna_last_error()).find("null"), std::string::npos) << lacuna_last_error();
    }
    if (has_root(GetParam())) {
      Buffers more(GetParam(), 0, 0, 1, false);
      EXPECT_EQ(in_one_line(GetParam(), rank, 1, more), LACUNA_INVALID_ARGUMENT);
      EXPECT_NE(std::string(lacuna_last_error()).find("root is 1"), std::string::npos) << lacuna_last_error();
    }
    EXPECT_EQ(lacuna_communicator_status(rank), LACUNA_OK);
  });
}

INSTANTIATE_TEST_SUITE_P(All, CCollectiveOf, testing::ValuesIn(all_collectives),
                         [](const auto& tested) { return std::string(to_string(tested.param)); });

TEST(CCollectives, InOneLineRefuseNumbersThatAreNone) {
  lacuna_communicator* rank = nullptr;
  ASSERT_EQ(lacuna_join(nullptr, &rank), LACUNA_OK) << lacuna_last_error();
  float data = 1;
  const auto no_dtype = std::bit_cast<lacuna_dtype>(25);
  const auto no_reduction = std::bit_cast<lacuna_reduction>(6);
  EXPECT_EQ(lacuna_allreduce(rank, &data, &data, 1, no_dtype, LACUNA_SUM), LACUNA_INVALID_ARGUMENT);
  EXPECT_STREQ(lacuna_last_error(), "dtype is 25, must be 0 .. 24");
  EXPECT_EQ(lacuna_allreduce(rank, &data, &data, 1, LACUNA_F32, no_reduction), LACUNA_INVALID_ARGUMENT);
  EXPECT_STREQ(lacuna_last_error(), "reduction is 6, must be 0 .. 4");
  EXPECT_EQ(lacuna_allreduce(rank, &data, &data, 1, LACUNA_F32, LACUNA_OWN), LACUNA_INVALID_ARGUMENT);
  EXPECT_STREQ(lacuna_last_error(), "reduction is LACUNA_OWN, which needs a function: lacuna_execute() takes one");
  EXPECT_EQ(lacuna_allgatherv(rank, &data, &data, nullptr, nullptr, LACUNA_F32), LACUNA_INVALID_ARGUMENT);
  EXPECT_STREQ(lacuna_last_error(), "counts is null");
  lacuna_communicator_free(rank);
}

TEST(CCollectives, ADescriptionOfNoCollectiveIsRefused) {
  lacuna_communicator* rank = nullptr;
  ASSERT_EQ(lacuna_join(nullptr, &rank), LACUNA_OK) << lacuna_last_error();
  lacuna_call call = LACUNA_CALL_INIT;
  call.collective = static_cast<int32_t>(all_collectives.size());
  EXPECT_EQ(lacuna_execute(rank, &call, nullptr, nullptr), LACUNA_INVALID_ARGUMENT);
  EXPECT_STREQ(lacuna_last_error(), "collective is 16, must be 0 .. 15");
  call = LACUNA_CALL_INIT;
  call.struct_size = sizeof call + 1;
  EXPECT_EQ(lacuna_execute(rank, &call, nullptr, nullptr), LACUNA_INVALID_ARGUMENT);
  EXPECT_NE(std::string(lacuna_last_error()).find("struct_size"), std::string::npos);
  EXPECT_EQ(lacuna_execute(rank, nullptr, nullptr, nullptr), LACUNA_INVALID_ARGUMENT);
  EXPECT_STREQ(lacuna_last_error(), "call is null");
  lacuna_communicator_free(rank);
}

}  // namespace
}  // namespace lacuna

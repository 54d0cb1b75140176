#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/registry/registry.hpp"
#include "runtime/method/method.hpp"
#include "tests/kernels/block.hpp"
#include "tests/kernels/oracle.hpp"
#include "tests/support/drawn_options.hpp"
#include "tests/support/ranks.hpp"

// Calls of blocks, and what they should give and send, by their definition.
namespace lacuna::test {

/// The bits of elements.
using Elements = std::vector<std::uint64_t>;

/// Which blocks of the ranks are not zero.
enum class BlockPattern : std::uint8_t { None, All, OneElement, Disjoint, Same, OneRankEmpty, Striped, First, Drawn };
inline constexpr BlockPattern block_patterns[] = {
    BlockPattern::None,     BlockPattern::All,   BlockPattern::OneElement,
    BlockPattern::Disjoint, BlockPattern::Same,  BlockPattern::OneRankEmpty,
    BlockPattern::Striped,  BlockPattern::First, BlockPattern::Drawn};

/// One call on all ranks.
struct BlocksCall {
  Rank size = 2;
  std::size_t count = 0;  ///< elements of the data; of a block, if the collective has blocks
  std::size_t block = 4;
  Collective collective = Collective::Allreduce;
  Dtype dtype = Dtype::F32;
  Reduction reduction = Reduction::Sum;
  std::string algorithm = "planned_blocks";
  std::string more{};  ///< more options, each after a comma
  bool in_place = false;
  std::size_t misalignment = 0;
  Rank root = 0;
  Rank dedicated = 0;  ///< so many of the last ranks only add up

  std::string text() const { return fmt::format("blocks:block={}{}", block, more); }
  std::size_t ranks() const { return static_cast<std::size_t>(size); }
  std::size_t bringing() const { return static_cast<std::size_t>(size - dedicated); }
  /// The number of elements of a rank's input and output.
  std::size_t input_elements() const { return collective == Collective::ReduceScatter ? count * ranks() : count; }
  std::size_t output_elements() const { return collective == Collective::Allgather ? count * ranks() : count; }
  /// For messages of failed expectations.
  std::string name() const {
    return fmt::format("{} of {} {} {} by {} with {}, P={}{}, root {}", to_string(collective), count, to_string(dtype),
                       to_string(reduction), algorithm, text(), size, in_place ? " in place" : "", root);
  }
};

/// An element that is not zero: a small integer or, if `special`, any bits.
inline std::uint64_t drawn_element(Dtype dtype, bool special, std::mt19937_64& random) {
  const std::size_t bits = 8 * size_of(dtype);
  if (special) {
    const double specials[] = {-0.0, std::numeric_limits<double>::infinity(), std::nan(""), 1e-41, 1};
    const std::uint64_t sign = std::uint64_t{1} << (bits - 1);
    if (is_integer(dtype)) return random() % 2 == 0 ? sign : random() >> (64 - bits);
    return random() % 2 == 0 ? oracle::encode(dtype, specials[random() % std::size(specials)])
                             : oracle::encode(dtype, static_cast<double>(random() % 1001) / 8 - 60);
  }
  const int value = static_cast<int>(random() % 7) + 1;
  if (is_integer(dtype)) return static_cast<std::uint64_t>(value);
  return oracle::encode(dtype, random() % 2 == 0 ? value : -value);
}

/// Is this block of this rank zero?
inline bool is_zero_block(BlockPattern pattern, std::size_t rank, std::size_t block, std::size_t blocks,
                          const BlocksCall& call, std::mt19937_64& random) {
  switch (pattern) {
    case BlockPattern::None:
      return true;
    case BlockPattern::All:
      return false;
    case BlockPattern::OneElement:
      return rank != call.ranks() - 1 || block != blocks / 2;
    case BlockPattern::Disjoint:
      return block % call.ranks() != rank;
    case BlockPattern::Same:
      return block % 3 != 1;
    case BlockPattern::OneRankEmpty:
      return rank == call.ranks() / 2 || random() % 2 == 0;
    case BlockPattern::Striped:
      return block % call.ranks() != 0;
    case BlockPattern::First:
      return block >= blocks / call.ranks() + 1;
    case BlockPattern::Drawn:
      break;
  }
  return random() % 3 != 0;
}

/// Inputs whose blocks are zero as the pattern says. Others hold some elements that are not zero.
inline std::vector<Elements> block_inputs(const BlocksCall& call, BlockPattern pattern, unsigned seed,
                                          bool special = false) {
  std::mt19937_64 random(seed);
  std::vector<Elements> inputs(call.ranks(), Elements(call.input_elements()));
  for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
    Elements& input = inputs[rank];
    const std::size_t blocks = (input.size() + call.block - 1) / call.block;
    for (std::size_t block = 0; block < blocks; ++block) {
      if (is_zero_block(pattern, rank, block, blocks, call, random)) continue;
      const std::size_t begin = block * call.block, end = std::min(begin + call.block, input.size());
      for (std::size_t i = begin; i < end; ++i) {
        if (random() % 2 == 0) input[i] = drawn_element(call.dtype, special, random);
      }
      input[begin + random() % (end - begin)] = drawn_element(call.dtype, special, random);
    }
  }
  return inputs;
}

/// The reduction of element i of all inputs in the order of the ranks. It is held in the accumulation type, and rounded
/// once.
inline std::uint64_t expected_element(const BlocksCall& call, const std::vector<Elements>& inputs, std::size_t i) {
  if (is_integer(call.dtype)) {
    std::uint64_t sum = inputs[0][i];
    for (std::size_t rank = 1; rank < call.bringing(); ++rank) {
      sum = oracle::reduce(call.dtype, call.reduction, {}, sum, inputs[rank][i]);
    }
    return sum;
  }
  double sum = oracle::decode(call.dtype, inputs[0][i]);
  for (std::size_t rank = 1; rank < call.bringing(); ++rank) {
    const double next = oracle::decode(call.dtype, inputs[rank][i]);
    sum = oracle::accumulated(call.dtype, oracle::combined(call.reduction, sum, next));
  }
  const double divisor = call.reduction == Reduction::Avg ? static_cast<double>(call.bringing()) : 1;
  return oracle::scaled(call.dtype, sum, {.divisor = divisor});
}

/// The outputs of all ranks, by plain loops over all elements.
inline std::vector<Elements> expected_outputs(const BlocksCall& call, const std::vector<Elements>& inputs) {
  std::vector<Elements> outputs(call.ranks(), Elements(call.output_elements()));
  for (std::size_t rank = call.bringing(); rank < outputs.size(); ++rank) {
    outputs[rank] = call.in_place ? inputs[rank] : Elements(call.output_elements(), 99);  // nobody looks at them
  }
  for (std::size_t rank = 0; rank < call.bringing(); ++rank) {
    for (std::size_t i = 0; i < outputs[rank].size(); ++i) {
      std::uint64_t& element = outputs[rank][i];
      if (call.collective == Collective::Broadcast) {
        element = inputs[static_cast<std::size_t>(call.root)][i];
      } else if (call.collective == Collective::Allgather) {
        element = inputs[i / call.count][i % call.count];
      } else {
        const std::size_t first = call.collective == Collective::ReduceScatter ? rank * call.count : 0;
        element = rank > 0 && first == 0 && call.count > 0 ? outputs[0][i] : expected_element(call, inputs, first + i);
      }
    }
  }
  return outputs;
}

/// Ranks whose calls are not cut into parts.
inline RanksOptions in_one_part() {
  RanksOptions options = drawn_options(0);
  options.executor.chunk_bytes = std::size_t{1} << 30;
  return options;
}

/// The ranks of a job, which make a call again and again.
class BlocksRig {
 public:
  explicit BlocksRig(BlocksCall made, const RanksOptions& options = drawn_options(0))
      : call(std::move(made)), ranks(call.size, options), states(call.ranks()) {}

  BlocksCall call;
  Ranks ranks;
  std::vector<MethodState> states;
  std::vector<Elements> outputs;  ///< of the last run
  std::vector<Report> reports;    ///< of the last run
  std::vector<Counters> sent;     ///< what each rank has sent in the last run

  /// Runs the call once. Returns why it has failed on a rank, or nothing.
  std::string run(const std::vector<Elements>& inputs) {
    std::vector<Block> in, out;
    std::vector<Call> calls;
    for (const Elements& input : inputs) {
      in.push_back(block_of(call.dtype, input, call.misalignment));
      out.push_back(block_of(call.dtype, Elements(call.output_elements(), 99), call.misalignment));
    }
    for (std::size_t rank = 0; rank < inputs.size(); ++rank) calls.push_back(call_of(rank, in[rank], out[rank]));
    std::vector<Counters> before;
    for (Rank rank = 0; rank < call.size; ++rank) before.push_back(ranks.counters(rank));
    if (const std::string ended = run_calls(calls); !ended.empty()) return ended;
    outputs.clear();
    sent.clear();
    for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
      const auto* const data = static_cast<const std::byte*>(calls[rank].output);
      outputs.push_back(elements_of(call.dtype, data, call.output_elements()));
      Counters now = ranks.counters(static_cast<Rank>(rank));
      now.payload_sent -= before[rank].payload_sent;
      now.header_sent -= before[rank].header_sent;
      now.messages_sent -= before[rank].messages_sent;
      sent.push_back(now);
      EXPECT_TRUE(in[rank].guards_hold() && out[rank].guards_hold()) << call.name();
      if (call.in_place) continue;
      EXPECT_EQ(elements_of(call.dtype, in[rank].data(), inputs[rank].size()), inputs[rank]) << call.name();
    }
    return "";
  }

  /// Runs the call once, and expects the outputs of the definition.
  void expect(const std::vector<Elements>& inputs, const std::string& what) {
    ASSERT_EQ(run(inputs), "") << call.name() << ", " << what;
    const std::vector<Elements> expected = expected_outputs(call, inputs);
    for (std::size_t rank = 0; rank < expected.size(); ++rank) {
      for (std::size_t i = 0; i < expected[rank].size(); ++i) {
        ASSERT_TRUE(oracle::same(call.dtype, outputs[rank][i], expected[rank][i]))
            << call.name() << ", " << what << ": element " << i << " of rank " << rank << " is " << std::hex
            << outputs[rank][i] << ", not " << expected[rank][i];
      }
    }
  }

  /// Returns why a rank's call has failed, or nothing.
  std::string run_calls(const std::vector<Call>& calls) {
    std::vector<runtime::Run*> runs;
    for (std::size_t rank = 0; rank < calls.size(); ++rank) {
      const auto posted = ranks.post(static_cast<Rank>(rank), calls[rank]);
      if (!posted) return posted.status().to_string();
      runs.push_back(*posted);
    }
    const auto ended = [&] { return std::all_of(runs.begin(), runs.end(), [](auto* run) { return run->finished; }); };
    if (!ranks.sweep_until(ended)) return ranks.waiting_for(runs);
    reports.clear();
    for (std::size_t rank = 0; rank < calls.size(); ++rank) {
      if (!runs[rank]->status) return runs[rank]->status.to_string();
      reports.push_back(ranks.communicator(static_cast<Rank>(rank)).report(*runs[rank]));
    }
    ranks.sweep_until([&] {
      for (std::size_t rank = 0; rank < calls.size(); ++rank) {
        if (!ranks.communicator(static_cast<Rank>(rank)).reclaimed(*runs[rank])) return false;
      }
      return true;
    });
    return "";
  }

  Call call_of(std::size_t rank, Block& in, Block& out) {
    Call made{.collective = call.collective,
              .input = in.data(),
              .output = out.data(),
              .count = call.count,
              .dtype = call.dtype,
              .reduction = call.reduction,
              .root = call.root};
    made.options.algorithm = call.algorithm;
    made.options.method = *method_options(call.text());
    made.options.state = &states[rank];
    if (!call.in_place) return made;
    const std::size_t own = rank * call.count * size_of(call.dtype);
    if (call.collective == Collective::ReduceScatter) {
      made.output = in.data() + own;
    } else if (call.collective == Collective::Allgather) {
      std::memcpy(out.data() + own, in.data(), call.count * size_of(call.dtype));
      made.input = out.data() + own;
    } else {
      made.output = in.data();
    }
    return made;
  }
};

}  // namespace lacuna::test

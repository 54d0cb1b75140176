#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "runtime/graph/algorithm.hpp"
#include "runtime/graph/plan.hpp"
#include "runtime/values/call.hpp"
#include "runtime/values/digest.hpp"

namespace lacuna::runtime {

struct CollectiveRun;

/// Neighbouring parts of a plan that are treated alike. Texts show them as one.
struct PartsAlike {
  Structure structure{};
  bool is_dense = false;               ///< they run as without a method
  const Algorithm* program = nullptr;  ///< null: the call's own algorithm
  Parameters arguments{};
  std::size_t offset = 0, count = 0;  ///< of the data of all these parts, in elements
  std::uint32_t parts = 0, stretches = 0;
};

/// What a call with a method asks for. What the method's options do not use is left out, such as the sampler of a call
/// that draws nothing: ranks may differ in it.
struct AgreedMethod {
  static constexpr std::size_t most_shown = 3;

  MethodOptions method{};
  std::uint64_t plan = 0;          ///< a digest of the plan's parts
  std::uint32_t dense = 0;         ///< how many of the parts run as without a method
  std::optional<Sampler> drawn{};  ///< the sampler, if this run draws
  // The text needs the following. The digest does not, because `plan` differs where any of it matters.
  std::uint64_t state_run = 0;                       ///< which run of its state it is, from 1; 0 without a state
  bool lists_output = false;                         ///< the output is to be a list of entries
  std::array<PartsAlike, most_shown> first_parts{};  ///< the first parts of the plan
  std::uint32_t kinds_of_parts = 0;                  ///< how many PartsAlike the whole plan has
};

/// What all ranks must ask for alike in one call. Its text tells everything that its digest is made of, so that texts
/// differ where digests differ.
struct AgreedCall {
  const Algorithm* algorithm = nullptr;
  std::uint64_t count = 0;  ///< elements; in a call with tables, the sum of the agreed blocks
  std::uint64_t table = 0;  ///< a digest of the agreed lengths
  std::uint32_t parts = 1;
  Rank root = 0;
  Dtype dtype = Dtype::F32;
  Reduction reduction = Reduction::Sum;
  std::uint64_t own = 0;  ///< which reduction of the program's own it is
};

/// Returns what a run that is about to begin asks for.
AgreedCall agreed_call(const CollectiveRun& run);
/// Returns what the method of a run that is about to begin asks for.
AgreedMethod agreed_method(const CollectiveRun& run);

/// Adds what is asked for to a digest that the algorithm's name has begun.
void add(Digest& digest, const AgreedCall& call);
void add(Digest& digest, const AgreedMethod& method);

/// "allreduce ring f32 count 1000 sum in 4 parts"; a method adds " with NAME:OPTION=VALUE to a list of entries
/// (MEASURE 2), 1 of the parts dense, run 8 of its state, seed 1 key 0 draw 7, plan 0123456789abcdef: [0, 400) dense,
/// [400, 1000) with rounds=1 in 3 parts", with the parameters of the program that are not as they are by default.
std::string text_of(const AgreedCall& call);
/// `planned` holds the values of the method's measures as its plan tells them, by row. It may be longer than the table
/// of measures.
std::string text_of(const AgreedMethod& method, std::span<const double> planned);

}  // namespace lacuna::runtime

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "runtime/engine/run.hpp"
#include "runtime/values/digest.hpp"

namespace lacuna::runtime {

/// Neighbouring parts of a plan that are treated alike, as a text shows them.
struct PartsAlike {
  Structure structure{};
  const Algorithm* program = nullptr;  ///< null: the call's
  std::uint64_t entries = 0;
  std::size_t offset = 0, count = 0;  ///< of their data together, in elements
  std::uint32_t parts = 0, stretches = 0;
};

/// What a call with a method asks for. What its options do not use counts for nothing: the sampler of one that draws
/// nothing, say. Then ranks may differ in it.
struct AgreedMethod {
  static constexpr std::size_t most_shown = 3;

  MethodOptions method{};
  MethodNumbers numbers{};         ///< of its plan
  std::uint64_t plan = 0;          ///< stands for its parts
  std::uint32_t dense = 0;         ///< of these, as without a method
  std::optional<Sampler> drawn{};  ///< where this run draws
  // For the text only; the plan stands for all of it that counts.
  std::uint64_t state_run = 0;                       ///< which run of its state it is, from 1; 0: it has none
  bool lists_output = false;                         ///< the output is to be a list of entries
  std::array<PartsAlike, most_shown> first_parts{};  ///< that the plan begins with
  std::uint32_t kinds_of_parts = 0;                  ///< that follow one another, of which those are the first
};

/// What all ranks ask for alike in one call. All that counts in its digest stands in its text, so that the texts of
/// calls that differ do too.
struct AgreedCall {
  const Algorithm* algorithm = nullptr;
  std::uint64_t count = 0;  ///< of the agreed blocks together where there are tables
  std::uint64_t table = 0;  ///< stands for the agreed lengths
  std::uint32_t parts = 1;
  Rank root = 0;
  Dtype dtype = Dtype::F32;
  Reduction reduction = Reduction::Sum;
};

/// Of a run that is about to begin.
AgreedCall agreed_call(const CollectiveRun& run);
/// Of a run with a method.
AgreedMethod agreed_method(const CollectiveRun& run);

/// To a digest of the algorithm's name.
void add(Digest& digest, const AgreedCall& call);
void add(Digest& digest, const AgreedMethod& method);

/// "allreduce ring f32 count 1000 sum in 4 parts"; a method adds " with NAME:OPTION=VALUE to a list of entries
/// (NUMBER 2), 1 of the parts dense, run 8 of its state, seed 1 key 0 draw 7, plan 0123456789abcdef: [0, 400) dense,
/// [400, 1000) as 1/0/0/0 in 3 parts". What stands behind "as" are the numbers of Structure.
std::string text_of(const AgreedCall& call);
std::string text_of(const AgreedMethod& method);

}  // namespace lacuna::runtime

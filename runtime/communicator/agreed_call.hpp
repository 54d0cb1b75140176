#pragma once

#include <cstdint>
#include <string>

#include "runtime/engine/run.hpp"
#include "runtime/values/digest.hpp"

namespace lacuna::runtime {

/// What a call that may skip leaves out. What the call does not use is as in one that skips nothing: the factor of
/// another scale, say, or the sampler of the mode static. Then ranks may differ in it.
struct AgreedSkip {
  bool is_on = false;  ///< something is asked for, in this run or others; else only the plan counts
  bool reversed = false, keep = false, feedback = false;
  SkipMode mode = SkipMode::Static;
  SkipScale scale = SkipScale::ZeroFill;
  int steps = 0, gather_steps = 0;  ///< of this run
  double factor = 1;
  std::uint64_t audit = 0, audit_samples = 0;
  Sampler drawn{};          ///< where this run draws
  std::uint64_t plan = 0;   ///< stands for its parts, where they are not equal shares
  std::uint32_t dense = 0;  ///< parts of the plan that skip nothing
};

/// What all ranks ask for alike in one call. All that counts in its digest stands in its text, and nothing else does,
/// so that the texts of calls that differ do.
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
AgreedCall agreed_call(const Run& run);
/// Of a run whose algorithm has `skipping`.
AgreedSkip agreed_skip(const Run& run);

/// To a digest of the algorithm's name.
void add(Digest& digest, const AgreedCall& call);
void add(Digest& digest, const AgreedSkip& skip);

/// "allreduce ring f32 count 1000 sum in 4 parts"; what skips adds " skip 2 random zero_fill seed 1 key 0 draw 7".
std::string text_of(const AgreedCall& call);
std::string text_of(const AgreedSkip& skip);

}  // namespace lacuna::runtime

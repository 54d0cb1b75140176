#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/engine/run.hpp"
#include "runtime/values/digest.hpp"

namespace lacuna::runtime {

/// What a call with a method asks for. What its options do not use counts for nothing: the sampler of one that draws
/// nothing, say. Then ranks may differ in it.
struct AgreedMethod {
  MethodOptions method{};
  MethodNumbers numbers{};         ///< of its plan
  std::uint64_t plan = 0;          ///< stands for its parts
  std::uint32_t dense = 0;         ///< of these, as without a method
  std::optional<Sampler> drawn{};  ///< where this run draws
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
AgreedCall agreed_call(const CollectiveRun& run);
/// Of a run with a method.
AgreedMethod agreed_method(const CollectiveRun& run);

/// To a digest of the algorithm's name.
void add(Digest& digest, const AgreedCall& call);
void add(Digest& digest, const AgreedMethod& method);

/// "allreduce ring f32 count 1000 sum in 4 parts"; a method adds " with NAME:OPTION=VALUE (NUMBER 2), seed 1 key
/// 0 draw 7, plan 0123456789abcdef".
std::string text_of(const AgreedCall& call);
std::string text_of(const AgreedMethod& method);

}  // namespace lacuna::runtime

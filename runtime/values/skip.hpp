#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/values/dtype.hpp"
#include "runtime/values/sampler.hpp"

namespace lacuna {

/// Which ranks' contributions SkipReduce leaves out. P ranks.
enum class SkipMode : std::uint8_t {
  Static = 0,    ///< the same in every call
  Random = 1,    ///< the ranks are turned by a draw for each part of each call: P patterns
  Shuffled = 2,  ///< their order is drawn for each part of each call: P! orders
};

constexpr std::string_view to_string(SkipMode mode) {
  return mode == SkipMode::Static ? "static" : mode == SkipMode::Random ? "random" : "shuffled";
}

/// What stands for the contributions that are left out.
enum class SkipScale : std::uint8_t {
  ZeroFill = 0,  ///< zeros: avg divides by P all the same, which makes its results smaller
  /// The mean of the others: avg divides by their number, sum is multiplied by P over it. Where hosts of different
  /// numbers of ranks are turned, skip_two_level takes their number on average instead, so that over all draws each
  /// rank weighs the same.
  Renormalised = 1,
  Factor = 2,  ///< zeros; sum and avg are the sum of the others times Skip::factor, where any are missing
};

constexpr std::string_view to_string(SkipScale scale) {
  return scale == SkipScale::ZeroFill ? "zero_fill" : scale == SkipScale::Renormalised ? "renormalised" : "factor";
}

/// How a segment is treated.
enum class SkipPolicy : std::uint8_t {
  Skip = 0,       ///< as the call says
  Never = 1,      ///< dense
  Automatic = 2,  ///< dense where it is important, as Skip::importance measures
};

constexpr std::string_view to_string(SkipPolicy policy) {
  return policy == SkipPolicy::Skip ? "skip" : policy == SkipPolicy::Never ? "never" : "automatic";
}

/// A stretch of the data of an allreduce. Segments ascend and cover all of it. What feedback kept of one that then
/// becomes Never, or small, stays there until it is skipped again.
struct SkipSegment {
  std::size_t offset = 0;  ///< elements
  std::size_t count = 0;
  SkipPolicy policy = SkipPolicy::Skip;
  std::uint64_t key = 0;  ///< Automatic: under which its importance is measured, a parameter's number, say
};

/// From run `from_run` of a state on, S is `steps`.
struct SkipStage {
  std::uint64_t from_run = 0;
  int steps = 0;
};

/// What a dense reduction of a sample has shown of a call's result, at the same places.
struct SkipAudit {
  std::uint64_t run = 0;      ///< of the state, the first is 1; 0: there was none yet
  std::uint64_t samples = 0;  ///< elements
  double relative_error = 0;  ///< L2 norm of result - dense result over that of the dense result; NaN: this is zero
  double cosine = 0;          ///< of the angle between them; NaN: one of them is zero, and not the other
};

/// A stretch of an output that lacks the contribution of a rank; of an allgather, that rank's block.
struct SkipGap {
  std::size_t offset = 0;  ///< elements
  std::size_t count = 0;
  Rank from = 0;

  friend bool operator==(const SkipGap&, const SkipGap&) = default;
};

/// What skipping keeps of one tensor from call to call: plain values that the caller owns, saves and restores. Equal on
/// all ranks but for the residual. With feedback one call at a time uses it, and its buffer does not change size.
/// After a failed call restore the residual from a copy: part of the input may be in it already.
struct SkipState {
  Sampler sampler{};
  std::uint64_t runs = 0;             ///< calls started with it
  std::vector<std::byte> residual{};  ///< with feedback: what this rank has not contributed yet, like the input
  SkipAudit audit{};                  ///< the last one, with Skip::audit
};

class SkipImportance;

/// SkipReduce (Kasan, Abts, Choi, Kim, MICRO 2025): contributions that a call leaves out to save steps. For sum and
/// avg. Equal on all ranks, but for what the call does not use: the factor of another scale, say.
struct Skip {
  int steps = 0;     ///< S: how many, in the algorithm's own measure; see its file
  double ratio = 0;  ///< instead of steps: the largest S that leaves out at most this share of all contributions
  SkipMode mode = SkipMode::Static;
  SkipScale scale = SkipScale::ZeroFill;
  double factor = 1;      ///< of SkipScale::Factor
  bool feedback = false;  ///< what a rank leaves out it adds next time; needs a state, zeros and floating point
  /// Also leave out what only some ranks then lack: S blocks of an allgather, of shards, say, that their owner alone
  /// updates, or the pieces of `gather_steps`.
  bool incomplete = false;
  int gather_steps = 0;       ///< of an allreduce (skip_ring): steps of its second half left out; results then differ
  bool keep = false;          ///< what an incomplete call lacks stays as it is in the output; else it becomes zeros
  bool reversed = false;      ///< the order backwards: a reduce_scatter leaves out what the like allgather would lack
  std::uint64_t warm_up = 0;  ///< the first runs of the state are dense
  std::span<const SkipStage> schedule{};    ///< ascending; before its first stage S is `steps`. Read as segments are.
  std::span<const SkipSegment> segments{};  ///< none: one that is skipped. Read when a call is started or prepared.
  std::size_t small = 4096;                 ///< segments of fewer bytes are dense, and travel together
  /// Every so many runs of the state that skip anything tell its true error: of `audit_samples` elements of the
  /// inputs, evenly spread, the same call also makes a dense reduction. Its result is as without. 0: never.
  std::uint64_t audit = 0;
  std::size_t audit_samples = 1024;
  SkipState* state = nullptr;  ///< needed for feedback, warm_up, schedule and audit; lives as long as the buffers
  SkipImportance* importance = nullptr;  ///< needed for SkipPolicy::Automatic; lives as long

  /// Does it ask for anything to be left out, in some run at least, or for what was left out?
  bool is_on() const { return steps != 0 || ratio != 0 || gather_steps != 0 || feedback || !schedule.empty(); }
};

}  // namespace lacuna

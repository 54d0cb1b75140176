#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "runtime/values/dtype.hpp"
#include "runtime/values/status.hpp"

namespace lacuna {

/// Decides which segments are too important to be skipped, from what they hold: SkipReduce's authors measured it once
/// and by hand (MICRO 2025, sections 4.4 and 5.2). One object serves all calls of a model. Every `every` runs of a
/// segment its call is dense there, and a sample of its result is taken, whose bits are equal on all ranks: so they
/// agree without a message. A segment is important if more than `threshold` of its elements are among the largest
/// quarter, by magnitude, of all elements measured. All ranks make equal objects. Any thread may ask.
class SkipImportance {
 public:
  struct Options {
    std::uint64_t every = 100;   ///< runs of a segment from one measurement to the next, the first included
    double threshold = 0.5;      ///< 0 .. 1; over all segments the mean is 0.25
    std::size_t samples = 4096;  ///< elements of a segment that are looked at, evenly spread
  };

  /// What is known of a segment.
  struct Segment {
    std::uint64_t key = 0;
    std::uint64_t runs = 0;   ///< started so far
    std::uint64_t count = 0;  ///< elements
    double share = 0;         ///< of them among the largest quarter, when it was last measured
    bool important = false;   ///< it is dense
    bool measured = false;    ///< the two figures above are there
  };

  /// What the next run does with a segment.
  enum class Next : std::uint8_t { Skip, Protect, Measure };

  SkipImportance() : SkipImportance(Options()) {}
  explicit SkipImportance(const Options& options) : options_(options) {}

  /// By key.
  std::vector<Segment> segments() const;

  /// All of it, to be put into a checkpoint; no run that measures may be under way.
  std::vector<std::byte> save() const;
  /// The bytes that it has at most, of so many segments.
  static std::size_t most_saved(std::size_t segments);
  /// As it was saved. On an error nothing has changed.
  Status restore(std::span<const std::byte> saved);

  /// Ok, or which option is out of range.
  Status check() const;

  // For lacuna: in the order in which runs start.

  Next next(std::uint64_t key);
  /// Ok, or Busy: the next run of this segment needs a measurement that is under way.
  Status ready(std::uint64_t key) const;
  void started(std::uint64_t key, const void* run);
  /// The result of this run of the segment, if it is one that measures; it counts once the run has ended.
  void measured(std::uint64_t key, const void* run, Dtype dtype, const std::byte* data, std::size_t count);
  /// This run has ended, well or not.
  void ended(std::uint64_t key, const void* run, bool well);

 private:
  /// Magnitudes by exponent and the first two bits of the mantissa, ascending.
  static constexpr std::size_t bins = 1024;
  using Histogram = std::array<std::uint32_t, bins>;

  struct Entry {
    Segment segment;
    Histogram histogram{};
    Histogram taken{};                ///< of the run that measures it
    std::size_t taken_of = 0;         ///< elements
    const void* measuring = nullptr;  ///< the run that measures it and has not ended
    bool fresh = false;               ///< measured, and not yet decided on
  };

  void decide();

  Options options_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, Entry> entries_;  // by key
};

}  // namespace lacuna

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "bindings/cli/shared/zipf.hpp"
#include "runtime/values/dtype.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::cli {

/// How the elements that are not zero lie in the inputs of `lacuna perf --density`, and how entries are expected to lie
/// by `lacuna explain --pattern`.
struct PatternOptions {
  enum class Kind : std::uint8_t {
    Uniform,    ///< each rank has places of its own
    Overlap,    ///< all ranks have the same places
    Clustered,  ///< all ranks have the same places, all in one stretch
    PowerLaw,   ///< s ranks together have about s^argument times as many as one
    Blocks,     ///< each rank has whole blocks of its own, of `argument` elements
    Rows,       ///< each rank has whole rows of `argument` elements; those that are frequent are so on all ranks
    Skewed,     ///< each rank has places of its own, 60 % of them in the first eighth
    Gradient,   ///< each rank has places of its own; magnitudes fall off, around scales that ranks and neighbours share
  };

  Kind kind = Kind::Uniform;
  double argument = 1;
  double density = 0;  ///< which share of each rank's elements is not zero; 0 .. 1
  std::string text = "uniform";
};

/// Reads "uniform", "overlap", "clustered", "powerlaw:A", "blocks:B", "rows:M", "skewed" or "gradient". The caller sets
/// the density.
Result<PatternOptions> pattern_options(const std::string& text);

/// Says which of `count` elements are not zero in each rank's input. It depends on its arguments alone, so each rank
/// knows it for all ranks.
class Pattern {
 public:
  Pattern(const PatternOptions& options, std::size_t elements);

  bool has(Rank rank, std::size_t element) const;
  /// Returns the share of blocks that is expected to hold an element of any of `ranks` ranks, if all elements are cut
  /// into blocks of `block`. With blocks of one element it is the density of so many ranks together.
  double share(double ranks, std::size_t block) const;
  /// Does the pattern also say which values the elements have?
  bool has_values() const { return options_.kind == PatternOptions::Kind::Gradient; }
  /// Returns a whole number between -4095 and 4095 that is never 0. Sums of 4096 ranks are then exact in f32.
  double value(Rank rank, std::size_t element) const;

 private:
  bool has_by_weight(Rank rank, std::size_t element) const;
  double share_of_runs(double ranks, std::size_t block) const;

  PatternOptions options_;
  std::size_t elements_;
  std::size_t run_;                  // as many neighbours are all there or all missing
  std::size_t begin_ = 0, end_ = 0;  // the stretch where elements lie close together
  double inside_ = 0, outside_ = 0;  // the chance of an element, in the stretch and elsewhere
  double least_ = 0;                 // the least weight of an element in a power law
  ZipfRows rows_;
};

}  // namespace lacuna::cli

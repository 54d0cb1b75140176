#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/values/dtype.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::cli {

/// How the elements that are not zero lie in the inputs of `lacuna perf --density`.
struct PatternOptions {
  enum class Kind : std::uint8_t {
    Uniform,    ///< each rank has its own
    Overlap,    ///< all ranks have the same
    Clustered,  ///< likewise, all in one stretch
    PowerLaw,   ///< s ranks together have about s^argument times as many as one
    Blocks,     ///< each rank has whole blocks of its own, of `argument` elements
    Skewed,     ///< each rank has its own, 60 % of them in the first eighth
    Gradient,   ///< each rank has its own, of magnitudes that fall off, around scales that ranks and neighbours share
  };

  Kind kind = Kind::Uniform;
  double argument = 1;
  double density = 0;  ///< their share of all elements, of each rank; 0 .. 1
  std::string text = "uniform";
};

/// Of "uniform", "overlap", "clustered", "powerlaw:A", "blocks:B", "skewed" or "gradient"; the density is still to be
/// set.
Result<PatternOptions> pattern_options(const std::string& text);

/// Which elements are not zero, in inputs of so many. A function of its arguments alone: each rank knows those of all.
class Pattern {
 public:
  Pattern(const PatternOptions& options, std::size_t elements);

  bool has(Rank rank, std::size_t element) const;
  /// Do elements that are there have values of their own?
  bool has_values() const { return options_.kind == PatternOptions::Kind::Gradient; }
  /// A whole number between -4095 and 4095, never 0, so that sums of 4096 ranks are exact in f32.
  double value(Rank rank, std::size_t element) const;

 private:
  bool has_by_weight(Rank rank, std::size_t element) const;

  PatternOptions options_;
  std::size_t begin_ = 0, end_ = 0;  // of the stretch where they lie close
  double inside_ = 0, outside_ = 0;  // chances of an element, in the stretch and elsewhere
  double least_ = 0;                 // weight of an element, of a power law
};

}  // namespace lacuna::cli

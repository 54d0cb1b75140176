#pragma once

#include <array>

#include "algorithms/ok_topk/steps.hpp"
#include "kernels/backend.hpp"

/// This file serves the kernels of ok_topk.
namespace lacuna::ok {

/// The threshold by which a rank selects, and what it has learned for the next run. An array of the state keeps both.
/// It holds for calls with the same k and number of ranks. For other calls, and before the first, the threshold is a
/// NaN.
class OwnThreshold {
 public:
  /// Reads an array of threshold_words numbers.
  OwnThreshold(const std::byte* array, std::uint64_t k, Rank size);

  double value() const { return words_[threshold]; }
  bool is_known() const;
  /// Sets the threshold that an exact selection has found.
  void make(double exactly);

  /// What a run has selected, and how many of these elements have left the accumulator.
  struct Selected {
    kernels::Source values;  ///< times `factor`
    double factor = 1;
    std::uint64_t gone = 0;
  };
  /// Moves the threshold so that the next run is expected to take k elements. The elements that have stayed in the
  /// accumulator will be above the threshold again, and about as many new ones will come as in the last runs. If both
  /// together are too many or too few, the threshold moves by as much as the selected values tell: that many of them
  /// lie close above it, and as many are expected equally close below it. `workspace` is that of the Backend.
  void move(const kernels::Backend& backend, const Selected& run, std::byte* workspace);
  /// Makes the next run compute the threshold anew.
  void forget();
  /// Writes the threshold to an array of threshold_words numbers.
  void store(std::byte* array) const;

 private:
  enum Word : std::size_t { threshold, entries, ranks, arriving, staying };

  void count_arrivals(double taken);

  std::array<double, threshold_words> words_;
};

/// The array of the state that keeps the threshold.
Region threshold_room(GraphBuilder& g);

/// Returns the threshold that takes all that the cut takes. It lies just below the cut's ties, so that all ties are
/// taken.
double threshold_of(Dtype dtype, const kernels::Cut& cut);
/// Returns the cut that takes all elements above a threshold. If the threshold is a NaN, it takes all NaNs and nothing
/// else.
kernels::Cut cut_above(Dtype dtype, double threshold);

}  // namespace lacuna::ok

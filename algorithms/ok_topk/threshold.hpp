#pragma once

#include <array>

#include "algorithms/ok_topk/steps.hpp"
#include "kernels/backend.hpp"

/// For the kernels of ok_topk.
namespace lacuna::ok {

/// The threshold of a rank's own selection, as an array of its state keeps it, with what is known of the next run. It
/// holds for calls of so many entries and ranks. For others it is not a number, as long as there is none yet too.
class OwnThreshold {
 public:
  /// Reads an array of threshold_words numbers.
  OwnThreshold(const std::byte* array, const Call& call, Rank size);

  double value() const { return words_[threshold]; }
  bool is_known() const;
  /// An exact selection has told it.
  void make(double exactly);

  /// What a run has selected, and how many of that have left the accumulator.
  struct Selected {
    kernels::Source values;
    std::uint64_t gone = 0;
  };
  /// Moves it to where the next run is expected to take as many as are asked for. Those that have stayed are above it
  /// again; as many come to them as newly came in the last runs. So it is to leave out, or to bring in, what is too
  /// much or lacks. The selected values tell how far that is: as many as those lie as close above the threshold, or
  /// are expected as close below it. `workspace` is the Backend's.
  void move(const Selected& run, std::byte* workspace);
  /// The next run is to make it anew.
  void forget();
  void store(std::byte* array) const;

 private:
  enum Word : std::size_t { threshold, entries, ranks, arriving, staying };

  void count_arrivals(double taken);

  std::array<double, threshold_words> words_;
};

Region threshold_room(GraphBuilder& g);

/// Above which number elements lie that the cut takes: just below its ties, of which none is to be lost.
double threshold_of(Dtype dtype, const kernels::Cut& cut);
/// Of one that is not a number, as where there are more of these than elements to be taken: all of them.
kernels::Cut cut_above(Dtype dtype, double threshold);

}  // namespace lacuna::ok

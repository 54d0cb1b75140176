#pragma once

#include <array>
#include <string_view>

#include "algorithms/ok_topk/steps.hpp"
#include "kernels/backend.hpp"

/// For the kernels of ok_topk.
namespace lacuna::ok {

/// A threshold as an array of the state keeps it, with how it changes from run to run. It is of calls of so many
/// entries, ranks and this reduction; for others, as where there is none yet, it is not a number. Basic operations
/// only: what all ranks know alike has the same bits.
class Threshold {
 public:
  /// Of an array of threshold_words numbers.
  Threshold(const std::byte* array, const Call& call, Rank size);

  double value() const { return words_[threshold]; }
  bool is_known() const;
  /// An exact selection has told it. It goes on as it went from the last one to this, but where it had to be made anew
  /// or is more than twice or less than half of what it had become: a jump is no trend.
  void make(double exactly);
  /// To the next run, as this one took `taken` elements: by as much as before, and by a share of itself that is `gain`
  /// times what were too many, as a share of what was asked for and no more than that. A quarter of the latter stays.
  void move(double taken, double gain);
  /// The next run is to make it anew.
  void forget();
  void store(std::byte* array) const;

 private:
  enum Word : std::size_t { threshold, entries, ranks, growth, exact, age };

  std::array<double, threshold_words> words_;
};

Region threshold_room(GraphBuilder& g, std::string_view name);

/// Above which number elements lie that the cut takes: just below its ties, of which none is to be lost.
double threshold_of(Dtype dtype, const kernels::Cut& cut);
/// Of one that is not a number, as where there are more of these than elements to be taken: all of them.
kernels::Cut cut_above(Dtype dtype, double threshold);

}  // namespace lacuna::ok

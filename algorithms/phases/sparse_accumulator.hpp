#pragma once

#include "algorithms/phases/sparse_kernels.hpp"

/// What a rank selects from, for the kernels of methods that select.
namespace lacuna::sparse {

/// All of them: blocks of a collective lie behind each other.
kernels::Target all_of(std::span<const Extent> blocks);

/// What a step that selects, or clears what was sent, writes first: with feedback the residual, and with momentum
/// correction the velocity, as the form says.
std::vector<Region> accumulator_rooms(GraphBuilder& g);
/// What a step writes that sorts the entries that the call has brought, and Backend's workspace behind that.
std::vector<Region> entry_rooms(GraphBuilder& g);

/// The elements from which a rank selects: those of its input or, with feedback, of the residual, to which the input is
/// added.
class Accumulator {
 public:
  /// Of a step that writes accumulator_rooms() first, and reads this input; none: it adds nothing.
  Accumulator(const KernelCall& call, std::span<const Extent> input);

  /// What the step writes behind them.
  std::span<const Extent> rest() const { return rest_; }
  bool feeds_back() const { return feeds_back_; }
  std::size_t count() const { return from_.count; }
  kernels::Source all() const { return part({0, static_cast<std::int64_t>(from_.count), 0}); }
  kernels::Source part(const Range& range) const;

  /// Adds the input of a range.
  void feed_back(const kernels::FeedBack& by, const Range& range) const;
  /// Adds entries.
  void add(const List& entries) const;
  /// Nothing is left of what stands there; of the velocity neither, where it is masked.
  void clear_at(std::span<const std::uint32_t> places, bool masks) const;

 private:
  std::span<const Extent> rest_;
  kernels::Target input_{}, from_{}, velocity_{};
  bool feeds_back_;
};

/// The entries that the call has brought, sorted, for a step that writes entry_rooms() there; or what is wrong with
/// them.
Result<List> sorted_entries(const KernelCall& call, std::span<const Extent> rooms);
/// Which of entry_rooms() is the workspace.
inline constexpr std::size_t entry_workspace = 4;

/// What takes the k largest of an accumulator, or of a list.
kernels::Cut cut_of_largest(kernels::Source from, std::uint64_t k, const Extent& workspace);

}  // namespace lacuna::sparse

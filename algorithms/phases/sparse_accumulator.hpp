#pragma once

#include "algorithms/phases/entry_lists.hpp"
#include "algorithms/phases/feedback.hpp"
#include "algorithms/phases/not_finite.hpp"
#include "algorithms/phases/sparse_kernels.hpp"

/// What a rank selects from. Kernels that select use it, because they keep the residual of feedback.hpp themselves.
namespace lacuna::sparse {

/// Returns all elements of these blocks, which lie one after the other in memory.
kernels::Target all_of(std::span<const Extent> blocks);

/// Ports of a kernel that selects, or that clears what was sent.
struct WriteAccumulator {
  Writes residual;  ///< with feedback
  Writes velocity;  ///< with momentum correction
};
/// Returns the buffers that the form of the program asks for.
WriteAccumulator accumulator_rooms(GraphBuilder& g);
/// Returns the memory of Accumulator::drop_not_finite: none without feedback, where it drops nothing.
NotFiniteRooms rooms_to_drop(GraphBuilder& g);

/// The elements from which a rank selects: those of its input or, with feedback, of the residual, to which the input is
/// added.
class Accumulator {
 public:
  /// Without an input, feed_back() adds nothing.
  Accumulator(const KernelCall& call, const WriteAccumulator& rooms, const Reads& input = {});

  bool feeds_back() const { return feeds_back_; }
  std::size_t count() const { return from_.count; }
  kernels::Source all() const { return part({0, static_cast<std::int64_t>(from_.count), 0}); }
  kernels::Source part(const Range& range) const;

  /// Adds the input of a range.
  void feed_back(const kernels::FeedBack& by, const Range& range) const;
  /// Adds entries.
  void add(const List& entries) const;
  /// Clears the elements at these places. If `masks`, it clears those of the velocity too.
  void clear_at(std::span<const std::uint32_t> places, bool masks) const;
  /// Drops what is not finite, also of the velocity, once the selected elements have been cleared. No magnitude is
  /// larger, so a finite selection shows that there is nothing to drop. Returns whether the selection is finite.
  bool drop_not_finite(const KernelCall& call, const List& selected, const NotFiniteRooms& rooms) const;

 private:
  const kernels::Backend& backend_;
  kernels::Target input_{}, from_{}, velocity_{};
  bool feeds_back_;
};

/// Ports of a kernel that sorts the entries that the call has brought.
struct SortEntries {
  ReadInputEntries brought;
  WriteList sorted, spare;
  Write workspace;

  /// Returns the entries sorted by place, or what is wrong with them.
  Result<List> run(const KernelCall& call) const;
};
SortEntries sort_entries(GraphBuilder& g);

}  // namespace lacuna::sparse

#pragma once

#include <cstdint>
#include <span>

#include "algorithms/phases/sparse.hpp"
#include "algorithms/phases/stopwatch.hpp"
#include "kernels/backend.hpp"
#include "runtime/graph/plan.hpp"

/// The parts from which the kernels of sparse programs are made.
namespace lacuna::sparse {

/// The places [begin, end) that a message is about.
struct Range {
  std::int64_t begin = 0, end = 0;
  std::int64_t number = 0;  ///< the number of the range

  std::size_t length() const { return static_cast<std::size_t>(end - begin); }
};
/// Returns the range of a rank in a table of all ranges.
Range range_of(const Extent& table, Rank rank);
/// Returns the range of all places.
Range all_places(const PartView& part);
/// Returns one of `of` pieces of equal length of all places.
Range piece_range(const PartView& part, std::int64_t piece, std::int64_t of);

/// These are capacities: of the selection's buffers, and of the workspace of a Backend.
std::size_t most_selected(const PartView& part);
std::size_t workspace_bytes(const PartView& part);
/// Returns the format of a message of so many entries, as the form asks for it.
kernels::Format format_of(const Form& form, Dtype dtype, std::size_t entries, std::size_t places);
/// Returns the bytes of the longest message of at most so many entries.
std::size_t longest_message(const PartView& part, std::size_t entries, std::size_t places);

/// These return the most bytes of the message of one range's sum, and the most entries of that sum.
std::size_t most_message_bytes(const PartView& part);
std::size_t most_merged(const PartView& part);

/// Returns what a sum of selections is scaled by. avg divides by what scale_terms() has left.
Scale scale_of(const PartView& part);
/// Returns what values are multiplied by when they are selected (factor_of_terms).
double factor_of_terms(const PartView& part);

/// Returns how many positions a rank stands before the own one.
std::size_t distance_to(const PartView& part, Rank rank);
/// Returns the rank so many positions after the own one.
Rank rank_at(const PartView& part, std::int64_t distance);

/// A list of entries in memory of the part, sorted by place.
struct List {
  std::uint32_t* places = nullptr;
  std::byte* values = nullptr;
  std::size_t count = 0;  ///< entries; of a list that is to be written: the room for them
  Dtype dtype = Dtype::F32;

  /// The entries [begin, end) of the two buffers.
  static List of(const Extent& places, const Extent& values, std::size_t begin, std::size_t end);
  /// Returns the places of all entries.
  std::span<const std::uint32_t> all_places() const { return {places, count}; }
  /// Returns all entries. Their places are counted from `base`, and none is below it.
  kernels::EntriesView all(std::size_t base = 0) const;
  /// Returns the entries in a range. Their places are counted from the start of the range.
  kernels::EntriesView in(const KernelCall& call, const Range& range) const;
};

/// Scales the values that this rank has selected for a mean. So all that travels is scaled, and no sum is out of range.
void scale_terms(const KernelCall& call, const List& selected);

/// Returns room to which a Backend writes entries. The places that it reads count from `base` on.
kernels::EntriesList room_in(const Extent& places, const Extent& values, std::size_t base);

/// Ports of a list of entries that a kernel reads.
struct ReadList {
  Read places, values;
  Use count;

  List list() const { return List::of(*places, *values, 0, *count); }
};
inline ReadList read(const Selection& list) { return {list.places, list.values, list.count}; }

/// Ports of the room for a list of entries that a kernel writes.
struct WriteList {
  Write places, values;

  std::size_t room() const { return places->count; }
  /// Returns the first `count` entries.
  List list(std::size_t count) const { return List::of(*places, *values, 0, count); }
  kernels::EntriesList to(std::size_t base = 0) const { return room_in(*places, *values, base); }
};
inline WriteList write(const Selection& list) { return {list.places, list.values}; }
/// Makes room for a list. `most` says how many entries it may have.
WriteList list_room(GraphBuilder& g, std::size_t (*most)(const PartView& part));

/// Ports of a message that a kernel writes.
struct WriteMessage {
  Write room;
  Define bytes;

  /// Returns the message. It serves while the graph is built.
  Region region() const { return GraphBuilder::counted(room.given(), bytes.given()); }
};
inline WriteMessage message_in(GraphBuilder& g, const Region& room) { return {room, g.value()}; }

/// Ports of the memory of Views. The views lie in the host's memory, where a Backend reads them. Their tables lie where
/// the data lie.
struct ViewsRooms {
  Write views, tables;
};
/// The buffers of Views. `views_room` is for as many messages as there are ranks, and `view_room` for one. Each message
/// is of one range.
struct ViewsInfo {
  BufferInfo views, tables;
};
extern const ViewsInfo views_room, view_room;

/// Ports of what a kernel that merges messages writes: the list of the sum, Views for a message of each rank, and the
/// sums of some places.
struct MergeRooms {
  WriteList list;
  ViewsRooms views;
  Write sums;
};
/// Makes rooms to merge messages of one range each. `most` says how many entries the sum has at most. Several steps may
/// use the rooms.
MergeRooms merge_rooms(GraphBuilder& g, std::size_t (*most)(const PartView& part) = most_merged);
/// Makes rooms to merge messages to a list that exists already.
MergeRooms merge_rooms(GraphBuilder& g, const WriteList& list);
/// Makes room for the message of the sum of a range.
Region message_room(GraphBuilder& g);
/// Makes room for the workspace of a Backend.
Region workspace_room(GraphBuilder& g);

/// Returns the cut that takes the k largest of an accumulator, or of the values of a list.
kernels::Cut cut_of_largest(const KernelCall& call, kernels::Source from, std::uint64_t k, const Write& workspace);

/// What is to be added of several ranks: messages, which are checked, and lists.
class Views {
 public:
  /// Has room for `most` messages or lists, of `length` places each, in memory of the part.
  Views(const ViewsRooms& rooms, std::size_t most, std::size_t length);
  /// Returns Views for what each rank has in one range.
  static Views of(const MergeRooms& rooms, const PartView& part, const Range& range) {
    return {rooms.views, static_cast<std::size_t>(part.size), range.length()};
  }

  /// Adds the message of a rank. Returns ok, or what is wrong with it.
  Status add_message(const KernelCall& call, const Extent& message, Rank from, const Range& range);
  Status add(const KernelCall& call, const kernels::EntriesView& view, Rank from);

  std::span<const kernels::EntriesView> views() const { return {views_, count_}; }
  const std::uint32_t* const* before() const { return before_; }
  std::size_t length() const { return length_; }

 private:
  kernels::EntriesView* views_;
  const std::uint32_t** before_;
  std::uint32_t* tables_;
  std::size_t length_, count_ = 0;
};

/// Writes the message of a range to `to`, and returns its bytes. The places of the list count from the range's start.
std::size_t write_message(const KernelCall& call, const kernels::EntriesView& list, const Range& range, std::byte* to);
/// Writes the message of a range to a port, which tells the bytes.
void write_message(const KernelCall& call, const kernels::EntriesView& list, const Range& range,
                   const WriteMessage& to);

/// Sums up the views to the list of the rooms. The places of the sum count from `base` on. An error says that there are
/// more entries than all ranks may send.
Result<List> merge(const KernelCall& call, const MergeRooms& rooms, const Views& views, Scale scale,
                   std::size_t base = 0);
/// Sums up the views, and writes the message of the sum.
Status merge(const KernelCall& call, const MergeRooms& rooms, const Views& views, const Range& range, Scale scale,
             const WriteMessage& to);

/// Ports of a kernel that writes the result: elements of the output, or a list of entries.
struct WriteResult {
  Writes output;
  ViewsRooms views;
  Write places{}, count{}, sums{};  ///< of a list of entries, whose values are the output
};
/// Returns what a kernel writes of the output, with the memory for its views.
WriteResult result_rooms(GraphBuilder& g, std::vector<Region> output, const ViewsInfo& views);

/// Writes a result. Entries must come in the order of their places.
class OutputWriter {
 public:
  OutputWriter(const KernelCall& call, const WriteResult& to) : call_(call), to_(to) {}

  /// Returns Views for one range, of at most `most` messages, in the memory that the kernel has for them.
  Views views(const Range& range, std::size_t most) const { return {to_.views, most, range.length()}; }
  /// Writes the sum of the views, from place `begin` on.
  void add(const Views& views, Scale scale, std::size_t begin);
  /// Ends the result. Returns ok, or an error if there was no room for all entries.
  Status end();

 private:
  const KernelCall& call_;
  const WriteResult& to_;
  std::uint64_t entries_ = 0;
};

}  // namespace lacuna::sparse

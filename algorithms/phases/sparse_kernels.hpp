#pragma once

#include <chrono>
#include <cstdint>
#include <span>

#include "algorithms/phases/sparse.hpp"
#include "kernels/backend.hpp"
#include "runtime/graph/plan.hpp"

/// What the kernels of sparse programs are made of.
namespace lacuna::sparse {

/// Places [begin, end), of which a message is.
struct Range {
  std::int64_t begin = 0, end = 0;
  std::int64_t number = 0;  ///< which range it is

  std::size_t length() const { return static_cast<std::size_t>(end - begin); }
};
/// That of a rank, in a table of all.
Range range_of(const Extent& table, Rank rank);
/// All places.
Range all_places(const PartView& part);
/// One of so many pieces of equal length of all places.
Range piece_range(const PartView& part, std::int64_t piece, std::int64_t of);

/// What buffers of the selection hold, and Backend's workspace: capacities.
std::size_t most_selected(const PartView& part);
std::size_t workspace_bytes(const PartView& part);
/// The format of a message of so many entries, as the form asks for it.
kernels::Format format_of(const Form& form, Dtype dtype, std::size_t entries, std::size_t places);
/// Bytes of the longest message of at most so many entries.
std::size_t longest_message(const PartView& part, std::size_t entries, std::size_t places);

/// The same of the sum of one range, and its entries at most.
std::size_t most_message_bytes(const PartView& part);
std::size_t most_merged(const PartView& part);

/// What a sum is scaled by: avg divides.
Scale scale_of(const PartView& part);

/// How many positions a rank stands before the own one.
std::size_t distance_to(const PartView& part, Rank rank);
/// The rank so many positions after the own one.
Rank rank_at(const PartView& part, std::int64_t distance);

/// Tells the time of its life to a measure of the call.
class Stopwatch {
 public:
  Stopwatch(const KernelCall& call, const Measure& measure) : measures_(call.counted.measures), measure_(measure) {}
  ~Stopwatch() {
    measures_.tell(measure_, std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count());
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  MeasureValues& measures_;
  const Measure& measure_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// A list of entries in memory of the part, sorted by place.
struct List {
  std::uint32_t* places = nullptr;
  std::byte* values = nullptr;
  std::size_t count = 0;  ///< or, of one that is to be written, room
  Dtype dtype = Dtype::F32;

  /// Of the two buffers.
  static List of(const Extent& places, const Extent& values, std::size_t count);
  /// Its entries [begin, end).
  static List of(const Extent& places, const Extent& values, std::size_t begin, std::size_t end);
  /// Its entries in a range, their places counted from where that begins.
  kernels::EntriesView in(const Range& range) const;
  kernels::EntriesView all() const { return in({0, std::int64_t{1} << 32, 0}); }
};

/// What a kernel that merges writes, in this order: a list, the memory of views, places that are summed up; and the
/// message of the list, if it makes one.
struct ListRooms {
  Region places, values, views, sums;

  std::vector<Region> regions() const { return {places, values, views, sums}; }
};
struct MergeRooms : ListRooms {
  Region message;

  std::vector<Region> regions() const { return joined(ListRooms::regions(), {message}); }
};
enum MergeRoom : std::size_t { merged_places, merged_values, merged_views, merged_sums, merged_message };

/// What of several ranks is to be added: messages, which are checked, and lists. In memory of the part (views_room).
class Views {
 public:
  /// So many at most, each of so many places.
  Views(const Extent& room, std::size_t most, std::size_t length);
  /// In merge rooms, of as many as there are ranks.
  static Views of(const KernelCall& call, const Range& range) {
    return {call.writes[merged_views], static_cast<std::size_t>(call.part.size), range.length()};
  }

  /// Ok, or what is wrong with the message of that rank.
  Status add_message(const KernelCall& call, const Extent& message, Rank from, const Range& range);
  Status add(const kernels::EntriesView& view, Rank from);

  std::span<const kernels::EntriesView> views() const { return {views_, count_}; }
  const std::uint32_t* const* before() const { return before_; }
  std::size_t length() const { return length_; }

 private:
  kernels::EntriesView* views_;
  const std::uint32_t** before_;
  std::uint32_t* tables_;
  std::size_t length_, count_ = 0;
};
/// Memory of Views of as many as there are ranks, and of a single one, of a range each.
extern const BufferInfo views_room, view_room;

/// Writes the message of a range, of entries of a list whose places count from its begin; returns its bytes.
std::size_t write_message(const KernelCall& call, const kernels::EntriesView& list, const Range& range, std::byte* to);

/// Of messages of a range each, whose sum has so many entries at most; the rest may serve several steps.
ListRooms list_rooms(GraphBuilder& g, std::size_t (*most)(const PartView& part) = most_merged);
/// The same for a list that has its room already.
ListRooms list_rooms(GraphBuilder& g, const Selection& list);
MergeRooms merge_rooms(GraphBuilder& g);
/// Room for the message of a range; one more beside merge_rooms().
Region message_room(GraphBuilder& g);

/// Writes the message of a range, of the sum of the views, and defines the call's first value as its bytes; the call
/// writes merge rooms. An error says that there is more than all ranks may send.
Status merge(const KernelCall& call, const Views& views, const Range& range, Scale scale);
/// The sum in the list of the rooms, of which it needs no message; its places count from `base` on.
Result<List> merged_list(const KernelCall& call, const Views& views, Scale scale, std::size_t base = 0);

/// Where a result goes: all elements of the output or, as entries, the list that the call has brought, whose places
/// then come in order. For steps that write result_rooms().
class OutputWriter {
 public:
  /// Of what the step writes of the output.
  OutputWriter(const KernelCall& call, const Extent& values);

  /// Views for one range, so many at most, in the memory that the step has for them.
  Views views(const Range& range, std::size_t most) const;
  /// The sum of the views, from place `begin` on.
  void add(const Views& views, Scale scale, std::size_t begin);
  /// Ok, or that there is no room for all entries.
  Status end();

 private:
  const KernelCall& call_;
  Extent values_;
  bool listed_;
  std::uint64_t entries_ = 0;
};
/// What steps that write a result write: what they do of the output, the memory of views and, for entries, of sums.
std::vector<Region> result_rooms(GraphBuilder& g, std::vector<Region> output, const BufferInfo& views);

}  // namespace lacuna::sparse

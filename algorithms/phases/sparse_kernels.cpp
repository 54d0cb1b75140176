#include "algorithms/phases/sparse_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "algorithms/phases/entry_lists.hpp"
#include "runtime/method/method.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::sparse {
namespace {

using kernels::EntriesView;

std::size_t ranges_of(const PartView& part) { return ranks_of(part) * static_cast<std::size_t>(form_of(part).chunks); }

/// Returns how many places the longest range may have.
std::size_t longest_range(const PartView& part) {
  const std::size_t places = places_of(part);
  const Form form = form_of(part);
  return form.bins > 0 || !form.ranged ? places : std::min(places, places / ranges_of(part) + 1);
}

/// These are the bytes of Views of one message, and of as many messages as there are ranks.
std::size_t bytes_of_view(const PartView&) { return sizeof(EntriesView) + sizeof(std::uint32_t*); }
std::size_t bytes_of_views(const PartView& part) { return ranks_of(part) * bytes_of_view(part); }
std::size_t words_of_table(const PartView& part) { return kernels::blocks_of(longest_range(part)) + 1; }
std::size_t words_of_tables(const PartView& part) { return ranks_of(part) * words_of_table(part); }

constexpr ViewsInfo views_of(std::size_t (*bytes)(const PartView&), std::size_t (*words)(const PartView&)) {
  return {.views = {.element = Dtype::U8, .capacity = bytes, .memory = MemoryKind::Host},
          .tables = {.element = Dtype::I32, .capacity = words}};
}
ViewsRooms rooms_of(GraphBuilder& g, const ViewsInfo& info) { return {g.buffer(info.views), g.buffer(info.tables)}; }

/// A device merges many places at a time, because each pass costs it several launches. The host's fit into a cache.
std::size_t places_at_a_time(const PartView& part) {
  constexpr std::size_t least = kernels::Backend::merge_places;
  return is_on_device(part.call.memory.kind) ? std::clamp(2 * places_of(part), least, 64 * least) : least;
}

}  // namespace

std::size_t entries_asked(double density, std::size_t k, std::size_t places) {
  const double share = std::round(density * static_cast<double>(places));
  const std::size_t entries = k > 0 ? k : static_cast<std::size_t>(share);
  return std::clamp<std::size_t>(entries, std::min<std::size_t>(places, 1), places);
}

std::size_t places_of(const PartView& part) {
  const bool blocks = traits_of(part.call.collective).input == Holds::Blocks;
  return blocks ? part.count * ranks_of(part) : part.count;
}

std::size_t most_selected(const PartView& part) { return arguments_of(part).room; }

std::size_t workspace_bytes(const PartView&) { return kernels::Backend::workspace_bytes(); }

kernels::Format format_of(const Form& form, Dtype dtype, std::size_t entries, std::size_t places) {
  constexpr std::size_t first = 1;  // MessageFormat names kernels::Format after Shortest, in the same order
  static_assert(std::equal(std::begin(message_format_names) + first, std::end(message_format_names),
                           kernels::format_names.begin(), kernels::format_names.end()));
  if (form.format == MessageFormat::Shortest) return kernels::shortest_format(dtype, entries, places);
  return kernels::all_formats[static_cast<std::size_t>(form.format) - first];
}

std::size_t longest_message(const PartView& part, std::size_t entries, std::size_t places) {
  const Dtype dtype = part.call.dtype;
  const Form form = form_of(part);
  if (form.format == MessageFormat::Shortest) return kernels::longest_message(dtype, entries, places);
  return kernels::message_bytes(format_of(form, dtype, entries, places), dtype, entries, places);
}

/// If messages are capped, a sum has the entries of one message and the rank's own entries.
std::size_t most_merged(const PartView& part) {
  const std::size_t places = longest_range(part);
  const std::size_t terms = form_of(part).capped ? 2 : ranks_of(part);
  const std::size_t room = arguments_of(part).room;
  return room < places / terms ? room * terms : places;
}

std::size_t most_message_bytes(const PartView& part) {
  return longest_message(part, most_merged(part), longest_range(part));
}

Range all_places(const PartView& part) { return {0, static_cast<std::int64_t>(places_of(part)), 0}; }

Range piece_range(const PartView& part, std::int64_t piece, std::int64_t of) {
  const auto bound = [&](std::int64_t i) {
    return static_cast<std::int64_t>(
        boundary(static_cast<std::size_t>(i), places_of(part), static_cast<std::size_t>(of)));
  };
  return {bound(piece), bound(piece + 1), piece};
}

Scale scale_of(const PartView& part) { return scale_of_scaled_terms(part.call.reduction, part.size); }

double factor_of_terms(const PartView& part) {
  return traits_of(part.call.collective).reduces ? lacuna::factor_of_terms(part.call.reduction, part.size) : 1;
}

std::size_t distance_to(const PartView& part, Rank rank) {
  return static_cast<std::size_t>((part.position - rank + part.size) % part.size);
}

Rank rank_at(const PartView& part, std::int64_t distance) {
  return static_cast<Rank>((part.position + distance) % part.size);
}

List List::of(const Extent& places, const Extent& values, std::size_t begin, std::size_t end) {
  return {reinterpret_cast<std::uint32_t*>(places.data) + begin, values.data + begin * size_of(values.dtype),
          end - begin, values.dtype};
}

EntriesView List::all(std::size_t base) const {
  return {.format = kernels::Format::Coordinates,
          .entries = static_cast<std::uint32_t>(count),
          .base = static_cast<std::uint32_t>(base),
          .places = reinterpret_cast<const std::byte*>(places),
          .values = values};
}

EntriesView List::in(const KernelCall& call, const Range& range) const {
  const auto begin = static_cast<std::size_t>(range.begin);
  kernels::Between found;
  call.backend.find_range(all_places(), begin, static_cast<std::size_t>(range.end), &found);
  const List part{places + found.first, values + found.first * size_of(dtype), found.last - found.first, dtype};
  return part.all(begin);
}

void scale_terms(const KernelCall& call, const List& selected) {
  const double factor = factor_of_terms(call.part);
  if (factor == 1) return;
  call.backend.copy({.multiplier = factor}, {selected.dtype, selected.values, selected.count}, selected.values);
}

kernels::EntriesList room_in(const Extent& places, const Extent& values, std::size_t base) {
  return {reinterpret_cast<std::uint32_t*>(places.data), values.data, places.count, static_cast<std::uint32_t>(base)};
}

const ViewsInfo views_room = views_of(bytes_of_views, words_of_tables);
const ViewsInfo view_room = views_of(bytes_of_view, words_of_table);

Views::Views(const ViewsRooms& rooms, std::size_t most, std::size_t length)
    : views_(reinterpret_cast<EntriesView*>(rooms.views->data)),
      before_(reinterpret_cast<const std::uint32_t**>(views_ + most)),
      tables_(reinterpret_cast<std::uint32_t*>(rooms.tables->data)),
      length_(length) {}

Status Views::add_message(const KernelCall& call, const Extent& message, Rank from, const Range& range) {
  const auto number = static_cast<std::size_t>(range.number);
  const auto view =
      kernels::view_of(call.backend, {message.data, message.bytes()}, call.part.call.dtype, number, range.length());
  if (view) return add(call, *view, from);
  return {Code::Mismatch, fmt::format("the message of rank {}: {}", from, view.status().message())};
}

Status Views::add(const KernelCall& call, const EntriesView& view, Rank from) {
  std::uint32_t* table = tables_ + count_ * (kernels::blocks_of(length_) + 1);
  std::uint64_t sound = 0;
  call.backend.index(view, length_, table, &sound);
  if (sound == 0) {
    return {Code::Mismatch,
            fmt::format("the message of rank {}: it has {}, whose places must ascend within the {} that it is for",
                        from, count_of(view.entries, "entry"), length_)};
  }
  views_[count_] = view;
  before_[count_++] = table;
  return {};
}

std::size_t write_message(const KernelCall& call, const EntriesView& list, const Range& range, std::byte* to) {
  const Dtype dtype = call.part.call.dtype;
  const kernels::EntriesHeader header{.entries = list.entries,
                                      .length = static_cast<std::uint32_t>(range.length()),
                                      .segment = static_cast<std::uint32_t>(range.number),
                                      .format = format_of(form_of(call.part), dtype, list.entries, range.length()),
                                      .dtype = dtype};
  call.backend.encode(header, list, to);
  return kernels::message_bytes(header.format, dtype, header.entries, header.length);
}

kernels::Cut cut_of_largest(const KernelCall& call, kernels::Source from, std::uint64_t k, const Write& workspace) {
  kernels::Cut cut;
  call.backend.largest(from, k, workspace->data, &cut);
  return cut;
}

void write_message(const KernelCall& call, const EntriesView& list, const Range& range, const WriteMessage& to) {
  *to.bytes = write_message(call, list, range, to.room->data);
}

Region message_room(GraphBuilder& g) { return g.buffer({.element = Dtype::U8, .capacity = most_message_bytes}); }

Region workspace_room(GraphBuilder& g) { return g.buffer({.element = Dtype::U8, .capacity = workspace_bytes}); }

WriteList list_room(GraphBuilder& g, std::size_t (*most)(const PartView& part)) {
  const Region places = g.buffer({.element = Dtype::I32, .capacity = most});
  return {places, g.buffer({.capacity = most})};
}

MergeRooms merge_rooms(GraphBuilder& g, std::size_t (*most)(const PartView& part)) {
  return merge_rooms(g, list_room(g, most));
}

MergeRooms merge_rooms(GraphBuilder& g, const WriteList& list) {
  const ViewsRooms views = rooms_of(g, views_room);
  return {list, views, g.buffer({.capacity = places_at_a_time})};
}

Result<List> merge(const KernelCall& call, const MergeRooms& rooms, const Views& views, Scale scale, std::size_t base) {
  const Extent& sums = *rooms.sums;
  std::uint64_t count = 0;
  call.backend.merge(views.views(), views.before(), scale, views.length(), {sums.dtype, sums.data, sums.count},
                     rooms.list.to(base), &count);
  if (count <= rooms.list.room()) return rooms.list.list(count);
  return Status(Code::Mismatch, fmt::format("the ranks have sent {} of a range, at most {} were agreed on",
                                            count_of(count, "entry"), rooms.list.room()));
}

Status merge(const KernelCall& call, const MergeRooms& rooms, const Views& views, const Range& range, Scale scale,
             const WriteMessage& to) {
  Result<List> list = [&] {
    const Stopwatch watch(call, measure::merge_time);
    return merge(call, rooms, views, scale);
  }();
  if (!list) return list.status();
  const Stopwatch watch(call, measure::pack_time);
  write_message(call, list->all(), range, to);
  return {};
}

WriteResult result_rooms(GraphBuilder& g, std::vector<Region> output, const ViewsInfo& views) {
  if (!form_of(g).listed) return {.output = std::move(output), .views = rooms_of(g, views)};
  const OutputList list = output_list(g);
  return {.output = std::vector{list.values},
          .views = rooms_of(g, views),
          .places = list.places,
          .count = list.count,
          .sums = g.buffer({.capacity = places_at_a_time})};
}

void OutputWriter::add(const Views& views, Scale scale, std::size_t begin) {
  const std::span<const EntriesView> all = views.views();
  const Extent& output = to_.output.front();
  if (to_.sums) {
    const Extent& sums = *to_.sums;
    call_.backend.merge(all, views.before(), scale, views.length(), {sums.dtype, sums.data, sums.count},
                        room_in(*to_.places, output, begin), &entries_);
  } else {
    std::byte* to = output.data + begin * size_of(output.dtype);
    call_.backend.sum(all, views.before(), scale, {output.dtype, to, views.length()}, &entries_);
  }
}

Status OutputWriter::end() {
  call_.measures.tell(measure::result, static_cast<double>(entries_));
  if (!to_.count) return {};
  std::memcpy(to_.count->data, &entries_, sizeof(entries_));
  if (entries_ <= to_.places->count) return {};
  return {Code::InvalidArgument,
          fmt::format("the result has {}, the output has room for {}", count_of(entries_, "entry"), to_.places->count)};
}

}  // namespace lacuna::sparse

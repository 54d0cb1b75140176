#include "algorithms/phases/sparse_accumulator.hpp"

#include <fmt/format.h>

namespace lacuna::sparse {
namespace {

using kernels::backend;

std::size_t entries_given(const PartView& part) { return part.call.input_entries.count; }

std::size_t blocks_of_input(const PartView& part) {
  return traits_of(part.call.collective).input == Holds::Blocks ? static_cast<std::size_t>(part.size) : 1;
}

}  // namespace

kernels::Target all_of(std::span<const Extent> blocks) {
  std::size_t count = 0;
  for (const Extent& block : blocks) count += block.count;
  return {blocks.front().dtype, blocks.front().data, count};
}

std::vector<Region> accumulator_rooms(GraphBuilder& g) {
  std::vector<Region> rooms;
  const Form form = form_of(g);
  if (form.feedback) rooms = whole_array(g, residual_array);
  if (form.velocity) rooms = joined(std::move(rooms), whole_array(g, velocity_array));
  return rooms;
}

std::vector<Region> entry_rooms(GraphBuilder& g) {
  std::vector<Region> rooms;
  for (int list = 0; list < 2; ++list) {
    rooms.push_back(g.buffer({.element = Dtype::I32, .capacity = entries_given}));
    rooms.push_back(g.buffer({.capacity = entries_given}));
  }
  rooms.push_back(g.buffer({.element = Dtype::U8, .capacity = workspace_bytes}));
  return rooms;
}

Accumulator::Accumulator(const KernelCall& call, std::span<const Extent> input)
    : rest_(call.writes), feeds_back_(form_of(call.part).feedback) {
  const std::size_t blocks = blocks_of_input(call.part);
  if (!input.empty()) input_ = all_of(input);
  const auto next = [&] {
    const kernels::Target all = all_of(rest_.first(blocks));
    rest_ = rest_.subspan(blocks);
    return all;
  };
  from_ = feeds_back_ ? next() : input_;
  if (form_of(call.part).velocity) velocity_ = next();
}

kernels::Source Accumulator::part(const Range& range) const {
  return {from_.dtype, from_.data + static_cast<std::size_t>(range.begin) * size_of(from_.dtype), range.length()};
}

void Accumulator::feed_back(const kernels::FeedBack& by, const Range& range) const {
  const std::size_t offset = static_cast<std::size_t>(range.begin) * size_of(from_.dtype);
  std::byte* const moving = velocity_.data ? velocity_.data + offset : nullptr;
  backend().feed_back(by, {from_.dtype, from_.data + offset, range.length()}, moving, input_.data + offset);
}

void Accumulator::add(const List& entries) const {
  backend().add_at({entries.places, entries.count}, entries.values, from_);
}

void Accumulator::clear_at(std::span<const std::uint32_t> places, bool masks) const {
  if (feeds_back_) backend().clear_at(places, from_);
  if (velocity_.data && masks) backend().clear_at(places, velocity_);
}

Result<List> sorted_entries(const KernelCall& call, std::span<const Extent> rooms) {
  const Call& asked = call.part.call;
  const std::size_t entries = asked.input_entries.count, places = places_of(call.part);
  List sorted = List::of(rooms[0], rooms[1], 0);
  const List spare = List::of(rooms[2], rooms[3], 0);
  const auto room = [&](const List& list) { return kernels::EntriesList{list.places, list.values, entries}; };
  const kernels::EntriesView all{.entries = static_cast<std::uint32_t>(entries),
                                 .places = reinterpret_cast<const std::byte*>(asked.input_entries.places),
                                 .values = static_cast<const std::byte*>(asked.input)};
  std::uint64_t taken = 0, sound = 0;
  backend().sort(asked.dtype, all, places, room(sorted), room(spare), rooms[entry_workspace].data, &taken, &sound);
  sorted.count = taken;
  if (sound == 1) return sorted;
  const std::span<const std::uint32_t> given(asked.input_entries.places, entries);
  const auto wrong = std::find_if(given.begin(), given.end(), [&](std::uint32_t place) { return place >= places; });
  return Status(Code::InvalidArgument,
                fmt::format("entry {} of the input has the place {}, must be less than the number of elements, {}",
                            wrong - given.begin(), *wrong, places));
}

kernels::Cut cut_of_largest(kernels::Source from, std::uint64_t k, const Extent& workspace) {
  kernels::Cut cut;
  backend().largest(from, k, workspace.data, &cut);
  return cut;
}

}  // namespace lacuna::sparse

#include "algorithms/phases/sparse_accumulator.hpp"

#include <fmt/format.h>

namespace lacuna::sparse {
namespace {

std::size_t entries_given(const PartView& part) { return part.call.input_entries.count; }

}  // namespace

kernels::Target all_of(std::span<const Extent> blocks) {
  std::size_t count = 0;
  for (const Extent& block : blocks) count += block.count;
  return {blocks.front().dtype, blocks.front().data, count};
}

WriteAccumulator accumulator_rooms(GraphBuilder& g) {
  WriteAccumulator rooms;
  const Form form = form_of(g);
  if (form.feedback) rooms.residual = whole_array(g, residual_array);
  if (form.velocity) rooms.velocity = whole_array(g, velocity_array);
  return rooms;
}

NotFiniteRooms rooms_to_drop(GraphBuilder& g) { return form_of(g).feedback ? not_finite_rooms(g) : NotFiniteRooms{}; }

Accumulator::Accumulator(const KernelCall& call, const WriteAccumulator& rooms, const Reads& input)
    : backend_(call.backend), feeds_back_(!rooms.residual.empty()) {
  if (!input.empty()) input_ = all_of(input);
  from_ = feeds_back_ ? all_of(rooms.residual) : input_;
  if (!rooms.velocity.empty()) velocity_ = all_of(rooms.velocity);
}

kernels::Source Accumulator::part(const Range& range) const {
  return {from_.dtype, from_.data + static_cast<std::size_t>(range.begin) * size_of(from_.dtype), range.length()};
}

void Accumulator::feed_back(const kernels::FeedBack& by, const Range& range) const {
  const std::size_t offset = static_cast<std::size_t>(range.begin) * size_of(from_.dtype);
  std::byte* const moving = velocity_.data ? velocity_.data + offset : nullptr;
  backend_.feed_back(by, {from_.dtype, from_.data + offset, range.length()}, moving, input_.data + offset);
}

void Accumulator::add(const List& entries) const { backend_.add_at(entries.all_places(), entries.values, from_); }

void Accumulator::clear_at(std::span<const std::uint32_t> places, bool masks) const {
  if (feeds_back_) backend_.clear_at(places, from_);
  if (velocity_.data && masks) backend_.clear_at(places, velocity_);
}

bool Accumulator::drop_not_finite(const KernelCall& call, const List& selected, const NotFiniteRooms& rooms) const {
  if (count_not_finite(call.backend, {selected.dtype, selected.values, selected.count}) == 0) return true;
  if (!feeds_back_) return false;
  call.measures.tell(dropped_elements, static_cast<double>(lacuna::drop_not_finite(backend_, from_, rooms)));
  if (velocity_.data) lacuna::drop_not_finite(backend_, velocity_, rooms);
  return false;
}

SortEntries sort_entries(GraphBuilder& g) {
  return {.brought = input_entries(g),
          .sorted = list_room(g, entries_given),
          .spare = list_room(g, entries_given),
          .workspace = workspace_room(g)};
}

Result<List> SortEntries::run(const KernelCall& call) const {
  const std::size_t all_places = places_of(call.part);
  const kernels::EntriesView all{.entries = static_cast<std::uint32_t>(brought.places->count),
                                 .places = brought.places->data,
                                 .values = brought.values->data};
  std::uint64_t taken = 0, sound = 0;
  call.backend.sort(brought.values->dtype, all, all_places, sorted.to(), spare.to(), workspace->data, &taken, &sound);
  if (sound == 1) return sorted.list(taken);
  kernels::Beyond wrong;
  call.backend.find_beyond({reinterpret_cast<const std::uint32_t*>(all.places), all.entries}, all_places, &wrong);
  return Status(Code::InvalidArgument,
                fmt::format("entry {} of the input has the place {}, must be less than the number of elements, {}",
                            wrong.entry, wrong.place, all_places));
}

}  // namespace lacuna::sparse

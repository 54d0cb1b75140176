#include "algorithms/phases/feedback.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "algorithms/phases/not_finite.hpp"
#include "runtime/values/count_of.hpp"
#include "runtime/values/method_state.hpp"

namespace lacuna {
namespace {

/// Adds the input to the residual piece by piece, so that a program can start with the pieces that it needs first.
void add_to_residual(GraphBuilder& g) {
  const Region residual = g.buffer({.role = Role::State, .name = residual_array});
  std::vector<Region> input;
  for (Rank piece = 0; piece < g.size(); ++piece) input.push_back(g.input(piece));
  g.replace(Buffer::Input, residual.buffer);
  for (Rank piece = 0; piece < g.size(); ++piece) g.reduce(g.input(piece), input[static_cast<std::size_t>(piece)]);
}

/// Tells in the result that a sum which is left out is not finite.
struct TellNotFinite {
  static constexpr std::string_view name = "tell what is not finite";
  Read left_out;
  Write told;
  NotFiniteRooms rooms;

  Status operator()(const KernelCall& call) const {
    std::uint64_t dropped = 0;
    list_not_finite(call.backend, {left_out->dtype, left_out->data, left_out->count}, rooms, &dropped);
    if (dropped == 0 || told->count == 0) return {};
    call.backend.copy({}, {told->dtype, told->data, 1}, rooms.values->data);
    return {};
  }
};

/// Drops what has stayed in the residual and is not finite.
struct DropNotFinite {
  static constexpr std::string_view name = "drop what is not finite";
  Writes kept;
  NotFiniteRooms rooms;

  Status operator()(const KernelCall& call) const {
    std::uint64_t dropped = 0;
    for (const Extent& region : kept) {
      dropped += drop_not_finite(call.backend, {region.dtype, region.data, region.count}, rooms);
    }
    call.measures.tell(dropped_elements, static_cast<double>(dropped));
    return {};
  }
};

/// What a program does with the residual.
struct Uses {
  std::vector<Region> contributed;  ///< what it reads
  std::vector<Region> kept;         ///< what its kernels write, and keep finite
  std::vector<Region> left_out;     ///< what leave_out() has kept; nothing else copies into the residual
};

void add_new(std::vector<Region>& all, const std::vector<Region>& more) {
  for (const Region& region : more) {
    if (std::find(all.begin(), all.end(), region) == all.end()) all.push_back(region);
  }
}

/// Adds what a step does with the residual. If it writes there, it keeps what it reads.
void add_uses(GraphBuilder& g, const Step& step, Buffer residual, Uses& uses) {
  std::vector<Region> read, written;
  g.each_access(step, [&](const Region& region, bool is_written) {
    if (region.buffer != residual) return;
    if (region.is_counted()) g.refuse("feedback of a region whose length only a value tells");
    (is_written ? written : read).push_back(region);
  });
  if (written.empty()) add_new(uses.contributed, read);
  if (step.kind == StepKind::Copy) add_new(uses.left_out, written);
  if (step.kind == StepKind::Kernel) add_new(uses.kept, written);
}

/// Returns what stays: what the program does not read, and what it leaves out. A symmetric program has nothing but
/// pieces of the positions, which then stay alone.
std::vector<Region> staying(const Uses& uses, Buffer residual, Rank size) {
  std::uint32_t of = 1;
  for (const auto* regions : {&uses.contributed, &uses.kept, &uses.left_out}) {
    for (const Region& region : *regions) of = std::lcm(of, region.of);
  }
  std::vector<bool> stays(of, true);
  const auto mark = [&](const std::vector<Region>& regions, bool value) {
    for (const Region& region : regions) {
      const std::uint32_t each = of / region.of;
      std::fill(stays.begin() + region.begin * each, stays.begin() + region.end * each, value);
    }
  };
  mark(uses.contributed, false);
  mark(uses.kept, false);
  mark(uses.left_out, true);
  std::vector<Region> all;
  for (std::uint32_t begin = 0, end = 0; begin < of; begin = end) {
    for (++end; end < of && stays[end] == stays[begin] && of != static_cast<std::uint32_t>(size);) ++end;
    if (stays[begin]) all.push_back({.buffer = residual, .of = of, .begin = begin, .end = end});
  }
  return all;
}

/// Clears the region without what was left out. It goes by pieces so small that each was left out as a whole or not at
/// all.
void clear_but(GraphBuilder& g, const std::vector<Region>& left_out, const Region& region) {
  std::uint32_t of = region.of;
  for (const Region& left : left_out) of = std::lcm(of, left.of);
  const auto is_left_out = [&](std::uint32_t piece) {
    return std::any_of(left_out.begin(), left_out.end(), [&](const Region& left) {
      return piece >= left.begin * (of / left.of) && piece < left.end * (of / left.of);
    });
  };
  const std::uint32_t end = region.end * (of / region.of);
  for (std::uint32_t begin = region.begin * (of / region.of), next = begin; begin < end; begin = next) {
    const bool stays = is_left_out(begin);
    while (next < end && is_left_out(next) == stays) ++next;
    if (!stays) g.clear({.buffer = region.buffer, .of = of, .begin = begin, .end = next});
  }
}

void clear_contributed(GraphBuilder& g) {
  const Buffer residual = g.stands_for(Buffer::Input);
  Uses uses;
  for (const Step& step : g.steps()) add_uses(g, step, residual, uses);
  if (!g.status()) return;
  for (const Region& region : uses.contributed) clear_but(g, uses.left_out, region);
  const std::vector<Region> kept = staying(uses, residual, g.size());
  if (!kept.empty()) g.kernel(DropNotFinite{.kept = kept, .rooms = not_finite_rooms(g)});
}

}  // namespace

extern const Frame feedback_frame = {.name = "feedback", .before = add_to_residual, .after = clear_contributed};

void leave_out(GraphBuilder& g, Region partial, Region told) {
  const Buffer residual = g.stands_for(Buffer::Input);
  if (g.frame() != &feedback_frame) return;
  if (!told.is_signal()) g.kernel(TellNotFinite{.left_out = partial, .told = told, .rooms = not_finite_rooms(g)});
  if (partial.buffer == residual) return;
  Region place = partial;
  place.buffer = residual;
  place.at_start = false;
  g.copy(place, partial);
}

Status check_residual(const Call& call, Rank size) {
  const StateArray* residual = call.options.state ? call.options.state->find(residual_array) : nullptr;
  if (!residual) return {};
  if (residual->dtype != call.dtype) {
    return {Code::InvalidArgument, fmt::format("the residual of this state is of {}, the call of {}",
                                               to_string(residual->dtype), to_string(call.dtype))};
  }
  const std::size_t bytes = input_length(call, size) * size_of(call.dtype);
  if (residual->bytes.size() == bytes) return {};
  return {Code::InvalidArgument, fmt::format("the residual of this state has {}, the call's input {}: they must "
                                             "be equal, or the state without one",
                                             count_of(residual->bytes.size(), "byte"), bytes)};
}

}  // namespace lacuna

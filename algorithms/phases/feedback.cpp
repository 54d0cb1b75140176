#include "algorithms/phases/feedback.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

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

/// Returns the regions of the residual that leave_out() has kept. Nothing else copies into the residual.
std::vector<Region> left_out_of(const GraphBuilder& g, Buffer residual) {
  std::vector<Region> left_out;
  for (const Step& step : g.steps()) {
    if (step.kind == StepKind::Copy && step.to.buffer == residual) left_out.push_back(step.to);
  }
  return left_out;
}

/// Adds what a step reads of the residual, unless the step keeps the residual itself.
void add_contributed(GraphBuilder& g, const Step& step, Buffer residual, std::vector<Region>& contributed) {
  std::vector<Region> read;
  bool keeps_it = false;
  g.each_access(step, [&](const Region& region, bool is_written) {
    if (region.buffer != residual) return;
    if (region.is_counted()) g.refuse("feedback of a region whose length only a value tells");
    keeps_it = keeps_it || is_written;
    if (!is_written) read.push_back(region);
  });
  for (const Region& region : read) {
    const bool is_new = std::find(contributed.begin(), contributed.end(), region) == contributed.end();
    if (is_new && !keeps_it) contributed.push_back(region);
  }
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
  const std::vector<Region> left_out = left_out_of(g, residual);
  std::vector<Region> contributed;
  for (const Step& step : g.steps()) add_contributed(g, step, residual, contributed);
  if (!g.status()) return;
  for (const Region& region : contributed) clear_but(g, left_out, region);
}

}  // namespace

extern const Frame feedback_frame = {.name = "feedback", .before = add_to_residual, .after = clear_contributed};

void leave_out(GraphBuilder& g, Region partial) {
  const Buffer residual = g.stands_for(Buffer::Input);
  if (g.frame() != &feedback_frame || partial.buffer == residual) return;
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

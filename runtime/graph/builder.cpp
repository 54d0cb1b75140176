#include "runtime/graph/builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace lacuna {

GraphBuilder::GraphBuilder(const GraphShape& shape, bool symmetric)
    : shape_(shape),
      symmetric_(symmetric),
      sent_(static_cast<std::size_t>(shape.size)),
      received_(static_cast<std::size_t>(shape.size)) {
  if (symmetric) shape_.position = 0;
  if (shape.structure.feedback) add_residual();
}

/// Piece by piece: a program starts with what it needs first.
void GraphBuilder::add_residual() {
  for (Rank piece = 0; piece < shape_.size; ++piece) {
    const Region to = piece_of(Buffer::Residual, piece);
    Region from = to;
    from.buffer = Buffer::Input;
    add({.kind = StepKind::Reduce, .to = to, .from = in_one_buffer(from)});
  }
}

void GraphBuilder::clear_contributed() {
  std::vector<Region> contributed;
  for (const Step& step : steps_) {
    const bool reads = step.reads() && step.from.buffer == Buffer::Residual;
    if (reads && std::find(contributed.begin(), contributed.end(), step.from) == contributed.end()) {
      contributed.push_back(step.from);
    }
  }
  for (const Region& region : contributed) clear_but_left_out(region);
}

/// In pieces so small that each was left out or not.
void GraphBuilder::clear_but_left_out(const Region& region) {
  std::uint32_t of = region.of;
  for (const Region& left : left_out_) of = std::lcm(of, left.of);
  const auto is_left_out = [&](std::uint32_t piece) {
    return std::any_of(left_out_.begin(), left_out_.end(), [&](const Region& left) {
      return piece >= left.begin * (of / left.of) && piece < left.end * (of / left.of);
    });
  };
  const std::uint32_t end = region.end * (of / region.of);
  for (std::uint32_t begin = region.begin * (of / region.of), next = begin; begin < end; begin = next) {
    const bool kept = is_left_out(begin);
    while (next < end && is_left_out(next) == kept) ++next;
    if (!kept) clear({Buffer::Residual, region.slot, of, begin, next});
  }
}

const Hosts& GraphBuilder::hosts() {
  if (shape_.hosts.size() != shape_.size) {
    refuse("hosts() in a program whose algorithm is not by_hosts");
    shape_.hosts = shape_.size;
  } else if (symmetric_) {
    refuse("hosts() in a symmetric program");
  }
  return shape_.hosts;
}

Region GraphBuilder::canonical(Region region) const {
  if (shape_.structure.feedback && region.buffer == Buffer::Input) region.buffer = Buffer::Residual;
  return in_one_buffer(region);
}

/// In place, the two user buffers are one.
Region GraphBuilder::in_one_buffer(Region region) const {
  if (!shape_.structure.in_place || region.buffer > Buffer::Output) return region;
  const CollectiveTraits& traits = traits_of(shape_.collective);
  const bool output_lies_in_input = traits.input == Holds::Blocks && traits.output == Holds::Data;
  region.buffer = output_lies_in_input ? Buffer::Input : Buffer::Output;
  return region;
}

Region GraphBuilder::piece_of(Buffer buffer, Rank piece) const {
  const auto index = static_cast<std::uint32_t>(wrap(piece));
  return {buffer, 0, static_cast<std::uint32_t>(shape_.size), index, index + 1};
}

Region GraphBuilder::range_of(Buffer buffer, Rank begin, Rank end, Rank of) {
  if (begin < 0 || begin > end || end > of || of < 1) {
    refuse(fmt::format("pieces {} .. {} of {} are no range", begin, end, of));
    begin = end = of = 1;
  }
  return canonical(
      {buffer, 0, static_cast<std::uint32_t>(of), static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)});
}

Region GraphBuilder::scratch(int slot, Region like) {
  if (slot < 0 || slot > 255) refuse(fmt::format("scratch slot {}, must be 0 .. 255", slot));
  like.buffer = Buffer::Scratch;
  like.slot = static_cast<std::uint8_t>(slot);
  return like;
}

Rank GraphBuilder::wrap(Rank value) const {
  const Rank rest = value % shape_.size;
  return rest < 0 ? rest + shape_.size : rest;
}

StepId GraphBuilder::send(Region from, Rank to_peer) {
  const Rank offset = wrap(to_peer - shape_.position);
  const std::uint32_t index = sent_[static_cast<std::size_t>(offset)]++;
  return add({.kind = StepKind::Send, .peer = offset, .index = index, .to = {}, .from = from});
}

StepId GraphBuilder::receive(Region to, Rank from_peer) {
  const Rank offset = wrap(from_peer - shape_.position);
  const std::uint32_t index = received_[static_cast<std::size_t>(offset)]++;
  return add({.kind = StepKind::Receive, .peer = offset, .index = index, .to = to, .from = {}});
}

StepId GraphBuilder::receive_reduce(Region to, Region with, Rank from_peer) {
  const Rank offset = wrap(from_peer - shape_.position);
  const std::uint32_t index = received_[static_cast<std::size_t>(offset)]++;
  return add({.kind = StepKind::ReceiveReduce, .peer = offset, .index = index, .to = to, .from = with});
}

StepId GraphBuilder::copy(Region to, Region from) { return add({.kind = StepKind::Copy, .to = to, .from = from}); }

StepId GraphBuilder::clear(Region region) { return add({.kind = StepKind::Clear, .to = region, .from = {}}); }

void GraphBuilder::leave_out(Region partial) {
  if (!shape_.structure.feedback || partial.buffer == Buffer::Residual) return;
  left_out_.push_back(partial);
  left_out_.back().buffer = Buffer::Residual;
  left_out_.back().slot = 0;
  copy(left_out_.back(), partial);
}

void GraphBuilder::finish(Region region, Rank contributors, Chance chance) {
  const auto last = std::find_if(steps_.rbegin(), steps_.rend(),
                                 [&](const Step& step) { return step.writes() && step.to == region; });
  if (last == steps_.rend() || last->kind == StepKind::Receive)
    return refuse("finish() of what no reduction or copy wrote");
  last->contributors = contributors == 0 ? shape_.size : contributors;
  last->chance = chance;
}

void GraphBuilder::after(StepId step, StepId earlier) {
  if (earlier >= step || step + 1 != steps_.size()) return refuse("after() of another step than the newest");
  if (!is_ancestor(earlier, step)) add_pruned_edges(step, {earlier});
}

/// Where a collective has blocks, a region is one of them: their lengths and places are the call's.
void GraphBuilder::check_block(const Region& region) {
  const bool is_block = region.end == region.begin + 1 && region.of == static_cast<std::uint32_t>(shape_.size);
  if (!has_blocks(shape_.collective) || region.is_signal() || is_block) return;
  refuse(fmt::format("{} has blocks: a region is one of {}, not [{}, {}) of {}", to_string(shape_.collective),
                     shape_.size, region.begin, region.end, region.of));
}

StepId GraphBuilder::add(Step step) {
  const auto id = static_cast<StepId>(steps_.size());
  if (step.reads()) check_block(step.from);
  if (step.writes()) check_block(step.to);
  steps_.push_back(step);
  ancestors_.emplace_back(id);
  std::vector<StepId> earlier;
  if (step.reads()) follow_earlier(id, step.from, false, earlier);
  if (step.writes()) follow_earlier(id, step.to, true, earlier);
  add_pruned_edges(id, std::move(earlier));
  if (step.reads()) live_.push_back({id, step.from, false});
  if (step.writes()) live_.push_back({id, step.to, true});
  return id;
}

void GraphBuilder::refuse(std::string what) {
  if (status_) status_ = {Code::InvalidArgument, fmt::format("position {}: {}", shape_.position, what)};
}

void GraphBuilder::follow_earlier(StepId step, const Region& region, bool write, std::vector<StepId>& earlier) {
  std::erase_if(live_, [&](const Access& access) {
    if (access.step == step || !(write || access.write) || !overlap(access.region, region)) return false;
    earlier.push_back(access.step);
    return write && covers(region, access.region);  // whoever follows that access follows this write
  });
}

void GraphBuilder::add_pruned_edges(StepId step, std::vector<StepId> earlier) {
  std::sort(earlier.begin(), earlier.end(), std::greater<>());
  earlier.erase(std::unique(earlier.begin(), earlier.end()), earlier.end());
  for (StepId before : earlier) {
    if (ancestors_[step][before]) continue;
    edges_.emplace_back(before, step);
    ancestors_[step][before] = true;
    for (StepId i = 0; i < before; ++i) {
      if (ancestors_[before][i]) ancestors_[step][i] = true;
    }
  }
}

bool GraphBuilder::is_ancestor(StepId ancestor, StepId step) const { return ancestors_[step][ancestor]; }

Graph GraphBuilder::build() && {
  if (shape_.structure.feedback) clear_contributed();
  return Graph(shape_, symmetric_, std::move(steps_), edges_, std::move(lacking_));
}

}  // namespace lacuna

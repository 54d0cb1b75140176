#include "runtime/graph/builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace lacuna {

namespace {

std::string_view name_of(Role role) {
  return role == Role::Run ? "the run's memory" : role == Role::State ? "the state's array" : "the caller's memory";
}

}  // namespace

GraphBuilder::GraphBuilder(const GraphShape& shape, bool symmetric)
    : shape_(shape),
      symmetric_(symmetric),
      sent_(static_cast<std::size_t>(shape.size)),
      received_(static_cast<std::size_t>(shape.size)) {
  if (symmetric) shape_.position = 0;
}

const Hosts& GraphBuilder::hosts() {
  if (shape_.hosts.size() != shape_.size) {
    refuse("hosts() is called by a program whose algorithm is not by_hosts");
    shape_.hosts = shape_.size;
  } else if (symmetric_) {
    refuse("hosts() is called by a symmetric program");
  }
  return shape_.hosts;
}

Region GraphBuilder::canonical(Region region) const {
  const Buffer instead = stands_for(region.buffer);
  if (instead == region.buffer) return in_one_buffer(region);
  region.buffer = instead;
  return region;
}

/// In place, the region lies in the larger one of the caller's two buffers.
Region GraphBuilder::in_one_buffer(Region region) const {
  if (!shape_.structure.in_place || region.buffer > Buffer::Output) return region;
  const CollectiveTraits& traits = traits_of(shape_.collective);
  const bool output_lies_in_input = traits.input == Holds::Blocks && traits.output == Holds::Data;
  region.buffer = output_lies_in_input ? Buffer::Input : Buffer::Output;
  return region;
}

Region GraphBuilder::piece_of(Buffer buffer, Rank piece) const {
  const auto index = static_cast<std::uint32_t>(wrap(piece));
  return {.buffer = buffer, .of = static_cast<std::uint32_t>(shape_.size), .begin = index, .end = index + 1};
}

Region GraphBuilder::range_of(Buffer buffer, Rank begin, Rank end, Rank of) {
  if (begin < 0 || begin > end || end > of || of < 1) {
    refuse(fmt::format("pieces {} .. {} of {} are no region", begin, end, of));
    begin = end = of = 1;
  }
  return canonical({.buffer = buffer,
                    .of = static_cast<std::uint32_t>(of),
                    .begin = static_cast<std::uint32_t>(begin),
                    .end = static_cast<std::uint32_t>(end)});
}

Region GraphBuilder::scratch(int number, Region like) {
  if (number < 0 || number > 255) {
    refuse(fmt::format("scratch() is called for block {}, must be 0 .. 255", number));
    number = 0;
  }
  like = in_data(like);
  Buffer& buffer = scratch_[static_cast<std::size_t>(number)];
  if (buffer == Buffer::Input) buffer = add_buffer({});
  BufferInfo& info = tables_.buffers[static_cast<std::size_t>(buffer)];
  const std::uint32_t length = like.end - like.begin;
  if (std::uint64_t{length} * info.pieces > std::uint64_t{info.longest} * like.of) {
    info.longest = length;
    info.pieces = like.of;
  }
  like.buffer = buffer;
  like.at_start = true;
  return like;
}

Region GraphBuilder::room_for(Region like, BufferInfo info) {
  like = in_data(like);
  info.longest = like.end - like.begin;
  info.pieces = like.of;
  like.buffer = add_buffer(info);
  like.at_start = true;
  return like;
}

Region GraphBuilder::mappable(Region region) {
  if (!shape_.structure.maps_copies) return region;
  const Region there = room_for(region, {.mappable = true});
  copy(there, region);
  return there;
}

/// Refuses what is no region of the data.
Region GraphBuilder::in_data(Region like) {
  if (!like.is_counted() && tables_.buffers[static_cast<std::size_t>(like.buffer)].is_like_data()) return like;
  refuse("room is asked for what is no region of the data: buffer() makes memory for that");
  return output();
}

Buffer GraphBuilder::add_buffer(const BufferInfo& info) {
  if (info.memory.value_or(MemoryKind::Host) != MemoryKind::Host)
    refuse("a buffer is to lie in memory of a device, which is not supported yet");
  if (info.role == Role::Run && (info.name.empty() || !info.capacity)) {
    refuse("a buffer in the run's memory must have a name and a capacity");
  }
  if ((info.role == Role::Caller) != (info.locate != nullptr))
    refuse("a buffer must have the role Caller if it has locate(), and only then");
  if (info.role == Role::Run || info.role == Role::State || info.role == Role::Caller) {  // one row for each memory
    const auto same = std::find_if(tables_.buffers.begin(), tables_.buffers.end(), [&](const BufferInfo& one) {
      return one.role == info.role && one.name == info.name;
    });
    if (same != tables_.buffers.end()) {
      if (*same != info) refuse(fmt::format("{} {} is declared in two ways", name_of(info.role), info.name));
      return static_cast<Buffer>(same - tables_.buffers.begin());
    }
  }
  tables_.buffers.push_back(info);
  return static_cast<Buffer>(tables_.buffers.size() - 1);
}

Region GraphBuilder::buffer(const BufferInfo& info) {
  if (info.role == Role::Landed)
    refuse("buffer() is called for a message that lands: receive_landed() makes its buffer");
  BufferInfo whole = info;
  if (whole.role == Role::Scratch) whole.longest = 1;
  return all_of(add_buffer(whole));
}

void GraphBuilder::locate(Buffer callers, Extent (*where)(const PartView& part)) {
  if (callers > Buffer::Output) return refuse("locate() is called for a buffer that is not the caller's");
  if (shape_.structure.in_place) return refuse("locate() is called in place");
  BufferInfo& row = tables_.buffers[static_cast<std::size_t>(callers)];
  row = {.role = Role::Caller, .locate = where, .name = callers == Buffer::Input ? "input" : "output"};
}

std::vector<Region> GraphBuilder::disjoint(std::vector<Region> regions) {
  auto& all = tables_.disjoint;
  const bool fit = std::all_of(regions.begin(), regions.end(), [&](const Region& one) {
    return one.is_counted() && one.apart == 0 && one.buffer == regions.front().buffer;
  });
  if (!fit) refuse("disjoint regions must be counted, lie in one buffer and be declared once");
  if (all.size() == std::numeric_limits<std::uint8_t>::max()) refuse("disjoint() is called more than 255 times");
  if (!status_) return regions;
  for (Region& region : regions) region.apart = static_cast<std::uint8_t>(all.size() + 1);
  all.push_back(regions);
  return regions;
}

Value GraphBuilder::add_value(const ValueInfo& info) {
  tables_.values.push_back(info);
  definitions_.emplace_back();
  return static_cast<Value>(tables_.values.size() - 1);
}

Value GraphBuilder::paired(Rank from, Rank to) {
  const Rank source = wrap(from - shape_.position), target = wrap(to - shape_.position);
  if ((source == 0) == (target == 0)) {
    refuse(fmt::format("a value is paired between positions {} and {}: exactly one of them must be the own one",
                       wrap(from), wrap(to)));
  }
  ValueInfo info{.origin = Origin::Paired, .peer = source + target, .outgoing = source == 0};
  for (const ValueInfo& other : tables_.values) {
    info.name += other.origin == info.origin && other.peer == info.peer && other.outgoing == info.outgoing;
  }
  return add_value(info);
}

void GraphBuilder::define(StepId step, Value value) {
  const auto at = static_cast<std::size_t>(value);
  if (at >= definitions_.size()) return refuse("a step defines a value that the graph does not have");
  if (definitions_[at]) refuse(fmt::format("value {} is defined twice", at));
  definitions_[at] = step;
}

void GraphBuilder::follow_definition(StepId step, Value value, std::vector<StepId>& earlier) {
  if (value == Value::None) return;
  const auto at = static_cast<std::size_t>(value);
  if (at >= definitions_.size() || !definitions_[at])
    return refuse(fmt::format("value {} is read before it is defined", at));
  if (*definitions_[at] != step) earlier.push_back(*definitions_[at]);
}

void GraphBuilder::decide(std::vector<Value> values) {
  for (Value value : values) {
    const auto at = static_cast<std::size_t>(value);
    const bool agreed = at < tables_.values.size() && tables_.values[at].origin == Origin::Agreed;
    if (!agreed) return refuse("decide() must be given agreed values");
  }
  tables_.decides = std::move(values);
}

Rank GraphBuilder::wrap(Rank value) const {
  const Rank rest = value % shape_.size;
  return rest < 0 ? rest + shape_.size : rest;
}

StepId GraphBuilder::send(Region from, Rank to_peer) {
  const Rank offset = wrap(to_peer - shape_.position);
  const std::uint32_t index = sent_[static_cast<std::size_t>(offset)]++;
  const auto length = static_cast<std::size_t>(from.length());
  const bool own_length = length < tables_.values.size() && !is_known_to_both(tables_.values[length].origin);
  return add({.kind = StepKind::Send,
              .peer = offset,
              .index = index,
              .to = {},
              .from = from,
              .carries = is_told(from) || own_length});
}

StepId GraphBuilder::receive(Region to, Rank from_peer) { return add(receiving(StepKind::Receive, to, {}, from_peer)); }

StepId GraphBuilder::receive_reduce(Region to, Region with, Rank from_peer, Brings brings) {
  Step step = receiving(StepKind::ReceiveReduce, to, with, from_peer);
  step.brings_term = brings == Brings::Term;
  return add(step);
}

/// Does the region hold what one rank gave? That is so until something from other ranks is written there.
bool GraphBuilder::is_term(const Region& region) const {
  const Region there = in_memory(shape_, region);
  const auto buffer = static_cast<std::size_t>(there.buffer);
  if (live_.size() <= buffer) return true;
  return std::ranges::none_of(live_[buffer].writes, [&](const Access& access) {
    const Step& step = steps_[access.step];
    const bool has_others = step.receives() || step.meets() || (step.kind == StepKind::Copy && !step.from_is_term);
    return has_others && overlap(access.region, there);
  });
}

/// Do only two ranks know how long this block is, so that its message tells it?
bool GraphBuilder::is_told(const Region& region) const {
  return traits_of(shape_.collective).lengths == Lengths::Told && !region.is_signal() && !region.is_counted();
}

Step GraphBuilder::receiving(StepKind kind, Region to, Region with, Rank from_peer) {
  const Rank offset = wrap(from_peer - shape_.position);
  const std::uint32_t index = received_[static_cast<std::size_t>(offset)]++;
  Step step{.kind = kind, .peer = offset, .index = index, .to = to, .from = with};
  step.carries = is_told(to);
  if (step.carries) step.length = add_value({Origin::Carried});
  return step;
}

Region GraphBuilder::receive_landed(Rank from_peer, BufferInfo landed) {
  landed.role = Role::Landed;
  if (!landed.capacity) refuse("a message that lands needs a capacity: the most that may come");
  const Value length = add_value({Origin::Carried});
  const Region to = counted(all_of(add_buffer(landed)), length);
  Step step = receiving(StepKind::Receive, to, {}, from_peer);
  step.carries = true;
  step.length = length;
  add(step);
  return to;
}

bool GraphBuilder::meets() const {
  return std::any_of(steps_.begin(), steps_.end(), [](const Step& step) { return step.meets(); });
}

StepId GraphBuilder::board_reduce(Region to, Region from) {
  if (meets()) refuse("board_reduce() is called twice: a part has one row of the board");
  return add({.kind = StepKind::BoardReduce, .to = to, .from = from});
}

StepId GraphBuilder::copy(Region to, Region from) { return add({.kind = StepKind::Copy, .to = to, .from = from}); }

StepId GraphBuilder::reduce(Region to, Region from) { return add({.kind = StepKind::Reduce, .to = to, .from = from}); }

StepId GraphBuilder::clear(Region region) { return add({.kind = StepKind::Clear, .to = region, .from = {}}); }

StepId GraphBuilder::add_kernel(KernelStep step) {
  const auto row = static_cast<std::uint32_t>(tables_.kernels.size());
  tables_.kernels.push_back(std::move(step));
  return add({.kind = StepKind::Kernel, .index = row, .to = {}, .from = {}});
}

void GraphBuilder::finish(Region region, Rank contributors, std::uint64_t note) {
  const auto last = std::find_if(steps_.rbegin(), steps_.rend(),
                                 [&](const Step& step) { return step.writes() && step.to == region; });
  if (last == steps_.rend() || last->kind == StepKind::Receive)
    return refuse("finish() is called for a region that no reduction or copy wrote");
  if (contributors < 0 || contributors > shape_.size)
    return refuse(fmt::format("finish() is called for a sum of {} ranks, must be 1 .. {}", contributors, shape_.size));
  last->contributors = contributors == 0 ? shape_.size : contributors;
  last->note = note;
}

void GraphBuilder::after(StepId step, StepId earlier) {
  if (earlier >= step || step + 1 != steps_.size())
    return refuse("after() is called for a step that is not the newest");
  if (!is_ancestor(earlier, step)) add_pruned_edges(step, {earlier});
}

/// Refuses a region that is longer than the longest one for which the scratch block was made.
void GraphBuilder::check_room(const Region& region) {
  const BufferInfo& info = tables_.buffers[static_cast<std::size_t>(region.buffer)];
  if (info.role != Role::Scratch || info.capacity || region.is_signal() || region.is_counted()) return;
  if (std::uint64_t{region.end - region.begin} * info.pieces <= std::uint64_t{info.longest} * region.of) return;
  refuse(fmt::format("[{}, {}) of {} is too long for a scratch block that holds {} of {}", region.begin, region.end,
                     region.of, info.longest, info.pieces));
}

/// Refuses a region that is not one block if the collective has blocks: only the call knows where each block lies.
void GraphBuilder::check_block(const Region& region) {
  const bool is_block = region.end == region.begin + 1 && region.of == static_cast<std::uint32_t>(shape_.size);
  const bool is_like_data = tables_.buffers[static_cast<std::size_t>(region.buffer)].is_like_data();
  if (!has_blocks(shape_.collective) || region.is_signal() || is_block || !is_like_data) return;
  refuse(fmt::format("{} has blocks: a region must be one of {}, not [{}, {}) of {}", to_string(shape_.collective),
                     shape_.size, region.begin, region.end, region.of));
}

StepId GraphBuilder::add(Step step) {
  const auto id = static_cast<StepId>(steps_.size());
  step.from_is_term = step.reads() && is_term(step.from);
  steps_.push_back(step);
  ancestors_.add_set();
  std::vector<StepId> earlier;
  if (step.length != Value::None) define(id, step.length);
  each_access(step, [&](const Region& region, bool write) {
    if (!region.is_counted() && (region.begin > region.end || region.end > region.of))
      refuse(fmt::format("pieces {} .. {} of {} are no region", region.begin, region.end, region.of));
    add_access(id, region, write, earlier);
  });
  if (step.kind == StepKind::Kernel) {
    for (Value value : tables_.kernels[step.index].uses) follow_definition(id, value, earlier);
    for (Value value : tables_.kernels[step.index].defines) define(id, value);
  }
  add_pruned_edges(id, std::move(earlier));
  each_access(step, [&](const Region& region, bool write) { note_access(id, in_memory(shape_, region), write); });
  return id;
}

void GraphBuilder::note_access(StepId step, const Region& region, bool write) {
  const auto buffer = static_cast<std::size_t>(region.buffer);
  if (live_.size() <= buffer) live_.resize(buffer + 1);
  (write ? live_[buffer].writes : live_[buffer].reads).push_back({step, region});
}

void GraphBuilder::add_access(StepId step, const Region& region, bool write, std::vector<StepId>& earlier) {
  check_block(region);
  check_room(region);
  follow_definition(step, region.offset(), earlier);
  follow_definition(step, region.length(), earlier);
  follow_earlier(step, in_memory(shape_, region), write, earlier);
}

void GraphBuilder::refuse(std::string what) {
  if (status_) status_ = {Code::InvalidArgument, fmt::format("position {}: {}", shape_.position, what)};
}

void GraphBuilder::follow_earlier(StepId step, const Region& region, bool write, std::vector<StepId>& earlier) {
  const auto buffer = static_cast<std::size_t>(region.buffer);
  if (live_.size() <= buffer) return;
  const auto follows = [&](const Access& access) {
    if (access.step == step || !overlap(access.region, region)) return false;
    earlier.push_back(access.step);
    return write && covers(region, access.region);  // a step that follows this write also follows that access
  };
  std::erase_if(live_[buffer].writes, follows);
  if (write) std::erase_if(live_[buffer].reads, follows);
}

void GraphBuilder::add_pruned_edges(StepId step, std::vector<StepId> earlier) {
  std::sort(earlier.begin(), earlier.end(), std::greater<>());
  earlier.erase(std::unique(earlier.begin(), earlier.end()), earlier.end());
  for (StepId before : earlier) {
    if (is_ancestor(before, step)) continue;
    edges_.emplace_back(before, step);
    ancestors_.add(step, before);
    ancestors_.add_all(step, before);
  }
}

bool GraphBuilder::is_ancestor(StepId ancestor, StepId step) const { return ancestors_.has(step, ancestor); }

/// Adds the release steps: landed memory goes back once the last step that reads it has ended.
void GraphBuilder::release_landed() {
  for (std::size_t i = 0; i < tables_.buffers.size(); ++i) {
    if (tables_.buffers[i].role != Role::Landed) continue;
    add({.kind = StepKind::Release, .to = all_of(static_cast<Buffer>(i)), .from = {}});
  }
}

Graph GraphBuilder::build() && {
  release_landed();
  return Graph(shape_, symmetric_, std::move(steps_), edges_, std::move(tables_));
}

}  // namespace lacuna

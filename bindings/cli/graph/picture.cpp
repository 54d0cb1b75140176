#include "bindings/cli/graph/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <vector>

#include "runtime/values/count_of.hpp"

namespace lacuna::cli {
namespace {

/// The graph, and what its picture needs beside it.
struct Picture {
  Graph graph;
  Rank position;
  std::vector<std::vector<StepId>> predecessors;
  std::vector<int> level;  ///< how many steps the longest chain before this one has
};

Picture draw(const Algorithm& algorithm, const GraphShape& shape) {
  Picture picture{build_graph(algorithm, shape), shape.position, {}, {}};
  const std::size_t count = picture.graph.steps().size();
  picture.predecessors.resize(count);
  picture.level.assign(count, 0);
  for (StepId id = 0; id < count; ++id) {  // edges point from earlier to later steps
    for (StepId next : picture.graph.successors(id)) {
      picture.predecessors[next].push_back(id);
      picture.level[next] = std::max(picture.level[next], picture.level[id] + 1);
    }
  }
  return picture;
}

/// Returns "input", "scratch 0", or the name of the state's array.
std::string name_of(const Graph& graph, const Region& region) {
  static constexpr const char* names[] = {"input", "output", "caller's", "scratch", "landed", "run memory", "state"};
  const BufferInfo& info = graph.buffer(region);
  if (!info.name.empty()) return std::string(info.name);
  std::string text = names[static_cast<std::size_t>(info.role)];
  if (info.role != Role::Scratch && info.role != Role::Landed) return text;
  const auto& table = graph.tables().buffers;
  const auto before = std::count_if(table.begin(), table.begin() + static_cast<std::ptrdiff_t>(region.buffer),
                                    [&](const BufferInfo& other) { return other.role == info.role; });
  return text + fmt::format(" {}", before);
}

std::string text_of(const Picture& picture, const Region& region) {
  if (region.is_signal()) return "signal";
  const Region there = placed(picture.graph, region, picture.position);
  std::string text = name_of(picture.graph, region);
  if (there.is_counted()) {
    const std::string from = there.offset() == Value::None ? "" : fmt::format(" from v{} on", there.begin);
    const std::string apart = there.apart == 0 ? "" : fmt::format(", disjoint {}", there.apart);
    return text + fmt::format("[v{}{}{}]", there.end, from, apart);
  }
  if (there.of == 1) return text;
  if (there.end == there.begin + 1) return text + fmt::format("[{} of {}]", there.begin, there.of);
  return text + fmt::format("[{}..{} of {}]", there.begin, there.end - 1, there.of);
}

/// Returns "v2", or "v2 of 0 -> 1" if only these two positions know the value.
std::string text_of(const Picture& picture, Value value) {
  const auto at = static_cast<std::uint32_t>(value);
  const ValueInfo& info = picture.graph.tables().values[at];
  if (info.origin != Origin::Paired) return fmt::format("v{}", at);
  const Rank own = picture.position, other = (own + info.peer) % picture.graph.shape().size;
  return fmt::format("v{} of {} -> {}", at, info.outgoing ? own : other, info.outgoing ? other : own);
}

/// Returns what a kernel reads, writes and defines: "select (input) -> scratch 0, v0".
std::string text_of(const Picture& picture, const KernelStep& step) {
  std::vector<std::string> in, out;
  for (const Region& region : step.reads) in.push_back(text_of(picture, region));
  for (Value value : step.uses) in.push_back(text_of(picture, value));
  for (const Region& region : step.writes) out.push_back(text_of(picture, region));
  for (Value value : step.defines) out.push_back(text_of(picture, value));
  const std::string result = out.empty() ? "" : fmt::format(" -> {}", fmt::join(out, ", "));
  return fmt::format("kernel   {} ({}){}", step.kernel->name, fmt::join(in, ", "), result);
}

std::string text_of(const Picture& picture, const Step& step) {
  const Rank peer = (picture.position + step.peer) % picture.graph.shape().size;
  const std::string to = text_of(picture, step.to), from = text_of(picture, step.from);
  const std::string finish = step.contributors == 0 ? ""
                             : step.contributors == picture.graph.shape().size
                                 ? "  (final: avg divides)"
                                 : fmt::format("  (final, of {}: avg divides)", count_of(step.contributors, "rank"));
  switch (step.kind) {
    case StepKind::Send:
      return fmt::format("send     {} -> position {}", from, peer);
    case StepKind::Receive:
      return fmt::format("receive  {} <- position {}", to, peer);
    case StepKind::ReceiveReduce:
      return fmt::format("reduce   {} = {} op position {}{}", to, from, peer, finish);
    case StepKind::Copy:
      return fmt::format("copy     {} = {}{}", to, from, finish);
    case StepKind::Reduce:
      return fmt::format("reduce   {} = {} op {}", to, to, from);
    case StepKind::Clear:
      return fmt::format("clear    {}", to);
    case StepKind::Kernel:
      return text_of(picture, picture.graph.kernel(step));
    case StepKind::Release:
      return fmt::format("release  {}", to);
    case StepKind::BoardReduce:
      return fmt::format("board    {} = op {} of all positions{}", to, from, finish);
  }
  return {};
}

std::string title(const Algorithm& algorithm, const GraphShape& shape, std::string_view method) {
  std::string text = fmt::format("{} {}, position {} of {}", to_string(algorithm.collective), algorithm.name,
                                 shape.position, count_of(shape.size, "rank"));
  if (!method.empty()) text += fmt::format(", {}", method);
  if (shape.structure.in_place) text += ", in place";
  return text;
}

}  // namespace

std::string graph_table(const Algorithm& algorithm, const GraphShape& shape, std::string_view method) {
  const Picture picture = draw(algorithm, shape);
  const auto steps = picture.graph.steps();
  const int levels = steps.empty() ? 0 : *std::max_element(picture.level.begin(), picture.level.end()) + 1;
  std::string text = fmt::format("{}\n{}, longest chain {}\n", title(algorithm, shape, method),
                                 count_of(steps.size(), "step"), levels);
  auto out = std::back_inserter(text);
  if (!steps.empty()) fmt::format_to(out, "\nwave  step  {:<58}  after\n", "what");
  for (int level = 0; level < levels; ++level) {
    bool first = true;
    for (StepId id = 0; id < steps.size(); ++id) {
      if (picture.level[id] != level) continue;
      fmt::format_to(out, "{:>4}  {:>4}  {:<58}  {}\n", first ? fmt::to_string(level) : "", id,
                     text_of(picture, steps[id]), fmt::join(picture.predecessors[id], ", "));
      first = false;
    }
  }
  const auto& decides = picture.graph.tables().decides;
  for (Value value : decides) {
    fmt::format_to(out, "{}v{}", value == decides.front() ? "\nwhat follows is chosen from " : ", ",
                   static_cast<std::uint32_t>(value));
  }
  return decides.empty() ? text : text + "\n";
}

std::string graph_dot(const Algorithm& algorithm, const GraphShape& shape, std::string_view method) {
  const Picture picture = draw(algorithm, shape);
  const auto steps = picture.graph.steps();
  std::string text =
      fmt::format("digraph lacuna {{\n  label=\"{}\";\n  node [shape=box];\n", title(algorithm, shape, method));
  auto out = std::back_inserter(text);
  for (StepId id = 0; id < steps.size(); ++id) {
    const char* colour = steps[id].sends() ? "lightblue" : steps[id].receives() ? "lightgreen" : "white";
    fmt::format_to(out, "  {} [label=\"{}: {}\", style=filled, fillcolor={}];\n", id, id, text_of(picture, steps[id]),
                   colour);
  }
  for (StepId id = 0; id < steps.size(); ++id) {
    for (StepId next : picture.graph.successors(id)) fmt::format_to(out, "  {} -> {};\n", id, next);
  }
  return text + "}\n";
}

}  // namespace lacuna::cli

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/graph/kernel.hpp"
#include "runtime/values/call.hpp"
#include "runtime/values/hosts.hpp"
#include "runtime/values/region.hpp"
#include "runtime/values/structure.hpp"

namespace lacuna {

/// What a graph depends on beside its algorithm. It never depends on addresses, counts or element types.
struct GraphShape {
  Collective collective = Collective::Allreduce;
  Rank size = 1;
  Rank position = 0;  ///< the position for which the graph is built; 0 for a symmetric graph
  Structure structure = {};
  Hosts hosts = {};  ///< the host of each position, if the algorithm is by_hosts

  friend bool operator==(const GraphShape&, const GraphShape&) = default;
};

/// What a step does; step_kinds.def explains each kind. `to` and `from` are regions; `op` is the reduction of their
/// elements.
enum class StepKind : std::uint8_t {
#define LACUNA_STEP_KIND(kind, ...) kind,
#include "runtime/graph/step_kinds.def"
#undef LACUNA_STEP_KIND
};

/// The names of a kind of steps.
struct StepKindTraits {
  StepKind kind;
  std::string_view name;    ///< the name of one step
  std::string_view plural;  ///< the name of several steps
};

/// All kinds, in the order of their numbers.
inline constexpr std::array step_kind_traits = {
#define LACUNA_STEP_KIND(kind, ...) StepKindTraits{StepKind::kind, __VA_ARGS__},
#include "runtime/graph/step_kinds.def"
#undef LACUNA_STEP_KIND
};

constexpr const StepKindTraits& traits_of(StepKind kind) { return step_kind_traits[static_cast<std::size_t>(kind)]; }

using StepId = std::uint32_t;

struct Step {
  StepKind kind = StepKind::Copy;
  Rank contributors = 0;    ///< not 0: the step scales and rounds a final value, which has the terms of so many ranks
  Rank peer = 0;            ///< the peer is so many positions after the own one: 0 .. size-1
  std::uint32_t index = 0;  ///< which of the messages from its sender to its receiver; of a kernel step: its row
  Region to;
  Region from;
  bool from_is_term = false;   ///< `from` is what one rank gave, and no sum yet
  bool brings_term = false;    ///< of a receive that reduces: so is what the message brings
  bool carries = false;        ///< the message tells its length, and is sent even if it is empty
  Value length = Value::None;  ///< the value that a receive gets from the message: its length in elements
  std::uint64_t note = 0;      ///< what Method::scale is told about a final value

  bool sends() const { return kind == StepKind::Send; }
  bool receives() const { return kind == StepKind::Receive || kind == StepKind::ReceiveReduce; }
  /// Does it happen on all positions together?
  bool meets() const { return kind == StepKind::BoardReduce; }
  /// Does it read `from`? A kernel does not: its regions stand in its row.
  bool reads() const {
    return kind == StepKind::Send || kind == StepKind::ReceiveReduce || kind == StepKind::Copy ||
           kind == StepKind::Reduce || kind == StepKind::BoardReduce;
  }
  /// Does it write `to`? A kernel does not: its regions stand in its row.
  bool writes() const { return kind != StepKind::Send && kind != StepKind::Kernel; }
};

/// What the steps of a graph refer to.
struct GraphTables {
  /// The rows that Buffer names. The caller's input and output come first.
  std::vector<BufferInfo> buffers{{.role = Role::Input}, {.role = Role::Output}};
  std::vector<KernelStep> kernels{};
  std::vector<ValueInfo> values{};
  std::vector<std::vector<Region>> disjoint{};  ///< by Region::apart - 1: regions of which no two share an element
  std::vector<Value> decides{};                 ///< the values from which the part that follows is chosen
  std::vector<Region> lacking{};                ///< regions that others have and this position does not get
};

/// What one position does in one part: steps, and the order between them. A graph is immutable, and many parts may use
/// it at the same time. A symmetric graph serves all positions: its pieces count from the own position. Any thread may
/// read.
class Graph {
 public:
  using Edge = std::pair<StepId, StepId>;  ///< the first step ends before the second one starts

  Graph(const GraphShape& shape, bool symmetric, std::vector<Step> steps, std::span<const Edge> edges,
        GraphTables tables = {});

  const GraphShape& shape() const { return shape_; }
  bool symmetric() const { return symmetric_; }
  std::span<const Step> steps() const { return steps_; }
  std::span<const StepId> successors(StepId step) const {
    return std::span(successors_).subspan(first_successor_[step], first_successor_[step + 1] - first_successor_[step]);
  }
  /// For each step, the number of steps that must end before it may start.
  std::span<const std::uint32_t> predecessor_counts() const { return predecessor_counts_; }
  /// The steps that wait for no other step.
  std::span<const StepId> roots() const { return roots_; }
  /// The step that receives message `index` from the position `offset` after the own one.
  std::optional<StepId> receiver(Rank offset, std::uint32_t index) const;
  const GraphTables& tables() const { return tables_; }
  const BufferInfo& buffer(const Region& region) const {
    return tables_.buffers[static_cast<std::size_t>(region.buffer)];
  }
  /// The row of a kernel step.
  const KernelStep& kernel(const Step& step) const { return tables_.kernels[step.index]; }
  /// Calls visit(region, whether it is written) for all that the step touches.
  template <class Visit>
  void each_access(const Step& step, Visit visit) const {
    if (step.reads()) visit(step.from, false);
    if (step.writes()) visit(step.to, true);
    if (step.kind == StepKind::Kernel) each_access(kernel(step), visit);
  }
  template <class Visit>
  static void each_access(const KernelStep& step, Visit visit) {
    for (const Region& region : step.reads) visit(region, false);
    for (const Region& region : step.writes) visit(region, true);
  }

 private:
  struct Source {
    Rank offset;
    std::uint32_t first;
    std::uint32_t count;
  };

  void index_edges(std::span<const Edge> edges);
  void index_receives();

  GraphShape shape_;
  bool symmetric_;
  std::vector<Step> steps_;
  std::vector<std::uint32_t> first_successor_;
  std::vector<StepId> successors_;
  std::vector<std::uint32_t> predecessor_counts_;
  std::vector<StepId> roots_;
  std::vector<Source> sources_;
  std::vector<StepId> receives_;
  GraphTables tables_;
};

/// The region, named the same way for the same memory: in place, a region of the output is one of the input.
inline Region in_memory(const GraphShape& shape, Region region) {
  if (shape.structure.in_place && region.buffer == Buffer::Output) region.buffer = Buffer::Input;
  return region;
}

/// The region as it lies at `position`. The pieces of a symmetric graph count from there.
inline Region placed(const Graph& graph, Region region, Rank position) {
  if (!graph.symmetric() || region.end != region.begin + 1) return region;
  const auto size = static_cast<std::uint32_t>(graph.shape().size);
  if (region.of != size) return region;
  region.begin += static_cast<std::uint32_t>(position);
  if (region.begin >= size) region.begin -= size;
  region.end = region.begin + 1;
  return region;
}

}  // namespace lacuna

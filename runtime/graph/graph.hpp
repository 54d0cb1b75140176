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

/// What a graph depends on besides its algorithm. Never on addresses, counts or element types.
struct GraphShape {
  Collective collective = Collective::Allreduce;
  Rank size = 1;
  Rank position = 0;  ///< in the order of the ranks that a part uses; 0 for a symmetric graph
  Structure structure = {};
  Hosts hosts = {};  ///< by position, if its algorithm asks for them

  friend bool operator==(const GraphShape&, const GraphShape&) = default;
};

/// What a step does; step_kinds.def explains each kind. `to` and `from` are regions; `op` is the reduction of their
/// elements.
enum class StepKind : std::uint8_t {
#define LACUNA_STEP_KIND(kind, ...) kind,
#include "runtime/graph/step_kinds.def"
#undef LACUNA_STEP_KIND
};

/// How a kind of steps is called.
struct StepKindTraits {
  StepKind kind;
  std::string_view name;    ///< of one step
  std::string_view plural;  ///< of several
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
  Rank contributors = 0;  ///< the result is final, of so many ranks: it is scaled before the last rounding; 0: not yet
  Rank peer = 0;          ///< how many positions after the own one, 0 .. size-1
  std::uint32_t index = 0;  ///< which of the messages from the sender to the receiver; which kernel step
  Region to;
  Region from;
  bool carries = false;        ///< the message tells its length, and is sent also when it is empty
  Value length = Value::None;  ///< that such a receive defines, in elements
  std::uint64_t note = 0;      ///< of a final result, for Method::scale

  bool sends() const { return kind == StepKind::Send; }
  bool receives() const { return kind == StepKind::Receive || kind == StepKind::ReceiveReduce; }
  /// Of `from` and `to`; a kernel's regions are in its row.
  bool reads() const {
    return kind == StepKind::Send || kind == StepKind::ReceiveReduce || kind == StepKind::Copy ||
           kind == StepKind::Reduce;
  }
  bool writes() const { return kind != StepKind::Send && kind != StepKind::Kernel; }
};

/// What the steps of a graph refer to.
struct GraphTables {
  /// By Buffer; the caller's two come first.
  std::vector<BufferInfo> buffers{{.role = Role::Input}, {.role = Role::Output}};
  std::vector<KernelStep> kernels{};
  std::vector<ValueInfo> values{};
  std::vector<std::vector<Region>> disjoint{};  ///< by Region::apart, from 1: those of which no two share an element
  std::vector<Value> decides{};                 ///< from which the part that follows is chosen
  std::vector<Region> lacking{};                ///< what others have and this position does not get
};

/// The plan of one position, for one part of the data: steps and the order between them. An immutable value, run many
/// times, also at the same time. A symmetric graph serves all positions: its pieces count from the own position.
class Graph {
 public:
  using Edge = std::pair<StepId, StepId>;  ///< first ends before second starts

  Graph(const GraphShape& shape, bool symmetric, std::vector<Step> steps, std::span<const Edge> edges,
        GraphTables tables = {});

  const GraphShape& shape() const { return shape_; }
  bool symmetric() const { return symmetric_; }
  std::span<const Step> steps() const { return steps_; }
  std::span<const StepId> successors(StepId step) const {
    return std::span(successors_).subspan(first_successor_[step], first_successor_[step + 1] - first_successor_[step]);
  }
  /// Number of steps that must end before each step may start, by step.
  std::span<const std::uint32_t> predecessor_counts() const { return predecessor_counts_; }
  /// Steps that wait for nothing.
  std::span<const StepId> roots() const { return roots_; }
  /// The step that receives message `index` from the position `offset` after the own one.
  std::optional<StepId> receiver(Rank offset, std::uint32_t index) const;
  const GraphTables& tables() const { return tables_; }
  const BufferInfo& buffer(const Region& region) const {
    return tables_.buffers[static_cast<std::size_t>(region.buffer)];
  }
  /// The row of a kernel's step.
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

/// In place the caller's two buffers are one memory.
inline Region in_memory(const GraphShape& shape, Region region) {
  if (shape.structure.in_place && region.buffer == Buffer::Output) region.buffer = Buffer::Input;
  return region;
}

/// The region as it lies at `position`: a symmetric graph's pieces are counted from there.
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

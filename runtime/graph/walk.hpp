#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/graph/graph.hpp"

namespace lacuna {

/// The graphs of all positions as one: which receive meets which send, and an order in which all steps can happen.
/// What a value becomes on its way is a loop over that order (rounds_of, contributions_of).
class Walk {
 public:
  /// Named by two positions and a number. Where the graphs do not fit together, one end may be missing.
  struct Message {
    Rank sender = 0, receiver = 0;
    std::uint32_t index = 0;
    std::optional<StepId> send, receive;
  };
  /// A step of the graph at a position.
  struct Stop {
    const Step* step = nullptr;
    Rank position = 0;
    StepId id = 0;
    std::size_t number = 0;  ///< 0 .. steps()-1, by position and id
  };

  /// graphs[position]; or a symmetric graph alone, where all happens at position 0 that happens at each: its messages
  /// are those that position 0 sends, and it receives them in place of their receivers. They outlive the walk.
  explicit Walk(std::span<const Graph* const> graphs);

  /// By sender, receiver and index.
  std::span<const Message> messages() const { return messages_; }
  /// A step that sends or receives a message that another of its position sends or receives, if there is one.
  const std::optional<Stop>& twice() const { return twice_; }

  /// The steps of all positions, each behind those that it waits for, a receive right behind its send; so they can also
  /// happen where a send ends only once its receive has started. Steps on a cycle, those whose message lacks an end,
  /// and what waits for one of them are not there.
  std::span<const Stop> order() const { return order_; }
  /// The step with the lowest number that order() lacks.
  const std::optional<Stop>& stuck() const { return stuck_; }

  /// Number of steps of all graphs.
  std::size_t steps() const { return stops_.size(); }
  /// Calls visit(number) of each step that waits for this one to end, without its receive.
  template <class Visit>
  void each_later(const Stop& at, Visit visit) const {
    for (StepId next : graph(at.position).successors(at.id)) visit(at.number - at.id + next);
  }

 private:
  static constexpr std::size_t nobody = static_cast<std::size_t>(-1);
  struct End;

  const Graph& graph(Rank position) const { return *graphs_[static_cast<std::size_t>(position) % graphs_.size()]; }
  Message message_of(const Stop& at) const;
  std::vector<End> ends() const;
  void match(std::vector<std::size_t>& others);
  void arrange(const std::vector<std::size_t>& others);

  std::span<const Graph* const> graphs_;
  std::vector<Stop> stops_;  // by number
  std::vector<Message> messages_;
  std::optional<Stop> twice_, stuck_;
  std::vector<Stop> order_;
};

}  // namespace lacuna

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/graph/graph.hpp"

namespace lacuna {

/// The graphs of all positions together: it knows which receive meets which send, and an order in which all steps can
/// happen. Code that follows data through the graphs loops over that order (rounds_of, contributions_of).
class Walk {
 public:
  /// A message, which two positions and its number identify. If the graphs do not fit together, one end may be missing.
  struct Message {
    Rank sender = 0, receiver = 0;
    std::uint32_t index = 0;
    std::optional<StepId> send, receive;
  };
  /// A step at one position.
  struct Stop {
    const Step* step = nullptr;
    Rank position = 0;
    StepId id = 0;
    std::size_t number = 0;  ///< 0 .. steps()-1, by position and id
  };

  /// `graphs` has the graph of each position, or one symmetric graph. In the latter case the walk sees position 0 only:
  /// the messages are those that it sends, and it receives them in place of their receivers. The graphs must outlive
  /// the walk.
  explicit Walk(std::span<const Graph* const> graphs);

  /// All messages, sorted by sender, receiver and index.
  std::span<const Message> messages() const { return messages_; }
  /// A step that sends or receives the same message as another step of its position. Nothing: there is none.
  const std::optional<Stop>& twice() const { return twice_; }

  /// The steps of all positions. Each stands behind the steps that it waits for, a receive stands right behind its
  /// send, and steps that meet stand together, in the order of their positions. So they can happen in this order even
  /// if a send ends only once its receive has started. The order lacks the steps on a cycle, the steps whose message
  /// lacks an end, steps that meet if a position has none of them, and the steps that wait for one of these.
  std::span<const Stop> order() const { return order_; }
  /// The step with the lowest number that order() lacks. Nothing: it has all steps.
  const std::optional<Stop>& stuck() const { return stuck_; }

  /// The number of steps of all graphs.
  std::size_t steps() const { return stops_.size(); }
  /// Calls visit(number) for each step of the same position that waits for this one to end.
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
  std::vector<std::size_t> meeting_;  // the numbers of the steps that meet, by position
  std::optional<Stop> twice_, stuck_;
  std::vector<Stop> order_;
};

}  // namespace lacuna

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/engine/clients.hpp"
#include "runtime/engine/failures.hpp"
#include "runtime/engine/outgoing.hpp"
#include "runtime/engine/wire.hpp"

namespace lacuna::runtime {

/// What ranks tell each other of their calls. When a call does not go on, rank 0 compares what the ranks have posted.
/// After rank 0 has left, the members of a communicator tell each other what they have posted, over the connections
/// that carry their data. Its owner locks.
class Statements {
 public:
  /// All that the arguments refer to must outlive the object.
  Statements(Rank rank, const Clients& communicators, Failures& failures, Outgoing& outgoing)
      : rank_(rank), communicators_(communicators), failures_(failures), outgoing_(outgoing) {}

  /// Sends each member a statement about this call. A member answers it if it has posted something else.
  void tell_members(Client& communicator, std::uint32_t run);
  /// Takes a statement, and notes an answer if it asks for one. A rank whose communicator has failed answers too, as
  /// the rank that asks may not know of it yet.
  void hear(Rank from, const MessageHeader& header, std::span<const std::byte> body);
  /// Sends the answers.
  void send_answers();
  /// The communicator is about to leave.
  void forget(const Client& communicator) {
    std::erase_if(answers_, [&](const Answer& answer) { return answer.communicator == &communicator; });
  }

 private:
  struct Answer {
    Client* communicator = nullptr;
    std::uint32_t run = 0;
    Rank to = 0;
  };

  const Rank rank_;
  const Clients& communicators_;
  Failures& failures_;
  Outgoing& outgoing_;
  std::vector<Answer> answers_;
};

}  // namespace lacuna::runtime

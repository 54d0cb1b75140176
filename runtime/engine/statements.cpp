#include "runtime/engine/statements.hpp"

#include <utility>

#include "runtime/engine/client.hpp"
#include "runtime/engine/posted.hpp"

namespace lacuna::runtime {

void Statements::tell_members(Client& communicator, std::uint32_t run) {
  const Group& group = communicator.group();
  for (Rank peer = 0; peer < group.processes(); ++peer) {
    if (peer != rank_ && group.rank_of(peer) >= 0) outgoing_.send_statement(communicator, run, peer, true);
  }
}

void Statements::hear(Rank from, const MessageHeader& header, std::span<const std::byte> body) {
  Client* const communicator = communicators_.find(header.communicator);
  const auto theirs = decode_posted(body);
  if (!communicator || !theirs) return;
  const auto ours = communicator->runs().posted(header.run);
  const bool are_known = ours && ours->history != 0 && theirs->history != 0;
  if (communicator->group().rank_of(from) < 0 || !are_known || ours->history == theirs->history) return;
  if (header.index == 1) answers_.push_back({communicator, header.run, from});
  if (communicator->has_failed()) return;
  Trouble report = communicator->trouble(Trouble::Kind::Mismatch, header.run,
                                         communicator->matching().text_of_difference(from, header.run));
  report.heard = {{from, *theirs}};
  failures_.report(*communicator, std::move(report));
}

void Statements::send_answers() {
  for (const Answer& answer : answers_) outgoing_.send_statement(*answer.communicator, answer.run, answer.to, false);
  answers_.clear();
}

}  // namespace lacuna::runtime

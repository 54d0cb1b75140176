#include "runtime/engine/client.hpp"
#include "runtime/engine/executor.hpp"

// When a call does not go on, rank 0 compares what the ranks have posted. After rank 0 has left, the members of a
// communicator tell each other what they have posted, over the connections that carry their data.
namespace lacuna::runtime {

void Executor::tell_members(std::uint64_t communicator, std::uint32_t run) {
  {
    Lock lock(*this);
    Client* const client = communicators_.find(communicator);
    if (state_ != State::Running || !client) return;
    for (Rank peer = 0; peer < size_; ++peer) {
      if (peer != rank_ && client->group().rank_of(peer) >= 0) outgoing_.send_statement(*client, run, peer, true);
    }
  }
  flush_deferred();
}

/// Takes a statement, and answers it if it asks. A rank whose communicator has failed answers too, as the rank that
/// asks may not know of it yet.
void Executor::hear_statement(Rank from, const MessageHeader& header, std::span<const std::byte> body) {
  Client* const client = communicators_.find(header.communicator);
  const auto theirs = decode_posted(body);
  if (!client || !theirs) return;
  Client& communicator = *client;
  const auto ours = communicator.runs().posted(header.run);
  const bool are_known = ours && ours->history != 0 && theirs->history != 0;
  if (communicator.group().rank_of(from) < 0 || !are_known || ours->history == theirs->history) return;
  if (header.index == 1) answers_.push_back({&communicator, header.run, from});
  if (communicator.has_failed()) return;
  Trouble report = communicator.trouble(Trouble::Kind::Mismatch, header.run,
                                        communicator.matching().text_of_difference(from, header.run));
  report.heard = {{from, *theirs}};
  failures_.report(communicator, std::move(report));
}

void Executor::send_answers() {
  if (answers_.empty() || state_ != State::Running) return;
  for (const Answer& answer : answers_) outgoing_.send_statement(*answer.communicator, answer.run, answer.to, false);
  answers_.clear();
}

}  // namespace lacuna::runtime

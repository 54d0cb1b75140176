#include <fmt/format.h>

#include "runtime/job/rendezvous.hpp"

// Who is admitted to a job, and who is refused.
namespace lacuna::runtime {

bool Rendezvous::take_claim(Guest& guest, const Frame& frame) {
  const std::optional<admission::Claim> claim = admission::read_claim(frame);
  if (!claim) {
    return refuse(guest, Status(Code::InvalidArgument, "this is the store of a lacuna job"),
                  fmt::format("refused a peer at {} that does not speak lacuna's protocol", guest.name));
  }
  if (claim->version != admission::protocol_version) {
    const Status reason(Code::Mismatch,
                        fmt::format("rank 0 speaks protocol {} and this rank {}: run the same lacuna on all ranks",
                                    admission::protocol_version, claim->version));
    return refuse(guest, reason,
                  fmt::format("refused a peer at {} that speaks protocol {}, not {}", guest.name, claim->version,
                              admission::protocol_version));
  }
  const auto expected = admission::prove(job_.key, admission::Speaker::Guest, guest.nonce, *claim);
  const auto answer = admission::prove(job_.key, admission::Speaker::Store, guest.nonce, *claim);
  if (!expected || !answer) return fail(guest, expected ? answer.status() : expected.status());
  if (!admission::matches(*expected, claim->proof)) {
    const Status reason(Code::InvalidArgument,
                        fmt::format("rank 0 refused rank {}: wrong key; LACUNA_KEY must be equal "
                                    "on all ranks",
                                    claim->rank));
    return refuse(guest, reason,
                  fmt::format("refused a peer at {} that claimed rank {} with a wrong key", guest.name, claim->rank));
  }
  if (Status fits = check(guest, *claim); !fits) return fail(guest, std::move(fits));
  guest.rank = claim->rank;
  guest.channel.set_limit(admission::longest_card);
  admission::send(guest.channel, *answer);
  return true;
}

Status Rendezvous::check(const Guest& guest, const admission::Claim& claim) const {
  if (claim.size != job_.size) {
    return {Code::Mismatch, fmt::format("rank {} at {} was given size {}, rank 0 size {}: LACUNA_SIZE must be equal on "
                                        "all ranks",
                                        claim.rank, guest.name, claim.size, job_.size)};
  }
  if (claim.rank < 0 || claim.rank >= job_.size) {
    return {Code::InvalidArgument, fmt::format("a peer at {} claimed rank {}; with size {} allowed are 0 to {}",
                                               guest.name, claim.rank, job_.size, job_.size - 1)};
  }
  const Guest* other = find(claim.rank);
  if (claim.rank > 0 && other == nullptr) return Status::ok();
  const std::string first = other != nullptr ? other->name : fmt::format("the one that listens at {}", job_.store);
  return {Code::Mismatch, fmt::format("two processes are rank {}: {} and {}; LACUNA_RANK must differ between all ranks",
                                      claim.rank, first, guest.name)};
}

bool Rendezvous::refuse(Guest& guest, const Status& reason, std::string text) {
  admission::send(guest.channel, reason);
  note(std::move(text));
  return false;
}

bool Rendezvous::fail(Guest& guest, Status reason) {
  failure_ = std::move(reason);
  admission::send(guest.channel, failure_);
  return false;
}

}  // namespace lacuna::runtime

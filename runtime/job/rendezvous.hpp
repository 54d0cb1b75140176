#pragma once

#include <list>
#include <string>
#include <vector>

#include "runtime/job/admission.hpp"
#include "runtime/job/bootstrap.hpp"

namespace lacuna::runtime {

/// Rank 0's side of join(). It admits the other ranks one by one, and tells all of them about each other.
class Rendezvous {
 public:
  /// `listener` listens at the job's store. `on_loopback` says whether it listens on loopback only.
  Rendezvous(const Job& job, Fd listener, bool on_loopback);

  /// Blocks until all ranks have come and told their addresses, or until the first of them is about to give up.
  Result<Membership> run(const MakeAddress& make_address, const Deadline& deadline);

 private:
  /// A connection, from its arrival until it is refused or the job is complete.
  struct Guest {
    Channel channel;
    std::string name;
    admission::Nonce nonce{};
    Rank rank = 0;  ///< 0: not admitted yet
    bool has_card = false, has_address = false;
  };

  /// Serves guests until all ranks have sent this: their card or their address.
  Status serve_until_all(bool Guest::*have);
  bool are_all_on_one_machine() const;
  void tell_roster();
  Status make_own_address(const MakeAddress& make_address);
  void accept_guests();
  std::size_t admitted() const;
  bool drop_stranger();
  /// Takes what a guest has sent. Returns false if the guest must be dropped.
  bool attend(Guest& guest);
  bool take(Guest& guest, const Frame& frame);
  bool take_claim(Guest& guest, const Frame& frame);
  bool take_card(Guest& guest, const Frame& frame);
  bool take_address(Guest& guest, const Frame& frame);
  Status check(const Guest& guest, const admission::Claim& claim) const;
  bool refuse(Guest& guest, const Status& reason, std::string note);
  /// Ends the job. The guest, which is not admitted, is told too.
  bool fail(Guest& guest, Status reason);
  void note(std::string text);

  bool all(bool Guest::*have) const;
  const Guest* find(Rank rank) const;
  std::string absentees(bool Guest::*have) const;
  Status tell_all(const Status& reason);
  Result<Membership> conclude();
  void flush_all(Clock::time_point deadline);
  void beat();

  const Job& job_;
  Fd listener_;
  std::list<Guest> guests_;  // the oldest first
  Deadline deadline_ = Clock::time_point();
  admission::Roster roster_;
  admission::Table table_;
  bool roster_is_told_ = false, is_concluding_ = false;
  Status failure_;
  std::vector<std::string> notes_;  // whom rank 0 refused or lost, for the error at the deadline
  std::size_t notes_left_out_ = 0;
};

}  // namespace lacuna::runtime

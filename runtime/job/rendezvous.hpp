#pragma once

#include <list>
#include <string>
#include <vector>

#include "runtime/job/admission.hpp"
#include "runtime/job/bootstrap.hpp"

namespace lacuna::runtime {

/// Rank 0's side of join(): admits the other ranks one by one and tells all of them about each other.
class Rendezvous {
 public:
  /// `listener` listens at the job's store, on loopback only or not.
  Rendezvous(const Job& job, Fd listener, bool on_loopback);

  /// Blocks until all ranks are there and have told their addresses, or the first of them has to give up.
  Result<Membership> run(const MakeAddress& make_address, Clock::time_point deadline);

 private:
  /// A connection, from its arrival until it is refused or the job is complete.
  struct Guest {
    Channel channel;
    std::string name;
    admission::Nonce nonce{};
    Rank rank = 0;  ///< once admitted: above 0
    bool has_card = false, has_address = false;
  };

  /// Serves guests until all have done this.
  Status serve_until_all(bool Guest::*have);
  bool are_all_on_one_machine() const;
  void tell_roster();
  Status make_own_address(const MakeAddress& make_address);
  void accept_guests();
  std::size_t admitted() const;
  bool drop_stranger();
  /// Deals with what a guest has sent; false if it has to go.
  bool attend(Guest& guest);
  bool take(Guest& guest, const Frame& frame);
  bool take_claim(Guest& guest, const Frame& frame);
  bool take_card(Guest& guest, const Frame& frame);
  bool take_address(Guest& guest, const Frame& frame);
  Status check(const Guest& guest, const admission::Claim& claim) const;
  bool refuse(Guest& guest, const Status& reason, std::string note);
  /// Ends the job; the guest, who is not admitted, is told too.
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
  std::list<Guest> guests_;  // oldest first
  Clock::time_point deadline_;
  admission::Roster roster_;
  admission::Table table_;
  bool roster_is_told_ = false, is_concluding_ = false;
  Status failure_;
  std::vector<std::string> notes_;  // whom rank 0 refused or lost, for the error at the deadline
  std::size_t notes_left_out_ = 0;
};

}  // namespace lacuna::runtime

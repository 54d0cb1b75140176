#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/landings.hpp"
#include "runtime/engine/mailbox.hpp"
#include "runtime/values/group.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::runtime {

class RunTable;

/// What becomes of something that has arrived: a step takes it, or it waits in a landing for its step; else it is
/// dropped.
struct Place {
  ActivePart* part = nullptr;
  StepId step = 0;
  Landing* landing = nullptr;
  bool duplicate = false;  ///< all of it has come before
  MessageRun* receive =
      nullptr;           ///< the first of a message meets this receive, which may begin, or refuse what does not fit
  bool in_turn = false;  ///< after that, next_met() may find others
  /// Not empty: it is dropped because no honest rank that posted the same sends it. Valid until something else comes.
  std::string_view violation{};
};

/// Ok, or why this receive can't take a message.
Status fits(const MessageRun& receive, Rank source, std::uint64_t bytes, Dtype element);

/// Is a message of so many bytes what the started receive waits for? Where the sender tells the length, it is settled.
bool accepts(ActivePart& part, StepId step, std::uint64_t bytes);
/// Of a message that is not: "rank 2 sent 3 elements of i32 where rank 0 expects at most 2". `from` and `to` are ranks
/// of the job.
std::string text_of_length(const ActivePart& part, StepId step, std::uint64_t bytes, Rank from, Rank to);

/// Where what arrives for a communicator belongs: its messages that wait for a call, for its part or for a receive.
/// Headers are believed only as far as they were checked here: their sender may be of another mind, or broken. Moves
/// no bytes, starts nothing and ends nothing. Its owner locks.
class Matching {
 public:
  /// Of this process; what it refers to must outlive it.
  Matching(const Group& group, Rank process, const RunTable& runs, Landings& landings);

  Place place(const Arrival& message);
  /// Messages that have come before their part was begun find their steps. Says what is wrong with one that does not
  /// belong there, as Place::violation.
  std::string_view adopt(ActivePart& part) {
    auto& early = early_for(collective_of(part).number);
    return early.empty() ? std::string_view() : adopt(part, early);
  }
  /// Nothing follows this part: what has come for what would is let go of, and said to be wrong, as Place::violation.
  std::string_view refuse_after(const ActivePart& part);
  /// Why a message of process `from`, or what it says that it posted, does not belong to this call.
  std::string text_of_difference(Rank from, std::uint32_t number) const;
  /// "rank 1 sent message 0 of part 0 of call 7 (8 bytes at 0) to rank 0, which has <what>".
  std::string text_of_violation(const Arrival& message, std::string_view what) const;

  // Messages between two ranks (matching_messages.cpp)

  /// A receive and a landing that has its message, in part at least.
  struct Met {
    MessageRun* receive = nullptr;
    Landing* message = nullptr;
  };

  /// Numbers a message to this process.
  std::uint32_t next_number(Rank to, std::uint32_t tag) { return mailbox_.next_number(to, tag); }
  /// The message that this receive takes, if one waits; else the receive waits for it.
  Landing* expect(MessageRun& receive);
  /// The receive waits no longer.
  void forget(const MessageRun& receive) { mailbox_.forget_receive(receive); }
  /// The message that a receive of this name would take, or null.
  const Landing* waiting(Rank source, std::uint32_t tag) { return mailbox_.unexpected(source, tag); }
  /// After a message of this source and tag: one that it had held up, and whose receive is there.
  std::optional<Met> next_met(Rank source, std::uint32_t tag);
  /// What is still to come of the message goes to its receive, or to nobody if that can't take it: says why.
  Status hand_over(const Met& met);

  /// Lets go of all that waits here.
  void clear();

 private:
  Place refuse(const Arrival& message, std::string_view what);
  Place refuse_as_different(const Arrival& message);
  std::optional<std::string> flaw_of(const Arrival& message) const;
  static std::optional<std::string> difference(const Arrival& message, const Landing& landing);
  Place place_in_run(CollectiveRun& run, const Arrival& message);
  Place place_in_part(ActivePart& part, const Arrival& message);
  Place place_in_landing(const Arrival& message, Landing& landing);
  Place place_late(const Arrival& message);
  Place place_early(const Arrival& message);
  Place admit(const Arrival& message, Arrived& arrived, const Place& place);
  Place refuse_for_credit(const Arrival& message);
  std::string_view adopt(ActivePart& part, std::vector<Landing*>& early);
  std::string text_of_stray(const ActivePart& part, const Landing& landing, bool differs) const;
  /// Takes out those that `take` has seen to.
  template <class Take>
  static void take_early(std::vector<Landing*>& early, Take take) {
    for (std::size_t i = 0; i < early.size();) {
      if (take(*early[i])) {
        early[i] = early.back();
        early.pop_back();
      } else {
        ++i;
      }
    }
  }
  std::vector<Landing*>& early_for(std::uint32_t run) { return early_[run % early_.size()]; }

  Place place_message(const Arrival& message);
  Place place_first(const Arrival& message);
  Place place_rest(const Arrival& message, Mailbox::Arriving& known);

  const Group& group_;
  const Rank process_;
  const RunTable& runs_;
  Landings& landings_;
  Mailbox mailbox_;
  std::string violation_;                        // the last one
  std::array<std::vector<Landing*>, 64> early_;  // messages of calls or parts to come, by run
};

}  // namespace lacuna::runtime

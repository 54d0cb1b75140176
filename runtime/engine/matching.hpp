#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/engine/landings.hpp"
#include "runtime/engine/mailbox.hpp"
#include "runtime/values/group.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::runtime {

class RunTable;

/// What becomes of a fragment that has arrived: a step takes it, or it waits in a landing for its step, or it is
/// dropped.
struct Place {
  ActivePart* part = nullptr;
  StepId step = 0;
  Landing* landing = nullptr;
  bool duplicate = false;  ///< the whole fragment has come before
  MessageRun* receive =
      nullptr;           ///< takes the message that begins here; it may begin, or refuse a message that does not fit
  bool in_turn = false;  ///< next_met() may find other messages after this one
  /// If this is not empty, the fragment is dropped, because no honest rank that posted the same sends it. It is valid
  /// until something else comes.
  std::string_view violation{};
};

/// Returns ok, or why this receive can't take a message. A receive of an exchange takes its full length only.
Status fits(const MessageRun& receive, Rank source, std::uint64_t bytes, Dtype element);

/// Does the started receive wait for a message of so many bytes? If the sender tells the length, it is noted.
bool accepts(ActivePart& part, StepId step, std::uint64_t bytes);
/// Says why a message is not accepted, such as "rank 2 sent 3 elements of i32 where rank 0 expects at most 2". `from`
/// and `to` are ranks of the job.
std::string text_of_length(const ActivePart& part, StepId step, std::uint64_t bytes, Rank from, Rank to);

/// Finds where a message of a communicator belongs, and keeps messages that wait for a call, for a part or for a
/// receive. It checks all headers, because their sender may have posted something else or may be broken. It moves no
/// bytes, starts nothing and ends nothing. Its owner locks.
class Matching {
 public:
  /// `process` is this one. All that the arguments refer to must outlive the object.
  Matching(const Group& group, Rank process, const RunTable& runs, Landings& landings);

  Place place(const Arrival& message);
  /// Hands messages that came before their part began to its steps. Returns what is wrong with one that does not belong
  /// there, as Place::violation.
  std::string_view adopt(ActivePart& part) {
    CollectiveRun& run = collective_of(part);
    const bool is_first = part.number == 0;
    if (!run.row_of(part.number).early && !(is_first && early_for(run.number))) return {};
    violation_.clear();
    if (is_first) hand_out(part);
    return take_own(part);
  }
  /// No part follows this one. Drops messages for parts that would. Returns what is wrong with them, as
  /// Place::violation.
  std::string_view refuse_after(const ActivePart& part);
  /// Says why a message of process `from`, or what it says that it posted, does not belong to this call.
  std::string text_of_difference(Rank from, std::uint32_t number) const;
  /// Returns "rank 1 sent message 0 of part 0 of call 7 (8 bytes at 0) to rank 0, which has <what>".
  std::string text_of_violation(const Arrival& message, std::string_view what) const;

  // Messages between two ranks (matching_messages.cpp)

  /// A receive and the landing that holds its message, or the first bytes of it.
  struct Met {
    MessageRun* receive = nullptr;
    Landing* message = nullptr;
  };

  /// Makes room for messages to this process, so that next_number() throws nothing.
  void meet(Rank to) { mailbox_.meet(to); }
  /// Returns the number of the next message to this process.
  std::uint32_t next_number(Rank to, std::uint32_t tag) { return mailbox_.next_number(to, tag); }
  /// Returns the message that this receive takes, if one waits. Else it returns null, and the receive waits.
  Landing* expect(MessageRun& receive);
  /// Removes a receive that waits no longer.
  void forget(const MessageRun& receive) { mailbox_.forget_receive(receive); }
  /// Returns the message that a receive of this source and tag would take, or null.
  const Landing* waiting(Rank source, std::uint32_t tag) { return mailbox_.unexpected(source, tag); }
  /// Is called after a message of this source and tag has been handled. Returns a message that waited for that one,
  /// together with its receive.
  std::optional<Met> next_met(Rank source, std::uint32_t tag);
  /// The rest of the message goes to its receive. If the receive can't take the message, nobody takes it, and the
  /// status says why.
  Status hand_over(const Met& met);

  /// Releases all messages that wait here.
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
  Place place_early(const Arrival& message, Landing*& early);
  Place admit(const Arrival& message, Arrived& arrived, const Place& place);
  Place refuse_for_credit(const Arrival& message);
  void hand_out(const ActivePart& first);
  std::string_view take_own(ActivePart& part);
  void drop(const ActivePart& part, Landing& landing, bool differs);
  std::string text_of_stray(const ActivePart& part, const Landing& landing, bool differs) const;
  Landing*& early_for(std::uint32_t run) { return early_[run % early_.size()]; }

  Place place_message(const Arrival& message);
  Place place_first(const Arrival& message);
  Place place_rest(const Arrival& message, Mailbox::Arriving& known);

  const Group& group_;
  const Rank process_;
  const RunTable& runs_;
  Landings& landings_;
  Mailbox mailbox_;
  std::string violation_;             // the text of the last violation
  std::array<Landing*, 64> early_{};  // the first message of calls that have not begun, by run
};

}  // namespace lacuna::runtime

#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/job/socket.hpp"
#include "runtime/job/watch.hpp"

namespace lacuna::runtime {

/// Identifies a call: its communicator and the number of its run.
using CallId = std::pair<std::uint64_t, std::uint32_t>;

/// Identifies what a trouble is about. For a message, the id belongs to no call.
CallId call_of(const Trouble& trouble);

/// The name that a verdict gives to what a trouble is about: "call 3", or "call 3 of ranks 0, 2" if these are not all
/// ranks of the job, or the name of the message.
std::string name_of(const Trouble& trouble);

/// What is known of one rank about the call in question.
struct Account {
  enum class State : std::uint8_t {
    Unknown,     ///< it did not answer
    NotPosted,   ///< it has answered that it has not posted the call
    Posted,      ///< `posted` says what it posted
    Left,        ///< it said goodbye after having posted the call
    LeftBefore,  ///< it said goodbye without having posted the call
    Stranger,    ///< it is no member of the communicator
  };
  State state = State::Unknown;
  Posted posted;
};

/// The account of a rank that has answered what it posted.
Account account_of(std::optional<Posted> posted);
/// The account of a rank that said goodbye `gone_for` before the trouble was raised. `reached` is from its goodbye.
/// What it sent may be on its way for `longest_leave`, unless the connection is broken. Only after that a message that
/// is missing can't come any more.
Account account_of_leaver(const Trouble& trouble, const std::vector<Reach>& reached, Clock::duration gone_for);

/// The verdict on a trouble, from the account of each rank. Accounts of ranks that are no members do not count. Nothing
/// if the communicator may go on.
std::optional<Status> judge(const Trouble& trouble, Rank reporter, std::vector<Account> accounts);

/// The verdict of a rank that decides without asking others, from what it knows of them. `reason` says why it does.
Status judge_alone(const Trouble& trouble, const std::vector<Account>& known, std::string_view reason);

/// Says for whom a late call waits: "call 3 has not ended on rank 1 after 60 s: waits; rank 2 has not posted it".
/// Nothing if it is not late, or if all ranks have posted it.
std::optional<std::string> lateness(const Trouble& trouble, Rank reporter, std::vector<Account> accounts);

/// Admits a call once in each interval, and at most `most_calls` calls in an interval.
class Throttle {
 public:
  static constexpr std::size_t most_calls = 1024;

  explicit Throttle(std::chrono::milliseconds interval) : interval_(interval) {}
  bool admit(const CallId& call, Clock::time_point now);

 private:
  std::chrono::milliseconds interval_;
  std::map<CallId, Clock::time_point> last_;
};

}  // namespace lacuna::runtime

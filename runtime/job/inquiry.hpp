#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/job/socket.hpp"
#include "runtime/job/watch.hpp"

namespace lacuna::runtime {

/// A call, by communicator and run.
using CallId = std::pair<std::uint64_t, std::uint32_t>;

/// What a trouble is about, by a number that is nobody's call if it is about a message.
CallId call_of(const Trouble& trouble);

/// What a verdict calls it: "call 3", "call 3 of ranks 0, 2" where these are not all, or the message's name.
std::string name_of(const Trouble& trouble);

/// What is known of one rank about the call in question.
struct Account {
  enum class State : std::uint8_t {
    Unknown,     ///< it did not answer
    NotPosted,   ///< it is there and has not posted the call
    Posted,      ///< see `posted`
    Left,        ///< it said goodbye after having posted the call
    LeftBefore,  ///< it said goodbye without having posted the call
    Stranger,    ///< it is no member of the communicator
  };
  State state = State::Unknown;
  Posted posted;
};

/// The account of a rank that answered when asked for what it posted.
Account account_of(std::optional<Posted> posted);
/// The account of a rank that said goodbye, and what it posted, this long before the trouble was raised. What it sent
/// to a peer that is slow to take it may still be on its way for `longest_leave`: only then is a message that is
/// missing not to come.
Account account_of_leaver(const Trouble& trouble, const std::vector<Reach>& reached, Clock::duration gone_for);

/// The verdict on a trouble, from one account per rank, of which those of strangers do not count; nothing if the job
/// may go on.
std::optional<Status> judge(const Trouble& trouble, Rank reporter, std::vector<Account> accounts);

/// The verdict of a rank that has to decide without rank 0, from what it knows of others; `reason` says why.
Status judge_alone(const Trouble& trouble, const std::vector<Account>& known, std::string_view reason);

/// Lets something about a call through once in an interval, and no more calls in one than it remembers.
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

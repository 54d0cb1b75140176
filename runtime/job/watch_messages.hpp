#pragma once

#include <optional>
#include <span>
#include <vector>

#include "runtime/job/channel.hpp"
#include "runtime/job/inquiry.hpp"
#include "runtime/job/watch.hpp"

/// What the watches say to each other over the star, one frame each.
namespace lacuna::runtime::watch_messages {

inline constexpr std::size_t longest_text = 8192;  ///< longer ones are cut
inline constexpr std::size_t most_members = 65536;
inline constexpr std::size_t longest_message = 1 << 19;  // a report with the members of a large communicator

enum class Say : std::uint8_t {
  Beat = 16,  ///< still there
  Goodbye,    ///< this rank leaves; how far it came
  Report,     ///< to rank 0: a trouble
  Ask,        ///< from rank 0: what did you post?
  Answer,     ///< to rank 0
  Verdict,    ///< the job, or a communicator, has failed
  Stopped,    ///< to rank 0: this rank has heard the verdict on the job and moves no data any more
  Released,   ///< from rank 0: all have stopped
  Leaving,    ///< from rank 0: this rank has said goodbye, and waits until it has been heard
  AskTime,    ///< to rank 0: what does your clock say?
  Time,       ///< from rank 0
  AskSent,    ///< from rank 0: how many messages have you sent to this rank?
  Sent,       ///< to rank 0
};

struct Ask {
  std::uint32_t inquiry = 0;
  CallId call;
};

struct Answer {
  std::uint32_t inquiry = 0;
  std::optional<Posted> posted;
};

/// How many messages a rank has sent to another.
struct Sent {
  Rank to = 0;
  std::uint64_t messages = 0;
};

/// What has failed, and why.
struct Verdict {
  Status reason;
  std::optional<std::uint64_t> communicator;  ///< nothing: the job
  std::vector<Rank> members;                  ///< of the communicator; none: all ranks
};

/// Readings of two clocks; the answer repeats the question's.
struct Time {
  Clock::time_point asked;
  Clock::time_point theirs;
};

/// Any that says no more than its kind.
void send(Channel& channel, Say kind);
void send_leaving(Channel& channel, Rank rank);
void send_goodbye(Channel& channel, const std::vector<Reach>& reached);
void send_report(Channel& channel, const Trouble& trouble);
void send_ask(Channel& channel, const Ask& ask);
void send_answer(Channel& channel, const Answer& answer);
void send_verdict(Channel& channel, const Verdict& verdict);
void send_ask_sent(Channel& channel, Rank to);
void send_sent(Channel& channel, const Sent& sent);
void send_time(Channel& channel, Say kind, const Time& time);

/// Nothing if the frame is not well-formed. The frame's kind is the caller's to look at.
std::optional<Rank> read_leaving(const Frame& frame);
std::optional<std::vector<Reach>> read_goodbye(const Frame& frame);
std::optional<Trouble> read_report(const Frame& frame);
std::optional<Ask> read_ask(const Frame& frame);
std::optional<Answer> read_answer(const Frame& frame);
std::optional<Verdict> read_verdict(const Frame& frame);
std::optional<Rank> read_ask_sent(const Frame& frame);
std::optional<Sent> read_sent(const Frame& frame);
std::optional<Time> read_time(const Frame& frame);

}  // namespace lacuna::runtime::watch_messages

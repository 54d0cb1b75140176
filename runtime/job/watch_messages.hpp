#pragma once

#include <optional>
#include <span>
#include <vector>

#include "runtime/job/channel.hpp"
#include "runtime/job/inquiry.hpp"
#include "runtime/job/watch.hpp"

/// The messages of the watches, over the connections between rank 0 and the other ranks. Each is one frame.
namespace lacuna::runtime::watch_messages {

inline constexpr std::size_t longest_text = 8192;  ///< bytes; longer texts are cut
inline constexpr std::size_t most_members = 65536;
inline constexpr std::size_t longest_message = 1
                                               << 19;  // bytes: a report with the members of a large communicator fits

enum class Say : std::uint8_t {
  Beat = 16,  ///< this rank is alive
  Goodbye,    ///< this rank leaves, and has come so far
  Report,     ///< to rank 0: a trouble
  Ask,        ///< from rank 0: what did you post?
  Answer,     ///< to rank 0: what this rank posted
  Verdict,    ///< the job, or a communicator, has failed
  Stopped,    ///< to rank 0: this rank has heard the verdict on the job and moves no data any more
  Released,   ///< from rank 0: all have stopped
  Leaving,    ///< from rank 0: the named rank has said goodbye, and waits until its peers have taken what it sent
  AskTime,    ///< to rank 0: what does your clock say?
  Time,       ///< from rank 0: its clock
  AskSent,    ///< from rank 0: how many messages have you sent to this rank?
  Sent,       ///< to rank 0: how many messages this rank has sent to the other one
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
  std::optional<std::uint64_t> communicator;  ///< nothing: the job has failed
  std::vector<Rank> members;                  ///< members of the communicator; empty: all ranks
};

/// Readings of two clocks. An answer repeats `asked` of its question.
struct Time {
  Clock::time_point asked;
  Clock::time_point theirs;
};

/// Sends a message that has nothing but its kind.
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

// Each reads the frame of one kind. Nothing if the frame is not well-formed. The caller has looked at the frame's kind.
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

#include "bindings/job/counters_text.hpp"

#include <fmt/format.h>

#include <iterator>

#include "bindings/cpp/lacuna.hpp"
#include "bindings/job/json_text.hpp"

namespace lacuna {
namespace {

struct CallFigure {
  const char* name;  // in JSON
  const char* metric;
  const char* help;
  double (*of)(const CallCounters&);
};
constexpr CallFigure call_figures[] = {
    {"started", "calls_started_total", "Calls that this rank has started.",
     [](const CallCounters& calls) { return static_cast<double>(calls.started); }},
    {"completed", "calls_completed_total", "Calls that have ended well.",
     [](const CallCounters& calls) { return static_cast<double>(calls.completed); }},
    {"failed", "calls_failed_total", "Calls that have ended with an error.",
     [](const CallCounters& calls) { return static_cast<double>(calls.failed); }},
    {"seconds", "call_seconds_total", "Time from start to end, of all calls that have ended.",
     [](const CallCounters& calls) { return calls.seconds; }}};

struct TrafficFigure {
  const char* name;
  const char* metric;
  const char* help;
  std::uint64_t Counters::*of;
};
constexpr TrafficFigure traffic_figures[] = {
    {"payload_sent", "payload_sent_bytes_total", "Payload sent to the peer, fetched bytes included.",
     &Counters::payload_sent},
    {"header_sent", "header_sent_bytes_total", "Bytes of lacuna's own headers sent to the peer.",
     &Counters::header_sent},
    {"messages_sent", "messages_sent_total", "Messages sent to the peer.", &Counters::messages_sent},
    {"payload_received", "payload_received_bytes_total", "Payload received from the peer.",
     &Counters::payload_received},
    {"messages_received", "messages_received_total", "Messages received from the peer.", &Counters::messages_received}};

struct RankFigure {
  const char* name;
  const char* metric;
  const char* help;
  double (*of)(const JobCounters&);
  const char* kind = "counter";
};
constexpr RankFigure rank_figures[] = {
    {"wait_seconds", "wait_seconds_total", "Time that callers spent waiting for calls, over all their threads.",
     [](const JobCounters& rank) { return rank.wait_seconds; }},
    {"parked_messages", "parked_messages_total", "Messages that came before their step could take them.",
     [](const JobCounters& rank) { return static_cast<double>(rank.parked_messages); }},
    {"parked_bytes", "parked_bytes_total", "Bytes of such messages that were kept in memory.",
     [](const JobCounters& rank) { return static_cast<double>(rank.parked_bytes); }},
    {"waiting_messages", "waiting_messages", "Messages that wait for their step now.",
     [](const JobCounters& rank) { return static_cast<double>(rank.waiting_messages); }, "gauge"},
    {"duplicate_fragments", "duplicate_fragments_total", "Parts of messages that came a second time and were dropped.",
     [](const JobCounters& rank) { return static_cast<double>(rank.duplicate_fragments); }},
    {"descriptor_messages", "descriptor_messages_total", "Messages sent that their receiver had to fetch.",
     [](const JobCounters& rank) { return static_cast<double>(rank.descriptor_messages); }},
    {"stalls", "stalls_total", "Times that nothing moved for long while a call or a message was unfinished.",
     [](const JobCounters& rank) { return static_cast<double>(rank.stalls); }}};

struct SkipFigure {
  const char* name;
  const char* metric;
  const char* help;
  std::uint64_t SkipCounters::*of;
};
constexpr SkipFigure skip_figures[] = {
    {"calls", "skip_calls_total", "Calls that have left anything out and have ended well.", &SkipCounters::calls},
    {"steps_saved", "skip_steps_saved_total", "Steps that they took less than dense calls.",
     &SkipCounters::steps_saved},
    {"sent", "skip_sent_bytes_total", "Payload of this rank in these calls.", &SkipCounters::sent},
    {"dense_sent", "skip_dense_bytes_total", "What it would have been in dense calls in their place.",
     &SkipCounters::dense_sent},
    {"left_out", "skip_contributions_left_out_total", "Contributions that they left out, elements times ranks.",
     &SkipCounters::left_out},
    {"contributions", "skip_contributions_total", "Contributions to the results of dense calls in their place.",
     &SkipCounters::contributions},
    {"protected_parts", "skip_protected_parts_total", "Parts of calls with segments that are dense: important ones.",
     &SkipCounters::protected_parts},
    {"measured_parts", "skip_measured_parts_total", "Parts of such calls that are dense: to measure their importance.",
     &SkipCounters::measured_parts},
    {"audits", "skip_audits_total", "Audits of calls that skip, with a finite error.", &SkipCounters::audits}};

bool is_silent(const Counters& peer) { return peer.messages_sent == 0 && peer.messages_received == 0; }

std::string id_of(const CommunicatorCounters& communicator) {
  return communicator.rank < 0 ? "earlier" : fmt::format("{:016x}", communicator.id);
}

/// Calls show(name, calls) for each kind of call that there was.
template <class Show>
void for_each_kind(const CommunicatorCounters& communicator, Show show) {
  const auto show_some = [&](std::string_view name, const CallCounters& calls) {
    if (calls.started > 0) show(name, calls);
  };
  for (Collective collective : all_collectives) {
    show_some(to_string(collective), communicator.calls[static_cast<std::size_t>(collective)]);
  }
  show_some("send", communicator.sends);
  show_some("receive", communicator.receives);
}

std::string json_calls(const CommunicatorCounters& communicator) {
  std::string text;
  for_each_kind(communicator, [&](std::string_view name, const CallCounters& calls) {
    text += fmt::format("{}\"{}\": {{", text.empty() ? "" : ", ", name);
    for (const CallFigure& figure : call_figures) {
      text += fmt::format("{}\"{}\": {}", &figure == call_figures ? "" : ", ", figure.name,
                          fmt::to_string(figure.of(calls)));
    }
    text += "}";
  });
  return text;
}

std::string json_skips(const SkipCounters& skips) {
  std::string text = "{";
  for (const SkipFigure& figure : skip_figures) text += fmt::format("\"{}\": {}, ", figure.name, skips.*figure.of);
  return text + fmt::format("\"audit_errors\": {}, \"bytes_saved\": {}}}", skips.audit_errors, skips.bytes_saved());
}

std::string json(const JobCounters& all) {
  std::string text = fmt::format("{{\n  \"lacuna\": {}, \"rank\": {}, \"size\": {}, \"host\": {}",
                                 json_string(version()), all.rank, all.size, json_string(all.host));
  for (const RankFigure& figure : rank_figures) {
    text += fmt::format(",\n  \"{}\": {}", figure.name, fmt::to_string(figure.of(all)));
  }
  text += fmt::format(",\n  \"skips\": {}", json_skips(all.skips()));
  text += ",\n  \"communicators\": [";
  for (const CommunicatorCounters& one : all.communicators) {
    text += fmt::format("{}\n    {{\"id\": \"{}\", \"rank\": {}, \"size\": {}, \"calls\": {{{}}}, \"skips\": {}}}",
                        &one == all.communicators.data() ? "" : ",", id_of(one), one.rank, one.size, json_calls(one),
                        json_skips(one.skips));
  }
  text += "\n  ],\n  \"peers\": [";
  std::string separator;
  for (std::size_t peer = 0; peer < all.peers.size(); ++peer) {
    if (is_silent(all.peers[peer])) continue;
    text += fmt::format("{}\n    {{\"rank\": {}", separator, peer);
    for (const TrafficFigure& figure : traffic_figures) {
      text += fmt::format(", \"{}\": {}", figure.name, all.peers[peer].*figure.of);
    }
    text += "}";
    separator = ",";
  }
  return text + "\n  ]\n}\n";
}

/// The value of a label, with what Prometheus wants escaped.
std::string label(std::string_view text) {
  std::string escaped;
  for (char letter : text) {
    if (letter == '\n') {
      escaped += "\\n";
    } else {
      if (letter == '"' || letter == '\\') escaped += '\\';
      escaped += letter;
    }
  }
  return escaped;
}

/// Writes the lines of one metric after the other.
class Exposition {
 public:
  explicit Exposition(Rank rank) : rank_(rank) {}

  void begin(std::string_view metric, std::string_view kind, std::string_view help) {
    metric_ = metric;
    fmt::format_to(std::back_inserter(text_), "# HELP lacuna_{0} {2}\n# TYPE lacuna_{0} {1}\n", metric, kind, help);
  }
  /// `labels` begins with a comma unless it is empty.
  void add(std::string_view labels, const std::string& value) {
    fmt::format_to(std::back_inserter(text_), "lacuna_{}{{rank=\"{}\"{}}} {}\n", metric_, rank_, labels, value);
  }
  std::string text() && { return std::move(text_); }

 private:
  const Rank rank_;
  std::string_view metric_;
  std::string text_;
};

std::string prometheus(const JobCounters& all) {
  Exposition out(all.rank);
  out.begin("info", "gauge", "The rank, its job's size, host and lacuna's version; the value is always 1.");
  out.add(fmt::format(",size=\"{}\",host=\"{}\",version=\"{}\"", all.size, label(all.host), label(version())), "1");
  for (const RankFigure& figure : rank_figures) {
    out.begin(figure.metric, figure.kind, figure.help);
    out.add("", fmt::to_string(figure.of(all)));
  }
  for (const CallFigure& figure : call_figures) {
    out.begin(figure.metric, "counter", figure.help);
    for (const CommunicatorCounters& one : all.communicators) {
      for_each_kind(one, [&](std::string_view name, const CallCounters& calls) {
        out.add(fmt::format(",communicator=\"{}\",call=\"{}\"", id_of(one), name), fmt::to_string(figure.of(calls)));
      });
    }
  }
  for (const SkipFigure& figure : skip_figures) {
    out.begin(figure.metric, "counter", figure.help);
    for (const CommunicatorCounters& one : all.communicators) {
      out.add(fmt::format(",communicator=\"{}\"", id_of(one)), fmt::to_string(one.skips.*figure.of));
    }
  }
  out.begin("skip_audit_errors_total", "counter", "Their relative errors, added up.");
  for (const CommunicatorCounters& one : all.communicators) {
    out.add(fmt::format(",communicator=\"{}\"", id_of(one)), fmt::to_string(one.skips.audit_errors));
  }
  for (const TrafficFigure& figure : traffic_figures) {
    out.begin(figure.metric, "counter", figure.help);
    for (std::size_t peer = 0; peer < all.peers.size(); ++peer) {
      if (is_silent(all.peers[peer])) continue;
      out.add(fmt::format(",peer=\"{}\"", peer), fmt::format("{}", all.peers[peer].*figure.of));
    }
  }
  return std::move(out).text();
}

}  // namespace

std::string counters_text(const JobCounters& counters, CountersFormat format) {
  return format == CountersFormat::Json ? json(counters) : prometheus(counters);
}

}  // namespace lacuna

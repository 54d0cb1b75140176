#include "runtime/observe/counters_text.hpp"

#include <fmt/format.h>

#include <functional>
#include <iterator>

#include "runtime/method/method.hpp"
#include "runtime/observe/json_text.hpp"
#include "runtime/values/version.hpp"

namespace lacuna {
namespace {

struct CallFigure {
  const char* name;  // the name in JSON
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
    {"overlappable_seconds", "overlappable_seconds_total",
     "Part of the waiting that a progress thread might have saved (LACUNA_PROGRESS).",
     [](const JobCounters& rank) { return rank.overlappable_seconds; }},
    {"parked_messages", "parked_messages_total", "Messages that came before their step could take them.",
     [](const JobCounters& rank) { return static_cast<double>(rank.parked_messages); }},
    {"parked_bytes", "parked_bytes_total", "Bytes of parked messages that had to be stored.",
     [](const JobCounters& rank) { return static_cast<double>(rank.parked_bytes); }},
    {"waiting_messages", "waiting_messages", "Messages that wait for their step now.",
     [](const JobCounters& rank) { return static_cast<double>(rank.waiting_messages); }, "gauge"},
    {"duplicate_fragments", "duplicate_fragments_total",
     "Fragments of messages that came a second time and were dropped.",
     [](const JobCounters& rank) { return static_cast<double>(rank.duplicate_fragments); }},
    {"descriptor_messages", "descriptor_messages_total", "Messages sent that their receiver had to fetch.",
     [](const JobCounters& rank) { return static_cast<double>(rank.descriptor_messages); }},
    {"mapped_messages", "mapped_messages_total", "Messages sent that their receiver has read where they lay.",
     [](const JobCounters& rank) { return static_cast<double>(rank.mapped_messages); }},
    {"staged_bytes", "staged_bytes_total", "Bytes of messages on a device that went through pinned memory.",
     [](const JobCounters& rank) { return static_cast<double>(rank.staged_bytes); }},
    {"stalls", "stalls_total", "Times that nothing moved for long while a call or a message was unfinished.",
     [](const JobCounters& rank) { return static_cast<double>(rank.stalls); }}};

struct MethodFigure {
  const char* name;
  const char* metric;
  const char* help;
  std::uint64_t MethodCounters::*of;
};
constexpr MethodFigure method_figures[] = {
    {"calls", "method_calls_total", "Calls that have left anything out and have ended well.", &MethodCounters::calls},
    {"rounds_saved", "method_rounds_saved_total", "Rounds that these calls had less than dense calls.",
     &MethodCounters::rounds_saved},
    {"sent", "method_sent_bytes_total", "Payload of this rank in these calls.", &MethodCounters::sent},
    {"dense_sent", "method_dense_bytes_total", "Payload of this rank that dense calls would have sent.",
     &MethodCounters::dense_sent},
    {"left_out", "method_contributions_left_out_total",
     "Contributions that these calls left out, elements times ranks.", &MethodCounters::left_out},
    {"contributions", "method_contributions_total", "Contributions to the results of dense calls in their place.",
     &MethodCounters::contributions}};

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

/// The members of a JSON object, one for each measure, with the measure's name.
std::string json_measures(const MethodCounters& counted) {
  std::string text;
  for (const Measure* measure : counted.method->measures) {
    text += fmt::format(R"({}"{}": {{"value": {}, "unit": "{}", "adds_up": "{}", "calls": {}}})",
                        text.empty() ? "" : ", ", measure->name, counted.measures.value(*measure),
                        to_string(measure->unit), to_string(measure->adds_up), counted.measures.times(*measure));
  }
  return text;
}

/// The members of a JSON object, one for each method, with the method's name.
std::string json_methods(const std::vector<MethodCounters>& methods) {
  std::string text;
  for (const MethodCounters& counted : methods) {
    text += fmt::format("{}\"{}\": {{", text.empty() ? "" : ", ", counted.method->name);
    for (const MethodFigure& figure : method_figures)
      text += fmt::format("\"{}\": {}, ", figure.name, counted.*figure.of);
    text += fmt::format("\"bytes_saved\": {}, \"measures\": {{{}}}}}", counted.bytes_saved(), json_measures(counted));
  }
  return text;
}

std::string json(const JobCounters& all) {
  std::string text = fmt::format("{{\n  \"lacuna\": {}, \"rank\": {}, \"size\": {}, \"host\": {}",
                                 json_string(version()), all.rank, all.size, json_string(all.host));
  for (const RankFigure& figure : rank_figures) {
    text += fmt::format(",\n  \"{}\": {}", figure.name, fmt::to_string(figure.of(all)));
  }
  text += fmt::format(",\n  \"methods\": {{{}}}", json_methods(all.methods()));
  text += ",\n  \"communicators\": [";
  for (const CommunicatorCounters& one : all.communicators) {
    text +=
        fmt::format("{}\n    {{\"id\": \"{}\", \"rank\": {}, \"size\": {}, \"calls\": {{{}}}, \"methods\": {{{}}}}}",
                    &one == all.communicators.data() ? "" : ",", id_of(one), one.rank, one.size, json_calls(one),
                    json_methods(one.methods));
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

/// The value of a label. The characters that Prometheus wants escaped are escaped.
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

std::string labels_of(const CommunicatorCounters& communicator, const MethodCounters& counted) {
  return fmt::format(",communicator=\"{}\",method=\"{}\"", id_of(communicator), counted.method->name);
}

/// Adds the lines of one metric: a figure of each measure that the metric shows.
template <class IsShown, class Figure>
void add_lines(Exposition& out, const JobCounters& all, IsShown is_shown, Figure figure) {
  for (const CommunicatorCounters& one : all.communicators) {
    for (const MethodCounters& counted : one.methods) {
      for (const Measure* measure : counted.method->measures) {
        if (!is_shown(*measure)) continue;
        out.add(fmt::format("{},measure=\"{}\",unit=\"{}\",adds_up=\"{}\"", labels_of(one, counted), measure->name,
                            to_string(measure->unit), to_string(measure->adds_up)),
                fmt::to_string(figure(counted.measures, *measure)));
      }
    }
  }
}

/// Adds the metrics of measures. A sum only grows, so it is a counter. All other measures may fall.
void add_measures(Exposition& out, const JobCounters& all) {
  const auto value = [](const MeasureValues& values, const Measure& measure) { return values.value(measure); };
  const auto times = [](const MeasureValues& values, const Measure& measure) { return values.times(measure); };
  const auto is_sum = [](const Measure& measure) { return measure.adds_up == AddsUp::Sum; };
  out.begin("method_measures_total", "counter", "Measures of the method that are sums, over its calls.");
  add_lines(out, all, is_sum, value);
  out.begin("method_measures", "gauge",
            "Measures of the method that are the largest, the last or the mean of its calls.");
  add_lines(out, all, std::not_fn(is_sum), value);
  out.begin("method_measure_calls_total", "counter", "Calls that have told a value of the measure.");
  add_lines(
      out, all, [](const Measure&) { return true; }, times);
}

void add_methods(Exposition& out, const JobCounters& all) {
  for (const MethodFigure& figure : method_figures) {
    out.begin(figure.metric, "counter", figure.help);
    for (const CommunicatorCounters& one : all.communicators) {
      for (const MethodCounters& counted : one.methods) {
        out.add(labels_of(one, counted), fmt::to_string(counted.*figure.of));
      }
    }
  }
  add_measures(out, all);
}

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
  add_methods(out, all);
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

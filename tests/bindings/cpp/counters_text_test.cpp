#include "runtime/observe/counters_text.hpp"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "algorithms/skip/skip.hpp"
#include "bindings/c/lacuna.h"
#include "runtime/method/method.hpp"
#include "tests/bindings/cpp/facade_ranks.hpp"
#include "tests/support/environment.hpp"

namespace lacuna {
namespace {

using Json = nlohmann::json;
using test::Folder;
using test::local;
using test::on_each;

Status allreduce(Communicator& rank, std::size_t count) {
  std::vector<float> values(count, 1.0f);
  return rank.call(lacuna::allreduce<float>(values, values, Reduction::Sum, {.algorithm = "ring"}));
}

/// A sample's labels, as a set of "name=value" with the escapes resolved.
using Labels = std::set<std::string>;

/// Reads Prometheus' text format, version 0.0.4, as its description says, and complains about everything else.
class PrometheusReader {
 public:
  explicit PrometheusReader(const std::string& text) {
    EXPECT_TRUE(text.ends_with("\n"));
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) read(line);
  }

  double value(const std::string& metric, const Labels& labels) const {
    const auto found = samples_.find({metric, labels});
    EXPECT_NE(found, samples_.end()) << metric << testing::PrintToString(labels);
    return found == samples_.end() ? -1 : found->second;
  }
  std::size_t count(const std::string& metric) const {
    std::size_t number = 0;
    for (const auto& [key, value] : samples_) number += key.first == metric ? 1 : 0;
    return number;
  }
  const std::map<std::string, std::string>& types() const { return types_; }

 private:
  void read(const std::string& line) {
    std::smatch match;
    if (std::regex_match(line, match, std::regex("# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)"))) {
      EXPECT_TRUE(helped_.insert(match[1]).second) << "two HELP lines: " << line;
      current_ = match[1];
    } else if (std::regex_match(line, match, std::regex("# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge)"))) {
      EXPECT_EQ(match[1], current_) << "TYPE does not follow HELP: " << line;
      EXPECT_TRUE(types_.emplace(match[1], match[2]).second) << "two TYPE lines: " << line;
    } else {
      sample(line);
    }
  }
  void sample(const std::string& line) {
    const std::size_t brace = line.find('{');
    ASSERT_NE(brace, std::string::npos) << line;
    const std::string metric = line.substr(0, brace);
    EXPECT_EQ(metric, current_) << "a sample away from its metric: " << line;
    EXPECT_TRUE(types_.contains(metric)) << "a sample before its TYPE: " << line;
    EXPECT_EQ(metric.ends_with("_total"), types_[metric] == "counter") << line;
    std::size_t at = brace + 1;
    Labels labels;
    while (at < line.size() && line[at] != '}') label(line, at, labels);
    std::size_t used = 0;
    const std::string rest = line.substr(at + 2);
    const double value = std::stod(rest, &used);
    EXPECT_EQ(used, rest.size()) << line;
    EXPECT_TRUE(samples_.emplace(std::pair(metric, labels), value).second) << "the same sample twice: " << line;
  }
  static void label(const std::string& line, std::size_t& at, Labels& labels) {
    const std::size_t equals = line.find("=\"", at);
    ASSERT_NE(equals, std::string::npos) << line;
    std::string text = line.substr(at, equals - at);
    EXPECT_TRUE(std::regex_match(text, std::regex("[a-zA-Z_][a-zA-Z0-9_]*"))) << line;
    text += "=";
    for (at = equals + 2; at < line.size() && line[at] != '"'; ++at) {
      if (line[at] == '\\') ++at;
      text += line[at] == 'n' && line[at - 1] == '\\' ? '\n' : line[at];
    }
    EXPECT_TRUE(labels.insert(text).second) << "a label twice: " << line;
    ++at;
    if (at < line.size() && line[at] == ',') ++at;
  }

  std::string current_;
  std::set<std::string> helped_;
  std::map<std::string, std::string> types_;
  std::map<std::pair<std::string, Labels>, double> samples_;
};

constexpr Measure bits = {.name = "bits", .unit = Unit::Words, .adds_up = AddsUp::Mean},
                  peak = {.name = "peak", .unit = Unit::Magnitude, .adds_up = AddsUp::Largest},
                  width = {.name = "width", .unit = Unit::Entries, .adds_up = AddsUp::Last};
constexpr const Measure* other_measures[] = {&bits, &peak, &width};
constexpr Method other_method = [] {
  Method method{};
  method.name = "other";
  method.measures = other_measures;
  return method;
}();

/// Returns values of a method's measures, by row.
MeasureValues values_of(const Method& method, std::initializer_list<double> values) {
  MeasureValues all;
  all.begin(method.measures);
  for (std::size_t i = 0; i < values.size(); ++i) all.tell(*method.measures[i], values.begin()[i]);
  return all;
}

JobCounters example() {
  JobCounters all{.rank = 1,
                  .size = 3,
                  .host = "a \"b\\c\"\nd",
                  .wait_seconds = 0.125,
                  .overlappable_seconds = 0.0625,
                  .parked_messages = 7};
  all.parked_bytes = 8;
  all.waiting_messages = 3;
  all.duplicate_fragments = 14;
  all.descriptor_messages = 9;
  all.mapped_messages = 12;
  all.staged_bytes = 15;
  all.stalls = 10;
  all.peers.resize(3);
  all.peers[2] = {.payload_sent = 1'000'000'007,
                  .header_sent = 48,
                  .messages_sent = 11,
                  .payload_received = 12,
                  .messages_received = 13};
  all.communicators = {{.id = 0, .rank = -1, .size = 0}, {.id = 0xabc, .rank = 1, .size = 3}};
  all.communicators[0].calls[0] = {.started = 4, .completed = 4, .failed = 0, .seconds = 2};
  all.communicators[1].calls[0] = {.started = 3, .completed = 2, .failed = 1, .seconds = 0.5};
  all.communicators[0].methods = {{.method = &skip_method,
                                   .calls = 1,
                                   .rounds_saved = 2,
                                   .sent = 30,
                                   .dense_sent = 40,
                                   .measures = values_of(skip_method, {1, 0, 2})}};
  all.communicators[1].methods = {{.method = &skip_method,
                                   .calls = 5,
                                   .rounds_saved = 6,
                                   .sent = 7,
                                   .dense_sent = 20,
                                   .left_out = 80,
                                   .contributions = 160,
                                   .measures = values_of(skip_method, {12, 3, 8, 9, 4, 1.5})},
                                  {.method = &other_method,
                                   .calls = 1,
                                   .sent = 1,
                                   .dense_sent = 4,
                                   .measures = values_of(other_method, {0.25, -3, 7})}};
  for (double value : {0.75, 0.5}) all.communicators[1].methods[1].measures.tell(bits, value);
  all.communicators[1].methods[1].measures.tell(peak, -5);
  all.communicators[1].methods[1].measures.tell(width, 6);
  return all;
}

TEST(CountersText, PrometheusTextIsWellFormedAndComplete) {
  const PrometheusReader read(counters_text(example(), CountersFormat::Prometheus));
  EXPECT_EQ(read.value("lacuna_info", {"rank=1", "size=3", "host=a \"b\\c\"\nd", "version=" + std::string(version())}),
            1);
  EXPECT_EQ(read.value("lacuna_wait_seconds_total", {"rank=1"}), 0.125);
  EXPECT_EQ(read.value("lacuna_overlappable_seconds_total", {"rank=1"}), 0.0625);
  EXPECT_EQ(read.value("lacuna_parked_messages_total", {"rank=1"}), 7);
  EXPECT_EQ(read.value("lacuna_parked_bytes_total", {"rank=1"}), 8);
  EXPECT_EQ(read.value("lacuna_waiting_messages", {"rank=1"}), 3);
  EXPECT_EQ(read.value("lacuna_duplicate_fragments_total", {"rank=1"}), 14);
  EXPECT_EQ(read.value("lacuna_descriptor_messages_total", {"rank=1"}), 9);
  EXPECT_EQ(read.value("lacuna_mapped_messages_total", {"rank=1"}), 12);
  EXPECT_EQ(read.value("lacuna_staged_bytes_total", {"rank=1"}), 15);
  EXPECT_EQ(read.value("lacuna_stalls_total", {"rank=1"}), 10);
  const Labels calls = {"rank=1", "communicator=0000000000000abc", "call=allreduce"};
  EXPECT_EQ(read.value("lacuna_calls_started_total", calls), 3);
  EXPECT_EQ(read.value("lacuna_calls_completed_total", calls), 2);
  EXPECT_EQ(read.value("lacuna_calls_failed_total", calls), 1);
  EXPECT_EQ(read.value("lacuna_call_seconds_total", calls), 0.5);
  EXPECT_EQ(read.value("lacuna_calls_started_total", {"rank=1", "communicator=earlier", "call=allreduce"}), 4);
  const std::string communicator = "communicator=0000000000000abc";
  const Labels skips = {"rank=1", communicator, "method=skip"};
  EXPECT_EQ(read.value("lacuna_method_calls_total", skips), 5);
  EXPECT_EQ(read.value("lacuna_method_rounds_saved_total", skips), 6);
  EXPECT_EQ(read.value("lacuna_method_sent_bytes_total", skips), 7);
  EXPECT_EQ(read.value("lacuna_method_dense_bytes_total", skips), 20);
  EXPECT_EQ(read.value("lacuna_method_contributions_left_out_total", skips), 80);
  EXPECT_EQ(read.value("lacuna_method_contributions_total", skips), 160);
  const auto measure = [&](const std::string& metric, const Method& method, const Measure& row) {
    return read.value("lacuna_method_" + metric,
                      {"rank=1", communicator, "method=" + std::string(method.name), "measure=" + std::string(row.name),
                       "unit=" + std::string(to_string(row.unit)), "adds_up=" + std::string(to_string(row.adds_up))});
  };
  EXPECT_EQ(measure("measures_total", skip_method, skip_measure::steps), 12);
  EXPECT_EQ(measure("measures_total", skip_method, skip_measure::gather_steps), 3);
  EXPECT_EQ(measure("measures_total", skip_method, skip_measure::protected_parts), 8);
  EXPECT_EQ(measure("measures_total", skip_method, skip_measure::measured_parts), 9);
  EXPECT_EQ(measure("measures_total", skip_method, skip_measure::audits), 4);
  EXPECT_EQ(measure("measures_total", skip_method, skip_measure::audit_error), 1.5);
  EXPECT_EQ(measure("measures", other_method, bits), 0.5) << "the mean";
  EXPECT_EQ(measure("measures", other_method, peak), -3) << "the largest";
  EXPECT_EQ(measure("measures", other_method, width), 6) << "the last";
  EXPECT_EQ(measure("measure_calls_total", other_method, bits), 3);
  EXPECT_EQ(measure("measure_calls_total", skip_method, skip_measure::audits), 1);
  EXPECT_EQ(read.value("lacuna_method_dense_bytes_total", {"rank=1", communicator, "method=other"}), 4);
  EXPECT_EQ(read.value("lacuna_method_dense_bytes_total", {"rank=1", "communicator=earlier", "method=skip"}), 40);
  EXPECT_EQ(read.count("lacuna_method_calls_total"), 3u);
  EXPECT_EQ(read.count("lacuna_method_measures_total"), 2 * skip_method.measures.size());
  EXPECT_EQ(read.count("lacuna_method_measures"), other_method.measures.size());
  EXPECT_EQ(read.value("lacuna_payload_sent_bytes_total", {"rank=1", "peer=2"}), 1'000'000'007);
  EXPECT_EQ(read.value("lacuna_header_sent_bytes_total", {"rank=1", "peer=2"}), 48);
  EXPECT_EQ(read.value("lacuna_messages_sent_total", {"rank=1", "peer=2"}), 11);
  EXPECT_EQ(read.value("lacuna_payload_received_bytes_total", {"rank=1", "peer=2"}), 12);
  EXPECT_EQ(read.value("lacuna_messages_received_total", {"rank=1", "peer=2"}), 13);
  EXPECT_EQ(read.count("lacuna_payload_sent_bytes_total"), 1u) << "peers without traffic are left out";
  for (const auto& [metric, type] : read.types()) EXPECT_GT(read.count(metric), 0u) << metric;
}

/// Returns a measure in JSON.
Json shown(double value, const char* unit, const char* adds_up, int calls) {
  return {{"value", value}, {"unit", unit}, {"adds_up", adds_up}, {"calls", calls}};
}

TEST(CountersText, JsonHoldsTheSameFigures) {
  const Json json = Json::parse(counters_text(example(), CountersFormat::Json));
  EXPECT_EQ(json.at("rank"), 1);
  EXPECT_EQ(json.at("host"), "a \"b\\c\"\nd");
  EXPECT_EQ(json.at("wait_seconds"), 0.125);
  EXPECT_EQ(json.at("overlappable_seconds"), 0.0625);
  EXPECT_EQ(json.at("communicators").at(1).at("id"), "0000000000000abc");
  EXPECT_EQ(json.at("communicators").at(1).at("calls").at("allreduce").at("completed"), 2);
  const Json& methods = json.at("communicators").at(1).at("methods");
  EXPECT_EQ(methods.size(), 2u);
  EXPECT_EQ(methods.at("skip"), Json({{"calls", 5},
                                      {"rounds_saved", 6},
                                      {"sent", 7},
                                      {"dense_sent", 20},
                                      {"left_out", 80},
                                      {"contributions", 160},
                                      {"bytes_saved", 13},
                                      {"measures",
                                       {{"steps", shown(12, "rounds", "sum", 1)},
                                        {"gather_steps", shown(3, "rounds", "sum", 1)},
                                        {"protected_parts", shown(8, "parts", "sum", 1)},
                                        {"measured_parts", shown(9, "parts", "sum", 1)},
                                        {"audits", shown(4, "calls", "sum", 1)},
                                        {"audit_error", shown(1.5, "ratio", "sum", 1)},
                                        {"elements_dropped", shown(0, "elements", "sum", 0)}}}}));
  EXPECT_EQ(methods.at("other").at("measures"), Json({{"bits", shown(0.5, "words", "mean", 3)},
                                                      {"peak", shown(-3, "magnitude", "largest", 2)},
                                                      {"width", shown(6, "entries", "last", 2)}}));
  EXPECT_EQ(json.at("methods").at("skip").at("calls"), 6);
  EXPECT_EQ(json.at("methods").at("skip").at("bytes_saved"), 23);
  const Json& skips = json.at("methods").at("skip").at("measures");
  EXPECT_EQ(skips.at("steps"), shown(13, "rounds", "sum", 2));
  EXPECT_EQ(skips.at("protected_parts"), shown(10, "parts", "sum", 2));
  EXPECT_EQ(json.at("methods").at("other").at("bytes_saved"), 3);
  EXPECT_EQ(json.at("peers").size(), 1u);
  EXPECT_EQ(json.at("peers").at(0).at("rank"), 2);
  EXPECT_EQ(json.at("peers").at(0).at("payload_sent"), 1'000'000'007u);
  EXPECT_EQ(json.at("peers").at(0).at("header_sent"), 48);
  EXPECT_EQ(json.at("peers").at(0).at("messages_sent"), 11);
  EXPECT_EQ(json.at("peers").at(0).at("payload_received"), 12);
  EXPECT_EQ(json.at("peers").at(0).at("messages_received"), 13);
  EXPECT_EQ(json.at("parked_messages"), 7);
  EXPECT_EQ(json.at("parked_bytes"), 8);
  EXPECT_EQ(json.at("waiting_messages"), 3);
  EXPECT_EQ(json.at("duplicate_fragments"), 14);
  EXPECT_EQ(json.at("descriptor_messages"), 9);
  EXPECT_EQ(json.at("mapped_messages"), 12);
  EXPECT_EQ(json.at("staged_bytes"), 15);
  EXPECT_EQ(json.at("stalls"), 10);
}

TEST(CountersText, WithoutMethodsThereAreNoSamplesOfThem) {
  const JobCounters counters;
  const PrometheusReader read(counters_text(counters, CountersFormat::Prometheus));
  EXPECT_EQ(read.count("lacuna_method_calls_total"), 0u);
  EXPECT_EQ(read.count("lacuna_method_measures_total"), 0u);
  EXPECT_EQ(Json::parse(counters_text(counters, CountersFormat::Json)).at("methods"), Json::object());
}

TEST(CountersText, APeerThatOnlySentIsShownAndASilentOneIsNot) {
  JobCounters counters;
  counters.peers.resize(3);
  counters.peers[2].messages_received = 7;
  const Json json = Json::parse(counters_text(counters, CountersFormat::Json));
  ASSERT_EQ(json.at("peers").size(), 1u);
  EXPECT_EQ(json.at("peers")[0].at("rank"), 2);
  EXPECT_EQ(json.at("peers")[0].at("messages_received"), 7);
}

TEST(CountersText, EachRankLeavesItsCountersInTheFolder) {
  const Folder folder;
  const std::string inside = folder / "made/by/lacuna";
  {
    const test::Variable metrics("LACUNA_METRICS", inside);
    auto ranks = local(2, Progress::Thread);
    on_each(ranks, [](Communicator& rank) { EXPECT_TRUE(allreduce(rank, 10)); });
  }
  for (int rank = 0; rank < 2; ++rank) {
    const std::string name = "made/by/lacuna/rank-" + std::to_string(rank);
    const Json json = Json::parse(folder.read(name + ".json"));
    EXPECT_EQ(json.at("rank"), rank);
    EXPECT_EQ(json.at("communicators").at(0).at("calls").at("allreduce").at("completed"), 1);
    const PrometheusReader read(folder.read(name + ".prom"));
    EXPECT_EQ(read.count("lacuna_calls_completed_total"), 1u);
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(inside), {}), 4) << "no unfinished files";
}

TEST(CountersText, ARelativeFolderIsMeantFromWhereTheProgramJoined) {
  const Folder folder;
  const test::Variable metrics("LACUNA_METRICS", "here");
  std::vector<Communicator> ranks;
  {
    const test::CurrentFolder there(folder.path());
    ranks = local(1, Progress::Thread);
  }
  ranks.clear();
  EXPECT_TRUE(std::filesystem::exists(folder / "here/rank-0.json"));
}

TEST(CountersText, AFolderThatCannotBeIsAnErrorAtTheStart) {
  const test::Variable metrics("LACUNA_METRICS", "/proc/none");
  const auto ranks = Communicator::local(2);
  ASSERT_FALSE(ranks);
  EXPECT_EQ(ranks.status().code(), Code::Io);
  EXPECT_NE(ranks.status().message().find("LACUNA_METRICS: nothing can be written to the folder /proc/none: "),
            std::string::npos)
      << ranks.status().message();
}

TEST(CountersText, TheCInterfaceFillsABufferThatIsLargeEnough) {
  lacuna_communicator* world = nullptr;
  ASSERT_EQ(lacuna_join(nullptr, &world), LACUNA_OK) << lacuna_last_error();
  std::size_t length = 0;
  EXPECT_EQ(lacuna_counters_text(world, LACUNA_PROMETHEUS, nullptr, 0, &length), LACUNA_INVALID_ARGUMENT);
  ASSERT_GT(length, 0u);
  EXPECT_EQ(lacuna_last_error(), "capacity is 0, must be at least " + std::to_string(length + 1));
  std::vector<char> text(length + 1, 'x');
  EXPECT_EQ(lacuna_counters_text(world, LACUNA_PROMETHEUS, text.data(), length, &length), LACUNA_INVALID_ARGUMENT);
  EXPECT_EQ(text, std::vector<char>(length + 1, 'x')) << "nothing is stored";
  EXPECT_EQ(lacuna_counters_text(world, LACUNA_PROMETHEUS, text.data(), text.size(), &length), LACUNA_OK);
  EXPECT_EQ(std::string(text.data()).size(), length);
  const PrometheusReader read(text.data());
  EXPECT_EQ(read.count("lacuna_info"), 1u);
  EXPECT_EQ(lacuna_counters_text(world, 2, text.data(), text.size(), &length), LACUNA_INVALID_ARGUMENT);
  EXPECT_STREQ(lacuna_last_error(), "format is 2, must be 0 .. 1");
  EXPECT_EQ(lacuna_counters_text(world, LACUNA_JSON, nullptr, 5, &length), LACUNA_INVALID_ARGUMENT);
  EXPECT_STREQ(lacuna_last_error(), "text is null");
  EXPECT_EQ(lacuna_counters_text(nullptr, LACUNA_JSON, text.data(), 5, &length), LACUNA_INVALID_ARGUMENT);
  lacuna_communicator_free(world);
}

}  // namespace
}  // namespace lacuna

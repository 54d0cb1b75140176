#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace lacuna::test {

/// A trace, which is read as a viewer reads it: by the Trace Event Format alone.
class TraceJson {
 public:
  using Json = nlohmann::json;

  explicit TraceJson(const std::string& text) : json_(Json::parse(text, nullptr, false)) {
    EXPECT_FALSE(json_.is_discarded()) << "no JSON: " << text.substr(0, 200);
    if (json_.is_discarded()) return;
    for (const Json& event : json_.at("traceEvents")) check(event);
    expect_nesting();
    for (const auto& [id, open] : calls_) EXPECT_EQ(open, 0) << "call " << id << " is not closed once";
  }

  const Json& other() const { return json_.at("otherData"); }
  /// The events with a phase ('X', 's' ...) and a name.
  std::vector<Json> events(char phase, const std::string& name) const {
    std::vector<Json> found;
    for (const Json& event : json_.at("traceEvents")) {
      if (event.at("ph") == std::string(1, phase) && event.at("name") == name) found.push_back(event);
    }
    return found;
  }
  std::size_t count(char phase, const std::string& name) const { return events(phase, name).size(); }
  std::size_t size() const { return json_.at("traceEvents").size(); }

  /// The arrows that have both ends: "sender>receiver", with the times of the ends in microseconds.
  struct Arrow {
    int from = 0, to = 0;
    double sent = 0, received = 0;
  };
  std::vector<Arrow> arrows() const {
    std::map<std::string, Json> begins;
    for (const Json& event : events('s', "message")) {
      EXPECT_TRUE(begins.emplace(event.at("id"), event).second) << "two arrows begin as " << event.at("id");
    }
    std::vector<Arrow> found;
    for (const Json& end : events('f', "message")) {
      const auto begin = begins.find(end.at("id"));
      if (begin == begins.end()) continue;
      found.push_back({begin->second.at("pid"), end.at("pid"), begin->second.at("ts"), end.at("ts")});
      begins.erase(begin);
    }
    return found;
  }

 private:
  using Track = std::pair<int, int>;
  static constexpr double rounding = 1e-4;  // microseconds since a machine's start, as doubles

  void check(const Json& event) {
    const std::string phase = event.at("ph");
    EXPECT_TRUE(event.at("pid").is_number_integer() && event.at("tid").is_number_integer()) << event;
    EXPECT_TRUE(event.at("name").is_string()) << event;
    if (phase == "M") return;
    EXPECT_TRUE(event.at("ts").is_number()) << event;
    if (phase == "X") {
      EXPECT_GT(event.at("dur").get<double>(), 0) << event;
      slices_[{event.at("pid"), event.at("tid")}].emplace_back(event.at("ts"), event.at("dur"));
    } else if (phase == "b" || phase == "e") {
      calls_[event.at("id").get<std::string>()] += phase == "b" ? 1 : -1;
    } else {
      EXPECT_TRUE(phase == "s" || phase == "f") << event;
      EXPECT_EQ(event.at("id").get<std::string>().substr(0, 2), "0x") << "Perfetto reads ids in hexadecimal";
      expect_inside(event);
    }
  }
  /// Checks that each end of an arrow lies in the slice that stands just before it.
  void expect_inside(const Json& event) {
    const auto& [begin, length] = slices_[{event.at("pid"), event.at("tid")}].back();
    const double at = event.at("ts");
    EXPECT_GE(at, begin - rounding) << event;
    EXPECT_LE(at, begin + length + rounding) << event;
  }
  /// Checks that the slices of a track do not overlap.
  void expect_nesting() {
    for (auto& [track, slices] : slices_) {
      std::sort(slices.begin(), slices.end());
      for (std::size_t i = 1; i < slices.size(); ++i) {
        EXPECT_GE(slices[i].first, slices[i - 1].first + slices[i - 1].second - rounding)
            << "slices overlap on track " << track.second << " of process " << track.first;
      }
    }
  }

  Json json_;
  std::map<Track, std::vector<std::pair<double, double>>> slices_;
  std::map<std::string, int> calls_;
};

}  // namespace lacuna::test

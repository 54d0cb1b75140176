// A trace has steps of all kinds, also those that only methods have.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/observe/trace_slices.hpp"
#include "tests/processes/executed.hpp"
#include "tests/support/environment.hpp"

namespace lacuna {
namespace {

using test::Folder;

TEST(TraceSlices, StepsOfEveryKindAreSlicesInLanesOfTheirKind) {
  using Kind = runtime::Tracer::Kind;
  std::vector<runtime::Tracer::Event> events;
  std::uint32_t step = 0;
  for (const StepKindTraits& traits : step_kind_traits) {
    events.push_back({.ticks = 10, .step = step, .kind = Kind::StepStarted, .step_kind = traits.kind});
    events.push_back({.ticks = 20, .step = step++, .kind = Kind::StepEnded, .step_kind = traits.kind});
  }
  const TraceSlices slices = slices_of(events);
  ASSERT_EQ(slices.steps.size(), step_kind_traits.size());
  for (std::size_t i = 0; i < slices.steps.size(); ++i) {
    EXPECT_EQ(slices.steps[i].step.step_kind, step_kind_traits[i].kind);
    EXPECT_TRUE(slices.steps[i].finished) << step_kind_traits[i].name;
    EXPECT_EQ(slices.steps[i].lane, 0u) << step_kind_traits[i].name << " shares no lanes with other kinds";
  }
}

TEST(TraceSlices, AKindThatNoTableKnowsHasALaneToo) {
  using Kind = runtime::Tracer::Kind;
  const auto unknown = static_cast<StepKind>(255);
  const TraceSlices slices = slices_of({{.ticks = 10, .kind = Kind::StepStarted, .step_kind = unknown},
                                        {.ticks = 20, .kind = Kind::StepEnded, .step_kind = unknown}});
  ASSERT_EQ(slices.steps.size(), 1u);
  EXPECT_EQ(slices.steps[0].lane, 0u);
}

/// Returns the tracks of rank 0, and the names of what lies on each.
std::map<std::string, std::set<std::string>> tracks_of(const std::string& file) {
  const auto json = nlohmann::json::parse(file);
  std::map<int, std::string> names;
  std::map<std::string, std::set<std::string>> tracks;
  for (const auto& event : json.at("traceEvents")) {
    if (event.at("name") == "thread_name") names[event.at("tid")] = event.at("args").at("name");
    if (event.at("ph") == "X") tracks[names.at(event.at("tid"))].insert(event.at("name").get<std::string>());
  }
  return tracks;
}

/// Returns what `lacuna perf` of a method leaves on each of three ranks.
std::map<std::string, std::set<std::string>> tracks_of_method(const std::string& method) {
  const Folder folder;
  test::Executed launched({LACUNA_COMMAND, "launch", "-n", "3", "--", LACUNA_COMMAND, "perf", "allreduce", "-b", "16K",
                           "-e", "16K", "-n", "2", "-w", "0", "--method", method},
                          {{"LACUNA_TRACE", folder.path()}});
  EXPECT_EQ(launched.wait(), 0) << launched.output();
  for (int rank : {1, 2}) {
    const auto others = tracks_of(folder.read("rank-" + std::to_string(rank) + ".trace.json"));
    EXPECT_TRUE(others.contains("kernels")) << "rank " << rank;
  }
  return tracks_of(folder.read("rank-0.trace.json"));
}

TEST(TraceOfProcesses, KernelsOfTopkAreSlicesOfATrackUnderTheirNames) {
  auto tracks = tracks_of_method("topk:density=0.1");
  EXPECT_GE(tracks["kernels"].size(), 2u);
  EXPECT_FALSE(tracks["kernels"].contains("kernel")) << "it is called as the kernel is";
  EXPECT_EQ(tracks["releases"], (std::set<std::string>{"release"}));
}

TEST(TraceOfProcesses, KernelsOfOkTopkAreSlicesOfATrackUnderTheirNames) {
  auto tracks = tracks_of_method("ok_topk:density=0.1");
  EXPECT_GE(tracks["kernels"].size(), 2u);
  EXPECT_FALSE(tracks["kernels"].contains("kernel")) << "it is called as the kernel is";
}

TEST(TraceOfProcesses, WhatAnAuditComputesIsOnTracks) {
  auto tracks = tracks_of_method("skip:steps=1,audit=1");
  EXPECT_GE(tracks["kernels"].size(), 1u);
}

}  // namespace
}  // namespace lacuna

#include "bindings/cli/trace/trace.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <numeric>
#include <set>
#include <tuple>

#include "bindings/cli/perf/data.hpp"
#include "runtime/files/output_folder.hpp"
#include "runtime/observe/trace_slices.hpp"
#include "tests/bindings/cpp/facade_ranks.hpp"
#include "tests/processes/executed.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/trace_json.hpp"

namespace lacuna {
namespace {

using cli::merge_traces;
using test::Folder;
using test::local;
using test::on_each;
using test::TraceJson;
using test::Variable;

Status allreduce(Communicator& rank, std::size_t count) {
  std::vector<float> values(count, 1.0f);
  return rank.call(lacuna::allreduce<float>(values, values, Reduction::Sum, {.algorithm = "ring"}));
}

/// Runs `body` on the ranks of a job in this process. Returns the merged traces.
TraceJson trace_of(Rank size, const Folder& folder, const std::function<void(Communicator&)>& body) {
  {
    const Variable trace("LACUNA_TRACE", folder.path());
    auto ranks = local(size, Progress::Thread);
    on_each(ranks, body);
  }
  const auto merged = merge_traces(folder.path());
  EXPECT_TRUE(merged) << merged.status().message();
  EXPECT_EQ(merged->ranks.size(), static_cast<std::size_t>(size));
  return TraceJson(folder.read("trace.json"));
}

TEST(Trace, AStepIsASliceThatTellsWhatItDid) {
  const Folder folder;
  const TraceJson trace = trace_of(4, folder, [](Communicator& rank) { EXPECT_TRUE(allreduce(rank, 1000)); });
  EXPECT_EQ(trace.count('X', "send"), 4u * 6) << "2 (P - 1) on each of P ranks";
  EXPECT_EQ(trace.count('X', "receive_reduce"), 4u * 3);
  EXPECT_EQ(trace.count('X', "receive"), 4u * 3);
  for (const auto& step : trace.events('X', "send")) {
    const auto& args = step.at("args");
    EXPECT_EQ(args.at("collective"), "allreduce");
    EXPECT_EQ(args.at("algorithm"), "ring");
    EXPECT_EQ(args.at("bytes"), 1000);
    EXPECT_EQ(args.at("part"), 0);
    EXPECT_EQ(args.at("delivery"), "eager");
    EXPECT_EQ(args.at("peer"), (step.at("pid").get<int>() + 1) % 4);
  }
  const auto calls = trace.events('b', "allreduce ring");
  ASSERT_EQ(calls.size(), 4u);
  EXPECT_EQ(calls[0].at("args").at("outcome"), "ok");
  EXPECT_EQ(calls[0].at("args").at("bytes"), 4000);
}

TEST(Trace, EveryMessageOfEveryCollectiveIsAnArrowWithBothEnds) {
  const Variable messages_only("LACUNA_ALGORITHMS", "allreduce=ring,barrier=dissemination");
  const Folder folder;
  constexpr Rank size = 5;
  std::array<std::uint64_t, size> messages{};
  const TraceJson trace = trace_of(size, folder, [&](Communicator& rank) {
    std::vector<std::uint8_t> in(100 * 4 * size), out(100 * 4 * size);
    for (Collective collective : all_collectives) {
      Call call{.collective = collective,
                .input = moves_data(collective) ? in.data() : nullptr,
                .output = moves_data(collective) ? out.data() : nullptr,
                .count = moves_data(collective) ? 100u : 0u};
      std::vector<std::size_t> counts;
      cli::give_tables(call, rank.rank(), size, counts);
      const Status done = rank.call(call);
      EXPECT_TRUE(done) << done.to_string();
    }
    const Rank next = (rank.rank() + 1) % size;
    for (int i = 0; i < 3; ++i) {  // tags that share a stream, and a message that comes before its receive is posted
      EXPECT_TRUE(rank.send<std::uint8_t>(std::span<const std::uint8_t>(in.data(), 8), next, 64 * (i % 2)));
    }
    EXPECT_TRUE(rank.call(barrier()));
    for (int tag : {64, 0, 0}) {
      EXPECT_TRUE(rank.receive<std::uint8_t>(out, (rank.rank() + size - 1) % size, tag));
    }
    EXPECT_TRUE(rank.call(barrier()));
    messages[static_cast<std::size_t>(rank.rank())] = 0;
    for (Rank peer = 0; peer < size; ++peer) {
      messages[static_cast<std::size_t>(rank.rank())] += rank.counters(peer).messages_sent;
    }
  });
  const std::uint64_t sent = std::accumulate(messages.begin(), messages.end(), std::uint64_t{0});
  const auto arrows = trace.arrows();
  EXPECT_GT(sent, 100u);
  EXPECT_EQ(trace.count('s', "message"), sent);
  EXPECT_EQ(trace.count('f', "message"), sent);
  EXPECT_EQ(arrows.size(), sent);
  EXPECT_EQ(trace.count('b', "send message"), 15u);
  EXPECT_EQ(trace.count('b', "receive message"), 15u);
  for (const auto& arrow : arrows) EXPECT_GE(arrow.received, arrow.sent - 0.0021) << arrow.from << ">" << arrow.to;
}

TEST(Trace, WhereTheSenderTellsTheLengthThatOneIsShown) {
  const Folder folder;
  const TraceJson trace = trace_of(2, folder, [](Communicator& rank) {
    const std::vector<std::size_t> sent(2, 3), most(2, 1000);
    std::vector<std::size_t> received(2);
    const std::vector<float> in(6);
    std::vector<float> out(2000);
    EXPECT_TRUE(rank.call(alltoallv<float>(in, {.counts = sent}, out, {.counts = most, .received = received})));
  });
  for (const char* kind : {"send", "receive", "copy"}) {
    ASSERT_EQ(trace.count('X', kind), 2u);
    for (const auto& step : trace.events('X', kind)) EXPECT_EQ(step.at("args").at("bytes"), 12) << kind;
  }
}

TEST(Trace, WaitsOfTheCallerAreSlices) {
  const Folder folder;
  using Microseconds = std::chrono::duration<double, std::micro>;
  std::chrono::steady_clock::time_point comes[2], goes[2];  // to the barrier, and from there
  const TraceJson trace = trace_of(2, folder, [&](Communicator& rank) {
    if (rank.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    comes[rank.rank()] = std::chrono::steady_clock::now();
    EXPECT_TRUE(rank.call(barrier()));
    goes[rank.rank()] = std::chrono::steady_clock::now();
  });
  const auto waits = trace.events('X', "wait");
  ASSERT_EQ(waits.size(), 2u);
  const auto& first = waits[waits[0].at("pid") == 0 ? 0 : 1];
  EXPECT_GE(first.at("dur").get<double>(), Microseconds(comes[1] - comes[0]).count() - 20e3);
  EXPECT_LE(first.at("dur").get<double>(), Microseconds(goes[0] - comes[0]).count() + 1e3);
}

TEST(Trace, MessagesThatTheReceiverFetchesAreMarked) {
  const Folder folder;
  const Variable eager("LACUNA_EAGER", "0");
  const TraceJson trace = trace_of(2, folder, [](Communicator& rank) { EXPECT_TRUE(allreduce(rank, 1000)); });
  ASSERT_EQ(trace.count('X', "send"), 4u);
  for (const auto& step : trace.events('X', "send")) EXPECT_EQ(step.at("args").at("delivery"), "descriptor");
  EXPECT_EQ(trace.arrows().size(), 4u);
}

TEST(Trace, EventsBeyondTheRoomAreCountedAndSaid) {
  const Folder folder;
  const Variable events("LACUNA_TRACE_EVENTS", "10");
  std::vector<std::string> lines;
  set_log_callback([](LogLevel, std::string_view text,
                      void* user) { static_cast<std::vector<std::string>*>(user)->emplace_back(text); },
                   &lines);
  const TraceJson trace = trace_of(1, folder, [](Communicator& rank) {
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(allreduce(rank, 10));
  });
  set_log_callback(nullptr, nullptr);
  // A call of one rank has these events: it is posted, one step starts and ends, it ends, and it is waited for.
  EXPECT_EQ(trace.other().at("dropped"), 40);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(lines[0].starts_with("trace: 40 later events had no room in ")) << lines[0];
  EXPECT_EQ(trace.count('X', "copy"), 2u);
}

TEST(Trace, AFailedCallLeavesWhatItHadReached) {
  const Folder folder;
  {
    const Variable trace("LACUNA_TRACE", folder.path()), deadline("LACUNA_DEADLINE", "0.1");
    auto ranks = local(2, Progress::Thread);
    EXPECT_EQ(allreduce(ranks[0], 10).code(), Code::TimedOut);
  }
  const TraceJson trace(folder.read("rank-0.trace.json"));
  const auto calls = trace.events('b', "allreduce ring");
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].at("args").at("outcome"), to_string(Code::TimedOut));
  const auto receives = trace.events('X', "receive_reduce");
  ASSERT_EQ(receives.size(), 1u);
  EXPECT_TRUE(receives[0].at("args").at("unfinished"));
  EXPECT_EQ(trace.count('s', "message"), 1u);
  EXPECT_EQ(trace.count('f', "message"), 0u);
}

TEST(Trace, WithoutTheVariableThereIsNone) {
  const Folder folder;
  const test::CurrentFolder here(folder.path());
  {
    auto ranks = local(1, Progress::Caller);
    EXPECT_TRUE(allreduce(ranks[0], 10));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(TraceSlices, SlicesOfOneLaneDoNotOverlap) {
  using Kind = runtime::Tracer::Kind;
  std::vector<runtime::Tracer::Event> events;
  const auto add = [&](Kind kind, std::uint32_t step, std::uint64_t ticks) {
    events.push_back({.ticks = ticks, .step = step, .kind = kind, .step_kind = StepKind::Send});
  };
  add(Kind::StepStarted, 0, 10);
  add(Kind::StepStarted, 1, 11);
  add(Kind::StepEnded, 0, 20);
  add(Kind::StepStarted, 2, 21);
  add(Kind::StepStarted, 3, 22);
  add(Kind::StepEnded, 2, 30);
  const TraceSlices slices = slices_of(events);
  ASSERT_EQ(slices.steps.size(), 4u);
  EXPECT_EQ(slices.steps[0].lane, 0u);
  EXPECT_EQ(slices.steps[1].lane, 1u);
  EXPECT_EQ(slices.steps[2].lane, 0u);
  EXPECT_EQ(slices.steps[3].lane, 2u);
  EXPECT_FALSE(slices.steps[1].finished);
  EXPECT_EQ(slices.steps[1].end, 30u);
}

TEST(TraceMerge, TracesOfOtherJobsAreLeftOutAndAbsentRanksNamed) {
  const Folder folder;
  trace_of(3, folder, [](Communicator& rank) { EXPECT_TRUE(rank.call(barrier())); });
  std::filesystem::last_write_time(folder / "rank-2.trace.json",
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  const TraceJson trace = trace_of(2, folder, [](Communicator& rank) { EXPECT_TRUE(rank.call(barrier())); });
  EXPECT_EQ(trace.other().at("ranks"), (std::vector<int>{0, 1}));
  std::filesystem::remove(folder / "rank-0.trace.json");
  const auto merged = merge_traces(folder.path(), folder / "other.json");
  ASSERT_TRUE(merged);
  EXPECT_NE(merged->to_string().find("; rank 0 left no trace; rank-2.trace.json of other jobs left out"),
            std::string::npos)
      << merged->to_string();
  EXPECT_EQ(TraceJson(folder.read("other.json")).size(), merged->events);
}

TEST(TraceSlices, StepsThatMeetInOneTickLieInDifferentLanes) {
  using runtime::Tracer;
  std::vector<Tracer::Event> events;
  const auto add = [&](Tracer::Kind kind, std::uint32_t step, std::uint64_t ticks) {
    Tracer::Event event{};
    event.kind = kind;
    event.step = step;
    event.step_kind = StepKind::Copy;
    event.ticks = ticks;
    events.push_back(event);
  };
  add(Tracer::Kind::StepStarted, 0, 10);
  add(Tracer::Kind::StepEnded, 0, 20);
  add(Tracer::Kind::StepStarted, 1, 20);
  add(Tracer::Kind::StepEnded, 1, 30);
  add(Tracer::Kind::StepStarted, 2, 31);
  add(Tracer::Kind::StepEnded, 2, 40);
  const TraceSlices slices = slices_of(events);
  ASSERT_EQ(slices.steps.size(), 3u);
  EXPECT_EQ(slices.steps[0].lane, 0u);
  EXPECT_EQ(slices.steps[1].lane, 1u) << "one of no length is drawn longer than it was";
  EXPECT_EQ(slices.steps[2].lane, 0u);
}

TEST(TraceSlices, AStepThatTheTraceDoesNotEndEndsWithItsCall) {
  using runtime::Tracer;
  std::vector<Tracer::Event> events(4);
  const auto set = [&](std::size_t i, Tracer::Kind kind, std::uint32_t call, std::uint64_t ticks) {
    events[i].kind = kind;
    events[i].call = call;
    events[i].ticks = ticks;
  };
  set(0, Tracer::Kind::CallPosted, 1, 10);
  set(1, Tracer::Kind::StepStarted, 1, 11);
  set(2, Tracer::Kind::CallEnded, 1, 20);
  set(3, Tracer::Kind::CallPosted, 2, 90);
  const TraceSlices slices = slices_of(events);
  ASSERT_EQ(slices.steps.size(), 1u);
  EXPECT_FALSE(slices.steps[0].finished);
  EXPECT_EQ(slices.steps[0].end, 20u);
  EXPECT_EQ(slices.calls[1].end, 90u);
}

TEST(Trace, AnArrowBeginsWhenItsMessageWasSentNotWithTheStep) {
  const Folder folder;
  const TraceJson trace = trace_of(3, folder, [](Communicator& rank) {
    for (int i = 0; i < 50; ++i) EXPECT_TRUE(allreduce(rank, 1000));
  });
  std::set<std::tuple<int, int, double>> begins;
  for (const auto& step : trace.events('X', "send")) begins.emplace(step.at("pid"), step.at("tid"), step.at("ts"));
  const auto arrows = trace.events('s', "message");
  const auto later = std::count_if(arrows.begin(), arrows.end(), [&](const auto& arrow) {
    return !begins.contains({arrow.at("pid"), arrow.at("tid"), arrow.at("ts")});
  });
  EXPECT_EQ(arrows.size(), begins.size());
  EXPECT_GT(later, 0);
}

TEST(TraceMerge, WhatIsNoWholeTraceIsAnError) {
  const Folder folder;
  EXPECT_NE(merge_traces(folder.path()).status().message().find("holds no rank-R.trace.json"), std::string::npos);
  trace_of(2, folder, [](Communicator& rank) { EXPECT_TRUE(rank.call(barrier())); });
  const std::string whole = folder.read("rank-1.trace.json");
  const std::string merged = folder.read("trace.json");
  const std::pair<std::string, std::string> damages[] = {
      {whole.substr(0, whole.size() - 4), "it is cut off"},
      {whole.substr(0, whole.size() / 2), "it is cut off"},
      {"{}\n", "its first line is not as lacuna writes it"},
      {"{\"traceEvents\": [\n]}\n", "otherData"},
  };
  for (const auto& [text, reason] : damages) {
    std::ofstream(folder / "rank-1.trace.json") << text;
    const auto result = merge_traces(folder.path());
    ASSERT_FALSE(result) << reason;
    EXPECT_NE(result.status().message().find("rank-1.trace.json is no trace of a rank: "), std::string::npos);
    EXPECT_NE(result.status().message().find(reason), std::string::npos) << result.status().message();
    EXPECT_EQ(folder.read("trace.json"), merged) << "nothing is changed";
  }
}

TEST(WriteWhole, WhatIsNoFileIsNotReplaced) {
  const Folder folder;
  for (const std::filesystem::path& path : {folder.path(), std::filesystem::path("/dev/null")}) {
    const Status refused = write_whole(path, [](std::FILE*) { return Status::ok(); });
    EXPECT_EQ(refused.message(), path.string() + " could not be written: it is " +
                                     (std::filesystem::is_directory(path) ? "a folder" : "a device") +
                                     ", not a regular file");
  }
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_NE(write_whole("/proc/none/x", [](std::FILE*) { return Status::ok(); })
                .message()
                .find("/proc/none/x could not be written: No such file"),
            std::string::npos);
}

TEST(WriteWhole, WithoutRoomItIsAnErrorAndNothingIsLeftBehind) {
  const Folder folder;
  const Status full = write_whole(folder / "full.json", [](std::FILE* file) {
    EXPECT_TRUE(std::freopen("/dev/full", "w", file));
    put(file, std::string(1 << 20, 'x'));
    return Status::ok();
  });
  EXPECT_NE(full.message().find("full.json could not be written: No space left on device"), std::string::npos)
      << full.message();
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

const std::string measure = std::string(LACUNA_COMMAND) + " perf allreduce -b 1K -e 64K -n 5 -w 1 --algorithm ring";

TEST(TraceOfProcesses, LaunchMergesByItself) {
  const Folder folder;
  test::Executed launched({LACUNA_COMMAND, "launch", "-n", "3", "sh", "-c", measure},
                          {{"LACUNA_TRACE", folder.path()}});
  EXPECT_EQ(launched.wait(), 0) << launched.output();
  EXPECT_NE(launched.output().find("lacuna launch: trace: "), std::string::npos) << launched.output();
  EXPECT_NE(launched.output().find(" events of ranks 0-2 in "), std::string::npos) << launched.output();
  const TraceJson trace(folder.read("trace.json"));
  EXPECT_GT(trace.arrows().size(), 100u);
  EXPECT_EQ(trace.arrows().size(), trace.count('s', "message"));
  EXPECT_EQ(trace.arrows().size(), trace.count('f', "message"));
  for (const auto& arrow : trace.arrows()) EXPECT_GE(arrow.received, arrow.sent - 1) << "in microseconds, one host";

  test::Executed again({LACUNA_COMMAND, "trace", folder.path(), "-o", folder / "again.json"}, {});
  EXPECT_EQ(again.wait(), 0) << again.output();
  EXPECT_EQ(folder.read("again.json"), folder.read("trace.json"));
}

TEST(TraceOfProcesses, ClocksOfHostsThatStartedAtOtherTimesAreAligned) {
  const std::string other_clock = "env LD_PRELOAD=" LACUNA_LATER_CLOCK " ";
  const Folder folder;
  test::Executed launched({LACUNA_COMMAND, "launch", "-n", "2", "sh", "-c",
                           "if test $LACUNA_RANK = 1; then exec " + other_clock + measure + "; fi; exec " + measure},
                          {{"LACUNA_TRACE", folder.path()}});
  EXPECT_EQ(launched.wait(), 0) << launched.output();
  const TraceJson own(folder.read("rank-1.trace.json"));
  EXPECT_NEAR(own.other().at("clock_offset_us"), -100'000e6, 10e6);
  const double error = own.other().at("clock_error_us");
  const TraceJson trace(folder.read("trace.json"));
  const auto arrows = trace.arrows();
  EXPECT_GT(arrows.size(), 50u);
  for (const auto& arrow : arrows) {
    EXPECT_GE(arrow.received, arrow.sent - error - 1) << "in microseconds";
    EXPECT_LE(arrow.received, arrow.sent + 20e6) << "the clocks differ by 100,000 s";
  }
}

}  // namespace
}  // namespace lacuna

// Every configuration variable goes through a job to something that a user sees. This suite fails if a variable of
// config.def has no row here.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory_resource>
#include <span>
#include <string_view>
#include <vector>

#include "algorithms/registry/registry.hpp"
#include "kernels/backend.hpp"
#include "runtime/job/join.hpp"
#include "tests/bindings/cli/lacuna_command.hpp"
#include "tests/bindings/cpp/facade_ranks.hpp"
#include "tests/bindings/cpp/variables_job.hpp"
#include "tests/processes/executed.hpp"
#include "tests/support/environment.hpp"

namespace lacuna {
namespace {

using namespace std::chrono_literals;
using namespace test;
using namespace test::variable_rows;

constexpr std::string_view names[] = {
#define LACUNA_VARIABLE(NAME, member, Type, fallback, help) "LACUNA_" #NAME,
#include "runtime/config/config.def"
#undef LACUNA_VARIABLE
};

/// Returns the ring's allreduce of that many floats.
TypedCall ring(std::span<float> data) { return allreduce<float>(data, data, Reduction::Sum, {.algorithm = "ring"}); }

/// Returns how many messages each of two ranks sends for a ring of 64 KiB.
std::uint64_t messages_of_ring() {
  auto ranks = local(2, Progress::Thread);
  on_each(ranks, [](Communicator& rank) {
    std::vector<float> data(16384, 1);
    EXPECT_TRUE(rank.call(ring(data)));
  });
  return ranks[0].counters(1).messages_sent;
}

/// Returns how many messages of 1000 bytes rank 0 sends so that rank 1 must ask for their bytes.
std::uint64_t asked_for() {
  auto ranks = local(2, Progress::Thread);
  on_each(ranks, [](Communicator& rank) {
    std::vector<std::uint8_t> data(1000);
    if (rank.rank() == 0) {
      EXPECT_TRUE(rank.send<std::uint8_t>(data, 1));
    } else {
      EXPECT_TRUE(rank.receive<std::uint8_t>(data, 0));
    }
  });
  return ranks[0].job_counters().descriptor_messages;
}

/// Returns what the engine of a rank was given, where only speed and memory would show it.
runtime::ExecutorOptions engine_of_a_rank() {
  auto ranks = make_local(1, Progress::Caller, {.select = select_algorithm});
  EXPECT_TRUE(ranks) << ranks.status().to_string();
  return (*ranks)[0]->job->executor->options();
}

/// Returns what rank 0 counts if rank 1 comes late to a barrier.
JobCounters with_a_late_rank(std::chrono::milliseconds late) {
  auto ranks = local(2, Progress::Thread);
  on_each(ranks, [&](Communicator& rank) {
    if (rank.rank() == 1) std::this_thread::sleep_for(late);
    EXPECT_TRUE(rank.call(barrier()));
  });
  return ranks[0].job_counters();
}

void bootstrap_timeout() {
  const ReservedPort port;
  const Variable timeout("LACUNA_BOOTSTRAP_TIMEOUT", "0.25");
  const auto alone = Communicator::world({.rank = 0, .size = 2, .store = port.store(), .key = "key"});
  expect_error(alone.status(), Code::TimedOut, "waits for 250 ms at most");
}

void deadline() {
  const Variable soon("LACUNA_DEADLINE", "0.2");
  auto ranks = local(2, Progress::Thread);
  expect_error(ranks[0].call(barrier()), Code::TimedOut, "call 0 ran out of time on rank 0");
}

void stall() {
  const auto with = [](const char* seconds) {
    const Variable variable("LACUNA_STALL", seconds);
    return with_a_late_rank(300ms).stalls;
  };
  EXPECT_EQ(with("60"), 0u);
  EXPECT_GE(with("0.05"), 1u);
}

void log() {
  const auto lines_of = [](const std::string& levels) {
    return cli::lacuna({"perf", "barrier", "-n", "1"}, {{"LACUNA_LOG", levels}, {"LACUNA_QWERTYUIOP", "1"}}).output;
  };
  EXPECT_NE(lines_of("warning").find("warning: config: LACUNA_QWERTYUIOP"), std::string::npos);
  EXPECT_EQ(lines_of("error").find("LACUNA_QWERTYUIOP"), std::string::npos);
  EXPECT_EQ(lines_of("debug,config=error").find("LACUNA_QWERTYUIOP"), std::string::npos);
}

void metrics() {
  const Folder folder;
  const Variable variable("LACUNA_METRICS", folder.path());
  messages_of_ring();
  for (const char* file : {"rank-0.json", "rank-1.json", "rank-0.prom", "rank-1.prom"}) {
    EXPECT_NE(folder.read(file), "") << file;
  }
}

void trace() {
  const Folder folder;
  const Variable variable("LACUNA_TRACE", folder.path());
  messages_of_ring();
  for (const char* file : {"rank-0.trace.json", "rank-1.trace.json"}) {
    EXPECT_NE(folder.read(file).find("receive_reduce"), std::string::npos) << file;
  }
}

void trace_events() {
  const Folder folder;
  const Variable variable("LACUNA_TRACE", folder.path()), events("LACUNA_TRACE_EVENTS", "3");
  std::vector<std::string> lines;
  set_log_callback([](LogLevel, std::string_view text,
                      void* user) { static_cast<std::vector<std::string>*>(user)->emplace_back(text); },
                   &lines);
  messages_of_ring();
  set_log_callback(nullptr, nullptr);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_NE(lines[0].find("LACUNA_TRACE_EVENTS is 3"), std::string::npos) << lines[0];
}

void algorithms() {
  const Variable variable("LACUNA_ALGORITHMS", "allreduce=recursive_doubling,broadcast=tree");
  auto ranks = local(4, Progress::Caller);
  EXPECT_EQ(*ranks[0].algorithm_name({.collective = Collective::Allreduce, .count = 1 << 20}), "recursive_doubling");
}

void plugins() {
  Executed command({LACUNA_COMMAND, "list"}, {{"LACUNA_PLUGINS", "/dev/null"}});
  EXPECT_EQ(command.wait(), 2);
  EXPECT_NE(command.output().find("lacuna: LACUNA_PLUGINS: /dev/null: "), std::string::npos) << command.output();
}

void chunk() {
  const Variable fetched("LACUNA_EAGER", "0");  // then a piece is one message
  const auto with = [](const char* bytes) {
    const Variable variable("LACUNA_CHUNK", bytes);
    return messages_of_ring();
  };
  EXPECT_EQ(with("32K"), 2u);
  EXPECT_EQ(with("32767"), 2u);
  EXPECT_EQ(with("16K"), 4u);
  EXPECT_EQ(with("1K"), 64u);
}

void credits() {
  EXPECT_EQ(asked_for(), 0u);
  const Variable variable("LACUNA_CREDITS", "512");
  EXPECT_EQ(asked_for(), 1u);
}

void eager() {
  const auto with = [](const char* bytes) {
    const Variable variable("LACUNA_EAGER", bytes);
    return asked_for();
  };
  EXPECT_EQ(with("1000"), 0u);
  EXPECT_EQ(with("999"), 1u);
  EXPECT_EQ(with("0"), 1u);
}

void parts_in_flight() {
  const Variable small("LACUNA_CHUNK", "1K"), fetched("LACUNA_EAGER", "0"), variable("LACUNA_PARTS_IN_FLIGHT", "5");
  const auto first_messages = [](std::pmr::memory_resource& memory) {
    auto ranks = local(2, Progress::Caller);
    std::pmr::vector<float> first(16384, &memory), second(16384, &memory);
    std::vector<Request> requests;
    requests.push_back(*ranks[0].start(ring(first)));
    while (ranks[0].progress()) continue;
    const std::uint64_t sent = ranks[0].counters(1).messages_sent;
    requests.push_back(*ranks[1].start(ring(second)));
    finish(requests);
    return sent;
  };
  EXPECT_EQ(first_messages(*std::pmr::new_delete_resource()), 5u) << "the first of each part";
  EXPECT_EQ(first_messages(mappable_memory()), 5u) << "messages of a chunk are copied";
  const Variable mapped("LACUNA_MAPPED", "1K");
  EXPECT_EQ(first_messages(*std::pmr::new_delete_resource()), 5u);
  EXPECT_EQ(first_messages(mappable_memory()), 4 * 5u);
}

void max_runs() {
  const Variable variable("LACUNA_MAX_RUNS", "3");
  auto ranks = local(2, Progress::Caller);
  std::vector<Request> requests;
  for (int i = 0; i < 3; ++i) requests.push_back(*ranks[0].start(barrier()));
  expect_error(ranks[0].start(barrier()).status(), Code::Busy, "at most 3 are allowed (LACUNA_MAX_RUNS)");
  for (int i = 0; i < 3; ++i) requests.push_back(*ranks[1].start(barrier()));
  finish(requests);
}

void max_messages() {
  const Variable variable("LACUNA_MAX_MESSAGES", "2");
  auto ranks = local(2, Progress::Caller);
  std::vector<float> data(4);
  std::vector<Request> requests;
  for (int i = 0; i < 2; ++i) requests.push_back(*ranks[0].start_receive<float>(data, 1));
  expect_error(ranks[0].start_receive<float>(data, 1).status(), Code::Busy,
               "at most 2 are allowed (LACUNA_MAX_MESSAGES)");
  for (int i = 0; i < 2; ++i) requests.push_back(*ranks[1].start_send<float>(data, 0));
  finish(requests);
}

void window() {
  const Variable variable("LACUNA_WINDOW", "12345");
  EXPECT_EQ(engine_of_a_rank().window_bytes, 12345u);
}

void slots() {
  const Variable variable("LACUNA_SLOTS", "7");
  EXPECT_EQ(engine_of_a_rank().slots, 7u);
}

void spin() {
  const Variable variable("LACUNA_SPIN", "123");
  EXPECT_EQ(engine_of_a_rank().spin, 123us);
}

/// Returns what is logged about a rank that computes for about as long as it then waits.
std::vector<std::string> logged_about_overlap(const char* hints) {
  const Variable variable("LACUNA_HINTS", hints);
  std::vector<std::string> lines;
  set_log_callback([](LogLevel, std::string_view text,
                      void* user) { static_cast<std::vector<std::string>*>(user)->emplace_back(text); },
                   &lines);
  {
    auto ranks = local(2, Progress::Caller);
    on_each(ranks, [](Communicator& rank) {
      if (rank.rank() == 1) std::this_thread::sleep_for(2600ms);
      auto request = rank.start(barrier());
      ASSERT_TRUE(request);
      if (rank.rank() == 0) std::this_thread::sleep_for(1100ms);
      EXPECT_TRUE(request->wait());
    });
  }
  set_log_callback(nullptr, nullptr);
  return lines;
}

void hints() {
  const auto lines = logged_about_overlap("on");
  ASSERT_EQ(lines.size(), 1u) << "rank 0 alone says it";
  EXPECT_NE(lines[0].find("rank 0 waited for 1."), std::string::npos) << lines[0];
  EXPECT_NE(lines[0].find("LACUNA_PROGRESS=thread"), std::string::npos) << lines[0];
  EXPECT_EQ(logged_about_overlap("off").size(), 0u);
}

void kernels() {
  Process job([](const Process::Say& say) {
    const Variable variable("LACUNA_KERNELS", "kokkos");
    auto ranks = make_local(1, Progress::Caller, {.select = select_algorithm});
    say(ranks ? std::string((*ranks)[0]->job->executor->options().kernels->name()) : ranks.status().to_string());
  });
  const std::string said = job.line();
  EXPECT_TRUE(said.starts_with("kokkos") || said.find("LACUNA_KERNELS is \"kokkos\"") != std::string::npos) << said;
}

const std::map<std::string_view, void (*)()> rows = {
    {"LACUNA_RANK", rank_and_size},
    {"LACUNA_SIZE", rank_and_size},
    {"LACUNA_AGGREGATORS", aggregators},
    {"LACUNA_STORE", store},
    {"LACUNA_KEY", key},
    {"LACUNA_HOST", host},
    {"LACUNA_BOOTSTRAP_TIMEOUT", bootstrap_timeout},
    {"LACUNA_DEADLINE", deadline},
    {"LACUNA_WATCH_TIMEOUT", watch_timeout},
    {"LACUNA_STALL", stall},
    {"LACUNA_LOG", log},
    {"LACUNA_METRICS", metrics},
    {"LACUNA_TRACE", trace},
    {"LACUNA_TRACE_EVENTS", trace_events},
    {"LACUNA_PROGRESS", progress},
    {"LACUNA_HINTS", hints},
    {"LACUNA_KERNELS", kernels},
    {"LACUNA_ALGORITHMS", algorithms},
    {"LACUNA_PLUGINS", plugins},
    {"LACUNA_CHUNK", chunk},
    {"LACUNA_WINDOW", window},
    {"LACUNA_CREDITS", credits},
    {"LACUNA_EAGER", eager},
    {"LACUNA_MAPPED", mapped},
    {"LACUNA_MAPPABLE", mappable},
    {"LACUNA_BOARD", board},
    {"LACUNA_PARTS_IN_FLIGHT", parts_in_flight},
    {"LACUNA_SLOTS", slots},
    {"LACUNA_MAX_RUNS", max_runs},
    {"LACUNA_MAX_MESSAGES", max_messages},
    {"LACUNA_SPIN", spin},
};

class Variables : public testing::TestWithParam<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(, Variables, testing::ValuesIn(names),
                         [](const auto& given) { return std::string(given.param); });

TEST_P(Variables, AreSeenInAJob) {
  const auto row = rows.find(GetParam());
  ASSERT_NE(row, rows.end()) << GetParam() << " has no row in this file: what does a job do with it?";
  row->second();
}

}  // namespace
}  // namespace lacuna

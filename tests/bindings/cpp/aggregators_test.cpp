// Jobs with aggregators give what jobs without them give. Here all processes of a job are threads of this one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/registry/registry.hpp"
#include "bindings/cpp/lacuna.hpp"
#include "runtime/job/join.hpp"
#include "tests/bindings/cpp/facade_ranks.hpp"

namespace lacuna {
namespace {

using namespace test;

std::vector<Communicator> job(Rank size, Rank aggregators, Progress progress = Progress::Caller) {
  auto ranks = Communicator::local(size, {.progress = progress, .aggregators = aggregators});
  EXPECT_TRUE(ranks) << ranks.status().to_string();
  return *std::move(ranks);
}

Options blocks(const std::string& more = "", const std::string& algorithm = "planned_blocks") {
  auto method = method_options("blocks:block=4" + more);
  EXPECT_TRUE(method) << method.status().to_string();
  return {.algorithm = algorithm, .method = *method};
}

/// The input of a rank: whole numbers, in two of three blocks of 4 elements.
std::vector<float> input_of(Rank rank, std::size_t count, int salt = 0) {
  std::vector<float> data(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto place = static_cast<int>(i);
    if ((place / 4 + rank + salt) % 3 != 0) data[i] = static_cast<float>((place * 7 + rank * 5 + salt) % 11 - 4);
  }
  return data;
}

std::vector<float> sum_of(const std::vector<Rank>& ranks, std::size_t count, int salt = 0) {
  std::vector<float> sum(count);
  for (Rank rank : ranks) {
    const std::vector<float> data = input_of(rank, count, salt);
    for (std::size_t i = 0; i < count; ++i) sum[i] += data[i];
  }
  return sum;
}

std::vector<Rank> all_of(const Communicator& communicator) { return communicator.job_ranks(); }

/// Makes an allreduce and checks its result. `salt` makes different calls different.
void expect_sum(Communicator& rank, std::size_t count, const Options& options, int salt = 0) {
  const Rank me = all_of(rank)[static_cast<std::size_t>(rank.rank())];
  const std::vector<float> input = input_of(me, count, salt);
  std::vector<float> output(count, 99);
  const Status status = rank.call(allreduce<float>(input, output, Reduction::Sum, options));
  ASSERT_EQ(status.to_string(), "ok");
  EXPECT_EQ(output, sum_of(all_of(rank), count, salt));
}

/// Returns how many messages a rank has sent to other ranks. In a call that aggregators take part in, there are none.
std::uint64_t messages_to_ranks(const Communicator& rank) {
  std::uint64_t messages = 0;
  for (Rank peer = 0; peer < rank.size(); ++peer) messages += rank.counters(peer).messages_sent;
  return messages;
}

TEST(Aggregators, TheApplicationSeesItsOwnRanksOnly) {
  auto ranks = job(3, 2);
  EXPECT_EQ(ranks.size(), 3u);
  on_each(ranks, [](Communicator& rank) {
    EXPECT_EQ(rank.size(), 3);
    EXPECT_EQ(rank.job_ranks(), (std::vector<Rank>{0, 1, 2}));
    EXPECT_EQ(rank.hosts().size(), 3u);
    std::vector<float> one = {1};
    EXPECT_EQ(rank.call(allreduce<float>(one, one)).to_string(), "ok");
    EXPECT_EQ(one[0], 3);
    expect_error(rank.send<float>(one, 3), Code::InvalidArgument, "send to rank 3, must be 0 .. 2");
  });
}

TEST(Aggregators, ResultsAreThoseOfAJobWithoutAggregators) {
  for (Rank size : {1, 2, 3, 4, 5}) {
    for (Rank aggregators : {1, 2, 3}) {
      SCOPED_TRACE(fmt::format("{} ranks, {} aggregators", size, aggregators));
      auto ranks = job(size, aggregators);
      on_each(ranks, [&](Communicator& rank) {
        for (const char* algorithm : {"planned_blocks", "streamed_blocks"}) {
          for (std::size_t count : {0u, 1u, 3u, 40u, 401u}) expect_sum(rank, count, blocks("", algorithm));
        }
      });
      for (const Communicator& rank : ranks) EXPECT_EQ(messages_to_ranks(rank), 0u) << "aggregators were not used";
    }
  }
}

TEST(Aggregators, AveragesAreOverTheRanks) {
  auto ranks = job(4, 3);
  on_each(ranks, [](Communicator& rank) {
    std::vector<double> data(10, 2.0 * (rank.rank() + 1));
    EXPECT_EQ(rank.call(allreduce<double>(data, data, Reduction::Avg, blocks())).to_string(), "ok");
    EXPECT_EQ(data, std::vector<double>(10, 5));
  });
}

TEST(Aggregators, ThresholdsKeepTheirResidualsAtTheRanks) {
  for (const char* algorithm : {"planned_blocks", "streamed_blocks"}) {
    auto ranks = job(3, 2);
    on_each(ranks, [&](Communicator& rank) {
      MethodState state;
      Options options = blocks(",threshold=5", algorithm);
      options.state = &state;
      std::vector<float> total(16);
      for (int call = 0; call < 4; ++call) {
        std::vector<float> data(16, 2), sum(16);
        ASSERT_EQ(rank.call(allreduce<float>(data, sum, Reduction::Sum, options)).to_string(), "ok");
        for (std::size_t i = 0; i < 16; ++i) total[i] += sum[i];
      }
      EXPECT_EQ(total, std::vector<float>(16, 18))
          << "three calls of 2 from 3 ranks have been added, the last one stays";
      const StateArray* residual = state.find("residual");
      ASSERT_TRUE(residual);
      EXPECT_EQ(residual->count(), 16u);
    });
  }
}

TEST(Aggregators, OtherCollectivesAndNamedRanksDoWithoutThem) {
  auto ranks = job(3, 2);
  on_each(ranks, [](Communicator& rank) {
    expect_sum(rank, 100, blocks(",aggregators=2"));
    expect_sum(rank, 100, {.algorithm = "ring"});
    std::vector<float> data(30, static_cast<float>(rank.rank() == 1)), part(10);
    EXPECT_EQ(rank.call(broadcast<float>(data, 1, blocks())).to_string(), "ok");
    EXPECT_EQ(data, std::vector<float>(30, 1));
    EXPECT_EQ(rank.call(reduce_scatter<float>(data, part, Reduction::Sum, blocks())).to_string(), "ok");
    EXPECT_EQ(part, std::vector<float>(10, 3));
  });
  for (const Communicator& rank : ranks) EXPECT_GT(messages_to_ranks(rank), 0u);
}

TEST(Aggregators, AJobWithoutThemRefusesACallThatInsists) {
  for (Rank size : {1, 3}) {
    auto ranks = job(size, 0);
    on_each(ranks, [](Communicator& rank) {
      std::vector<float> data(10, 1);
      expect_error(rank.call(allreduce<float>(data, data, Reduction::Sum, blocks(",dedicated=1"))),
                   Code::InvalidArgument, "blocks.dedicated=1 needs aggregators, and this job has none");
      EXPECT_EQ(rank.call(allreduce<float>(data, data, Reduction::Sum, blocks())).to_string(), "ok");
    });
  }
  auto ranks = job(2, 1);
  on_each(ranks, [](Communicator& rank) { expect_sum(rank, 30, blocks(",dedicated=1")); });
}

TEST(Aggregators, CallsBackToBackOfAnyLengthAreServed) {
  auto ranks = job(3, 2, Progress::Thread);
  on_each(ranks, [](Communicator& rank) {
    for (int call = 0; call < 1000; ++call) {
      const auto count = static_cast<std::size_t>(call * 37 % 200);
      expect_sum(rank, count, call % 5 == 4 ? Options{.algorithm = "ring"} : blocks(), call);
      if (testing::Test::HasFatalFailure()) return;
    }
  });
}

TEST(Aggregators, PreparedCallsAreServedAtEachStart) {
  auto ranks = job(2, 2);
  on_each(ranks, [](Communicator& rank) {
    std::vector<float> data(50), sum(50);
    auto prepared = rank.prepare(allreduce<float>(data, sum, Reduction::Sum, blocks()));
    ASSERT_TRUE(prepared) << prepared.status().to_string();
    for (int start = 0; start < 20; ++start) {
      const std::vector<float> next = input_of(rank.rank(), 50, start);
      std::copy(next.begin(), next.end(), data.begin());
      ASSERT_EQ(prepared->start().to_string(), "ok");
      ASSERT_EQ(prepared->wait().to_string(), "ok");
      EXPECT_EQ(sum, sum_of({0, 1}, 50, start));
    }
  });
}

TEST(Aggregators, CommunicatorsShareThem) {
  auto ranks = job(5, 2, Progress::Thread);
  on_each(ranks, [](Communicator& rank) {
    auto parity = rank.split(rank.rank() % 2, -rank.rank());
    ASSERT_TRUE(parity) << parity.status().to_string();
    auto half = (*parity)->split((*parity)->rank() < 1 ? 0 : Communicator::no_group);
    ASSERT_TRUE(half) << half.status().to_string();
    for (int call = 0; call < 20; ++call) {
      expect_sum(rank, 60, blocks(), call);
      expect_sum(**parity, 45, blocks(), call + 1);
      if (*half) expect_sum(**half, 30, blocks(), call + 2);
    }
  });
}

TEST(Aggregators, CallsOfSeveralCommunicatorsAreInFlightTogether) {
  auto ranks = job(4, 2, Progress::Thread);
  on_each(ranks, [](Communicator& rank) {
    auto pair = rank.split(rank.rank() / 2);
    ASSERT_TRUE(pair) << pair.status().to_string();
    constexpr std::size_t calls = 12;
    std::vector<std::vector<float>> inputs, sums(2 * calls, std::vector<float>(80));
    for (std::size_t i = 0; i < 2 * calls; ++i) inputs.push_back(input_of(rank.rank(), 80, static_cast<int>(i)));
    std::vector<CallRequest> requests;
    for (std::size_t i = 0; i < calls; ++i) {
      // The two pairs make their calls in different orders. A communicator's own calls keep their order.
      const bool pair_first = (i + static_cast<std::size_t>(rank.rank())) % 2 == 0;
      for (bool of_pair : {pair_first, !pair_first}) {
        const std::size_t at = 2 * i + (of_pair ? 1 : 0);
        auto request =
            (of_pair ? **pair : rank).start(allreduce<float>(inputs[at], sums[at], Reduction::Sum, blocks()));
        ASSERT_TRUE(request) << request.status().to_string();
        requests.push_back(std::move(*request));
      }
    }
    for (CallRequest& request : requests) EXPECT_EQ(request.wait().to_string(), "ok");
    for (std::size_t i = 0; i < calls; ++i) {
      EXPECT_EQ(sums[2 * i], sum_of(all_of(rank), 80, static_cast<int>(2 * i)));
      EXPECT_EQ(sums[2 * i + 1], sum_of(all_of(**pair), 80, static_cast<int>(2 * i + 1)));
    }
  });
}

TEST(Aggregators, CommunicatorsComeAndGo) {
  auto ranks = job(3, 2, Progress::Thread);
  on_each(ranks, [](Communicator& rank) {
    for (int round = 0; round < 100; ++round) {
      auto part = rank.split(rank.rank() == round % 3 ? Communicator::no_group : 1, round % 2 == 0 ? rank.rank() : 0);
      ASSERT_TRUE(part) << part.status().to_string();
      if (*part) expect_sum(**part, 20, blocks(), round);
    }
  });
}

TEST(Aggregators, AGroupOutlivesItsWorld) {
  auto ranks = job(3, 1, Progress::Thread);
  on_each(ranks, [](Communicator& rank) {
    auto others = rank.split(rank.rank() == 0 ? Communicator::no_group : 0);
    ASSERT_TRUE(others) << others.status().to_string();
    { const Communicator gone = std::move(rank); }
    if (!*others) return;
    for (int call = 0; call < 10; ++call) expect_sum(**others, 33, blocks(), call);
  });
}

TEST(Aggregators, ReportsAndCountersAreThoseOfTheCommunicator) {
  auto ranks = job(2, 2);
  on_each(ranks, [](Communicator& rank) {
    std::vector<float> data(64, 1), sum(64);
    auto request = rank.start(allreduce<float>(data, sum, Reduction::Sum, blocks()));
    ASSERT_TRUE(request);
    ASSERT_TRUE(request->wait());
    const Report report = request->report();
    EXPECT_GE(report.sent, 64 * sizeof(float));
    EXPECT_GE(report.received, 64 * sizeof(float));
    EXPECT_EQ(report.rounds, 2);
    EXPECT_GE(rank.counters().payload_sent, report.sent);
    const JobCounters counted = rank.job_counters();
    EXPECT_EQ(counted.communicators.front().calls[static_cast<std::size_t>(Collective::Allreduce)].completed, 1u);
    EXPECT_TRUE(request->gaps(0));
  });
}

/// The errors of a call that two ranks make differently, in a job with and in one without aggregators.
std::string text_of_mismatch(Rank aggregators, const std::function<Status(Communicator&)>& body) {
  auto ranks = job(3, aggregators, Progress::Thread);
  std::vector<std::string> texts(3);
  on_each(ranks, [&](Communicator& rank) { texts[static_cast<std::size_t>(rank.rank())] = body(rank).to_string(); });
  EXPECT_EQ(texts[0], texts[1]);
  EXPECT_EQ(texts[0], texts[2]);
  for (Rank process = 3; process < 3 + aggregators; ++process) {
    EXPECT_EQ(texts[0].find(fmt::format("{} posted", process)), std::string::npos) << "aggregators post: " << texts[0];
  }
  return texts[0];
}

TEST(Aggregators, MismatchesNameTheRanksThatDiffer) {
  const auto other_length = [](Communicator& rank) {
    std::vector<float> data(rank.rank() == 1 ? 50 : 60, 1);
    return rank.call(allreduce<float>(data, data, Reduction::Sum, blocks()));
  };
  const std::string text = text_of_mismatch(2, other_length);
  EXPECT_EQ(text.find("mismatch: call 0 differs: rank"), 0u) << text;
  EXPECT_NE(text.find("posted allreduce planned_blocks f32 count 60 sum"), std::string::npos) << text;
  EXPECT_NE(text.find("rank 1 posted allreduce planned_blocks f32 count 50 sum"), std::string::npos) << text;
}

TEST(Aggregators, CallsThatOnlySomeRanksMakeWithThemAreMismatches) {
  for (Rank other : {0, 1}) {
    const auto body = [other](Communicator& rank) {
      std::vector<float> data(60, 1);
      return rank.call(
          allreduce<float>(data, data, Reduction::Sum, rank.rank() == other ? Options{.algorithm = "ring"} : blocks()));
    };
    const std::string text = text_of_mismatch(1, body);
    EXPECT_NE(text.find("mismatch: call 0 differs: rank"), std::string::npos) << text;
    EXPECT_NE(text.find("posted allreduce ring f32 count 60 sum"), std::string::npos) << text;
  }
}

TEST(Aggregators, ACallInWhichOneCannotTakePartIsRefusedOnAllRanks) {
  const auto knows_none = [](std::string_view text) -> Result<MethodOptions> {
    return Status(Code::InvalidArgument, fmt::format("{} is unknown here", text));
  };
  auto ranks = make_local(2, Progress::Thread, {.select = select_algorithm, .method = knows_none}, 1);
  ASSERT_TRUE(ranks) << ranks.status().to_string();
  std::vector<std::thread> threads;
  for (auto& rank : *ranks) {
    threads.emplace_back([&communicator = rank->communicator] {
      std::vector<float> data(20, 1);
      Call call{.collective = Collective::Allreduce, .input = data.data(), .output = data.data(), .count = 20};
      call.options = blocks();
      const auto run = communicator.post(call, **select_algorithm(call, 2));  // the refusal may come before
      EXPECT_EQ((run ? communicator.finish(**run) : run.status()).to_string(),
                "invalid argument: call 0 was refused: aggregator 0 can't take part: blocks:block=4 is unknown here");
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Aggregators, AFailedCommunicatorLeavesTheOthersAlone) {
  auto ranks = job(3, 2, Progress::Thread);
  on_each(ranks, [](Communicator& rank) {
    auto twin = rank.split(0);
    ASSERT_TRUE(twin);
    std::vector<float> data(rank.rank() == 1 ? 50 : 60, 1);
    EXPECT_EQ((*twin)->call(allreduce<float>(data, data, Reduction::Sum, blocks())).code(), Code::Mismatch);
    twin->reset();
    for (int call = 0; call < 10; ++call) expect_sum(rank, 60, blocks(), call);
  });
}

TEST(Aggregators, ALateRankIsNamedWhenTheDeadlinePasses) {
  auto ranks = job(3, 1, Progress::Thread);
  on_each(ranks, [](Communicator& rank) {
    if (rank.rank() == 0) return;
    std::vector<float> data(60, 1);
    Options options = blocks();
    options.deadline = std::chrono::milliseconds(300);
    expect_error(rank.call(allreduce<float>(data, data, Reduction::Sum, options)), Code::TimedOut,
                 "rank 0 has not posted it");
  });
}

}  // namespace
}  // namespace lacuna

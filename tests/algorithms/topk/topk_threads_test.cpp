#include <thread>

#include "tests/algorithms/topk/sparse_rig.hpp"
#include "tests/support/calls.hpp"

// topk on two communicators. Each rank of each communicator has a thread of its own.
namespace lacuna::test {
namespace {

/// Makes calls of one rank on one communicator, one after another. Returns the first thing that is wrong.
std::string call_in_turn(runtime::Communicator& communicator, std::size_t rank, const Vectors& inputs) {
  const std::vector<float> sum = sum_of(inputs);
  for (int round = 0; round < 4; ++round) {
    for (const char* algorithm : sparse_allreduces) {
      MethodState state;
      std::vector<float> output(sum.size());
      Call call = allreduce_call(inputs[rank], output, algorithm);
      call.options.method = *method_options("topk:density=1");
      call.options.state = &state;
      runtime::Run& run = must_post(communicator, call);
      if (const Status end = communicator.finish(run); !end) return end.to_string();
      if (output != sum) return std::string("wrong sum by ") + algorithm;
    }
    MethodState state;
    for (int run = 0; run < 3; ++run) {
      std::vector<float> output(sum.size());
      Call call = allreduce_call(inputs[rank], output, "ok_topk");
      call.options.method = *method_options("ok_topk:k=500,tau_prime=2,trigger=1");
      call.options.state = &state;
      runtime::Run& posted = must_post(communicator, call);
      if (const Status end = communicator.finish(posted); !end) return end.to_string();
    }
  }
  return {};
}

class TopkThreads : public testing::TestWithParam<bool> {};

TEST_P(TopkThreads, OfTwoCommunicatorsDoNotDisturbEachOther) {
  constexpr Rank size = 3;
  RanksOptions options{.executor = quick_executor()};
  options.executor.progress_thread = GetParam();
  Ranks ranks(size, options);
  std::vector<std::unique_ptr<runtime::Communicator>> others;
  for (Rank rank = 0; rank < size; ++rank) {
    others.push_back(std::make_unique<runtime::Communicator>(ranks.executor(rank), 77));
  }
  const Vectors inputs[2] = {sparse_inputs(Pattern::Uniform, size, 20000, 1),
                             sparse_inputs(Pattern::Full, size, 9000, 2)};
  std::vector<std::string> wrong(2 * size);
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < size; ++rank) {
    threads.emplace_back(
        [&, rank] { wrong[rank] = call_in_turn(ranks.communicator(static_cast<Rank>(rank)), rank, inputs[0]); });
    threads.emplace_back([&, rank] { wrong[size + rank] = call_in_turn(*others[rank], rank, inputs[1]); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<std::string>(2 * size));
}

INSTANTIATE_TEST_SUITE_P(, TopkThreads, testing::Bool(),
                         [](const auto& one) { return one.param ? "ProgressThread" : "WaitingCallers"; });

}  // namespace
}  // namespace lacuna::test

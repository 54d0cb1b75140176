#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>

#include "tests/support/held_compute.hpp"
#include "tests/support/lone_rank.hpp"
#include "tests/support/parts_method.hpp"

// Bytes of messages that a device takes to their place: a receive is a computation, which may end late, or after its
// call has failed.
namespace lacuna::test {
namespace {

using Floats = std::vector<float>;

constexpr std::size_t piece = 128;  // elements of a message

/// Position 0 adds what position 1 sends to its own input.
const Algorithm adding = {
    .collective = Collective::Allreduce,
    .name = "adding",
    .summary = "a test's",
    .symmetric = false,
    .build =
        [](GraphBuilder& g) {
          if (g.position() == 0) g.receive_reduce(g.output(), g.input(), 1, Brings::Term);
        },
};

/// A rank whose computations are held, with two communicators.
struct HeldJob {
  explicit HeldJob(const runtime::ExecutorOptions& options)
      : job(2, options), other(job.executor, id_of_other), compute(last_held_compute()) {}

  static runtime::ExecutorOptions options() {
    runtime::ExecutorOptions options = quick_executor();
    options.compute = held_compute;
    return options;
  }

  /// Posts a call on a communicator.
  runtime::Run& post(runtime::Communicator& on) {
    Floats& output = outputs[&on == &other];
    return **on.post(allreduce_call(input, output), adding);
  }
  /// Rank 1 sends its message of a communicator's first call.
  void send(runtime::Communicator& on, Delivery delivery) {
    const auto posted = static_cast<runtime::Watched&>(job.executor).posted(on.id(), 0);
    const std::uint64_t history = posted ? posted->history : 0;
    job.arrive({.communicator = on.id(),
                .bytes = piece * sizeof(float),
                .digest = static_cast<std::uint32_t>(history ^ history >> 32)},
               theirs, 0, piece * sizeof(float), delivery);
  }
  void let_go() {
    compute.let_go();
    job.progress();
  }
  /// How many messages have returned nothing but credit.
  std::size_t credits() const {
    return static_cast<std::size_t>(std::count_if(job.wire.sent.begin(), job.wire.sent.end(), [](const auto& one) {
      return one.header.kind == runtime::MessageKind::Credit;
    }));
  }
  void expect_sum(runtime::Communicator& on, const runtime::Run& run) {
    EXPECT_TRUE(run.finished && run.status) << job.communicator.status().to_string();
    EXPECT_EQ(outputs[&on == &other], Floats(piece, 3));
  }

  static constexpr std::uint64_t id_of_other = 8;
  LoneRank job;
  runtime::Communicator other;
  HeldCompute& compute;
  const Floats input = Floats(piece, 1), theirs = Floats(piece, 2);
  std::array<Floats, 2> outputs = {Floats(piece), Floats(piece)};
};

/// Two calls whose messages wait at their sender, and one slot for both.
struct OneSlot : HeldJob {
  OneSlot() : HeldJob(one_slot()), first(post(job.communicator)), second(post(other)) {
    send(job.communicator, Delivery::Descriptor);
    send(other, Delivery::Descriptor);
  }
  static runtime::ExecutorOptions one_slot() {
    runtime::ExecutorOptions options = HeldJob::options();
    options.slots = 1;
    return options;
  }

  const runtime::Run &first, &second;
};

TEST(ReceiveWorks, ASlotIsInUseUntilItsBytesAreInTheirPlace) {
  OneSlot held;
  EXPECT_EQ(held.compute.held(), 1u) << "the second message waits for the slot";
  held.let_go();
  held.expect_sum(held.job.communicator, held.first);
  EXPECT_EQ(held.compute.held(), 1u);
  held.let_go();
  held.expect_sum(held.other, held.second);
}

TEST(ReceiveWorks, TheSlotOfACallThatHasFailedServesOthersOnceItsWorkHasEnded) {
  OneSlot held;
  held.job.executor.fail(held.job.communicator, {Code::Internal, "a test's"});
  held.job.progress();
  EXPECT_TRUE(held.first.finished);
  EXPECT_GT(held.first.operations, 0u) << "the work uses its buffers";
  EXPECT_EQ(held.compute.held(), 1u) << "the work uses the slot";
  held.let_go();
  EXPECT_EQ(held.first.operations, 0u);
  held.let_go();
  held.expect_sum(held.other, held.second);
}

TEST(ReceiveWorks, EagerBytesAreCreditedOnceTheyAreInTheirPlace) {
  for (const bool fails : {false, true}) {
    runtime::ExecutorOptions options = HeldJob::options();
    options.credit_bytes = 1000;
    HeldJob held(options);
    const runtime::Run& run = held.post(held.job.communicator);
    held.send(held.job.communicator, Delivery::Eager);
    EXPECT_EQ(held.compute.held(), 1u);
    if (fails) held.job.executor.fail(held.job.communicator, {Code::Internal, "a test's"});
    held.job.progress();
    EXPECT_EQ(held.credits(), 0u);
    held.let_go();
    EXPECT_EQ(held.credits(), 1u);
    if (!fails) held.expect_sum(held.job.communicator, run);
  }
}

TEST(ReceiveWorks, AMessageThatCameEarlyWaitsUntilAllOfItIsInItsPlace) {
  for (const bool fails : {false, true}) {
    HeldJob held(HeldJob::options());
    // The call's digest is known once it is posted; an equal job tells it before.
    HeldJob equal(HeldJob::options());
    equal.post(equal.job.communicator);
    const auto header = equal.job.header_of(0, piece * sizeof(float));
    for (std::size_t half : {1u, 0u}) {
      held.job.arrive(header, held.theirs, half * piece * 2, (half + 1) * piece * 2);
    }
    EXPECT_EQ(held.job.executor.job_counters().waiting_messages, 1u);
    const runtime::Run& run = held.post(held.job.communicator);
    EXPECT_EQ(held.compute.held(), 2u);
    EXPECT_EQ(held.job.executor.job_counters().waiting_messages, 1u) << "two works read its memory";
    if (fails) held.job.executor.fail(held.job.communicator, {Code::Internal, "a test's"});
    held.let_go();
    EXPECT_EQ(held.job.executor.job_counters().waiting_messages, 0u);
    if (!fails) held.expect_sum(held.job.communicator, run);
  }
}

/// A computation ends as soon as it has started.
class PromptCompute final : public runtime::Compute {
 public:
  bool takes(std::size_t) const override { return true; }
  Started start(runtime::Work& work) override {
    carry_out(work);
    return Started::Done;
  }
  runtime::Work* ended() override { return nullptr; }
  bool wants_turn() const override { return false; }
  bool advance() override { return false; }
};

/// A method that throws where it is asked what follows.
const Method throwing_method = [] {
  Method method = parts_method;
  method.follow = [](const Followed&) -> std::optional<PartPlan> { throw std::runtime_error("a test's"); };
  return method;
}();

TEST(ReceiveWorks, EagerBytesAreCreditedOnceIfTheEndOfTheirWorkThrows) {
  runtime::ExecutorOptions options = quick_executor();
  options.compute = []() -> std::unique_ptr<runtime::Compute> { return std::make_unique<PromptCompute>(); };
  options.credit_bytes = 1000;  // half of it is returned by a message of its own
  LoneRank job(2, options);
  const Floats input(piece, 1), theirs(piece, 2);
  Floats output(piece);
  Call call = allreduce_call(input, output);
  call.options.method = {throwing_method, std::make_shared<const Parts>()};
  const auto posted = job.communicator.post(call, parts_algorithm);
  ASSERT_TRUE(posted) << posted.status().to_string();
  job.arrive(job.header_of(0, piece * sizeof(float)), theirs, 0, piece * sizeof(float));
  job.progress();
  EXPECT_EQ(job.communicator.status().message(), "rank 0: a test's");
  std::uint64_t returned = 0;
  for (const auto& one : job.wire.sent) returned = std::max(returned, one.header.credits);
  EXPECT_EQ(returned, piece * sizeof(float) + runtime::fragment_charge);
}

}  // namespace
}  // namespace lacuna::test

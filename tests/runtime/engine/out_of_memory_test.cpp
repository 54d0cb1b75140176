#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <optional>

#include "algorithms/skip/skip.hpp"
#include "algorithms/topk/topk.hpp"
#include "tests/support/calls.hpp"
#include "tests/support/forwarding_transport.hpp"
#include "tests/support/lone_rank.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/replaced_new.hpp"
#include "tests/support/told_method.hpp"

namespace lacuna::test {
namespace {

/// Which allocation of this thread fails: the one after so many good ones. Allocations below `smallest` bytes do not
/// count.
struct Shortage {
  std::size_t smallest = 0;
  std::size_t good = 0;
  bool forever = false;
};
thread_local std::optional<Shortage> shortage;
thread_local bool was_short = false;

bool fails(std::size_t bytes) {
  if (!shortage || bytes < shortage->smallest) return false;
  if (shortage->good > 0) {
    --shortage->good;
    return false;
  }
  was_short = true;
  if (!shortage->forever) shortage.reset();
  return true;
}

using Floats = std::vector<float>;

/// A transport in whose handlers an allocation fails, after so many in all handlers.
class Shaky final : public ForwardingTransport, private Receiver {
 public:
  Shaky(std::unique_ptr<Transport> inner, std::size_t good) : ForwardingTransport(std::move(inner)), good_(good) {}

  Status connect(std::vector<std::vector<std::byte>> addresses, Receiver& receiver) override {
    receiver_ = &receiver;
    return inner_->connect(std::move(addresses), *this);
  }

 private:
  template <class Body>
  void in_shortage(Body body) noexcept {  // an exception that leaves a handler ends the test, as it would end a process
    if (!over_) shortage = Shortage{.good = good_};
    body();
    if (over_) return;
    over_ = !shortage;
    if (shortage) good_ = shortage->good;
    shortage.reset();
  }
  void on_message(Peer from, std::span<const std::byte> header, std::span<const std::byte> bytes) override {
    in_shortage([&] { receiver_->on_message(from, header, bytes); });
  }
  void on_descriptor(Peer from, std::span<const std::byte> header, Descriptor descriptor) override {
    in_shortage([&] { receiver_->on_descriptor(from, header, descriptor); });
  }
  void on_complete(Token token, const Status& status) override {
    in_shortage([&] { receiver_->on_complete(token, status); });
  }
  void on_peer_failure(Peer peer, const Status& status) override {
    in_shortage([&] { receiver_->on_peer_failure(peer, status); });
  }

  Receiver* receiver_ = nullptr;
  std::size_t good_;
  bool over_ = false;
};

/// Both ranks do some of everything, rank 1 as late as possible or as early. Returns whether an allocation has failed.
bool run_short(std::size_t good, bool late, bool asks) {
  was_short = false;
  RanksOptions options{.network = {.eager_limit = 256}, .executor = quick_executor()};
  options.executor.chunk_bytes = 1024;
  if (asks) options.executor.eager_bytes = 0;
  options.wrap = [&](Rank rank, std::unique_ptr<Transport> transport) -> std::unique_ptr<Transport> {
    if (rank == 0) return transport;
    return std::make_unique<Shaky>(std::move(transport), good);
  };
  const Floats input(1500, 1);
  Floats sums[2] = {Floats(1500), Floats(1500)}, copies[2] = {Floats(700, 3), Floats(700)}, got(300);
  Ranks ranks(2, options);
  std::vector<runtime::Run*> runs;
  for (const Rank rank : late ? std::array{0, 1} : std::array{1, 0}) {
    const auto i = static_cast<std::size_t>(rank);
    Call sum = allreduce_call(input, sums[i]);
    sum.options.notify = 1;
    if (auto posted = ranks.post(rank, sum)) runs.push_back(*posted);
    if (auto posted = ranks.post(rank, broadcast_call(copies[i], 0))) runs.push_back(*posted);
    runtime::Communicator& communicator = ranks.communicator(rank);
    auto posted = rank == 0 ? communicator.post(Send{.data = input.data(), .count = 300, .to = 1})
                            : communicator.post(Receive{.data = got.data(), .count = 300, .from = 0});
    if (posted) runs.push_back(*posted);
    if (late) ranks.sweep_until([] { return false; });
  }
  ranks.sweep_until([] { return false; });
  for (const runtime::Run* run : runs) {
    if (run->communicator != &ranks.communicator(1)) continue;
    EXPECT_TRUE(run->finished) << "after " << good << " allocations";
    if (run->finished && !run->status) {
      EXPECT_EQ(run->status.to_string(), "internal error: rank 1 is out of memory");
    }
  }
  const Status whole = ranks.communicator(1).status();
  if (!whole) {
    EXPECT_EQ(ranks.executor(1).job_counters().waiting_messages, 0u) << "after " << good << " allocations";
  } else {
    EXPECT_EQ(sums[1], Floats(1500, 2));
    EXPECT_EQ(copies[1], Floats(700, 3));
    EXPECT_EQ(got, Floats(300, 1));
  }
  for (Rank rank : {0, 1}) ranks.executor(rank).fail({Code::PeerFailed, "over"});
  for (Rank rank : {0, 1}) ranks.executor(rank).release(true);
  for (const runtime::Run* run : runs) {
    const Rank rank = run->communicator == &ranks.communicator(0) ? 0 : 1;
    EXPECT_TRUE(ranks.communicator(rank).reclaimed(*run));
  }
  return was_short;
}

TEST(OutOfMemory, WhicheverAllocationFailsInAHandlerNothingIsThrownThroughTheTransportAndTheCallsFail) {
  for (const bool late : {false, true}) {
    for (const bool asks : {false, true}) {
      std::size_t good = 0;
      while (run_short(good, late, asks) && !HasFailure()) ++good;
      EXPECT_GT(good, 5u);
    }
  }
}

TEST(OutOfMemory, InAHandlerIsToldOfTheLastCallThatWasPosted) {
  LoneRank rank;
  std::vector<runtime::Trouble> reports;
  rank.executor.set_reporter([&](const runtime::Trouble& report) { reports.push_back(report); });
  Floats first(10), second(10);
  for (Floats* data : {&first, &second}) must_post(rank.communicator, broadcast_call(*data, 1));
  const Floats early(1000);  // of a call that this rank has not posted
  rank.wire.arrive(1, rank.header_of(2, 4000), std::as_bytes(std::span(early)), Delivery::Eager);
  shortage = Shortage{.smallest = 4000};
  rank.progress();
  shortage.reset();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].run, 1u) << reports[0].text;
}

/// `finish` makes a call once and returns its outcome. The second time it must need no memory.
template <class Finish>
void expect_repeats_without_memory(const std::string& what, Finish finish) {
  for (const bool again : {false, true}) {
    was_short = false;
    if (again) shortage = Shortage{};
    const Status ended = finish();
    shortage.reset();
    EXPECT_TRUE(ended) << ended.to_string();
    EXPECT_FALSE(was_short) << what;
  }
}

TEST(OutOfMemory, ARepeatedCallOfAMethodWithManyMeasuresNeedsNone) {
  Ranks ranks(1);
  runtime::Communicator& communicator = ranks.communicator(0);
  const std::vector<double> input(2 * told_measures, 1);
  std::vector<double> output(input.size());
  Call call{.collective = Collective::Allreduce,
            .input = input.data(),
            .output = output.data(),
            .count = input.size(),
            .dtype = Dtype::F64};
  call.options.method = told_options();
  expect_repeats_without_memory("told", [&] {
    const auto posted = communicator.post(call, told_algorithm);
    return posted ? communicator.finish(**posted) : posted.status();
  });
}

TEST(OutOfMemory, ARepeatedCallNeedsNone) {
  Ranks ranks(1);
  runtime::Communicator& communicator = ranks.communicator(0);
  const Floats input(2, 1);
  Floats output(2);
  Call call = allreduce_call(input, output);
  const Skip segments{.feedback = true, .small = 0, .segments = {{0, 1, SkipPolicy::Never}, {1, 1}}};
  const MethodOptions half = topk({.density = 0.5});
  const std::pair<MethodOptions, const char*> calls[] = {{{}, ""},
                                                         {lacuna::skip(segments), ""},
                                                         {half, "sparse_allgather"},
                                                         {half, "sparse_split"},
                                                         {half, "sparse_ring"},
                                                         {half, "sparse_doubling"}};
  for (const auto& [method, name] : calls) {
    MethodState state;
    call.options.state = &state;
    call.options.method = method;
    call.options.algorithm = name;
    expect_repeats_without_memory(method.text() + " " + name, [&] {
      const auto algorithm = select_algorithm(call, communicator.hosts());
      const auto posted = communicator.post(call, **algorithm);
      return posted ? communicator.finish(**posted) : posted.status();
    });
  }
}

/// Rank 0 starts something, and one allocation fails, after 0, 1, 2 ... good ones, until none fails.
class Starts {
 public:
  /// The counts of rank 0's starts, and whatever must not change if a start is refused.
  struct Before {
    std::uint64_t next_id;
    std::vector<std::byte> state;
    long owners;

    bool operator==(const Before&) const = default;
  };

  Starts() : ranks_(2) {}

  /// Options::keep_alive of the call.
  std::shared_ptr<int> kept = std::make_shared<int>(0);
  MethodState states[2];

  Ranks& ranks() { return ranks_; }
  Before before() { return {ranks_.communicator(0).next_id(0), *states[0].save(), kept.use_count()}; }

 private:
  Ranks ranks_;
};

/// What a start does if an allocation fails.
enum class Outcome { Good, Refused, Failed };

/// `start` returns Ok if it has started. A start that is refused must have changed nothing.
template <class Start>
Outcome start_short(Starts& starts, std::size_t good, Start start) {
  const Starts::Before before = starts.before();
  was_short = false;
  shortage = Shortage{.good = good};
  const Status started = start();
  shortage.reset();
  if (!was_short) return Outcome::Good;
  if (started) return Outcome::Failed;
  EXPECT_EQ(started.to_string(), "internal error: rank 0 is out of memory") << good;
  EXPECT_TRUE(starts.before() == before) << good << " allocations: a refused start has left something behind";
  EXPECT_FALSE(starts.states[0].in_use) << good;
  return Outcome::Refused;
}

struct ShortCall {
  const char* name;
  MethodOptions method;
  const char* algorithm;
};

/// The calls of both ranks, each with a state.
struct ShortCalls : Starts {
  explicit ShortCalls(const ShortCall& asked) {
    for (std::size_t rank = 0; rank < 2; ++rank) {
      Call& call = calls[rank] = allreduce_call(inputs[rank], outputs[rank], asked.algorithm);
      call.options.method = asked.method;
      call.options.state = asked.method ? &states[rank] : nullptr;
    }
    calls[0].options.keep_alive = kept;
    algorithm = *select_algorithm(calls[0], 2);
  }
  Result<runtime::Run*> post(Rank rank) {
    return ranks().communicator(rank).post(calls[static_cast<std::size_t>(rank)], *algorithm);
  }
  /// Sweeps until the runs of both ranks have ended, and returns their outcome.
  Status ends_of(const std::vector<runtime::Run*>& runs) {
    ranks().sweep_until([&] { return runs[0]->finished && runs[1]->finished; });
    return runs[0]->status ? runs[1]->status : runs[0]->status;
  }

  Floats inputs[2] = {Floats(600, 1), Floats(600, 2)}, outputs[2] = {Floats(600), Floats(600)};
  Call calls[2];
  const Algorithm* algorithm = nullptr;
};

class OutOfMemoryStarts : public testing::TestWithParam<ShortCall> {};

TEST_P(OutOfMemoryStarts, AreRefusedChangeNothingAndTheNextOneHasTheRightResult) {
  std::size_t refused = 0;
  for (std::size_t good = 0; !HasFailure(); ++good) {
    ShortCalls calls(GetParam());
    Result<runtime::Run*> run = Status(Code::Internal, "");
    const Outcome outcome = start_short(calls, good, [&] { return (run = calls.post(0)).status(); });
    if (outcome == Outcome::Good) break;
    if (outcome == Outcome::Failed) {
      EXPECT_EQ((*run)->status.code(), Code::Internal) << good;
      continue;
    }
    ++refused;
    run = calls.post(0);
    ASSERT_TRUE(run) << good << ": " << run.status().to_string();
    EXPECT_TRUE(calls.ends_of({*run, *calls.post(1)})) << good;
    if (!GetParam().method) {
      EXPECT_EQ(calls.outputs[0], Floats(600, 3));
    } else {
      EXPECT_EQ(calls.outputs[0], calls.outputs[1]);
      EXPECT_EQ(calls.states[0].runs, 1u);
      EXPECT_EQ(calls.states[0].save()->size(), calls.states[1].save()->size());
    }
  }
  EXPECT_GT(refused, 10u);
}

TEST_P(OutOfMemoryStarts, OfPreparedCallsAreRefusedChangeNothingAndTheNextOneWorks) {
  std::size_t refused = 0;
  for (std::size_t good = 0; !HasFailure(); ++good) {
    ShortCalls calls(GetParam());
    runtime::Communicator& communicator = calls.ranks().communicator(0);
    runtime::Run* run = *communicator.prepare(calls.calls[0], *calls.algorithm);
    const Outcome outcome = start_short(calls, good, [&] { return communicator.start(*run); });
    if (outcome == Outcome::Good) break;
    if (outcome == Outcome::Failed) continue;
    ++refused;
    ASSERT_TRUE(communicator.start(*run)) << good;
    EXPECT_TRUE(calls.ends_of({run, *calls.post(1)})) << good;
    EXPECT_EQ(calls.outputs[0], calls.outputs[1]) << good;
  }
  EXPECT_GT(refused, 5u);
}

INSTANTIATE_TEST_SUITE_P(
    , OutOfMemoryStarts,
    testing::Values(ShortCall{"Ring", {}, "ring"},
                    ShortCall{"Skip", lacuna::skip({.steps = 1, .mode = SkipMode::Random, .feedback = true}), "ring"},
                    ShortCall{"Topk", topk({.density = 0.5}), "sparse_split"}),
    [](const auto& one) { return one.param.name; });

TEST(OutOfMemory, ASendThatIsRefusedTakesNoNumberFromItsReceiver) {
  std::size_t refused = 0;
  for (std::size_t good = 0; !HasFailure(); ++good) {
    Starts starts;
    const Floats data(10, 4);
    Floats got(10);
    Send message{.data = data.data(), .count = 10, .to = 1};
    message.options.keep_alive = starts.kept;
    runtime::Communicator& sender = starts.ranks().communicator(0);
    const Outcome outcome = start_short(starts, good, [&] { return sender.post(message).status(); });
    if (outcome == Outcome::Good) break;
    if (outcome == Outcome::Failed) continue;
    ++refused;
    ASSERT_TRUE(sender.post(message)) << good;
    const auto receives = starts.ranks().communicator(1).post(Receive{.data = got.data(), .count = 10, .from = 0});
    EXPECT_TRUE(starts.ranks().sweep_until([&] { return (*receives)->finished; })) << good;
    EXPECT_EQ(got, data);
  }
  EXPECT_GT(refused, 3u);
}

/// Rank 0 is a neighbour of itself and of rank 1.
TEST(OutOfMemory, AnExchangeThatIsRefusedHasBegunNoneOfItsMessages) {
  std::size_t refused = 0;
  const Neighbour of_0[] = {{.rank = 1}, {.rank = 0, .send_direction = 1, .receive_direction = 1}},
                  of_1[] = {{.rank = 0}};
  for (std::size_t good = 0; !HasFailure(); ++good) {
    Starts starts;
    const Floats data(10, 4);
    Floats got[3] = {Floats(10), Floats(10), Floats(10)};
    const Halo halos[] = {{data.data(), 10, got[0].data(), 10}, {data.data(), 10, got[1].data(), 10}};
    const Halo back[] = {{data.data(), 10, got[2].data(), 10}};
    Exchange exchange{.neighbours = of_0, .halos = halos};
    exchange.options.keep_alive = starts.kept;
    runtime::Communicator& begins = starts.ranks().communicator(0);
    const Outcome outcome = start_short(starts, good, [&] { return begins.post(exchange).status(); });
    if (outcome == Outcome::Good) break;
    if (outcome == Outcome::Failed) continue;
    ++refused;
    const auto again = begins.post(exchange);
    ASSERT_TRUE(again) << good;
    const auto other = starts.ranks().communicator(1).post(Exchange{.neighbours = of_1, .halos = back});
    ASSERT_TRUE(starts.ranks().sweep_until([&] {
      return begins.has_ended(**again) && starts.ranks().communicator(1).has_ended(**other);
    })) << good;
    for (const Floats& one : got) EXPECT_EQ(one, data);
  }
  EXPECT_GT(refused, 6u);
}

TEST(OutOfMemory, ACallWhoseOwnMemoryCanNotBeHadFailsAndAnotherCommunicatorGoesOn) {
  Ranks ranks(2);
  runtime::Communicator others[] = {{ranks.executor(0), 99}, {ranks.executor(1), 99}};
  Floats large[2] = {Floats(1 << 20, 1), Floats(1 << 20, 1)}, sums[2] = {Floats(1 << 20), Floats(1 << 20)};
  must_post(ranks, 1, allreduce_call(large[1], sums[1]));
  shortage = Shortage{.smallest = 1 << 17, .forever = true};
  ranks.sweep_until([] { return false; });  // there is no memory for what rank 1 sends
  shortage.reset();
  const Status status = ranks.communicator(0).status();
  EXPECT_EQ(status.to_string(), "internal error: rank 0 is out of memory");
  EXPECT_EQ(ranks.post(0, allreduce_call(large[0], sums[0])).status().to_string(), status.to_string());
  Floats data[2] = {Floats(10, 7), Floats(10)};
  const runtime::Run& sends = must_post(others[0], broadcast_call(data[0], 0));
  const runtime::Run& receives = must_post(others[1], broadcast_call(data[1], 0));
  ASSERT_TRUE(ranks.sweep_until([&] { return sends.finished && receives.finished; }));
  EXPECT_EQ(data[1], Floats(10, 7));
}

}  // namespace

bool may_allocate(std::size_t bytes) noexcept { return !fails(bytes); }

}  // namespace lacuna::test

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "algorithms/registry/method_options.hpp"
#include "tests/support/calls.hpp"
#include "tests/support/mock_device.hpp"

namespace lacuna::test {
namespace {

using Floats = std::vector<float>;

/// Two ranks or more that compute on one device.
class DeviceRuns : public testing::Test {
 protected:
  static RanksOptions on(MockDevice& device) {
    RanksOptions options{.network = {.eager_limit = 256}, .executor = quick_executor()};
    options.executor.device = &device;
    return options;
  }

  Memory memory() const { return {.kind = MemoryKind::Cuda, .device = device.number(), .stream = stream}; }

  MockDevice device;
  int program_stream = 0;
  void* stream = &program_stream;
};

/// Floats in the memory of a device.
class OnMock {
 public:
  OnMock(MockDevice& device, const Floats& values, MemorySpace& space)
      : device_(device), space_(space), bytes_(values.size() * sizeof(float)) {
    memory_ = space.take(bytes_);
    device.copy_now(memory_, values.data(), bytes_);
  }
  OnMock(MockDevice& device, const Floats& values) : OnMock(device, values, device.memory()) {}
  ~OnMock() { space_.give_back(memory_, bytes_); }
  OnMock(const OnMock&) = delete;
  OnMock& operator=(const OnMock&) = delete;

  float* data() { return reinterpret_cast<float*>(memory_); }
  std::size_t size() const { return bytes_ / sizeof(float); }
  Floats values() const {
    Floats all(size());
    device_.copy_now(all.data(), memory_, bytes_);
    return all;
  }

 private:
  MockDevice& device_;
  MemorySpace& space_;
  const std::size_t bytes_;
  std::byte* memory_ = nullptr;
};

Floats numbers(std::size_t count, float first = 0) {
  Floats all(count);
  std::iota(all.begin(), all.end(), first);
  return all;
}

Floats twice(Floats values) {
  for (float& value : values) value *= 2;
  return values;
}

Call sum_call(const void* input, void* output, std::size_t count, const Memory& memory = {}) {
  Call call;
  call.collective = Collective::Allreduce;
  call.input = input;
  call.output = output;
  call.count = count;
  call.options.algorithm = "ring";
  call.memory = memory;
  return call;
}

/// Lets all runs end. As the watches of a job do, it tells the other ranks if the calls of one have failed.
bool all_end(Ranks& ranks, const std::vector<runtime::Run*>& runs) {
  return ranks.sweep_for(std::chrono::seconds(20), [&] {
    for (Rank failed = 0; failed < ranks.size(); ++failed) {
      const Status verdict = ranks.communicator(failed).status();
      if (verdict) continue;
      for (Rank rank = 0; rank < ranks.size(); ++rank) {
        ranks.executor(rank).poison(ranks.communicator(rank).id(), verdict);
      }
    }
    return std::all_of(runs.begin(), runs.end(), [](const runtime::Run* run) { return run->finished; });
  });
}

bool says(const Status& status, std::string_view text) { return status.message().find(text) != std::string::npos; }

TEST_F(DeviceRuns, MessagesOfAnyLengthGoBetweenDeviceAndHost) {
  Ranks ranks(2, on(device));
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{300}, std::size_t{2500000}}) {
    const Floats sent = numbers(count);
    for (const bool from_device : {false, true}) {
      for (const bool to_device : {false, true}) {
        Floats host(sent), got(count, -1);
        OnMock there(device, sent), arrived(device, got);
        const auto send = ranks.communicator(0).post(Send{.data = from_device ? there.data() : host.data(),
                                                          .count = count,
                                                          .to = 1,
                                                          .memory = from_device ? memory() : Memory{}});
        const auto receive = ranks.communicator(1).post(Receive{.data = to_device ? arrived.data() : got.data(),
                                                                .count = count,
                                                                .from = 0,
                                                                .memory = to_device ? memory() : Memory{}});
        ASSERT_TRUE(send && receive);
        ASSERT_TRUE(ranks.sweep_until([&] { return (*send)->finished && (*receive)->finished; }));
        EXPECT_TRUE((*send)->status && (*receive)->status) << (*receive)->status.to_string();
        EXPECT_EQ(to_device ? arrived.values() : got, sent) << count << " elements";
        EXPECT_EQ(from_device ? there.values() : host, sent);
      }
    }
  }
}

TEST_F(DeviceRuns, ACallReadsItsBuffersAfterTheWorkOfItsStream) {
  Ranks ranks(2, on(device));
  for (const std::size_t count : {std::size_t{5}, std::size_t{3000}}) {
    const Floats late = numbers(count);
    OnMock a(device, Floats(count, -1)), b(device, Floats(count, -1));
    for (OnMock* own : {&a, &b}) {
      device.enqueue(stream, [to = own->data(), &late] { std::memcpy(to, late.data(), late.size() * sizeof(float)); });
    }
    for (const Status& end :
         ranks.run({sum_call(a.data(), a.data(), count, memory()), sum_call(b.data(), b.data(), count, memory())})) {
      EXPECT_TRUE(end) << end.to_string();
    }
    EXPECT_EQ(a.values(), twice(late));
    EXPECT_EQ(b.values(), twice(late));
  }
}

TEST_F(DeviceRuns, PinnedMemoryIsServedAsTheHosts) {
  Ranks ranks(2, on(device));
  const Floats values = numbers(100);
  OnMock a(device, values, device.pinned()), b(device, values);
  const Memory pinned = {.kind = MemoryKind::CudaHost};
  for (const Status& end :
       ranks.run({sum_call(a.data(), a.data(), 100, pinned), sum_call(b.data(), b.data(), 100, memory())})) {
    EXPECT_TRUE(end) << end.to_string();
  }
  EXPECT_EQ(a.values(), twice(values));
  EXPECT_EQ(b.values(), twice(values));
}

TEST_F(DeviceRuns, ABufferThatLiesElsewhereIsRefusedWithBothPlaces) {
  Ranks ranks(2, on(device));
  Floats host(10);
  OnMock there(device, host);
  const auto refusal = [&](const void* data, const Memory& said) {
    const auto posted = ranks.post(0, sum_call(data, const_cast<void*>(data), 10, said));
    return posted ? Status{} : posted.status();
  };
  const Status on_host = refusal(host.data(), memory());
  EXPECT_EQ(on_host.code(), Code::InvalidArgument);
  EXPECT_TRUE(says(on_host, "is said to lie in cuda memory; it lies in host memory")) << on_host.to_string();
  const Status on_device = refusal(there.data(), {});
  EXPECT_EQ(on_device.code(), Code::InvalidArgument);
  EXPECT_TRUE(says(on_device, "is said to lie in host memory; it lies in cuda memory")) << on_device.to_string();
  const Status elsewhere = refusal(there.data(), {.kind = MemoryKind::Cuda, .device = 3});
  EXPECT_EQ(elsewhere.code(), Code::Unsupported);
  EXPECT_TRUE(says(elsewhere, "lies on device 3; this process computes on device 0")) << elsewhere.to_string();
  // A refused call changes nothing for the next ones.
  OnMock other(device, host);
  for (const Status& end : ranks.run(
           {sum_call(there.data(), there.data(), 10, memory()), sum_call(other.data(), other.data(), 10, memory())})) {
    EXPECT_TRUE(end) << end.to_string();
  }
}

// The place of a list that is empty may be anywhere.
TEST_F(DeviceRuns, ABufferWithoutElementsLiesInAnyMemory) {
  Ranks ranks(2, on(device));
  const std::uint32_t none = 0;
  OnMock values(device, Floats{7}), places(device, Floats{0}), sums(device, Floats(5)), others(device, Floats(5));
  const auto sparse = [&](const void* data, const void* at, std::size_t entries, OnMock& to) {
    Call call = sum_call(data, to.data(), 5, memory());
    call.input_entries = {static_cast<const std::uint32_t*>(at), entries};
    call.options.method = *method_options("topk:density=1,feedback=0");
    call.options.algorithm = "sparse_allgather";
    return call;
  };
  for (const Status& end :
       ranks.run({sparse(values.data(), places.data(), 1, sums), sparse(nullptr, &none, 0, others)})) {
    EXPECT_TRUE(end) << end.to_string();
  }
  EXPECT_EQ(sums.values(), (Floats{7, 0, 0, 0, 0}));
  EXPECT_EQ(others.values(), sums.values());
  Floats host;
  for (const Status& end :
       ranks.run({sum_call(&none, &host, 0, memory()), sum_call(sums.data(), others.data(), 0, memory())})) {
    EXPECT_TRUE(end) << end.to_string();
  }
}

TEST_F(DeviceRuns, ADeviceThatBreaksDownFailsTheCallOnAllRanksWithItsWords) {
  int failures = 0;
  for (int steps = 0; steps < 12; ++steps) {
    MockDevice breaking;
    Ranks ranks(3, on(breaking));
    const std::size_t count = 40000;
    const Memory there = {.kind = MemoryKind::Cuda};
    OnMock a(breaking, numbers(count)), b(breaking, numbers(count));
    Floats host = numbers(count);
    const std::vector<runtime::Run*> runs = {&must_post(ranks, 0, sum_call(host.data(), host.data(), count)),
                                             &must_post(ranks, 1, sum_call(a.data(), a.data(), count, there)),
                                             &must_post(ranks, 2, sum_call(b.data(), b.data(), count, there))};
    for (int step = 0; step < steps; ++step) ranks.sweep();
    if (runs[1]->finished || runs[2]->finished) break;
    breaking.break_down();
    ASSERT_TRUE(all_end(ranks, runs)) << "after " << steps << " steps: " << ranks.waiting_for(runs);
    for (const runtime::Run* run : runs) {
      if (run->status) continue;
      EXPECT_TRUE(says(run->status, "the mock device is broken")) << run->status.to_string();
    }
    EXPECT_FALSE(runs[1]->status && runs[2]->status) << "after " << steps << " steps";
    const Status next = ranks.communicator(0).status();
    EXPECT_TRUE(!next && says(next, "the mock device is broken")) << next.to_string();
    ++failures;
  }
  EXPECT_GE(failures, 3);
}

TEST_F(DeviceRuns, WhereTheDeviceLacksMemoryTheCallFailsOnAllRanksAndSaysSo) {
  bool was_whole = false;
  for (std::size_t take = 1; take < 200 && !was_whole; ++take) {
    MockDevice small;
    Ranks ranks(2, on(small));
    const std::size_t count = 1000;
    const Memory there = {.kind = MemoryKind::Cuda};
    OnMock a(small, numbers(count)), b(small, numbers(count));
    small.fail_take(take);
    std::vector<runtime::Run*> runs;
    Status refused;
    for (Rank rank = 0; rank < 2; ++rank) {
      float* const data = rank == 0 ? a.data() : b.data();
      const auto posted = ranks.post(rank, sum_call(data, data, count, there));
      if (posted) {
        runs.push_back(*posted);
      } else {
        refused = posted.status();
      }
    }
    if (!refused) {
      EXPECT_TRUE(says(refused, "memory")) << "take " << take << ": " << refused.to_string();
      continue;
    }
    ASSERT_TRUE(all_end(ranks, runs)) << "take " << take << ": " << ranks.waiting_for(runs);
    was_whole = small.calls().takes < take;
    for (const runtime::Run* run : runs) {
      if (was_whole) {
        EXPECT_TRUE(run->status) << run->status.to_string();
      } else if (!run->status) {
        EXPECT_TRUE(says(run->status, "memory")) << "take " << take << ": " << run->status.to_string();
      }
    }
  }
  EXPECT_TRUE(was_whole);
}

TEST_F(DeviceRuns, ALongMessageIsStagedInPiecesAndEachByteOnce) {
  Ranks ranks(2, on(device));
  const std::size_t count = 5 * (1 << 20) / 2;  // 10 MiB, in stages of at most 4 MiB
  OnMock a(device, numbers(count)), b(device, Floats(count));
  const kernels::DeviceCalls before = device.calls();
  const auto send = ranks.communicator(0).post(Send{.data = a.data(), .count = count, .to = 1, .memory = memory()});
  const auto receive =
      ranks.communicator(1).post(Receive{.data = b.data(), .count = count, .from = 0, .memory = memory()});
  ASSERT_TRUE(send && receive);
  ASSERT_TRUE(ranks.sweep_until([&] { return (*send)->finished && (*receive)->finished; }));
  EXPECT_EQ(b.values(), a.values());
  const kernels::DeviceCalls after = device.calls();
  EXPECT_EQ(after.copied - before.copied, 2 * count * sizeof(float));
  for (const Rank rank : {0, 1}) {
    EXPECT_EQ(ranks.executor(rank).job_counters().staged_bytes, count * sizeof(float)) << "rank " << rank;
  }
}

TEST_F(DeviceRuns, AStreamOfTheProgramWaitsForTheEndOfACall) {
  RanksOptions threads = on(device);
  threads.executor.progress_thread = true;
  const std::size_t count = 3000;
  const Floats values = numbers(count);
  for (const bool breaks : {false, true}) {
    Floats seen(count), host = values;
    Ranks ranks(2, threads);
    OnMock data(device, values);
    runtime::Run& run = must_post(ranks, 0, sum_call(data.data(), data.data(), count, memory()));
    ASSERT_TRUE(ranks.executor(0).hold(run, stream));
    device.enqueue(stream, [&] { std::memcpy(seen.data(), data.data(), count * sizeof(float)); });
    EXPECT_FALSE(device.run_all());
    EXPECT_EQ(seen, Floats(count));
    if (breaks) {  // the stream goes on after a failure too
      ranks.executor(0).fail(Status(Code::Transport, "the test ends the job"));
    } else {
      must_post(ranks, 1, sum_call(host.data(), host.data(), count));
    }
    const Status end = ranks.communicator(0).wait(run);
    EXPECT_EQ(end.is_ok(), !breaks) << end.to_string();
    EXPECT_TRUE(device.run_all());
    if (!breaks) {
      EXPECT_EQ(seen, twice(values));
      ASSERT_TRUE(ranks.executor(0).hold(run, stream));  // it has ended, so nothing waits
      EXPECT_TRUE(device.run_all());
    }
  }
  EXPECT_EQ(device.in_use(), 0u);
}

TEST_F(DeviceRuns, AStreamDoesNotWaitWhereNoThreadMakesProgress) {
  Ranks ranks(2, on(device));
  OnMock data(device, numbers(10));
  runtime::Run& run = must_post(ranks, 0, sum_call(data.data(), data.data(), 10, memory()));
  const Status held = ranks.executor(0).hold(run, stream);
  EXPECT_EQ(held.code(), Code::Unsupported);
  EXPECT_TRUE(says(held, "set LACUNA_PROGRESS=thread")) << held.to_string();
}

TEST_F(DeviceRuns, AllMemoryOfTheDeviceIsGivenBack) {
  {
    Ranks ranks(3, on(device));
    OnMock a(device, numbers(5000)), b(device, numbers(5000)), c(device, numbers(5000));
    for (const Status& end :
         ranks.run({sum_call(a.data(), a.data(), 5000, memory()), sum_call(b.data(), b.data(), 5000, memory()),
                    sum_call(c.data(), c.data(), 5000, memory())})) {
      EXPECT_TRUE(end) << end.to_string();
    }
  }
  EXPECT_EQ(device.in_use(), 0u);
}

}  // namespace
}  // namespace lacuna::test

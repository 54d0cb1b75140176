#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "algorithms/registry/registry.hpp"
#include "tests/conformance/example.hpp"
#include "tests/support/drawn_options.hpp"
#include "tests/support/mock_device.hpp"
#include "tests/support/ranks.hpp"

namespace lacuna::test {
namespace {

constexpr std::size_t elements = 311;

/// Calls of one example on buffers of a mock device that all ranks share.
class CallsOnDevice {
 public:
  CallsOnDevice(const conformance::Example& example, MockDevice& device)
      : example_(example),
        device_(device),
        states_(static_cast<std::size_t>(example.size())),
        ranks_(example.size(), [&] {
          RanksOptions options = drawn_options(0);
          options.executor.compute = nullptr;
          options.executor.device = &device;
          return options;
        }()) {
    for (std::byte*& buffer : buffers_) buffer = device.memory().take(bytes);
  }
  ~CallsOnDevice() {
    for (std::byte* const buffer : buffers_) device_.memory().give_back(buffer, bytes);
  }
  CallsOnDevice(const CallsOnDevice&) = delete;
  CallsOnDevice& operator=(const CallsOnDevice&) = delete;

  /// Returns what the ranks report.
  std::vector<Report> call_again() {
    std::mt19937 random(5);
    std::vector<Call> calls;
    for (std::size_t rank = 0; rank < states_.size(); ++rank) {
      std::vector<double> input(elements);
      for (double& value : input) value = random() % 4 == 0 ? static_cast<double>(random() % 33) - 16 : 0;
      device_.copy_now(buffers_[2 * rank], input.data(), bytes);
      Call call = example_.call(states_[rank]);
      call.input = buffers_[2 * rank];
      call.output = buffers_[2 * rank + 1];
      call.memory = {.kind = MemoryKind::Cuda};
      calls.push_back(call);
    }
    std::vector<Report> reports(calls.size());
    for (const Status& end : ranks_.run(calls, &reports)) EXPECT_TRUE(end) << example_.text << ": " << end.to_string();
    return reports;
  }

 private:
  static constexpr std::size_t bytes = elements * sizeof(double);

  const conformance::Example& example_;
  MockDevice& device_;
  std::vector<MethodState> states_;
  std::vector<std::byte*> buffers_ = std::vector<std::byte*>(2 * states_.size());
  Ranks ranks_;
};

class MethodsOnDevices : public testing::TestWithParam<const Method*> {};

// What a call selects may rarely need more memory than ever before; see the property of all methods on the host. Calls
// on the mock device take long, so these are not the generated ones.
TEST_P(MethodsOnDevices, NeitherTakeMemoryNorBlockAStreamOnceTheyHaveRun) {
  constexpr std::size_t warm_up = 24, further = 16;
  for (const conformance::Example& example : conformance::written_examples_of(*GetParam(), 3, elements)) {
    MockDevice device;
    {
      CallsOnDevice calls(example, device);
      for (std::size_t run = 0; run < warm_up; ++run) calls.call_again();
      const kernels::DeviceCalls before = device.calls();
      for (std::size_t run = 0; run < further; ++run) calls.call_again();
      const kernels::DeviceCalls after = device.calls();
      EXPECT_LT(after.takes - before.takes, further) << example.text;
      EXPECT_EQ(after.waits, before.waits) << example.text;
    }
    EXPECT_EQ(device.in_use(), 0u) << example.text;
  }
}

/// Returns how long all kernels of a call took.
double time_of_kernels(const Report& report) {
  double seconds = 0;
  for (const Measure* measure : report.measures.table()) {
    if (measure->is_time_of_kernels()) seconds += report.measures.value(*measure);
  }
  return seconds;
}

TEST_P(MethodsOnDevices, TellHowLongTheDeviceHasTaken) {
  const MeasureTable table = GetParam()->measures;
  const bool has_times =
      std::any_of(table.begin(), table.end(), [](const Measure* measure) { return measure->is_time_of_kernels(); });
  const MockDeviceOptions options;
  std::size_t told = 0;
  for (const conformance::Example& example : conformance::examples_of(*GetParam(), {2}, {elements})) {
    MockDevice device(options);
    CallsOnDevice calls(example, device);
    for (const Report& report : calls.call_again()) {
      const double tasks = time_of_kernels(report) / options.task_seconds;
      EXPECT_NEAR(tasks, std::round(tasks), 1e-6) << example.text << ": a part of it is the host's time";
      told += tasks > 0.5 ? 1 : 0;
    }
  }
  EXPECT_EQ(told > 0, has_times);
}

INSTANTIATE_TEST_SUITE_P(, MethodsOnDevices, testing::ValuesIn(all_methods().begin(), all_methods().end()),
                         [](const auto& tested) { return std::string(tested.param->name); });

}  // namespace
}  // namespace lacuna::test

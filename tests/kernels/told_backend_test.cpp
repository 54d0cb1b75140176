#include "kernels/told_backend.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "tests/support/mock_device.hpp"

namespace lacuna::kernels {
namespace {

/// Floats in the memory of a mock device.
class OnDevice {
 public:
  OnDevice(test::MockDevice& device, const std::vector<float>& values)
      : device_(device), bytes_(values.size() * sizeof(float)), data_(device.memory().take(bytes_)) {
    device.copy_now(data_, values.data(), bytes_);
  }
  ~OnDevice() { device_.memory().give_back(data_, bytes_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

  Source source() const { return {Dtype::F32, data_, bytes_ / sizeof(float)}; }
  std::byte* data() const { return data_; }
  std::vector<float> values() const {
    std::vector<float> all(bytes_ / sizeof(float));
    device_.copy_now(all.data(), data_, bytes_);
    return all;
  }

 private:
  test::MockDevice& device_;
  const std::size_t bytes_;
  std::byte* const data_;
};

/// A value in one of the memories of a device.
template <class T>
class Cell {
 public:
  Cell(MemorySpace& space, T value) : space_(space), data_(space.take(sizeof(T))) {
    space.copy(data_, reinterpret_cast<const std::byte*>(&value), sizeof(T));
  }
  ~Cell() { space_.give_back(data_, sizeof(T)); }
  Cell(const Cell&) = delete;
  Cell& operator=(const Cell&) = delete;

  T* place() { return reinterpret_cast<T*>(data_); }
  T value() {
    T found{};
    space_.copy(reinterpret_cast<std::byte*>(&found), data_, sizeof(T));
    return found;
  }

 private:
  MemorySpace& space_;
  std::byte* const data_;
};

std::vector<float> ascending(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.f);
  return values;
}

class ToldBackends : public testing::Test {
 protected:
  test::MockDevice device_{{.lateness = 0.7}};
  ToldBackend backend_{device_};
};

TEST_F(ToldBackends, AResultOnTheStackIsThereOnceTheFunctionReturns) {
  const OnDevice data(device_, ascending(100));
  double sum = 0;
  backend_.sum_of_powers(data.source(), 1, 1, &sum);
  EXPECT_EQ(sum, 5050);
}

TEST_F(ToldBackends, AResultInPinnedMemoryIsThereOnceTheFunctionReturns) {
  const OnDevice data(device_, ascending(100));
  Cell<double> sum(device_.pinned(), 0);
  backend_.sum_of_powers(data.source(), 1, 1, sum.place());
  EXPECT_EQ(*sum.place(), 5050);
}

TEST_F(ToldBackends, AResultOnTheDeviceIsThereInTheOrderOfTheStream) {
  const OnDevice data(device_, ascending(100));
  Cell<double> sum(device_.memory(), 0);
  const auto looks = device_.calls().queries;
  backend_.sum_of_powers(data.source(), 1, 1, sum.place());
  EXPECT_EQ(device_.calls().queries, looks) << "it has waited";
  EXPECT_TRUE(device_.run_all());
  EXPECT_EQ(sum.value(), 5050);
}

TEST_F(ToldBackends, TheDeviceReadsWhatTheHostGivesAndAddsToWhatTheResultHolds) {
  const OnDevice data(device_, ascending(100));
  const OnDevice places(device_, std::vector<float>(10)), values(device_, std::vector<float>(10));
  std::vector<std::byte> workspace(Backend::workspace_bytes());
  std::byte* const there = device_.memory().take(workspace.size());
  Cut cut;
  backend_.largest(data.source(), 4, there, &cut);
  std::uint64_t taken = 3;
  backend_.compact(data.source(), &cut, {reinterpret_cast<std::uint32_t*>(places.data()), values.data(), 10, 0},
                   &taken);
  EXPECT_EQ(taken, 7u);
  const std::vector<float> expected = {0, 0, 0, 97, 98, 99, 100, 0, 0, 0};
  EXPECT_EQ(values.values(), expected);
  device_.memory().give_back(there, workspace.size());
}

// Each function takes cells of its own, and there is room for a few functions only.
TEST_F(ToldBackends, ManyResultsOneAfterAnotherAreRight) {
  const OnDevice data(device_, ascending(100));
  for (std::size_t i = 1; i <= 2000; ++i) {
    std::array<std::uint32_t, Backend::magnitude_bins> bins{};
    const Source some{Dtype::F32, data.data(), 1 + i % 100};
    backend_.count_magnitudes(some, some.count, bins.data());
    ASSERT_EQ(std::accumulate(bins.begin(), bins.end(), std::size_t{0}), some.count);
  }
}

TEST_F(ToldBackends, BytesTravelBetweenTheHostAndTheDevice) {
  const OnDevice data(device_, ascending(3));
  const std::array<float, 3> sent = {7, 8, 9};
  std::array<float, 3> got{};
  const auto bytes_of = [](auto& of) { return reinterpret_cast<std::byte*>(of.data()); };
  backend_.copy_bytes(reinterpret_cast<const std::byte*>(sent.data()), sizeof sent, data.data());
  backend_.copy_bytes(data.data(), sizeof got, bytes_of(got));
  EXPECT_EQ(got, sent);
  backend_.copy_bytes(data.data(), 0, bytes_of(got));
  EXPECT_EQ(got, sent);
}

TEST_F(ToldBackends, AResultThatIsTooLongIsRefused) {
  const OnDevice data(device_, ascending(100));
  std::vector<std::byte> to(1 << 20);
  EXPECT_THROW(backend_.copy_bytes(data.data(), to.size(), to.data()), std::length_error);
}

TEST(ToldBackendOfABrokenDevice, ThrowsWhatTheDeviceSays) {
  test::MockDevice device;
  const OnDevice data(device, ascending(100));
  const ToldBackend backend(device);
  device.break_down();
  double sum = 0;
  EXPECT_THROW(backend.sum_of_powers(data.source(), 1, 1, &sum), std::runtime_error);
}

}  // namespace
}  // namespace lacuna::kernels

// The kernels on a CUDA device, on an array of 64 Mi elements of f32 of which one in a hundred is selected, against the
// bandwidth of a copy on the device; and allreduce calls of two ranks in this process with data on the device, against
// the copies between device and host that they need. device_peer.py puts PyTorch's nearest functions beside the
// kernels.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "bindings/cpp/lacuna.hpp"
#include "kernels/device.hpp"
#include "kernels/sketches.hpp"

namespace {

using namespace lacuna;
using namespace lacuna::kernels;
using Seconds = std::chrono::duration<double>;
using std::chrono::steady_clock;

constexpr std::size_t count = std::size_t{64} << 20;
constexpr std::size_t k = count / 100;
constexpr double mega = 1e6, giga = 1e9;

/// Memory of the device for `n` elements.
template <class T>
T* room(Device& device, std::size_t n) {
  auto* const memory = device.memory().take(n * sizeof(T));
  device.memory().clear(memory, n * sizeof(T));
  return reinterpret_cast<T*>(memory);
}

void finish(Device& device, DeviceStream stream, Event* event) {
  device.record(event, stream);
  while (!device.has_passed(event)) {
  }
}

/// The median of the times of one run of the work, in seconds. Short work is done several times in a row.
double time_of(Device& device, DeviceStream stream, const std::function<void()>& work) {
  Event* const event = device.take_event();
  const auto seconds_of = [&](int repeats) {
    const auto start = steady_clock::now();
    for (int i = 0; i < repeats; ++i) work();
    finish(device, stream, event);
    return Seconds(steady_clock::now() - start).count() / repeats;
  };
  seconds_of(1);
  const int repeats = std::clamp(static_cast<int>(0.05 / seconds_of(1)), 1, 20);
  std::array<double, 5> times{};
  for (double& time : times) time = seconds_of(repeats);
  device.give_back(event);
  std::nth_element(times.begin(), times.begin() + 2, times.end());
  return times[2];
}

class Kernels {
 public:
  explicit Kernels(Device& device) : device_(device), on_(device.kernels()) {
    std::mt19937_64 random(1);
    std::normal_distribution<float> normal;
    std::vector<float> numbers(count);
    for (float& number : numbers) number = normal(random);
    device.memory().copy(reinterpret_cast<std::byte*>(a_), reinterpret_cast<const std::byte*>(numbers.data()),
                         count * sizeof(float));
  }

  void run() {
    const double bytes = count * sizeof(float);
    copied_ = 2 * bytes / time([&] { device_.copy(DeviceStream::Compute, at(b_), at(a_), count * sizeof(float)); });
    fmt::print("{:<44} {:>9} {:>9} {:>7}\n", "kernel, f32, 64 Mi elements", "us", "GB/s", "of copy");
    fmt::print("{:<44} {:>9.1f} {:>9.0f} {:>7}\n", "copy on the device", 2 * bytes / copied_ * mega, copied_ / giga,
               "");
    const Source from{Dtype::F32, at(a_), count};
    const EntriesList list{places_, at(values_), 2 * k};
    show("sum of two arrays", 3 * bytes, [&] {
      on_.reduce(Reduction::Sum, {}, {Dtype::F32, at(b_), count}, at(b_), at(a_));
    });
    show("largest k, exact", bytes, [&] { on_.largest(from, k, workspace_, cut_); });
    show("count what a cut takes", bytes, [&] { on_.count(from, cut_, number_); });
    show("compact what a cut takes", bytes + k * 8.0, [&] {
      device_.copy(DeviceStream::Compute, reinterpret_cast<std::byte*>(number_), reinterpret_cast<std::byte*>(zero_),
                   8);
      on_.compact(from, cut_, list, number_);
    });
    show("bitmap of the places", count / 8.0 + k * 4.0, [&] { on_.pack_bits({places_, k}, 0, count, map_); });
    show("places of a bitmap", 2 * count / 8.0 + k * 4.0, [&] { on_.unpack_bits(map_, count, others_, number_); });
    merge();
    sketch();
  }

 private:
  static std::byte* at(void* address) { return static_cast<std::byte*>(address); }
  double time(const std::function<void()>& work) { return time_of(device_, DeviceStream::Compute, work); }
  void show(const std::string& what, double bytes, const std::function<void()>& work) {
    const double seconds = time(work), rate = bytes / seconds;
    fmt::print("{:<44} {:>9.1f} {:>9.0f} {:>6.0f}%\n", what, seconds * mega, rate / giga, 100 * rate / copied_);
  }

  /// Two lists whose places are those of the first, and these moved by one.
  void merge() {
    std::vector<std::uint32_t> moved(k);
    device_.memory().copy(at(moved.data()), at(places_), k * sizeof(std::uint32_t));
    for (std::uint32_t& place : moved) place = std::min<std::uint32_t>(place + 1, count - 1);
    moved.erase(std::unique(moved.begin(), moved.end()), moved.end());
    device_.memory().copy(at(others_), at(moved.data()), moved.size() * sizeof(std::uint32_t));
    const EntriesView first{.entries = k, .places = at(places_), .values = at(values_)};
    const EntriesView second{
        .entries = static_cast<std::uint32_t>(moved.size()), .places = at(others_), .values = at(values_)};
    const std::vector<EntriesView> views = {first, second};
    const std::uint32_t* before[] = {indexes_[0], indexes_[1]};
    show("index of a list", k * 4.0 + indexes * 4.0, [&] { on_.index(first, count, indexes_[0], number_); });
    on_.index(second, count, indexes_[1], number_);
    const EntriesList to{merged_, at(merged_values_), 2 * k};
    show("merge of two lists", (k + static_cast<double>(moved.size())) * 16, [&] {
      on_.merge(views, before, {}, count, {Dtype::F32, at(b_), count}, to, number_);
    });
    show("dense sum of two lists", (k + static_cast<double>(moved.size())) * 8 + count * 4.0, [&] {
      on_.sum(views, before, {}, {Dtype::F32, at(b_), count}, number_);
    });
  }

  /// One block in 16 is sketched.
  void sketch() {
    constexpr std::size_t block = 64, blocks = count / block, chosen = blocks / 16;
    const SketchShape shape{.seed = 1, .rows = 3, .buckets = chosen / 2, .block = block};
    const std::vector<std::uint16_t> bits(blocks / 16, 1);
    device_.memory().copy(map_, reinterpret_cast<const std::byte*>(bits.data()), blocks / 8);
    double* const table = room<double>(device_, shape.cells());
    std::byte* const left = room<std::byte>(device_, blocks / 8);
    auto* const peeling = room<std::uint32_t>(device_, words_of_peeling(shape));
    Peeled* const peeled = room<Peeled>(device_, 1);
    const Target to{Dtype::F64, at(table), shape.cells()};
    const double cells = static_cast<double>(shape.cells() * sizeof(double)),
                 read = static_cast<double>(chosen * block * sizeof(float));
    show("sketch of 64 Ki blocks of 64", read + cells, [&] {
      on_.sketch(shape, {Dtype::F32, at(a_), count}, map_, to);
    });
    show("peeling of that sketch, after its insertion", 2 * cells + read + count * 4.0, [&] {
      on_.sketch(shape, {Dtype::F32, at(a_), count}, map_, to);
      on_.peel_sketch(shape, {.map = map_, .left = left, .room = peeling}, to, {Dtype::F32, at(b_), count}, peeled);
    });
  }

  static constexpr std::size_t indexes = count / block_places + 2;
  Device& device_;
  const Backend& on_;
  float* const a_ = room<float>(device_, count);
  float* const b_ = room<float>(device_, count);
  std::uint32_t* const places_ = room<std::uint32_t>(device_, 2 * k);
  std::uint32_t* const others_ = room<std::uint32_t>(device_, count);
  std::uint32_t* const merged_ = room<std::uint32_t>(device_, 2 * k);
  float* const values_ = room<float>(device_, 2 * k);
  float* const merged_values_ = room<float>(device_, 2 * k);
  std::byte* const workspace_ = room<std::byte>(device_, Backend::workspace_bytes());
  std::byte* const map_ = room<std::byte>(device_, count / 8 + 64);
  std::uint32_t* const indexes_[2] = {room<std::uint32_t>(device_, indexes), room<std::uint32_t>(device_, indexes)};
  Cut* const cut_ = room<Cut>(device_, 1);
  std::uint64_t* const number_ = room<std::uint64_t>(device_, 1);
  std::uint64_t* const zero_ = room<std::uint64_t>(device_, 1);
  double copied_ = 1;
};

/// Copies of this size from the device to pinned memory and back, in seconds.
double time_of_copies(Device& device, std::size_t bytes) {
  std::byte* const there = room<std::byte>(device, bytes);
  std::byte* const here = device.pinned().take(bytes);
  const double seconds = time_of(device, DeviceStream::Compute, [&] {
    device.copy(DeviceStream::Compute, here, there, bytes);
    device.copy(DeviceStream::Compute, there, here, bytes);
  });
  device.memory().give_back(there, bytes);
  device.pinned().give_back(here, bytes);
  return seconds;
}

/// An allreduce of two ranks in this process, in seconds.
double time_of_call(Device& device, std::vector<Communicator>& ranks, std::size_t bytes, bool on_device) {
  std::vector<double> medians(ranks.size());
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    threads.emplace_back([&, r] {
      std::vector<std::byte> own(on_device ? 0 : 2 * bytes);
      std::byte* const data = on_device ? room<std::byte>(device, 2 * bytes) : own.data();
      Call call{.collective = Collective::Allreduce, .input = data, .output = data + bytes, .count = bytes / 4};
      if (on_device) call.memory = {.kind = MemoryKind::Cuda, .device = device.number(), .stream = nullptr};
      std::vector<double> times;
      for (int i = 0; i < 25; ++i) {
        const auto start = steady_clock::now();
        const Status status = ranks[r].call(call);
        if (!status) {
          fmt::print(stderr, "{}\n", status.to_string());
          std::exit(1);
        }
        if (i > 4) times.push_back(Seconds(steady_clock::now() - start).count());
      }
      std::nth_element(times.begin(), times.begin() + 10, times.end());
      medians[r] = times[10];
      if (on_device) device.memory().give_back(data, 2 * bytes);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return medians[0];
}

}  // namespace

int main() {
  const auto opened = open_device(0);
  if (!opened) {
    fmt::print(stderr, "{}\n", opened.status().to_string());
    return 1;
  }
  Device& device = **opened;
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  fmt::print("{}, kernels by {}\n\n", device.name(), device.kernels().name());
  Kernels(device).run();
  auto ranks = Communicator::local(2);
  if (!ranks) {
    fmt::print(stderr, "{}\n", ranks.status().to_string());
    return 1;
  }
  fmt::print("\n{:<44} {:>9} {:>9} {:>9}\n", "allreduce of 2 ranks in one process, ms", "device", "host", "copies");
  for (const std::size_t bytes : {std::size_t{1} << 20, std::size_t{100} << 20}) {
    fmt::print("{:<44} {:>9.3f} {:>9.3f} {:>9.3f}\n", fmt::format("{} MiB", bytes >> 20),
               1e3 * time_of_call(device, *ranks, bytes, true), 1e3 * time_of_call(device, *ranks, bytes, false),
               1e3 * time_of_copies(device, bytes));
  }
  return 0;
}

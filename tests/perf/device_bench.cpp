// The kernels on a CUDA device, on an array of 64 Mi elements of f32 of which one in a hundred is selected, against the
// bandwidth of a copy on the device; and allreduce calls of two ranks in this process with data on the device, against
// the copies between device and host that they need. device_peer.py puts PyTorch's nearest functions beside the
// kernels. Usage: device_bench [ELEMENTS [CSV]]. The file CSV gets the rows of the kernels.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
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

/// Prints the rows of a table, and writes them to a file if it gets one.
class Rows {
 public:
  explicit Rows(std::FILE* csv) : csv_(csv) {
    fmt::print("{:<44} {:>9} {:>9} {:>7}\n", "kernel", "us", "GB/s", "of copy");
    if (csv_) fmt::print(csv_, "name,us,GB/s,of copy\n");
  }

  /// `share`: the rate as a share of that of a copy.
  void add(const std::string& what, double seconds, double rate, double share) {
    fmt::print("{:<44} {:>9.1f} {:>9.0f} {:>6.0f}%\n", what, seconds * mega, rate / giga, 100 * share);
    if (csv_) fmt::print(csv_, "\"{}\",{:.1f},{:.0f},{:.0f}%\n", what, seconds * mega, rate / giga, 100 * share);
  }

 private:
  std::FILE* const csv_;
};

class Kernels {
 public:
  Kernels(Device& device, std::size_t elements, std::FILE* csv)
      : count_(elements), device_(device), on_(device.kernels()), rows_(csv) {
    std::mt19937_64 random(1);
    std::normal_distribution<float> normal;
    std::vector<float> numbers(count_);
    for (float& number : numbers) number = normal(random);
    device.memory().copy(reinterpret_cast<std::byte*>(a_), reinterpret_cast<const std::byte*>(numbers.data()),
                         count_ * sizeof(float));
  }

  void run() {
    const double bytes = times(count_, sizeof(float));
    copied_ = 2 * bytes / time([&] { device_.copy(DeviceStream::Compute, at(b_), at(a_), count_ * sizeof(float)); });
    rows_.add("copy on the device", 2 * bytes / copied_, copied_, 1);
    const Source from{Dtype::F32, at(a_), count_};
    const EntriesList list{places_, at(values_), 2 * k_};
    show("sum of two arrays", 3 * bytes, [&] {
      on_.reduce(Reduction::Sum, {}, {Dtype::F32, at(b_), count_}, at(b_), at(a_));
    });
    show("largest k, exact", bytes, [&] { on_.largest(from, k_, workspace_, cut_); });
    show("count what a cut takes", bytes, [&] { on_.count(from, cut_, number_); });
    show("compact what a cut takes", bytes + times(k_, 8), [&] {
      device_.copy(DeviceStream::Compute, reinterpret_cast<std::byte*>(number_), reinterpret_cast<std::byte*>(zero_),
                   8);
      on_.compact(from, cut_, list, number_);
    });
    show("bitmap of the places", times(count_, 1.0 / 8) + times(k_, 4), [&] {
      on_.pack_bits({places_, k_}, 0, count_, map_);
    });
    show("places of a bitmap", times(count_, 1.0 / 4) + times(k_, 4),
         [&] { on_.unpack_bits(map_, count_, others_, number_); });
    merge();
    sketch();
  }

 private:
  static double times(std::size_t n, double bytes) { return static_cast<double>(n) * bytes; }
  static std::byte* at(void* address) { return static_cast<std::byte*>(address); }
  double time(const std::function<void()>& work) { return time_of(device_, DeviceStream::Compute, work); }
  void show(const std::string& what, double bytes, const std::function<void()>& work) {
    const double seconds = time(work), rate = bytes / seconds;
    rows_.add(what, seconds, rate, rate / copied_);
  }

  /// Two lists whose places are those of the first, and these moved by one.
  void merge() {
    std::vector<std::uint32_t> moved(k_);
    device_.memory().copy(at(moved.data()), at(places_), k_ * sizeof(std::uint32_t));
    for (std::uint32_t& place : moved) place = std::min(place + 1, static_cast<std::uint32_t>(count_ - 1));
    moved.erase(std::unique(moved.begin(), moved.end()), moved.end());
    device_.memory().copy(at(others_), at(moved.data()), moved.size() * sizeof(std::uint32_t));
    const EntriesView first{.entries = k_, .places = at(places_), .values = at(values_)};
    const EntriesView second{
        .entries = static_cast<std::uint32_t>(moved.size()), .places = at(others_), .values = at(values_)};
    const std::vector<EntriesView> views = {first, second};
    const std::uint32_t* before[] = {indexes_[0], indexes_[1]};
    show("index of a list", times(k_ + index_entries_, 4), [&] { on_.index(first, count_, indexes_[0], number_); });
    on_.index(second, count_, indexes_[1], number_);
    const EntriesList to{merged_, at(merged_values_), 2 * k_};
    show("merge of two lists", times(k_ + moved.size(), 16), [&] {
      on_.merge(views, before, {}, count_, {Dtype::F32, at(b_), count_}, to, number_);
    });
    show("dense sum of two lists", times(k_ + moved.size(), 8) + times(count_, 4), [&] {
      on_.sum(views, before, {}, {Dtype::F32, at(b_), count_}, number_);
    });
  }

  /// One block in 16 is sketched.
  void sketch() {
    const std::size_t block = 64, blocks = count_ / block, chosen = blocks / 16;
    const SketchShape shape{.seed = 1, .rows = 3, .buckets = chosen / 2, .block = block};
    const std::vector<std::uint16_t> bits(blocks / 16, 1);
    device_.memory().copy(map_, reinterpret_cast<const std::byte*>(bits.data()), blocks / 8);
    double* const table = room<double>(device_, shape.cells());
    std::byte* const left = room<std::byte>(device_, blocks / 8);
    auto* const peeling = room<std::uint32_t>(device_, words_of_peeling(shape));
    Peeled* const peeled = room<Peeled>(device_, 1);
    const Target to{Dtype::F64, at(table), shape.cells()};
    const double cells = times(shape.cells(), sizeof(double)), read = times(chosen * block, sizeof(float));
    show("sketch of one block of 64 in 16", read + cells, [&] {
      on_.sketch(shape, {Dtype::F32, at(a_), count_}, map_, to);
    });
    show("peeling of that sketch, after its insertion", 2 * cells + read + times(count_, 4), [&] {
      on_.sketch(shape, {Dtype::F32, at(a_), count_}, map_, to);
      on_.peel_sketch(shape, {.map = map_, .left = left, .room = peeling}, to, {Dtype::F32, at(b_), count_}, peeled);
    });
  }

  const std::size_t count_;
  const std::uint32_t k_ = static_cast<std::uint32_t>(count_ / 100);
  const std::size_t index_entries_ = count_ / block_places + 2;
  Device& device_;
  const Backend& on_;
  Rows rows_;
  float* const a_ = room<float>(device_, count_);
  float* const b_ = room<float>(device_, count_);
  std::uint32_t* const places_ = room<std::uint32_t>(device_, 2 * k_);
  std::uint32_t* const others_ = room<std::uint32_t>(device_, count_);
  std::uint32_t* const merged_ = room<std::uint32_t>(device_, 2 * k_);
  float* const values_ = room<float>(device_, 2 * k_);
  float* const merged_values_ = room<float>(device_, 2 * k_);
  std::byte* const workspace_ = room<std::byte>(device_, Backend::workspace_bytes());
  std::byte* const map_ = room<std::byte>(device_, count_ / 8 + 64);
  std::uint32_t* const indexes_[2] = {room<std::uint32_t>(device_, index_entries_),
                                      room<std::uint32_t>(device_, index_entries_)};
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

int main(int words, char** word) {
  const std::size_t count = words > 1 ? std::strtoull(word[1], nullptr, 10) : std::size_t{64} << 20;
  std::FILE* const csv = words > 2 ? std::fopen(word[2], "w") : nullptr;
  if (count < 6400 || (words > 2 && !csv)) {
    fmt::print(stderr, "usage: device_bench [ELEMENTS [CSV]], with 6400 elements or more and a file to write\n");
    return 2;
  }
  const auto opened = open_device(0);
  if (!opened) {
    fmt::print(stderr, "{}\n", opened.status().to_string());
    return 1;
  }
  Device& device = **opened;
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  fmt::print("{}, kernels by {}, {} elements of f32\n\n", device.name(), device.kernels().name(), count);
  Kernels(device, count, csv).run();
  if (csv) std::fclose(csv);
  auto ranks = Communicator::local(2);
  if (!ranks) {
    fmt::print(stderr, "{}\n", ranks.status().to_string());
    return 1;
  }
  fmt::print("\n{:<44} {:>9} {:>9} {:>9}\n", "allreduce of 2 ranks in one process, ms", "device", "host", "copies");
  for (const std::size_t bytes : {count / 64, count / 64 * 100}) {
    fmt::print("{:<44} {:>9.3f} {:>9.3f} {:>9.3f}\n", fmt::format("{} KiB", bytes >> 10),
               1e3 * time_of_call(device, *ranks, bytes, true), 1e3 * time_of_call(device, *ranks, bytes, false),
               1e3 * time_of_copies(device, bytes));
  }
  return 0;
}

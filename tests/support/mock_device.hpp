#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "kernels/device.hpp"
#include "tests/support/mock_pages.hpp"
#include "tests/support/run_backend.hpp"

namespace lacuna::test {

struct MockDeviceOptions {
  std::uint64_t seed = 1;
  int number = 0;
  double lateness = 0.5;                    ///< how often time does not go on at a look
  double task_seconds = 1000;               ///< so long takes each task of a stream, as events tell it
  std::size_t memory_bytes = 256ull << 20;  ///< of the device
};

/// A device that this process plays. The host can't touch its memory: pages are open only while a functor of a kernel
/// or a copy runs. Work that enters a stream is done later. Time goes on only while somebody looks at an event, and
/// streams go on in an order that is drawn from the seed. All addresses that work is given must lie in the device's or
/// in pinned memory; if not, the process ends with a line that names the function. Its kernels are mock_kernels().
class MockDevice final : public kernels::Device, DevicePages {
 public:
  explicit MockDevice(const MockDeviceOptions& options = {});
  ~MockDevice() override;
  MockDevice(const MockDevice&) = delete;
  MockDevice& operator=(const MockDevice&) = delete;

  std::string_view name() const override { return "mock"; }
  int number() const override { return options_.number; }
  const kernels::Backend& kernels() const override { return kernels_; }
  MemorySpace& memory() override;
  MemorySpace& pinned() override;
  Memory where(const void* address) const override;
  void copy(kernels::DeviceStream stream, std::byte* to, const std::byte* from, std::size_t bytes) override;
  kernels::Event* take_event() override;
  void give_back(kernels::Event* event) override;
  void record(kernels::Event* event, kernels::DeviceStream stream) override;
  void record(kernels::Event* event, void* stream) override;
  bool has_passed(kernels::Event* event) override;
  double seconds_between(kernels::Event* first, kernels::Event* second) override;
  void wait(kernels::DeviceStream stream, kernels::Event* event) override;
  void signal(kernels::DeviceStream stream, int fd) override;
  void hold(void* stream, const std::uint32_t* cell) override;
  kernels::DeviceCalls calls() const override;

  // These functions are for tests. A stream of the program is named by any address.

  /// The stream calls `work` later, which may touch the device's memory.
  void enqueue(void* stream, std::function<void()> work);
  /// Time goes on until all streams are empty or wait for something else. Returns true if they are empty.
  bool run_all();
  /// Copies between the host's and the device's memory now.
  void copy_now(void* to, const void* from, std::size_t bytes);
  /// The n-th take of memory from now on fails, 1 for the next one; 0: none does.
  void fail_take(std::size_t n);
  /// The device is broken from now on: all that works on it throws.
  void break_down();
  /// Bytes of both kinds of memory that somebody has.
  std::size_t in_use() const;

 private:
  class Space;
  struct Task {
    std::function<bool()> may_begin;  ///< null: at once
    std::function<void()> run;
  };
  struct Stream {
    std::deque<Task> tasks;
    std::uint64_t entered = 0, done = 0;  ///< tasks
  };

  void check(std::string_view function, const void* address) const;
  Memory where_locked(const void* address) const;
  void enter(const void* stream, Task task);
  bool step(const void* stream);
  bool run_one();
  void record_at(kernels::Event* event, const void* stream);
  bool passed(const kernels::Event& event) const;
  void throw_if_broken() const;
  const void* name_of(kernels::DeviceStream stream) const { return &names_[static_cast<std::size_t>(stream)]; }
  std::byte* take(bool pinned, std::size_t bytes);
  void give_back(bool pinned, std::byte* memory);
  std::size_t mapped_bytes() const;
  void open() override;
  void close() override;

  const MockDeviceOptions options_;
  const char names_[kernels::device_streams] = {};
  mutable std::recursive_mutex mutex_;
  std::mt19937_64 random_;
  RunBackend kernels_;
  void* mapped_ = nullptr;
  std::byte* arena_ = nullptr;  ///< lies in what is mapped, aligned to a huge page
  std::size_t used_ = 0;        ///< of the arena
  std::map<const std::byte*, std::size_t> pinned_blocks_, device_blocks_;  ///< with their bytes
  std::multimap<std::size_t, std::byte*> free_;                            ///< of the arena, by bytes
  std::unique_ptr<Space> memory_, pinned_;
  std::map<const void*, Stream> streams_;
  std::vector<std::unique_ptr<kernels::Event>> events_;
  std::vector<kernels::Event*> free_events_;
  kernels::DeviceCalls calls_;
  std::size_t takes_to_failure_ = 0;
  bool broken_ = false;
};

}  // namespace lacuna::test

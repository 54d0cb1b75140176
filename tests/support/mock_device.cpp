#include "tests/support/mock_device.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>

#include "tests/support/mock_kernels.hpp"

namespace lacuna::kernels {

/// Passes once so many tasks of the stream are done.
struct Event {
  const void* stream = nullptr;
  std::uint64_t tasks = 0;
};

}  // namespace lacuna::kernels

namespace lacuna::test {
namespace {

constexpr std::size_t page = 4096, huge_page = 2ull << 20;

constexpr std::size_t in_units(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

/// The block of these that holds the address, or one past its end.
template <class Blocks>
bool holds(const Blocks& blocks, const void* address) {
  const auto* const at = static_cast<const std::byte*>(address);
  const auto next = blocks.upper_bound(at);
  if (next == blocks.begin()) return false;
  const auto& [begin, bytes] = *std::prev(next);
  return at <= begin + bytes;
}

}  // namespace

class MockDevice::Space final : public MemorySpace {
 public:
  Space(MockDevice& device, bool pinned) : device_(device), pinned_(pinned) {}
  MemoryKind kind() const override { return pinned_ ? MemoryKind::CudaHost : MemoryKind::Cuda; }
  std::byte* take(std::size_t bytes) override { return device_.take(pinned_, bytes); }
  void give_back(std::byte* memory, std::size_t) noexcept override {
    if (memory) device_.give_back(pinned_, memory);
  }
  void clear(std::byte* memory, std::size_t bytes) override {
    if (bytes == 0) return;
    const std::lock_guard lock(device_.mutex_);
    if (!pinned_) ++device_.calls_.waits;
    device_.open();
    std::memset(memory, 0, bytes);
    device_.close();
  }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    if (bytes == 0) return;
    const std::lock_guard lock(device_.mutex_);
    if (!pinned_) ++device_.calls_.waits;
    device_.copy_now(to, from, bytes);
  }

 private:
  MockDevice& device_;
  const bool pinned_;
};

MockDevice::MockDevice(const MockDeviceOptions& options)
    : options_(options),
      random_(options.seed),
      kernels_(mock_kernels(), [this](const BackendCall& call, const std::function<void()>& compute) {
        const std::lock_guard lock(mutex_);
        for (const void* address : call.addresses) check(call.function, address);
        enter(name_of(kernels::DeviceStream::Compute), {.may_begin = {}, .run = [this, compute] {
                                                          const ComputeWith pages(*this);
                                                          compute();
                                                        }});
      }) {
  mapped_ = ::mmap(nullptr, mapped_bytes(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped_ == MAP_FAILED) throw std::bad_alloc();
  arena_ = reinterpret_cast<std::byte*>(in_units(reinterpret_cast<std::uintptr_t>(mapped_), huge_page));
  ::madvise(arena_, options_.memory_bytes, MADV_HUGEPAGE);  // many small pages take long to open and close
  memory_ = std::make_unique<Space>(*this, false);
  pinned_ = std::make_unique<Space>(*this, true);
}

MockDevice::~MockDevice() {
  ::munmap(mapped_, mapped_bytes());
  for (const auto& [memory, bytes] : pinned_blocks_) {
    ::operator delete (const_cast<std::byte*>(memory), std::align_val_t{MemorySpace::alignment});
  }
}

std::size_t MockDevice::mapped_bytes() const { return in_units(options_.memory_bytes, huge_page) + huge_page; }

MemorySpace& MockDevice::memory() { return *memory_; }
MemorySpace& MockDevice::pinned() { return *pinned_; }

std::byte* MockDevice::take(bool pinned, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  throw_if_broken();
  ++calls_.takes;
  if (takes_to_failure_ > 0 && --takes_to_failure_ == 0) throw std::bad_alloc();
  const std::size_t whole = in_units(std::max<std::size_t>(bytes, 1), page);
  if (pinned) {
    auto* const block = static_cast<std::byte*>(::operator new (whole, std::align_val_t{MemorySpace::alignment}));
    pinned_blocks_[block] = whole;
    return block;
  }
  std::byte* block = nullptr;
  if (const auto found = free_.find(whole); found != free_.end()) {
    block = found->second;
    free_.erase(found);
  } else {
    if (used_ + whole > options_.memory_bytes) throw std::bad_alloc();
    block = arena_ + used_;
    used_ += whole;
  }
  device_blocks_[block] = whole;
  return block;
}

void MockDevice::give_back(bool pinned, std::byte* memory) {
  const std::lock_guard lock(mutex_);
  auto& blocks = pinned ? pinned_blocks_ : device_blocks_;
  const auto found = blocks.find(memory);
  if (found == blocks.end()) {
    std::fprintf(stderr, "the mock device gets back memory that it has not given\n");
    std::abort();
  }
  if (pinned) {
    ::operator delete (memory, std::align_val_t{MemorySpace::alignment});
  } else {
    free_.emplace(found->second, memory);
  }
  blocks.erase(found);
}

Memory MockDevice::where(const void* address) const {
  const std::lock_guard lock(mutex_);
  return where_locked(address);
}

Memory MockDevice::where_locked(const void* address) const {
  const auto* const at = static_cast<const std::byte*>(address);
  if (at >= arena_ && at < arena_ + options_.memory_bytes) return {.kind = MemoryKind::Cuda, .device = options_.number};
  return {.kind = holds(pinned_blocks_, address) ? MemoryKind::CudaHost : MemoryKind::Host};
}

void MockDevice::check(std::string_view function, const void* address) const {
  if (!address || where_locked(address).kind != MemoryKind::Host) return;
  std::fprintf(stderr, "%.*s() is given the address %p, which the mock device does not reach\n",
               static_cast<int>(function.size()), function.data(), address);
  std::abort();
}

void MockDevice::open() { ::mprotect(arena_, options_.memory_bytes, PROT_READ | PROT_WRITE); }
void MockDevice::close() { ::mprotect(arena_, options_.memory_bytes, PROT_NONE); }

void MockDevice::throw_if_broken() const {
  if (broken_) throw std::runtime_error("the mock device is broken");
}

void MockDevice::enter(const void* stream, Task task) {
  throw_if_broken();
  Stream& to = streams_[stream];
  to.tasks.push_back(std::move(task));
  ++to.entered;
}

/// Does the next task of a stream. Returns false if it has none, or if the task may not
/// begin yet.
bool MockDevice::step(const void* stream) {
  Stream& on = streams_[stream];
  if (on.tasks.empty() || (on.tasks.front().may_begin && !on.tasks.front().may_begin())) return false;
  const Task task = std::move(on.tasks.front());
  on.tasks.pop_front();
  if (task.run) task.run();
  ++on.done;
  return true;
}

/// Does the next task of any stream.
bool MockDevice::run_one() {
  std::vector<const void*> all;
  for (const auto& [name, stream] : streams_) all.push_back(name);
  std::shuffle(all.begin(), all.end(), random_);
  return std::any_of(all.begin(), all.end(), [&](const void* name) { return step(name); });
}

bool MockDevice::run_all() {
  const std::lock_guard lock(mutex_);
  while (run_one()) {
  }
  return std::all_of(streams_.begin(), streams_.end(), [](const auto& one) { return one.second.tasks.empty(); });
}

void MockDevice::copy(kernels::DeviceStream stream, std::byte* to, const std::byte* from, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  check("copy", to);
  check("copy", from);
  ++calls_.copies;
  calls_.copied += bytes;
  enter(name_of(stream), {.may_begin = {}, .run = [=, this] { copy_now(to, from, bytes); }});
}

kernels::Event* MockDevice::take_event() {
  const std::lock_guard lock(mutex_);
  throw_if_broken();
  if (free_events_.empty()) {
    ++calls_.takes;
    events_.push_back(std::make_unique<kernels::Event>());
    free_events_.push_back(events_.back().get());
  }
  kernels::Event* const event = free_events_.back();
  free_events_.pop_back();
  *event = {};
  return event;
}

void MockDevice::give_back(kernels::Event* event) {
  const std::lock_guard lock(mutex_);
  free_events_.push_back(event);
}

void MockDevice::record_at(kernels::Event* event, const void* stream) {
  const std::lock_guard lock(mutex_);
  throw_if_broken();
  ++calls_.records;
  *event = {.stream = stream, .tasks = streams_[stream].entered};
}

void MockDevice::record(kernels::Event* event, kernels::DeviceStream stream) { record_at(event, name_of(stream)); }
void MockDevice::record(kernels::Event* event, void* stream) { record_at(event, stream); }

bool MockDevice::passed(const kernels::Event& event) const {
  if (event.tasks == 0) return true;
  return streams_.at(event.stream).done >= event.tasks;
}

bool MockDevice::has_passed(kernels::Event* event) {
  const std::lock_guard lock(mutex_);
  throw_if_broken();
  ++calls_.queries;
  if (std::uniform_real_distribution<double>(0, 1)(random_) >= options_.lateness) {
    for (std::uint64_t tasks = 1 + random_() % 3; tasks > 0 && run_one(); --tasks) {
    }
  }
  return passed(*event);
}

double MockDevice::seconds_between(kernels::Event* first, kernels::Event* second) {
  const std::lock_guard lock(mutex_);
  if (first->stream != second->stream || first->tasks > second->tasks || !passed(*first) || !passed(*second)) {
    throw std::logic_error("two events do not follow each other in a stream, or have not passed");
  }
  return static_cast<double>(second->tasks - first->tasks) * options_.task_seconds;
}

/// The event may be moved later, so that the task keeps what it is now.
void MockDevice::wait(kernels::DeviceStream stream, kernels::Event* event) {
  const std::lock_guard lock(mutex_);
  enter(name_of(stream), {.may_begin = [this, now = *event] { return passed(now); }, .run = {}});
}

void MockDevice::signal(kernels::DeviceStream stream, int fd) {
  const std::lock_guard lock(mutex_);
  enter(name_of(stream), {.may_begin = {}, .run = [fd] {
                            const std::uint64_t one = 1;
                            [[maybe_unused]] const auto written = ::write(fd, &one, sizeof one);
                          }});
}

void MockDevice::hold(void* stream, const std::uint32_t* cell) {
  const std::lock_guard lock(mutex_);
  check("hold", cell);
  auto* const there = const_cast<std::uint32_t*>(cell);
  enter(stream,
        {.may_begin = [there] { return std::atomic_ref(*there).load(std::memory_order_acquire) != 0; }, .run = {}});
}

kernels::DeviceCalls MockDevice::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

void MockDevice::enqueue(void* stream, std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  enter(stream, {.may_begin = {}, .run = [this, work = std::move(work)] {
                   open();
                   work();
                   close();
                 }});
}

void MockDevice::copy_now(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  const std::lock_guard lock(mutex_);
  open();
  std::memcpy(to, from, bytes);
  close();
}

void MockDevice::fail_take(std::size_t n) {
  const std::lock_guard lock(mutex_);
  takes_to_failure_ = n;
}

void MockDevice::break_down() {
  const std::lock_guard lock(mutex_);
  broken_ = true;
}

std::size_t MockDevice::in_use() const {
  const std::lock_guard lock(mutex_);
  std::size_t bytes = 0;
  for (const auto* blocks : {&pinned_blocks_, &device_blocks_}) {
    for (const auto& [memory, size] : *blocks) bytes += size;
  }
  return bytes;
}

}  // namespace lacuna::test

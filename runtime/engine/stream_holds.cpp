#include "runtime/engine/stream_holds.hpp"

#include <atomic>
#include <new>
#include <utility>

namespace lacuna::runtime {
namespace {

constexpr std::size_t cell_bytes = MemorySpace::alignment;  // no two cells share a line of a cache

}  // namespace

StreamHolds::~StreamHolds() {
  try {
    take_back();
    if (released_) return;
  } catch (...) {  // the device is broken, so that its streams do nothing any more
  }
  for (const auto& hold : all_) device_.give_back(hold->passed);
  for (std::byte* const cell : cells_) device_.pinned().give_back(cell, cell_bytes);
}

void StreamHolds::hold(void* stream, StreamHold*& list) {
  take_back();
  if (!free_) make();
  StreamHold& hold = *free_;
  std::atomic_ref(*hold.cell).store(0, std::memory_order_relaxed);
  device_.hold(stream, hold.cell);
  free_ = hold.next;
  hold.next = std::exchange(list, &hold);
  device_.record(hold.passed, stream);
}

void StreamHolds::release(StreamHold*& list) noexcept {
  while (list) {
    StreamHold& hold = *std::exchange(list, list->next);
    std::atomic_ref(*hold.cell).store(1, std::memory_order_release);
    hold.next = std::exchange(released_, &hold);
  }
}

/// Takes back the holds whose streams have gone on.
void StreamHolds::take_back() {
  for (StreamHold** at = &released_; *at;) {
    StreamHold& hold = **at;
    if (!device_.has_passed(hold.passed)) {
      at = &hold.next;
      continue;
    }
    *at = hold.next;
    hold.next = std::exchange(free_, &hold);
  }
}

void StreamHolds::make() {
  cells_.reserve(cells_.size() + 1);
  all_.reserve(all_.size() + 1);
  auto hold = std::make_unique<StreamHold>();
  std::byte* const cell = device_.pinned().take(cell_bytes);
  cells_.push_back(cell);
  hold->cell = ::new (cell) std::uint32_t(0);
  hold->passed = device_.take_event();
  free_ = hold.get();
  all_.push_back(std::move(hold));
}

}  // namespace lacuna::runtime

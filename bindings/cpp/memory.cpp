#include "bindings/cpp/memory.hpp"

#include <new>

#include "runtime/config/config.hpp"
#include "runtime/values/mappable_heap.hpp"

namespace lacuna {
namespace {

/// Returns the heap with the bound of the environment. An environment that is wrong is told to who joins.
MappableHeap& bounded_heap() {
  static MappableHeap& heap = []() -> MappableHeap& {
    MappableHeap& made = MappableHeap::of_process();
    if (const auto config = runtime::Config::from_environment()) made.set_bound(config->mappable);
    return made;
  }();
  return heap;
}

class MappableResource final : public std::pmr::memory_resource {
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (alignment > MappableHeap::alignment) throw std::bad_alloc();
    return bounded_heap().take(bytes);
  }
  void do_deallocate(void* memory, std::size_t, std::size_t) override { lacuna::deallocate(memory); }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }
};

}  // namespace

void* allocate(std::size_t bytes) noexcept {
  try {
    return bounded_heap().take(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void deallocate(void* memory) noexcept { MappableHeap::of_process().give_back(static_cast<std::byte*>(memory), 0); }

std::pmr::memory_resource& mappable_memory() noexcept {
  static auto* const resource = new MappableResource();  // containers may outlive all else
  return *resource;
}

}  // namespace lacuna

#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

// Replaces the memory of `new` in a program of tests. One file of the program includes this and defines may_allocate().
namespace lacuna::test {

/// Is called before each allocation of any thread. If it returns false, there is no memory.
bool may_allocate(std::size_t bytes) noexcept;

/// Null if there is no memory.
inline void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (!may_allocate(bytes)) return nullptr;
  const std::size_t whole = (bytes + alignment - 1) / alignment * alignment;
  return std::aligned_alloc(alignment, whole == 0 ? alignment : whole);
}

inline void* allocate(std::size_t bytes, std::size_t alignment) {
  void* memory = try_allocate(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace lacuna::test

// If g++ sees into both functions, it takes them for a pair that does not fit.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  return lacuna::test::allocate(bytes, alignof(std::max_align_t));
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return lacuna::test::allocate(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return lacuna::test::try_allocate(bytes, alignof(std::max_align_t));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

#include <cuda_runtime_api.h>
#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>

// Stands before the C library's functions (LD_PRELOAD), so that what the tests of kernels take by `new` is pinned
// memory, which a CUDA device reaches too. Their program takes all memory of `new` by aligned_alloc (replaced_new.hpp).
// A part of the first thread's stack is pinned as well.
extern "C" void* __libc_memalign(std::size_t alignment, std::size_t bytes);
extern "C" void __libc_free(void* memory);

namespace {

constexpr std::size_t arena_bytes = std::size_t{3} << 30;
constexpr std::size_t stack_bytes = std::size_t{1} << 20;
constexpr std::size_t page = 4096;
constexpr unsigned smallest = 5;  // blocks have 2^5 bytes or more

void must(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(error));
  std::abort();
}

std::byte* map(std::size_t bytes) {
  return static_cast<std::byte*>(
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
}

/// Memory in blocks of powers of two.
class Arena {
 public:
  Arena() : begin_(map(arena_bytes)), powers_(map(arena_bytes >> smallest)) {
    must(cudaHostRegister(begin_, arena_bytes, cudaHostRegisterPortable), "cudaHostRegister");
    pin_stack();
  }

  bool holds(const void* memory) const { return memory >= begin_ && memory < begin_ + arena_bytes; }

  void* take(std::size_t alignment, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    unsigned power = smallest;
    while ((std::size_t{1} << power) < bytes || (std::size_t{1} << power) < alignment) ++power;
    if (Block* const block = free_[power]) {
      free_[power] = block->next;
      return block;
    }
    const std::size_t whole = std::size_t{1} << power, aligned = whole < page ? whole : page;
    const std::size_t at = (used_ + aligned - 1) / aligned * aligned;
    if (at + whole > arena_bytes || alignment > page) return nullptr;
    used_ = at + whole;
    powers_[at >> smallest] = static_cast<std::byte>(power);
    return begin_ + at;
  }

  void give_back(void* memory) {
    const std::lock_guard lock(mutex_);
    const auto at = static_cast<std::size_t>(static_cast<std::byte*>(memory) - begin_);
    Block*& first = free_[std::to_integer<unsigned>(powers_[at >> smallest])];
    first = new (memory) Block{first};
  }

 private:
  struct Block {
    Block* next;
  };

  static void pin_stack() {
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) / page * page;
    for (std::size_t below = 0; below < stack_bytes; below += page) {
      *reinterpret_cast<volatile std::byte*>(here - below) = {};
    }
    must(cudaHostRegister(reinterpret_cast<void*>(here - stack_bytes + page), stack_bytes, cudaHostRegisterPortable),
         "cudaHostRegister of the stack");
  }

  std::mutex mutex_;
  std::byte* const begin_;
  std::byte* const powers_;  ///< of each block, where it begins
  std::size_t used_ = 0;
  Block* free_[48] = {};
};

std::atomic<Arena*> arena = nullptr;

/// Null while the CUDA runtime starts, which takes memory too.
Arena* started_arena() {
  static std::atomic_flag begun;
  if (!begun.test_and_set()) {
    alignas(Arena) static std::byte memory[sizeof(Arena)];
    arena = new (memory) Arena();
  }
  return arena;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  Arena* const from = started_arena();
  return from ? from->take(alignment, bytes) : __libc_memalign(alignment, bytes);
}

extern "C" __attribute__((visibility("default"))) void free(void* memory) {
  Arena* const from = arena;
  if (from && from->holds(memory)) return from->give_back(memory);
  __libc_free(memory);
}

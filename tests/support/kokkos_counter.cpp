// A tool of Kokkos that says when Kokkos begins and ends, and how many kernels it has run. Kokkos defines the names.
#include <atomic>
#include <cstdint>
#include <cstdio>

namespace {

std::atomic<std::uint64_t> kernels = 0;
void begin(std::uint64_t* id) { *id = kernels++; }

}  // namespace

extern "C" {
void kokkosp_init_library(const int, const std::uint64_t, const std::uint32_t, void*) {
  std::printf("Kokkos begins\n");
}
void kokkosp_finalize_library() {
  std::printf("Kokkos ends after %lu kernels\n", static_cast<unsigned long>(kernels));
  std::fflush(stdout);
}
void kokkosp_begin_parallel_for(const char*, const std::uint32_t, std::uint64_t* id) { begin(id); }
void kokkosp_begin_parallel_reduce(const char*, const std::uint32_t, std::uint64_t* id) { begin(id); }
void kokkosp_begin_parallel_scan(const char*, const std::uint32_t, std::uint64_t* id) { begin(id); }
}

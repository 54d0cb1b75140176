// A tool of Kokkos that prints what Kokkos tells it about sections and regions. Kokkos loads it, and defines the names.
#include <cstdint>
#include <cstdio>

namespace {
std::uint32_t sections = 0;
}

extern "C" {
void kokkosp_create_profile_section(const char* name, std::uint32_t* id) {
  *id = sections++;
  std::printf("create %u %s\n", *id, name);
}
void kokkosp_start_profile_section(const std::uint32_t id) { std::printf("start %u\n", id); }
void kokkosp_stop_profile_section(const std::uint32_t id) { std::printf("stop %u\n", id); }
void kokkosp_destroy_profile_section(const std::uint32_t id) { std::printf("destroy %u\n", id); }
void kokkosp_push_profile_region(const char* name) { std::printf("push %s\n", name); }
void kokkosp_pop_profile_region() { std::printf("pop\n"); }
}

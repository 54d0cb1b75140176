#include "kernels/copy_past_caches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace lacuna::kernels {

#if defined(__x86_64__)
void copy_past_caches(std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr std::size_t word = sizeof(__m128i), line = 64;
  const std::size_t head = std::min(bytes, (0 - reinterpret_cast<std::uintptr_t>(to)) % line);
  std::memcpy(to, from, head);
  std::size_t at = head;
  for (; at + line <= bytes; at += line) {  // a whole line at a time, which needs no read of what it overwrites
    for (std::size_t i = at; i < at + line; i += word) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + i), _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
    }
  }
  std::memcpy(to + at, from + at, bytes - at);
  _mm_sfence();  // before anything that tells others of these bytes
}
#else
void copy_past_caches(std::byte* to, const std::byte* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
#endif

/// The caches of processor 0 are listed there, each in a folder of its own. (sysconf() tells wrong sizes on processors
/// of AMD.)
std::size_t largest_cache() {
  std::size_t largest = 0;
  for (int index = 0; index < 16; ++index) {
    std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/size", index));
    std::size_t size = 0;
    char unit = 'B';
    if (!(file >> size >> unit)) continue;
    largest = std::max(largest, size << (unit == 'K' ? 10 : unit == 'M' ? 20 : 0));
  }
  return largest > 0 ? largest : SIZE_MAX;
}

}  // namespace lacuna::kernels

#include "kernels/processor.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace lacuna::kernels {
namespace {

constexpr std::uint32_t bit(unsigned number) { return std::uint32_t{1} << number; }

/// What each level adds to the levels below it. The numbers of bits are from Intel's manual, volume 2, CPUID.
struct Level {
  std::string_view name;
  ProcessorFeatures needs;
};
constexpr std::uint32_t os_saves_registers = bit(27);  // OSXSAVE: XCR0 may be read
constexpr Level all_levels[] = {
    {"x86-64-v2",
     {.leaf_1_ecx =
          bit(0) | bit(9) | bit(13) | bit(19) | bit(20) | bit(23),  // SSE3, SSSE3, CX16, SSE4.1, SSE4.2, POPCNT
      .extended_ecx = bit(0)}},                                     // LAHF
    {"x86-64-v3",
     {.leaf_1_ecx = bit(12) | bit(22) | os_saves_registers | bit(28) | bit(29),  // FMA, MOVBE, AVX, F16C
      .leaf_7_ebx = bit(3) | bit(5) | bit(8),                                    // BMI1, AVX2, BMI2
      .extended_ecx = bit(5),                                                    // LZCNT
      .saved = bit(1) | bit(2)}},                                                // XMM, the upper halves of YMM
    {"x86-64-v4",
     {.leaf_7_ebx = bit(16) | bit(17) | bit(28) | bit(30) | bit(31),  // AVX512: F, DQ, CD, BW, VL
      .saved = bit(5) | bit(6) | bit(7)}},                            // masks, the upper halves of ZMM, ZMM16 to 31
};

bool has(const ProcessorFeatures& features, const ProcessorFeatures& needs) {
  return (features.leaf_1_ecx & needs.leaf_1_ecx) == needs.leaf_1_ecx &&
         (features.leaf_7_ebx & needs.leaf_7_ebx) == needs.leaf_7_ebx &&
         (features.extended_ecx & needs.extended_ecx) == needs.extended_ecx &&
         (features.saved & needs.saved) == needs.saved;
}

}  // namespace

bool runs(const ProcessorFeatures& features, std::string_view level) {
  for (const Level& known : all_levels) {
    if (!has(features, known.needs)) return false;
    if (known.name == level) return true;
  }
  return false;
}

#if defined(__x86_64__)
ProcessorFeatures this_processor() {
  ProcessorFeatures features;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0) features.leaf_1_ecx = ecx;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0) features.leaf_7_ebx = ebx;
  if (__get_cpuid(0x80000001u, &eax, &ebx, &ecx, &edx) != 0) features.extended_ecx = ecx;
  if ((features.leaf_1_ecx & os_saves_registers) != 0) {
    std::uint32_t low = 0, high = 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    features.saved = std::uint64_t{high} << 32 | low;
  }
  return features;
}
#else
ProcessorFeatures this_processor() { return {}; }
#endif

}  // namespace lacuna::kernels

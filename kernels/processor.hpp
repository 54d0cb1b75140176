#pragma once

#include <cstdint>
#include <string_view>

namespace lacuna::kernels {

/// What an x86-64 processor says of itself (CPUID), and which registers the operating system saves for each thread
/// (XCR0). All zero on other processors.
struct ProcessorFeatures {
  std::uint32_t leaf_1_ecx = 0;
  std::uint32_t leaf_7_ebx = 0;
  std::uint32_t extended_ecx = 0;  ///< of leaf 0x80000001
  std::uint64_t saved = 0;
};

/// Those of the processor that this thread runs on.
ProcessorFeatures this_processor();

/// Whether programs compiled for this level ("x86-64-v3" or "x86-64-v4", as the x86-64 psABI defines them) run on such
/// a processor: it has all of the level's instructions, and the operating system saves the registers that they use.
bool runs(const ProcessorFeatures& features, std::string_view level);

}  // namespace lacuna::kernels

#pragma once

#include <cstdint>
#include <string_view>

namespace lacuna::kernels {

/// What an x86-64 processor says about itself (CPUID), and which registers the operating system saves for each thread
/// (XCR0). All members are 0 on other processors.
struct ProcessorFeatures {
  std::uint32_t leaf_1_ecx = 0;
  std::uint32_t leaf_7_ebx = 0;
  std::uint32_t extended_ecx = 0;  ///< ecx of leaf 0x80000001
  std::uint64_t saved = 0;
};

/// The features of the processor on which this thread runs.
ProcessorFeatures this_processor();

/// Do programs compiled for this level run on such a processor? They do if it has all instructions of the level, and if
/// the operating system saves the registers that these use. The x86-64 psABI defines the levels "x86-64-v3" and
/// "x86-64-v4".
bool runs(const ProcessorFeatures& features, std::string_view level);

}  // namespace lacuna::kernels

#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/graph/buffers.hpp"
#include "runtime/values/region.hpp"
#include "runtime/values/report.hpp"
#include "runtime/values/status.hpp"

namespace lacuna {

/// What a kernel is given. Its regions and values stand in the order in which its step declares them.
struct KernelCall {
  const PartView& part;
  std::span<const Extent> reads;
  std::span<const Extent> writes;
  std::span<const std::uint64_t> uses;
  std::span<std::uint64_t> defines;
  std::span<const std::int64_t> given;  ///< numbers that the program has given to this step
  Counted& counted;  ///< to which it adds what it has selected, contributed and kept, and the method's numbers
};

/// What a step computes: constant data and a function.
struct Kernel {
  std::string_view name;
  /// Ok, or why what it has read can't be: then the communicator fails on all ranks, with this text. It touches nothing
  /// but what its step declares, blocks on nothing, and runs on any thread; over much data, beside other steps.
  Status (*run)(const KernelCall& call);
};

/// A row of a graph's table of kernel steps.
struct KernelStep {
  const Kernel* kernel = nullptr;
  std::vector<Region> reads, writes;
  std::vector<Value> uses, defines;
  std::vector<std::int64_t> given;
};

/// Where a value comes from.
enum class Origin : std::uint8_t {
  Kernel,   ///< a kernel of this position defines it
  Carried,  ///< it is the length of a message, as its header says
  Agreed,   ///< kernels define it alike on all positions
};

/// A row of a graph's table of values.
struct ValueInfo {
  Origin origin = Origin::Kernel;
  std::uint32_t name = 0;  ///< Agreed: the same at all positions

  friend bool operator==(const ValueInfo&, const ValueInfo&) = default;
};

}  // namespace lacuna

#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/graph/buffers.hpp"
#include "runtime/graph/ports.hpp"
#include "runtime/values/measure.hpp"
#include "runtime/values/region.hpp"
#include "runtime/values/status.hpp"

namespace lacuna {

namespace kernels {
class Backend;
}

/// What a kernel is given beside its ports.
struct KernelCall {
  const PartView& part;
  const kernels::Backend& backend;  ///< has the functions by which the kernel computes
  MeasureValues& measures;          ///< takes the values of the method's measures that the kernel tells
};

/// The operands of all ports of a kernel, in the order of the ports.
struct Operands {
  std::span<const Extent> reads, writes;
  std::span<const std::uint64_t> uses;
  std::span<std::uint64_t> defines;
};

/// A kernel: a plain struct of ports (ports.hpp) and numbers, with a name and a function. The function returns Ok, or
/// why the data that the kernel has read can't be right; then the communicator fails on all ranks, with this text. A
/// kernel touches nothing but what its ports name, and never blocks. It runs on any thread and, if it touches much
/// data, at the same time as other steps.
template <class Struct>
concept KernelStruct = requires(const Struct& kernel, const KernelCall& call) {
  { Struct::name } -> std::convertible_to<std::string_view>;
  { kernel(call) } -> std::same_as<Status>;
};

/// How kernels of one struct are named and run. Each struct has one such object, which its address identifies.
struct Kernel {
  std::string_view name;
  /// Makes the ports of the struct refer to these operands, and runs it.
  Status (*run)(const void* kernel, const Operands& operands, const KernelCall& call) = nullptr;
};

/// A row of a graph's table of kernel steps: a kernel, and what the program has given to its ports.
struct KernelStep {
  const Kernel* kernel = nullptr;
  std::vector<Region> reads{}, writes{};
  std::vector<Value> uses{}, defines{};
  std::shared_ptr<const void> ports{};  ///< the kernel's struct
};

template <KernelStruct Struct>
Status run_kernel(const void* ports, const Operands& operands, const KernelCall& call) {
  Struct kernel = *static_cast<const Struct*>(ports);
  const Extent *read = operands.reads.data(), *written = operands.writes.data();
  const std::uint64_t* used = operands.uses.data();
  std::uint64_t* defined = operands.defines.data();
  port::each(kernel, [&](auto& port, auto access) {
    if constexpr (access == port::Access::Read) {
      port.find(read);
    } else if constexpr (access == port::Access::Write) {
      port.find(written);
    } else if constexpr (access == port::Access::Use) {
      port.find(used);
    } else {
      port.find(defined);
    }
  });
  return kernel(call);
}

template <KernelStruct Struct>
inline constexpr Kernel kernel_of = {Struct::name, run_kernel<Struct>};

/// The row of a kernel.
template <KernelStruct Struct>
KernelStep kernel_step(Struct kernel) {
  KernelStep step{.kernel = &kernel_of<Struct>};
  port::each(kernel, [&step](auto& port, auto access) {
    port.each_given([&](const auto& given) {
      if constexpr (access == port::Access::Read) {
        step.reads.push_back(given);
      } else if constexpr (access == port::Access::Write) {
        step.writes.push_back(given);
      } else if constexpr (access == port::Access::Use) {
        step.uses.push_back(given);
      } else {
        step.defines.push_back(given);
      }
    });
    port.forget_given();
  });
  step.ports = std::make_shared<const Struct>(std::move(kernel));
  return step;
}

/// Where a value comes from.
enum class Origin : std::uint8_t {
  Kernel,   ///< a kernel of this position defines it
  Carried,  ///< it is the length of a message, as its header says
  Agreed,   ///< kernels define it alike on all positions
  Paired,   ///< two positions know it: a kernel of each defines it
};

/// Do both ends of a message know such a length before the message comes?
constexpr bool is_known_to_both(Origin origin) { return origin == Origin::Agreed || origin == Origin::Paired; }

/// A row of a graph's table of values.
struct ValueInfo {
  Origin origin = Origin::Kernel;
  std::uint32_t name = 0;  ///< of an agreed value: the same on all positions; of a paired one: the same on both
  Rank peer = 0;           ///< of a paired value: the other position is so many after the own one
  bool outgoing = false;   ///< of a paired value: its messages go from the own position to the other one

  friend bool operator==(const ValueInfo&, const ValueInfo&) = default;
};

}  // namespace lacuna

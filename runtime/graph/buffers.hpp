#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/values/call.hpp"

namespace lacuna {

struct PartPlan;
struct Plan;

/// The part in which a kernel runs, or whose buffers are made. It is equal on all ranks, except for the position and
/// for what may differ in the call.
struct PartView {
  const Call& call;  ///< the call, with the method's options and the caller's buffers
  const Plan& plan;
  const PartPlan& part;  ///< a part of the plan, or one that follows
  Rank size = 1, position = 0;
  std::size_t count = 0;        ///< number of elements of the part's data; of each block, where there are blocks
  std::uint64_t state_run = 0;  ///< the number of the run among those of its state, from 1; 0: there is no state
};

/// A region when the part runs: where it lies, in which kind of memory, and what it holds.
struct Extent {
  std::byte* data = nullptr;
  std::size_t count = 0;  ///< number of elements
  Dtype dtype = Dtype::U8;
  Reduction reduction = Reduction::Sum;
  MemoryKind memory = MemoryKind::Host;

  std::size_t bytes() const { return count * size_of(dtype); }
};

/// What a buffer is for, which also says how long it lives.
enum class Role : std::uint8_t {
  Input,    ///< the caller's input
  Output,   ///< the caller's output
  Caller,   ///< memory of the caller that BufferInfo::locate finds in the call
  Scratch,  ///< memory of the part
  Landed,   ///< memory of the part where a message lands: it lives from the receive to the release step
  Run,      ///< memory of the run, with a name: all parts of the run share it
  State,    ///< an array of the method's state
};

/// A row of a graph's table of buffers.
struct BufferInfo {
  Role role = Role::Scratch;
  /// The type of its elements, which then are added up if they are reduced. None: the call's type and reduction.
  std::optional<Dtype> element{};
  /// Returns the number of elements that it holds; for Landed, the most that may come. If others send to it, it must be
  /// the same number on all ranks. Null: the buffer is laid out as the part's data, or, for State, as the input.
  /// Scratch is then as long as the longest region in it.
  std::size_t (*capacity)(const PartView& part) = nullptr;
  /// Only for Caller: finds the memory in the call. It may be empty if the caller has given something else.
  Extent (*locate)(const PartView& part) = nullptr;
  std::string_view name{};  ///< of State and Run: identifies the memory; of Caller: for pictures
  bool own = true;          ///< of State: each rank has its own array; false: it is equal on all ranks
  /// The kind of memory in which it lies. None: the kind of the call's data. Tables that kernels read on the host lie
  /// in the host's memory.
  std::optional<MemoryKind> memory{};
  bool mappable = false;                  ///< of Scratch in the host's memory: other ranks of the host can map it
  std::uint32_t longest = 0, pieces = 1;  ///< of Scratch without a capacity: it holds `longest` of `pieces` pieces

  /// Is it cut as the part's data are? If not, it has a length of its own.
  bool is_like_data() const { return capacity == nullptr && locate == nullptr && role != Role::Landed; }
  friend bool operator==(const BufferInfo&, const BufferInfo&) = default;
};

}  // namespace lacuna

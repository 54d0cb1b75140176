#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/values/call.hpp"

namespace lacuna {

struct PartPlan;
struct Plan;

/// The part in which a kernel runs, or whose buffers are made. Only its position differs between ranks, and what of the
/// call may.
struct PartView {
  const Call& call;  ///< with the method's options, and the caller's buffers
  const Plan& plan;
  const PartPlan& part;  ///< of the plan
  Rank size = 1, position = 0;
  std::size_t count = 0;        ///< elements of the part's data; of each block, where there are blocks
  std::uint64_t state_run = 0;  ///< which run of its state it belongs to, from 1; 0: it has none
};

/// Where a region of a part lies in memory, and what it holds.
struct Extent {
  std::byte* data = nullptr;
  std::size_t count = 0;  ///< elements
  Dtype dtype = Dtype::U8;
  Reduction reduction = Reduction::Sum;

  std::size_t bytes() const { return count * size_of(dtype); }
};

/// What a buffer is for, which also says how long it lives.
enum class Role : std::uint8_t {
  Input,    ///< the caller's
  Output,   ///< the caller's
  Caller,   ///< the caller's: what BufferInfo::locate finds in the call
  Scratch,  ///< the part's
  Landed,   ///< the part's: where a message has landed, from its receive to the Release
  Run,      ///< the run's, by name: all of its parts share it
  State,    ///< an array of the method's state
};

/// A row of a graph's table of buffers.
struct BufferInfo {
  Role role = Role::Scratch;
  /// The type of its elements, which a reduction adds up. None: the call's type, and the call's reduction.
  std::optional<Dtype> element{};
  /// How many elements it holds; of Landed, at most. If others send to it, all ranks must get the same number. Null: it
  /// is laid out as the part's data, and State as the input. Scratch is then as long as the longest range in it.
  std::size_t (*capacity)(const PartView& part) = nullptr;
  /// Of Caller: finds it in the call. It may be empty, where the caller has brought something else.
  Extent (*locate)(const PartView& part) = nullptr;
  std::string_view name{};  ///< State: the array's; Run; Caller: for pictures
  bool own = true;          ///< State: each rank has its own; else it is equal on all
  /// Where it lies. None: where the call's data lie. Tables that kernels read on the host lie in the host's memory.
  std::optional<MemoryKind> memory{};
  std::uint32_t longest = 0, pieces = 1;  ///< Scratch without a capacity: room for `longest` of `pieces` pieces

  /// It is cut as the part's data are, not by a length of its own.
  bool is_like_data() const { return capacity == nullptr && locate == nullptr && role != Role::Landed; }
  friend bool operator==(const BufferInfo&, const BufferInfo&) = default;
};

}  // namespace lacuna

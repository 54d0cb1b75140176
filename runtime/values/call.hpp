#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/values/dtype.hpp"

namespace lacuna {

/// What can be asked of a communicator.
enum class Collective : std::uint8_t { Allreduce = 0, ReduceScatter = 1, Allgather = 2, Broadcast = 3, Barrier = 4 };

inline constexpr std::array all_collectives = {Collective::Allreduce, Collective::ReduceScatter, Collective::Allgather,
                                               Collective::Broadcast, Collective::Barrier};

constexpr std::string_view to_string(Collective collective) {
  constexpr std::array<std::string_view, 5> names = {"allreduce", "reduce_scatter", "allgather", "broadcast",
                                                     "barrier"};
  return names[static_cast<std::size_t>(collective)];
}

constexpr std::optional<Collective> parse_collective(std::string_view name) {
  for (Collective collective : all_collectives) {
    if (to_string(collective) == name) return collective;
  }
  return std::nullopt;
}

/// Where a buffer lies. Only host memory is served today; the others are refused with a reason.
enum class MemoryKind : std::uint8_t { Host = 0, Cuda = 1, CudaManaged = 2 };

struct Memory {
  MemoryKind kind = MemoryKind::Host;
  int device = 0;
  void* stream = nullptr;  ///< the stream after which a device buffer is ready; unused for host memory
};

/// Which contributions SkipReduce leaves out: the same in every call, or redrawn for each part of each call.
enum class SkipMode : std::uint8_t { Static = 0, Random = 1 };

constexpr std::string_view to_string(SkipMode mode) { return mode == SkipMode::Static ? "static" : "random"; }

/// Priority class of a call; a higher one overtakes at every step and on the wire.
enum class Priority : std::uint8_t { High = 0, Normal = 1, Low = 2 };

inline constexpr std::size_t priorities = 3;

/// The source of a lossy algorithm's random choices: a plain value that the caller owns, under a key of the caller's
/// (a tensor's number, say). Each random call advances `draw` by one when it is posted. All ranks hold equal samplers,
/// so that no message is needed to agree; save and restore the three numbers and the choices repeat.
struct Sampler {
  std::uint64_t seed = 0;
  std::uint64_t key = 0;
  std::uint64_t draw = 0;
};

/// How a call is carried out. Unless said otherwise, equal on all ranks.
struct Options {
  std::string algorithm{};                   ///< its name; empty: lacuna chooses
  int skip_steps = 0;                        ///< skip_ring: S, the reduce-scatter steps left out, 0 .. P-1
  SkipMode skip_mode = SkipMode::Static;     ///< skip_ring
  Sampler* sampler = nullptr;                ///< skip_ring, random; null: the communicator's own
  Priority priority = Priority::Normal;      ///< may differ between ranks
  std::chrono::milliseconds deadline{0};     ///< from the post; 0: LACUNA_DEADLINE; may differ between ranks
  std::optional<std::uint64_t> notify{};     ///< put this token into the completion queue at the end; this rank only
  std::shared_ptr<const void> keep_alive{};  ///< released once the transport has let go of the buffers; this rank only
};

/// One call of a collective. `count` is in elements: of the whole buffer for allreduce and broadcast, per rank for
/// reduce_scatter (input P * count, output count) and allgather (input count, output P * count), 0 for barrier.
/// Input and output are the same memory (in place) or disjoint; in place, reduce_scatter's output is block `rank` of
/// its input and allgather's input is block `rank` of its output. Pointers need the alignment of a byte only.
struct Call {
  Collective collective = Collective::Barrier;
  const void* input = nullptr;
  void* output = nullptr;
  std::size_t count = 0;
  Dtype dtype = Dtype::F32;
  Reduction reduction = Reduction::Sum;
  Rank root = 0;  ///< broadcast
  Memory memory = {};
  Options options = {};
};

}  // namespace lacuna

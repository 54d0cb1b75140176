#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "runtime/values/clock.hpp"
#include "runtime/values/memory.hpp"

namespace lacuna::kernels {
class Backend;
class Device;
}  // namespace lacuna::kernels

namespace lacuna::runtime {

class Compute;

struct ExecutorOptions {
  std::size_t window_bytes = 1 << 20;    ///< eager bytes to the wire, and fetched bytes, per peer
  std::uint64_t credit_bytes = 4 << 20;  ///< eager bytes that a peer may send ahead of their consumption
  std::size_t eager_bytes = 1 << 30;     ///< longer messages wait at the sender; 0: all do
  std::size_t mapped_bytes = 16 << 10;   ///< the shortest message that its receiver reads in mapped memory
  std::size_t copied_bytes = 64 << 20;   ///< the longest part that is copied to memory that others map
  std::size_t cache_bytes = SIZE_MAX;    ///< received data of calls with so many bytes do not go into the caches
  std::uint32_t parts_in_flight = 2;     ///< of one run, unless its plan says how many; see more_mappable_parts
  std::uint32_t slots = 16;              ///< landing slots for fetched bytes that are to be reduced
  std::uint32_t max_runs = 1024;         ///< unfinished runs of one communicator
  std::uint32_t max_messages = 65536;    ///< unfinished messages of one communicator
  std::size_t chunk_bytes = 256 << 10;   ///< a run is cut into parts whose pieces come near to this size
  std::chrono::milliseconds deadline{1'800'000};
  std::chrono::milliseconds stall{2'000};  ///< after so long without progress, ranks compare what they posted
  std::chrono::milliseconds late{60'000};  ///< after so long, the log says for whom a call waits
  std::chrono::microseconds spin{5};       ///< polling before giving way to other processes
  bool progress_thread = false;
  std::uint32_t first_run = 0;   ///< number of each communicator's first call, equal on all ranks; they wrap around
  std::size_t trace_events = 0;  ///< kept for a trace; 0: none is made
  std::unique_ptr<Compute> (*compute)() = nullptr;  ///< makes what carries out computations; null: the host does
  kernels::Device* device = nullptr;                ///< of calls with data on a device; null: kernels::open_device()
  const kernels::Backend* kernels = nullptr;        ///< what computes; null: kernels::best_backend()
  std::span<MemorySpace* const> memory{};           ///< one for each kind that is served, which outlives the executor;
                                                    ///< the host's defaults to host_memory(); read at its making only
  TimeSource time{};  ///< of deadlines, stalls and waits; with a virtual clock no thread sleeps while it waits
};

/// If the data of a run are read where they lie, so many times as many of its parts are in flight. A rank that reads a
/// message makes its sender wait, and such messages need no room in the caches beside the data.
inline constexpr std::uint32_t more_mappable_parts = 4;
/// If the program of a run makes copies for other ranks, its parts in flight have at most so many bytes of data
/// together. A part that has more is in flight alone.
inline constexpr std::size_t bytes_of_copies = 4 << 20;
/// If only one other rank reads a copy, the copy is made from so many times the length on. A shorter one takes longer
/// than a message that the transport copies.
inline constexpr std::size_t lone_copy_factor = 8;
/// How long the watch has to say why a connection broke.
inline constexpr std::chrono::seconds broken_link_grace{1};
/// How long the watch has to say who is late.
inline constexpr std::chrono::seconds verdict_grace{10};
/// How long close() waits for peers once calls have failed because a peer or the network did not answer.
inline constexpr std::chrono::milliseconds close_grace{600};
/// How long a failed call waits for the transport to let go of its buffers.
inline constexpr std::chrono::seconds reclaim_grace{5};

}  // namespace lacuna::runtime

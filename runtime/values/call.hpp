#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/values/blocks.hpp"
#include "runtime/values/collective.hpp"
#include "runtime/values/dtype.hpp"
#include "runtime/values/method_options.hpp"
#include "runtime/values/method_state.hpp"
#include "runtime/values/sampler.hpp"

namespace lacuna {

/// Where a buffer lies. Only host memory is served today; the others are refused with a reason.
enum class MemoryKind : std::uint8_t { Host = 0, Cuda = 1, CudaManaged = 2 };

constexpr std::string_view to_string(MemoryKind kind) {
  constexpr std::string_view names[] = {"host", "cuda", "cuda_managed"};
  return names[static_cast<std::size_t>(kind)];
}

struct Memory {
  MemoryKind kind = MemoryKind::Host;
  int device = 0;
  void* stream = nullptr;  ///< the stream after which a device buffer is ready; unused for host memory
};

/// Priority class of a call; a higher one overtakes at every step and on the wire.
enum class Priority : std::uint8_t { High = 0, Normal = 1, Low = 2 };

inline constexpr std::size_t priorities = 3;

/// How a call is carried out. Unless said otherwise, equal on all ranks.
struct Options {
  std::string algorithm{};  ///< its name; empty: lacuna chooses
  MethodOptions method{};   ///< what is given up; none: nothing
  /// What the method keeps of this tensor; its options say whether it needs one. Null: nothing is kept.
  MethodState* state = nullptr;
  /// Of random choices; null: that of the state, or the communicator's own, of seed 0 and a key that stands for the
  /// place where it was made: by the job, or by which split of which communicator and for which colour. So equal jobs
  /// draw alike, and the communicators of a job differently.
  Sampler* sampler = nullptr;
  Priority priority = Priority::Normal;   ///< may differ between ranks
  std::chrono::milliseconds deadline{0};  ///< from the post; 0: LACUNA_DEADLINE; may differ between ranks
  std::optional<std::uint64_t> notify{};  ///< put this token into the completion queue at the end; this rank only
  /// Released once the transport has let go of the buffers, also by a thread of lacuna's: it owns neither a request nor
  /// a communicator. This rank only.
  std::shared_ptr<const void> keep_alive{};
};

/// A buffer that holds entries instead of all of its elements: value i is that of element places[i], all others are 0.
/// Elements that stand several times in an input add up. Each rank may give its own number of them. With methods that
/// take such (Method::takes_entries); of an allreduce, reduce_scatter or allgather, never in place.
struct InputEntries {
  const std::uint32_t* places = nullptr;  ///< in any order; null: the buffer holds all elements
  std::size_t count = 0;
};
/// All ranks ask for it or none does.
struct OutputEntries {
  std::uint32_t* places = nullptr;  ///< ascending, once each; null: the buffer holds all elements
  std::size_t room = 0;             ///< how many there may be; more are an error
  std::size_t* count = nullptr;     ///< how many there are, once the call has ended
};

/// One call of a collective. `count` is in elements, of a buffer that holds data or of each block of one that holds a
/// block per rank (CollectiveTraits); 0 for barrier. Where blocks differ in length, `count` is that of the buffer that
/// holds data, and the others have tables. Input and output are disjoint, or the call is in place: they are the same
/// memory, with the same tables; where only one of them has blocks, the other is its block `rank`. A buffer that this
/// rank does not have (broadcast's input beside the root, say) is not looked at, nor is its table. Pointers need the
/// alignment of a byte only.
struct Call {
  Collective collective = Collective::Barrier;
  const void* input = nullptr;
  void* output = nullptr;
  std::size_t count = 0;
  Dtype dtype = Dtype::F32;
  Reduction reduction = Reduction::Sum;
  Rank root = 0;  ///< broadcast, reduce, gather(v), scatter(v)
  Blocks input_blocks{}, output_blocks{};
  InputEntries input_entries{};    ///< then `input` holds so many values
  OutputEntries output_entries{};  ///< then `output` has room for so many
  Memory memory = {};
  Options options = {};
};

/// Elements of a buffer of this call, where the rank has it.
inline std::size_t length_of(const Call& call, Holds holds, const Blocks& blocks, Rank size) {
  if (holds != Holds::Blocks) return holds == Holds::Data ? call.count : 0;
  return has_tables(call.collective) ? length_of(blocks) : call.count * static_cast<std::size_t>(size);
}
inline std::size_t input_length(const Call& call, Rank size) {
  return length_of(call, traits_of(call.collective).input, call.input_blocks, size);
}
inline std::size_t output_length(const Call& call, Rank size) {
  return length_of(call, traits_of(call.collective).output, call.output_blocks, size);
}

inline bool has_entries(const Call& call) { return call.input_entries.places || call.output_entries.places; }

/// Where in the larger buffer the smaller one lies when a call is in place, in elements.
struct InPlace {
  std::size_t input = 0, output = 0;
};

inline InPlace in_place_offsets(const Call& call, Rank rank) {
  const CollectiveTraits& traits = traits_of(call.collective);
  if (traits.input == traits.output) return {};
  const bool blocks_come_in = traits.input == Holds::Blocks;
  const Blocks& blocks = blocks_come_in ? call.input_blocks : call.output_blocks;
  const std::size_t own =
      has_tables(call.collective) ? offset_of(blocks, rank) : call.count * static_cast<std::size_t>(rank);
  return blocks_come_in ? InPlace{.output = own} : InPlace{.input = own};
}

}  // namespace lacuna

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "runtime/values/blocks.hpp"
#include "runtime/values/collective.hpp"
#include "runtime/values/dtype.hpp"
#include "runtime/values/memory.hpp"
#include "runtime/values/method_options.hpp"
#include "runtime/values/method_state.hpp"
#include "runtime/values/own_reduction.hpp"
#include "runtime/values/sampler.hpp"

namespace lacuna {

/// Priority class of a call. A higher class overtakes the lower ones at every step and on the wire.
enum class Priority : std::uint8_t { High = 0, Normal = 1, Low = 2 };

inline constexpr std::size_t priorities = 3;

/// How a call is carried out. Every member must be equal on all ranks, unless its comment says otherwise.
struct Options {
  std::string algorithm{};  ///< the algorithm's name; empty: lacuna chooses
  MethodOptions method{};   ///< what the call gives up; no method: nothing
  /// What the method remembers of this tensor. The method's options say whether it needs a state. Null: none.
  MethodState* state = nullptr;
  /// The source of random choices. Null: the sampler of the state or, without a state, the communicator's own. That one
  /// has seed 0 and a key that stands for how the communicator was made: with the job, or by which split of which
  /// communicator and for which colour. So equal jobs make equal draws, and the communicators of one job do not.
  Sampler* sampler = nullptr;
  Priority priority = Priority::Normal;   ///< may differ between ranks
  std::chrono::milliseconds deadline{0};  ///< counted from the post; 0: LACUNA_DEADLINE; may differ between ranks
  std::optional<std::uint64_t> notify{};  ///< the completion queue gets this token at the end; may differ between ranks
  /// Released once the transport has let go of the buffers. A thread of lacuna may release it, so it must own neither a
  /// request nor a communicator. May differ between ranks.
  std::shared_ptr<const void> keep_alive{};
};

/// An input that holds entries instead of all of its elements. An entry is a row of `length` elements. Entry i holds
/// the elements [places[i] * length, (places[i] + 1) * length) of the data, and all other elements are 0. Entries with
/// the same place add up. Each rank may give its own number of entries. Only methods with Method::entry_length allow
/// it, in allreduce, reduce_scatter and allgather, and never in place.
struct InputEntries {
  const std::uint32_t* places = nullptr;  ///< in any order; null: the buffer holds all elements
  std::size_t count = 0;                  ///< how many entries there are
  std::size_t length = 1;                 ///< elements of an entry, as the method says
};
/// An output that holds entries instead of all of its elements. Either all ranks ask for it, or none does.
struct OutputEntries {
  std::uint32_t* places = nullptr;  ///< ascending, each place once; null: the buffer holds all elements
  std::size_t room = 0;             ///< how many entries fit; more are an error
  std::size_t* count = nullptr;     ///< how many entries there are, once the call has ended
  std::size_t length = 1;           ///< elements of an entry, as the method says
};

/// One call of a collective. `count` is the number of elements of a buffer that holds data, or of each block of a
/// buffer that holds a block for each rank (CollectiveTraits); it is 0 for barrier. If blocks differ in length, `count`
/// is the length of the buffer that holds data, and the buffer with blocks has tables. Input and output are disjoint,
/// or the call is in place: then they are the same memory, with the same tables. If only one of them has blocks, the
/// other one is the block of this rank in it. Nobody looks at a buffer that this rank does not have, such as the input
/// of broadcast on a rank that is not the root, or at its table. Pointers need no alignment.
struct Call {
  Collective collective = Collective::Barrier;
  const void* input = nullptr;
  void* output = nullptr;
  std::size_t count = 0;
  Dtype dtype = Dtype::F32;
  Reduction reduction = Reduction::Sum;
  Rank root = 0;  ///< of broadcast, reduce, gather(v) and scatter(v)
  Blocks input_blocks{}, output_blocks{};
  InputEntries input_entries{};    ///< if given, `input` holds these entries
  OutputEntries output_entries{};  ///< if given, `output` has room for so many entries
  Memory memory = {};
  Options options = {};
  OwnReduction own{};  ///< of Reduction::Own: what the program computes
};

/// The number of elements of a buffer of this call, for a rank that has the buffer.
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

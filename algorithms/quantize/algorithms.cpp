#include "algorithms/phases/owner_phases.hpp"
#include "algorithms/phases/stopwatch.hpp"
#include "algorithms/quantize/steps.hpp"
#include "kernels/backend.hpp"
#include "runtime/values/digest.hpp"

namespace lacuna::quantizing {
namespace {

/// The messages of this rank: one for each owner, and that of the result of its own piece.
enum class Stage : std::uint8_t { Terms, Result };

/// Random numbers of one message. They differ from those of all other messages of all ranks and runs.
kernels::RandomStream random_of(const PartView& part, Stage stage, Rank owner) {
  const Sampler& sampler = part.call.options.state->sampler;
  Digest digest;
  digest.add(sampler.seed).add(sampler.key).add(static_cast<std::uint64_t>(part.position)).add(part.part.draw);
  digest.add(static_cast<std::uint64_t>(stage)).add(static_cast<std::uint64_t>(owner));
  return {.key = digest.value(), .draw = part.state_run};
}

/// Defines the length of the message of each piece.
struct TellLengths {
  static constexpr std::string_view name = "tell lengths";
  Defines lengths;

  Status operator()(const KernelCall& call) const {
    const kernels::LevelsShape shape = shape_of(call.part.call);
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      lengths[i] = shape.message_bytes(elements_of_piece(call.part, static_cast<Rank>(i)));
    }
    return {};
  }
};

/// Rounds elements, and keeps what is rounded off.
struct Encode {
  static constexpr std::string_view name = "encode";
  Read from{};
  Write kept{};  ///< in place of `from`: the elements, which become what is rounded off
  Write rest{};  ///< what is rounded off
  Write message;
  Stage stage;
  Rank owner;

  Status operator()(const KernelCall& call) const {
    const Stopwatch watch(call, measure::encode_time);
    const Extent& given = kept ? *kept : *from;
    std::byte* const left = kept ? kept->data : rest ? rest->data : nullptr;
    call.backend.encode_levels(shape_of(call.part.call), random_of(call.part, stage, owner),
                               {given.dtype, given.data, given.count}, message->data, left);
    if (rest && call.part.call.reduction == Reduction::Avg) {  // the rest is of the mean, and is to be of the sum
      const Scale times_all{.multiplier = static_cast<double>(call.part.size)};
      call.backend.copy(times_all, {rest->dtype, rest->data, rest->count}, rest->data);
    }
    return {};
  }
};

struct Decode {
  static constexpr std::string_view name = "decode";
  Read message;
  Write to;

  Status operator()(const KernelCall& call) const {
    const Stopwatch watch(call, measure::decode_time);
    call.backend.decode_levels(shape_of(call.part.call), message->data, 1, {to->dtype, to->data, to->count}, false);
    return {};
  }
};

/// Adds up the terms of all positions in the order of the ranks.
struct AddTerms {
  static constexpr std::string_view name = "add terms";
  Reads terms;  ///< by position: messages, and the own elements
  Write sum;

  Status operator()(const KernelCall& call) const {
    const Stopwatch watch(call, measure::reduce_time);
    const kernels::Target to{sum->dtype, sum->data, sum->count};
    const auto own = static_cast<std::size_t>(call.part.position);
    const Reduction reduction = call.part.call.reduction;
    const double factor = factor_of_terms(reduction, call.part.size);
    for (std::size_t rank = 0; rank < terms.size(); ++rank) {
      if (rank != own) {
        call.backend.decode_levels(shape_of(call.part.call), terms[rank].data, factor, to, rank > 0);
      } else if (rank == 0) {
        call.backend.copy({.multiplier = factor}, to, terms[rank].data);
      } else {
        call.backend.reduce(Reduction::Sum, {.second = factor}, to, to.data, terms[rank].data);
      }
    }
    call.backend.copy(scale_of_scaled_terms(reduction, call.part.size), to, to.data);
    return {};
  }
};

std::size_t longest_message(const PartView& part) {
  const std::size_t longest = elements_of_piece(part, part.size - 1);  // no even piece is longer than the last one
  return shape_of(part.call).message_bytes(longest);
}

/// Makes messages of pieces, whose lengths all ranks know.
class Messages {
 public:
  explicit Messages(GraphBuilder& g) : g_(g) {
    for (Rank i = 0; i < g.size(); ++i) lengths_.push_back(g.agreed());
    g.kernel(TellLengths{.lengths = lengths_});
  }

  /// Room for a message of the piece of this position.
  Region room(Rank owner) const {
    const Region room = g_.buffer({.element = Dtype::U8, .capacity = longest_message});
    return GraphBuilder::counted(room, lengths_[static_cast<std::size_t>(owner)]);
  }
  /// A message of elements of the input. With feedback the elements become what is rounded off.
  Region of_terms(const Region& elements, Rank owner) const {
    const Region message = room(owner);
    Encode encode{.message = message, .stage = Stage::Terms, .owner = owner};
    if (feeds_back()) {
      encode.kept = elements;
    } else {
      encode.from = elements;
    }
    g_.kernel(std::move(encode));
    return message;
  }
  /// The message of the own piece of the result. With feedback the owner keeps what is rounded off.
  Region of_result(const Region& result) const {
    const Rank me = g_.position();
    const Region message = room(me), rest = feeds_back() ? g_.room_for(g_.input(me)) : Region();
    Encode encode{.from = result, .message = message, .stage = Stage::Result, .owner = me};
    if (feeds_back()) encode.rest = rest;
    g_.kernel(std::move(encode));
    if (feeds_back()) leave_out(g_, rest);
    return message;
  }

 private:
  bool feeds_back() const { return g_.frame() == &feedback_frame; }

  GraphBuilder& g_;
  std::vector<Value> lengths_;
};

/// Returns the own piece of the result, which is not rounded yet.
Region add_own_piece(GraphBuilder& g, const Messages& messages) {
  const Rank me = g.position();
  const auto terms = send_to_owners(
      g, g.input(me), [&](Rank owner) { return messages.of_terms(g.input(owner), owner); },
      [&] { return messages.room(me); });
  const Region sum = g.room_for(g.input(me));
  g.kernel(AddTerms{.terms = terms, .sum = sum});
  return sum;
}

/// Sends the own message to all, and writes the messages of all to the output.
void gather(GraphBuilder& g, const Messages& messages, const Region& own) {
  const auto all = send_to_all(g, own, [&](Rank owner) { return messages.room(owner); });
  for (Rank owner = 0; owner < g.size(); ++owner) {
    g.kernel(Decode{.message = all[static_cast<std::size_t>(owner)], .to = g.output(owner)});
  }
}

void build_allreduce(GraphBuilder& g) {
  const Messages messages(g);
  gather(g, messages, messages.of_result(add_own_piece(g, messages)));
}
void build_reduce_scatter(GraphBuilder& g) {
  const Messages messages(g);
  g.copy(g.output(g.position()), add_own_piece(g, messages));
}
void build_allgather(GraphBuilder& g) {
  const Messages messages(g);
  gather(g, messages, messages.of_terms(g.input(g.position()), g.position()));
}

}  // namespace

std::size_t elements_of_piece(const PartView& part, Rank owner) {
  if (has_blocks(part.call.collective)) return part.count;
  const auto piece = static_cast<std::size_t>(owner), pieces = static_cast<std::size_t>(part.size);
  return boundary(piece + 1, part.count, pieces) - boundary(piece, part.count, pieces);
}

// Each rank rounds the pieces of the others and sends each to its owner, which adds them up in the type of the data,
// rounds the sum and sends it to all. It takes 2 rounds. For n elements each rank sends 2(P-1)/P times n bits/8 bytes,
// and a byte for each block.
constexpr Algorithm allreduce = {
    .collective = Collective::Allreduce,
    .name = "quantize_direct",
    .symmetric = false,
    .build = build_allreduce,
};

// This is the first half of the allreduce. The result is not rounded.
// It takes 1 round. Each rank sends P-1 of the P blocks of its input.
constexpr Algorithm reduce_scatter = {
    .collective = Collective::ReduceScatter,
    .name = "quantize_direct",
    .symmetric = false,
    .build = build_reduce_scatter,
};

// Each rank rounds its block and sends it to all others. It reads its own block from this message too.
// It takes 1 round. Each rank sends its block P-1 times.
constexpr Algorithm allgather = {
    .collective = Collective::Allgather,
    .name = "quantize_direct",
    .symmetric = false,
    .build = build_allgather,
};

}  // namespace lacuna::quantizing

#include "algorithms/cast/steps.hpp"
#include "algorithms/phases/owner_phases.hpp"
#include "algorithms/phases/stopwatch.hpp"
#include "algorithms/phases/tree_phases.hpp"
#include "kernels/backend.hpp"

namespace lacuna::casting {
namespace {

/// Converts elements, and keeps what is rounded off.
struct Convert {
  static constexpr std::string_view name = "convert";
  Read from{};
  Write kept{};  ///< in place of `from`: the elements, which become what is rounded off
  Write rest{};  ///< what is rounded off
  Write to;

  Status operator()(const KernelCall& call) const {
    const Stopwatch watch(call, measure::encode_time);
    const Extent& given = kept ? *kept : *from;
    std::byte* const left = kept ? kept->data : rest ? rest->data : nullptr;
    call.backend.convert({given.dtype, given.data, given.count}, {to->dtype, to->data, to->count}, left);
    if (rest && call.part.call.reduction == Reduction::Avg) {  // the rest is of the mean, and is to be of the sum
      const Scale times_all{.multiplier = static_cast<double>(call.part.size)};
      call.backend.copy(times_all, {rest->dtype, rest->data, rest->count}, rest->data);
    }
    return {};
  }
};

struct ConvertBack {
  static constexpr std::string_view name = "convert back";
  Read from;
  Write to;

  Status operator()(const KernelCall& call) const {
    const Stopwatch watch(call, measure::decode_time);
    call.backend.convert({from->dtype, from->data, from->count}, {to->dtype, to->data, to->count}, nullptr);
    return {};
  }
};

/// Reduces the terms of all positions in the order of the ranks.
struct ReduceTerms {
  static constexpr std::string_view name = "reduce terms";
  Reads terms;  ///< by position; that of the own one has the type of the data
  Write result;

  Status operator()(const KernelCall& call) const {
    const Stopwatch watch(call, measure::reduce_time);
    const Reduction reduction = call.part.call.reduction;
    const kernels::Target to{result->dtype, result->data, result->count};
    call.backend.convert(source(terms.front()), to, nullptr);
    for (std::size_t rank = 1; rank < terms.size(); ++rank) {
      const SumScale scale = scale_of_term(reduction, static_cast<Rank>(rank), call.part.size);
      if (terms[rank].dtype == to.dtype) {
        call.backend.reduce(reduction, scale, to, to.data, terms[rank].data);
      } else {
        call.backend.accumulate(reduction, scale, to, source(terms[rank]));
      }
    }
    return {};
  }

  static kernels::Source source(const Extent& term) { return {term.dtype, term.data, term.count}; }
};

BufferInfo message_info(const GraphBuilder& g) { return {.element = dtype_of(g.parameters<Form>().to)}; }
bool feeds_back(const GraphBuilder& g) { return g.frame() == &feedback_frame; }

/// Converts elements to a message. With feedback the elements become what is rounded off.
Region message_of(GraphBuilder& g, const Region& elements) {
  const Region message = g.room_for(elements, message_info(g));
  feeds_back(g) ? g.kernel(Convert{.kept = elements, .to = message})
                : g.kernel(Convert{.from = elements, .to = message});
  return message;
}

/// Returns the own piece of the result, which is not rounded yet.
Region reduce_own_piece(GraphBuilder& g) {
  const Region own = g.input(g.position());
  const auto terms = send_to_owners(
      g, own, [&](Rank owner) { return message_of(g, g.input(owner)); },
      [&] { return g.room_for(own, message_info(g)); });
  const Region result = g.room_for(own);
  g.kernel(ReduceTerms{.terms = terms, .result = result});
  return result;
}

/// Converts the own piece of the result to a message. With feedback the owner keeps what is rounded off.
Region message_of_result(GraphBuilder& g, const Region& result) {
  const Region message = g.room_for(result, message_info(g));
  Convert convert{.from = result, .to = message};
  const Region rest = feeds_back(g) ? g.room_for(g.input(g.position())) : Region();
  if (feeds_back(g)) convert.rest = rest;
  g.kernel(std::move(convert));
  if (feeds_back(g)) leave_out(g, rest);
  return message;
}

/// Sends the own message to all, and writes the messages of all to the output.
void gather(GraphBuilder& g, const Region& own) {
  const auto messages = send_to_all(g, own, [&](Rank owner) { return g.room_for(g.output(owner), message_info(g)); });
  for (Rank owner = 0; owner < g.size(); ++owner) {
    g.kernel(ConvertBack{.from = messages[static_cast<std::size_t>(owner)], .to = g.output(owner)});
  }
}

void build_broadcast(GraphBuilder& g) {
  const bool is_root = g.position() == 0;
  const Region message = is_root ? message_of(g, g.input()) : g.room_for(g.output(), message_info(g));
  tree_broadcast(g, Topology::binomial_tree(g.size()), message);
  g.kernel(ConvertBack{.from = message, .to = g.output()});
}

}  // namespace

// Each rank converts the pieces of the others and sends each to its owner, which reduces them in the type of the data,
// converts the result and sends it to all. It takes 2 rounds. Each rank sends 2(P-1)/P of the data in the shorter type.
// A ring that converts in each of its hops would send as much, but round P-1 times, and take 2(P-1) rounds.
constexpr Algorithm allreduce = {
    .collective = Collective::Allreduce,
    .name = "cast_direct",
    .symmetric = false,
    .build = [](GraphBuilder& g) { gather(g, message_of_result(g, reduce_own_piece(g))); },
    .parameters = &parameter_set<Form>,
};

// This is the first half of the allreduce. The result is not rounded.
// It takes 1 round. Each rank sends (P-1)/P of the input in the shorter type.
constexpr Algorithm reduce_scatter = {
    .collective = Collective::ReduceScatter,
    .name = "cast_direct",
    .symmetric = false,
    .build = [](GraphBuilder& g) { g.copy(g.output(g.position()), reduce_own_piece(g)); },
    .parameters = &parameter_set<Form>,
};

// Each rank converts its block and sends it to all others. Its own block is converted and back too.
// It takes 1 round. Each rank sends its block P-1 times in the shorter type.
constexpr Algorithm allgather = {
    .collective = Collective::Allgather,
    .name = "cast_direct",
    .symmetric = false,
    .build = [](GraphBuilder& g) { gather(g, message_of(g, g.input(g.position()))); },
    .parameters = &parameter_set<Form>,
};

// The root converts the data once, and they go down a binomial tree. The root's own output is converted and back too.
// It takes ceil(log2 P) rounds. All ranks together send P-1 times the data in the shorter type.
constexpr Algorithm broadcast = {
    .collective = Collective::Broadcast,
    .name = "cast_tree",
    .symmetric = false,
    .build = build_broadcast,
    .order = from_root,
    .parameters = &parameter_set<Form>,
};

}  // namespace lacuna::casting

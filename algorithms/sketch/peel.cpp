#include "algorithms/phases/sparse.hpp"
#include "algorithms/phases/sparse_kernels.hpp"
#include "algorithms/phases/stopwatch.hpp"
#include "algorithms/sketch/steps.hpp"

namespace lacuna::sketching {
namespace {

std::size_t words_of_room(const PartView& part) { return kernels::words_of_peeling(shape_of(part)); }

struct PeelBlocks {
  static constexpr std::string_view name = "peel";
  Read map;
  Use elements;
  Write table, left, room, output;

  Status operator()(const KernelCall& call) const {
    const Stopwatch watch(call, measure::decode_time);
    kernels::Peeled peeled;
    call.backend.peel_sketch(shape_of(call.part),
                             {.map = map->data,
                              .left = left->data,
                              .room = reinterpret_cast<std::uint32_t*>(room->data),
                              .scale = scale_of_all(call.part.call.reduction, call.part.size)},
                             {table->dtype, table->data, table->count}, {output->dtype, output->data, output->count},
                             &peeled);
    call.measures.tell(measure::union_elements, static_cast<double>(*elements));
    call.measures.tell(measure::peel_rounds, static_cast<double>(peeled.rounds));
    if (table->dtype != Dtype::I64) call.measures.tell(measure::inexact, 1);
    return {};
  }
};

struct TellLeft {
  static constexpr std::string_view name = "tell left";
  Use elements, left;

  Status operator()(const KernelCall& call) const {
    call.measures.tell(measure::decoded, static_cast<double>(*elements - *left));
    call.measures.tell(measure::unpeeled, static_cast<double>(*left));
    if (*left == 0) tell_compression(call, 0);
    return {};
  }
};

void build_peel(GraphBuilder& g) {
  if (form_of(g).stage != Stage::Peel) return compact(g);
  const Region input = input_of(g), mine = find_blocks(g, input);
  const Tables tables = sketch_and_reduce(g, input, mine);
  const Blocks blocks = count_blocks(g, unite_maps(g, mine, false), true);
  const Region left = shared_map(g);
  g.kernel(PeelBlocks{.map = blocks.map,
                      .elements = blocks.elements,
                      .table = tables.sum,
                      .left = left,
                      .room = g.buffer({.element = Dtype::I32, .capacity = words_of_room}),
                      .output = g.output()});
  const Blocks unpeeled = count_blocks(g, left, false);
  g.kernel(TellLeft{.elements = blocks.elements, .left = unpeeled.elements});
  g.decide({unpeeled.elements, unpeeled.count});
}

}  // namespace

// A rank hashes each block of its input to one bucket of each of three tables. The tables and the maps of the blocks
// are reduced at the same time, in rings and in 2 rounds. From the united map each rank computes which blocks lie in a
// bucket. A bucket with one block tells its value, which is then taken out of the block's two other buckets. This goes
// on until all blocks are known, if there are 1.23 buckets or more for each of many blocks. What is left is reduced by
// the part that follows. All ranks peel the same table in the same order, and get the same bits. Each rank sends 2
// (P-1)/P of the bytes of the tables and of a map, in 2 (P-1) rounds. Source: Goodrich, Mitzenmacher: Invertible Bloom
// lookup tables (2011); with a map beside the table: Li, Xu, Chen, Dwivedula and others: Accelerating distributed deep
// learning using lossless homomorphic compression (2024).
constexpr Algorithm peel = {
    .collective = Collective::Allreduce,
    .name = "peel",
    .symmetric = false,
    .build = build_peel,
    .parameters = &parameter_set<Form>,
};

}  // namespace lacuna::sketching

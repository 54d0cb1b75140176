#include "algorithms/phases/ring_phases.hpp"
#include "algorithms/phases/stopwatch.hpp"
#include "algorithms/sketch/steps.hpp"

namespace lacuna::sketching {
namespace {

std::size_t elements_of(const PartView& part) { return part.count; }

/// A set of blocks, as kernels read it.
struct ReadBlocks {
  Read map, ranks;
  Use elements;

  kernels::BlockSet set() const { return {map->data, reinterpret_cast<const std::uint32_t*>(ranks->data)}; }
};
ReadBlocks read(const Blocks& blocks) { return {blocks.map, blocks.ranks, blocks.elements}; }

/// Packs the elements of the blocks, and defines where their pieces lie.
struct TakeBlocks {
  static constexpr std::string_view name = "take blocks";
  Read input;
  ReadBlocks blocks;
  Write packed;
  Defines lengths, begins;

  Status operator()(const KernelCall& call) const {
    const Stopwatch watch(call, measure::encode_time);
    call.backend.take_blocks({input->dtype, input->data, input->count}, grid_of(call.part), blocks.set(), packed->data);
    const std::size_t elements = *blocks.elements, pieces = lengths.size();
    for (std::size_t i = 0; i < pieces; ++i) {
      begins[i] = boundary(i, elements, pieces);
      lengths[i] = boundary(i + 1, elements, pieces) - begins[i];
    }
    return {};
  }
};

struct PutBlocks {
  static constexpr std::string_view name = "put blocks";
  Read packed;
  ReadBlocks blocks;
  Write output;
  bool clears;

  Status operator()(const KernelCall& call) const {
    const Stopwatch watch(call, measure::decode_time);
    call.backend.put_blocks(packed->data, grid_of(call.part), blocks.set(), clears,
                            {output->dtype, output->data, output->count});
    call.measures.tell(measure::reduced, static_cast<double>(*blocks.elements));
    if (clears) call.measures.tell(measure::union_elements, static_cast<double>(*blocks.elements));
    tell_compression(call, *blocks.elements);
    return {};
  }
};

}  // namespace

void reduce_blocks(GraphBuilder& g, const Region& input, const Blocks& blocks) {
  const Region packed = g.buffer({.capacity = elements_of});
  std::vector<Value> lengths, begins;
  std::vector<Region> pieces;
  for (Rank i = 0; i < g.size(); ++i) {
    lengths.push_back(g.agreed());
    begins.push_back(g.value());
    pieces.push_back(GraphBuilder::counted(packed, lengths.back(), begins.back()));
  }
  g.kernel(TakeBlocks{.input = input, .blocks = read(blocks), .packed = packed, .lengths = lengths, .begins = begins});
  pieces = g.disjoint(pieces);
  const auto piece = [&](Rank i) { return pieces[static_cast<std::size_t>(i)]; };
  const Line ring = whole_ring(g);
  ring_reduce_scatter(g, ring, piece, [&](Rank, Rank i) { return piece(i); });
  g.finish(piece(ring.own));
  ring_allgather(g, ring, piece);
  g.kernel(PutBlocks{
      .packed = packed, .blocks = read(blocks), .output = g.output(), .clears = form_of(g).stage != Stage::Left});
}

void compact(GraphBuilder& g) {
  const Form form = form_of(g);
  const Region input = input_of(g);
  const bool whole = form.stage == Stage::Whole;
  const Region map = whole ? unite_maps(g, find_blocks(g, input), false) : shared_map(g);
  reduce_blocks(g, input, count_blocks(g, map, whole));
  if (form.feedback) g.clear(input);
}

// All ranks unite the maps of their blocks that are not zero. Then they know the place of each block of the union among
// the others, and reduce these blocks densely. It takes 2 rounds for the maps, and 2 (P-1) for the ring. Each rank
// sends 2 (P-1)/P of the bytes of a map and of the union. What is zero on all ranks stays zero in all reductions. So it
// is exact for all of them, and the elements of the union are reduced in the order of a ring.
constexpr Algorithm compaction = {
    .collective = Collective::Allreduce,
    .name = "compaction",
    .symmetric = false,
    .build = compact,
    .parameters = &parameter_set<Form>,
};

}  // namespace lacuna::sketching

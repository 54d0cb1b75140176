#include "algorithms/blocks/block_size.hpp"
#include "algorithms/blocks/listed.hpp"

namespace lacuna::block {
namespace {

using kernels::BlockGrid;

/// Reads which blocks of its shard an owner brings to the result.
struct ReadSet {
  static constexpr std::string_view name = "read set";
  Read message;
  Write set;
  Define offset{}, elements{};  ///< of the packed blocks that come, unless they stay where they land
  Rank owner;

  Status operator()(const KernelCall& call) const {
    const BlockGrid grid = shard_of(call.part, owner);
    if (Status sound = read_set(call.backend, *message, owner, grid.count(), set->data); !sound) return sound;
    if (!offset) return {};
    *offset = static_cast<std::size_t>(roles_of(call.part).number(owner)) * most_elements(call.part);
    *elements = elements_of(set_in(set->data, grid.count()), grid);
    return {};
  }
};

/// Writes the blocks of an owner to the output.
struct PlaceBlocks {
  static constexpr std::string_view name = "place blocks";
  Read set, packed;
  Write output;
  Rank owner;

  Status operator()(const KernelCall& call) const {
    const Stopwatch watch(call, measure::place_time);
    const BlockGrid grid = shard_of(call.part, owner);
    const kernels::BlockSet blocks = set_in(set->data, grid.count());
    call.backend.put_blocks(packed->data, grid, blocks, false, {output->dtype, output->data, output->count});
    call.measures.tell(measure::result, static_cast<double>(size_of(blocks, grid.count())));
    call.measures.tell(measure::result_elements, static_cast<double>(elements_of(blocks, grid)));
    return {};
  }
};

/// The output for an owner's blocks.
Region output_for(const GraphBuilder& g, Rank owner) {
  return has_blocks(g.collective()) ? g.output(owner) : g.output();
}

void place(GraphBuilder& g, const Region& set, const Region& packed, Rank owner) {
  g.kernel(PlaceBlocks{.set = set, .packed = packed, .output = output_for(g, owner), .owner = owner});
}

/// Clears the output while others still send, as far as blocks may stay that nobody brings.
void clear_output(GraphBuilder& g) {
  if (!clears_others(g)) return;
  if (traits_of(g.collective()).output != Holds::Blocks) return void(g.clear(output_for(g, g.position())));
  for (Rank owner = 0; owner < g.size(); ++owner) {
    if (owner != g.position() || !g.in_place()) g.clear(output_for(g, owner));
  }
}

std::size_t elements_of_result(const PartView& part) {
  return static_cast<std::size_t>(roles_of(part).owners) * most_elements(part);
}

void send_to_all(GraphBuilder& g, const Owned& own) {
  std::size_t i = 0;
  for (Rank distance = 1; distance < g.size(); ++distance) {
    const Rank to = position_at(g.position(), distance, g.size());
    if (!roles_of(g).gets(to)) continue;
    g.send(own.message, to);
    g.send(GraphBuilder::counted(own.packed, own.outgoing[i++]), to);
  }
}

Others receive_others(GraphBuilder& g) {
  Others others{.sets = g.buffer(sets_of_owners)};
  const Region room = room_of_all(g, elements_of_result);
  Arriving arriving;
  for (Rank distance = 1; distance < g.size(); ++distance) {
    const Rank owner = position_at(g.position(), -distance, g.size());
    if (!roles_of(g).is_owner(owner)) continue;
    others.owners.push_back(owner);
    const Region message = g.receive_landed(owner, one_message);
    arriving.expect(g, owner, room);
    ReadSet read{.message = message, .set = set_of_owner(g, others.sets, owner), .owner = owner};
    if (!arriving.offsets.empty()) read.offset = arriving.offsets.back();
    if (!arriving.elements.empty()) read.elements = arriving.elements.back();
    g.kernel(std::move(read));
  }
  arriving.receive(g, others.owners);
  others.packed = arriving.packed;
  return others;
}

}  // namespace

void spread(GraphBuilder& g, const Owned& own) {
  const bool owns = !own.set.is_signal();
  if (owns) send_to_all(g, own);
  const Roles roles = roles_of(g);
  if (roles.rooted && roles.brings(g.position()) && !g.in_place()) g.copy(g.output(), g.input());
  if (!roles.gets(g.position())) return;
  if (form_of(g).listed) return list_result(g, receive_others(g), own);
  clear_output(g);
  if (owns) place(g, own.set, own.packed, g.position());
  const Others others = receive_others(g);
  for (std::size_t i = 0; i < others.owners.size(); ++i) {
    place(g, set_of_owner(g, others.sets, others.owners[i]), others.packed[i], others.owners[i]);
  }
  if (form_of(g).counts) count_blocks(g, others.sets, own.set);
}

void place_own(GraphBuilder& g, const Owned& own) {
  if (form_of(g).listed) return list_result(g, {}, own);
  clear_output(g);
  place(g, own.set, own.packed, g.position());
}

}  // namespace lacuna::block

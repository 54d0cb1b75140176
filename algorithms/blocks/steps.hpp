#pragma once

#include <array>
#include <optional>
#include <vector>

#include "algorithms/blocks/blocks.hpp"
#include "algorithms/blocks/form.hpp"
#include "algorithms/phases/predictions.hpp"
#include "kernels/block_grid.hpp"
#include "runtime/graph/builder.hpp"
#include "runtime/graph/plan.hpp"
#include "runtime/method/method.hpp"
#include "runtime/values/measure.hpp"

/// This file has what the files of blocks share. The blocks of the data are dealt to *owners*, the positions that add
/// them up: each owner has a *shard*, which is a grid of blocks. Positions are ranks, but in broadcast, where the root
/// stands at position 0.
namespace lacuna::block {

inline const SparseBlocks& options_of(const Call& call) { return call.options.method.as<SparseBlocks>(); }
inline Form form_of(const GraphBuilder& g) { return g.parameters<Form>(); }
inline Form form_of(const PartView& part) { return part.part.structure.parameters.as<Form>(); }
inline Arguments arguments_of(const PartView& part) { return part.part.arguments.as<Arguments>(); }

/// What the positions do.
struct Roles {
  Rank size, owners;
  bool dedicated;  ///< the owners do nothing else; they are the last positions
  bool rooted;     ///< only position 0 brings data, and all others get the result

  /// Owner number i stands at the position first_owner() + i.
  Rank first_owner() const { return dedicated ? size - owners : 0; }
  Rank number(Rank owner) const { return owner - first_owner(); }
  bool is_owner(Rank position) const { return position >= first_owner() && position < first_owner() + owners; }
  bool brings(Rank position) const { return rooted ? position == 0 : !dedicated || position < first_owner(); }
  bool gets(Rank position) const { return rooted ? position != 0 : brings(position); }
  /// How many positions have terms in a sum.
  Rank terms() const { return rooted ? 1 : dedicated ? first_owner() : size; }
};
inline Roles roles_of(const Form& form, Collective collective, Rank size) {
  return {.size = size,
          .owners = form.owners == 0 ? size : form.owners,
          .dedicated = form.dedicated,
          .rooted = traits_of(collective).reads == Having::Root};
}
inline Roles roles_of(const GraphBuilder& g) { return roles_of(form_of(g), g.collective(), g.size()); }
inline Roles roles_of(const PartView& part) { return roles_of(form_of(part), part.call.collective, part.size); }

/// The blocks of an owner. If the collective has blocks of its own, a shard is all of the owner's. Else the owners take
/// blocks in turn, and another one, which looks random, begins with each turn. So all have about equally much to do
/// wherever the blocks lie that are not zero. Which owner begins also changes from part to part.
kernels::BlockGrid shard_of(const PartView& part, Rank owner);
/// Where a block of the data lies, if the owners take blocks in turn: who owns it, and which block of the shard it is.
struct Dealt {
  Rank owner;
  std::size_t block;
};
Dealt dealt(const PartView& part, const Roles& roles, std::size_t block);

/// The measures of blocks.
namespace measure {
inline constexpr Measure sent = {
    .name = "blocks_selected", .help = "blocks of a rank's own data that are not zero", .unit = Unit::Blocks};
inline constexpr Measure elements = {.name = "elements_selected",
                                     .help = "elements of these blocks",
                                     .unit = Unit::Elements,
                                     .role = MeasureRole::Selected};
inline constexpr Measure up = {
    .name = "blocks_up", .help = "blocks that a rank has sent to others, which add them up", .unit = Unit::Blocks};
inline constexpr Measure result = {
    .name = "blocks_result", .help = "blocks of the result that are not zero at any rank", .unit = Unit::Blocks};
inline constexpr Measure result_elements = {
    .name = "elements_result", .help = "elements of these blocks", .unit = Unit::Elements, .role = MeasureRole::Result};
inline constexpr Measure block = {.name = "block",
                                  .help = "elements of a block",
                                  .unit = Unit::Elements,
                                  .adds_up = AddsUp::Last,
                                  .by = CountedBy::Plan};
inline constexpr Measure find_time = {
    .name = "find", .help = "time in which kernels looked for blocks that are not zero", .unit = Unit::Seconds};
inline constexpr Measure pack_time = {
    .name = "pack", .help = "time in which kernels packed blocks", .unit = Unit::Seconds};
inline constexpr Measure reduce_time = {
    .name = "reduce", .help = "time in which kernels added up blocks", .unit = Unit::Seconds};
inline constexpr Measure place_time = {
    .name = "place", .help = "time in which kernels wrote the result", .unit = Unit::Seconds};
}  // namespace measure
inline constexpr std::array measures = {
    &measure::block,           &measure::sent,      &measure::elements,  &measure::up,          &measure::result,
    &measure::result_elements, &measure::find_time, &measure::pack_time, &measure::reduce_time, &measure::place_time};

// The phases.

/// The blocks that an owner brings to the result.
struct Owned {
  Region set{};                   ///< in the host's memory: which blocks of its shard they are
  Region message{};               ///< tells the others
  Region packed{};                ///< the blocks
  std::vector<Value> outgoing{};  ///< how many elements go to each other position that gets them, by distance
};
/// The blocks that the other owners bring to the result.
struct Others {
  Region sets{};                 ///< in the host's memory: a table with a set for each owner
  std::vector<Rank> owners{};    ///< by distance before the own position
  std::vector<Region> packed{};  ///< the blocks of each of them
};
/// Each owner gets the blocks of its shard that are not zero from all positions that bring data, and reduces them.
/// Positions that are no owners return nothing.
Owned collect(GraphBuilder& g);
/// The blocks of the own input that are not zero, for allgather.
Owned take_own(GraphBuilder& g);
/// Each owner sends its blocks to all positions, which write them to the output.
void spread(GraphBuilder& g, const Owned& own);
/// Writes the own blocks to the output, which is the own shard.
void place_own(GraphBuilder& g, const Owned& own);

// The functions of the method.
Status check(const Call& call, const Algorithm& algorithm, const Hosts& hosts);
void plan(const PlanRequest& request, Plan& plan);
std::optional<PartPlan> follow(const Followed& part);
Result<bool> aggregates(const Call& call, Rank aggregators);
double expected_bytes(const ExpectedPart& part);
double result_elements(const ExpectedPart& part);
int rounds(const PartPlan& part, Rank size);
int half_rounds(const PartPlan& part, Rank size);
double path_bytes(const ExpectedPart& part);
double expected_stream_bytes(const ExpectedPart& part);
int expected_stream_rounds(const ExpectedPart& part);

extern const Algorithm allreduce, reduce_scatter, allgather, broadcast, streamed_allreduce;

}  // namespace lacuna::block

#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "algorithms/phases/predictions.hpp"
#include "algorithms/sketch/form.hpp"
#include "algorithms/sketch/sketch.hpp"
#include "kernels/backend.hpp"
#include "runtime/graph/builder.hpp"
#include "runtime/method/method.hpp"

/// This file has what the files of sketch share.
namespace lacuna::sketching {

inline const Sketch& options_of(const Call& call) { return call.options.method.as<Sketch>(); }
inline Form form_of(const GraphBuilder& g) { return g.parameters<Form>(); }
inline Form form_of(const PartPlan& part) { return part.structure.parameters.as<Form>(); }
inline Arguments arguments_of(const PartPlan& part) { return part.arguments.as<Arguments>(); }

/// The most blocks of data, and the most buckets of a row.
inline constexpr double most_blocks = 4294967295.0;
/// A sketch for peeling has three rows, which need the fewest cells (Goodrich, Mitzenmacher: Invertible Bloom lookup
/// tables, 2011).
inline constexpr std::size_t rows_to_peel = 3;

/// The measures of sketch.
namespace measure {
inline constexpr Measure union_elements = {
    .name = "union_elements", .help = "elements of the union of all ranks' blocks", .unit = Unit::Elements};
inline constexpr Measure cells = {.name = "cells", .help = "cells of the sketch", .unit = Unit::Elements};
inline constexpr Measure decoded = {
    .name = "decoded", .help = "elements that came from a sketch", .unit = Unit::Elements};
inline constexpr Measure reduced = {
    .name = "reduced", .help = "elements that were reduced one by one, without a sketch", .unit = Unit::Elements};
inline constexpr Measure unpeeled = {.name = "unpeeled",
                                     .help = "elements that could not be peeled, and were reduced one by one",
                                     .unit = Unit::Elements};
inline constexpr Measure peel_rounds = {.name = "peel_rounds",
                                        .help = "rounds in which a sketch was peeled",
                                        .unit = Unit::Rounds,
                                        .adds_up = AddsUp::Largest};
inline constexpr Measure inexact = {
    .name = "inexact", .help = "calls whose result came from sums that were rounded in cells", .unit = Unit::Calls};
inline constexpr Measure relative_error = {.name = "relative_error",
                                           .help = "the expected L2 error of the result over the norm of the sum",
                                           .unit = Unit::Ratio,
                                           .adds_up = AddsUp::Mean};
inline constexpr Measure error = {.name = "error",
                                  .help = "the expected L2 error of the result, by the norm that the sketch shows",
                                  .unit = Unit::Magnitude,
                                  .adds_up = AddsUp::Last};
inline constexpr Measure compression = {.name = "compression",
                                        .help = "bytes of the dense call over the bytes that were sent",
                                        .unit = Unit::Ratio,
                                        .adds_up = AddsUp::Mean,
                                        .role = MeasureRole::Headline};
inline constexpr Measure encode_time = {
    .name = "encode", .help = "time in which kernels found blocks and wrote what is sent", .unit = Unit::Seconds};
inline constexpr Measure decode_time = {
    .name = "decode", .help = "time in which kernels wrote the result", .unit = Unit::Seconds};
}  // namespace measure
inline constexpr std::array measures = {&measure::union_elements, &measure::cells,          &measure::decoded,
                                        &measure::reduced,        &measure::unpeeled,       &measure::peel_rounds,
                                        &measure::inexact,        &measure::relative_error, &measure::error,
                                        &measure::compression,    &measure::encode_time,    &measure::decode_time};

/// What the state keeps of the last union. It is equal on all ranks.
struct LastUnion {
  std::int64_t is_known = 0, blocks = 0, elements = 0;
};
inline constexpr std::string_view last_union_array = "last_union";
inline constexpr std::size_t last_union_words = sizeof(LastUnion) / sizeof(std::int64_t);

/// Shapes and sizes, which are equal on all ranks.
kernels::BlockGrid grid_of(const PartView& part);
std::size_t map_bytes(const PartView& part);
kernels::SketchShape shape_of(const PartView& part);
std::size_t cells_of(const PartView& part);
inline kernels::SketchShape shape_of(const Sketch& asked, std::size_t rows, const Arguments& with) {
  return {.seed = with.seed, .rows = rows, .buckets = with.buckets, .block = asked.block};
}

/// The blocks that matter: a bit for each block of the data, and what kernels::BlockSet needs.
struct Blocks {
  Region map, ranks;
  Value count = Value::None, elements = Value::None;  ///< how many blocks there are, and elements in them
};

/// Returns the input, to which the residual is added if the form asks for feedback. Then it is the residual.
Region input_of(GraphBuilder& g);
/// Writes the map of the blocks that have a bit that is not zero.
Region find_blocks(GraphBuilder& g, const Region& input);
/// Unites the maps of all ranks: each position unites one piece of them, and sends it to all others. It takes 2 rounds,
/// and 2 (P-1)/P of the bytes of a map. `shared`: the part that follows needs the map.
Region unite_maps(GraphBuilder& g, const Region& mine, bool shared);
/// Where the map lies that one part leaves for the next one.
Region shared_map(GraphBuilder& g);
/// Counts the blocks of a map, which is equal on all ranks. If it is the union, the state may keep how large it is.
Blocks count_blocks(GraphBuilder& g, const Region& map, bool is_union);
/// Reduces the elements of these blocks, and writes them to the output. It writes zeros to all other blocks, except in
/// Stage::Left. It takes 2 (P-1) rounds and 2 (P-1)/P of the bytes of the elements.
void reduce_blocks(GraphBuilder& g, const Region& input, const Blocks& blocks);
/// Carries out Stage::Whole, Rest or Left: the elements of the union, or of what is left of it, are reduced.
void compact(GraphBuilder& g);

/// A sketch of the own input, and the sum of the sketches of all ranks. Both are the same memory if there is no
/// residual.
struct Tables {
  Region own, sum;
};
/// Sketches the blocks of the map, and sums up the sketches of all ranks around a ring.
Tables sketch_and_reduce(GraphBuilder& g, const Region& input, const Region& map);

/// The bytes of a cell, and the cells of a count sketch of such data.
constexpr std::size_t bytes_of(Cells cells) { return cells == Cells::F32 ? 4 : 8; }
constexpr Cells cells_for(Dtype dtype) { return dtype == Dtype::F64 ? Cells::F64 : Cells::F32; }
/// The buckets of a row of a count sketch. Without `columns` they depend on the union.
std::uint64_t buckets_for(const Sketch& asked, double union_elements);
/// Is there a count sketch, and is it shorter than the elements of the union? Else it is never used.
bool sketch_is_shorter(const Call& call, const Arguments& with, std::uint64_t union_elements);
/// Tells how much the call has sent, for so many elements that were reduced one by one.
void tell_compression(const KernelCall& call, std::size_t reduced_elements);

/// These are the functions of the method.
Status check(const Call& call, const Algorithm& algorithm, const Hosts& hosts);
Status ready(const Call& call, Rank size);
bool lossless(const Call& call, const Hosts& hosts, std::size_t entries);
std::string_view preferred(const Call& call, const Hosts& hosts);
std::string_view reason(const Call& call, const Hosts& hosts);
void plan(const PlanRequest& request, Plan& plan);
std::optional<PartPlan> follow(const Followed& part);
int rounds(const PartPlan& part, Rank size);
extern const Predictions of_count_sketch, of_compaction, of_peel;

extern const Algorithm count_sketch, compaction, peel;

}  // namespace lacuna::sketching

#pragma once

#include <array>

#include "algorithms/phases/predictions.hpp"
#include "algorithms/quantize/quantize.hpp"
#include "kernels/levels.hpp"
#include "runtime/graph/algorithm.hpp"
#include "runtime/method/method.hpp"

/// This file has what the files of quantize share.
namespace lacuna::quantizing {

inline const Quantize& options_of(const Call& call) { return call.options.method.as<Quantize>(); }
inline kernels::LevelsShape shape_of(const Call& call) {
  return {.bits = options_of(call).bits, .block = options_of(call).block};
}

/// The measures of quantize.
namespace measure {
inline constexpr Measure compression = {.name = "compression",
                                        .help = "bytes of the dense call over the bytes that are sent, in whole blocks",
                                        .unit = Unit::Ratio,
                                        .adds_up = AddsUp::Mean,
                                        .by = CountedBy::Plan,
                                        .role = MeasureRole::Headline};
inline constexpr Measure encode_time = {
    .name = "encode", .help = "time in which kernels wrote messages", .unit = Unit::Seconds};
inline constexpr Measure reduce_time = {
    .name = "reduce", .help = "time in which kernels added up what came", .unit = Unit::Seconds};
inline constexpr Measure decode_time = {
    .name = "decode", .help = "time in which kernels wrote the result", .unit = Unit::Seconds};
}  // namespace measure
inline constexpr std::array measures = {&measure::compression, &measure::encode_time, &measure::reduce_time,
                                        &measure::decode_time};

/// The elements of the piece that a position owns, or of its block.
std::size_t elements_of_piece(const PartView& part, Rank owner);

/// These are the functions of the method.
Status check(const Call& call, const Algorithm& algorithm, const Hosts& hosts);
void plan(const PlanRequest& request, Plan& plan);
/// One round to the owners, one back.
int rounds(const PartPlan& part, Rank size);
int half_rounds(const PartPlan& part, Rank size);
extern const Predictions of_allreduce, of_reduce_scatter, of_allgather;

extern const Algorithm allreduce, reduce_scatter, allgather;

}  // namespace lacuna::quantizing

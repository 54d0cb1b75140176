#pragma once

#include <array>

#include "algorithms/cast/form.hpp"
#include "algorithms/phases/predictions.hpp"
#include "runtime/graph/algorithm.hpp"
#include "runtime/method/method.hpp"

/// This file has what the files of cast share.
namespace lacuna::casting {

inline const Cast& options_of(const Call& call) { return call.options.method.as<Cast>(); }

/// The type of the elements of messages.
constexpr Dtype dtype_of(CastTo to) {
  return to == CastTo::BF16 ? Dtype::BF16 : to == CastTo::F16 ? Dtype::F16 : Dtype::F32;
}

/// The measures of cast.
namespace measure {
inline constexpr Measure compression = {.name = "compression",
                                        .help = "bytes of the dense call over the bytes that are sent",
                                        .unit = Unit::Ratio,
                                        .adds_up = AddsUp::Mean,
                                        .by = CountedBy::Plan,
                                        .role = MeasureRole::Headline};
inline constexpr Measure encode_time = {
    .name = "encode", .help = "time in which kernels wrote messages", .unit = Unit::Seconds};
inline constexpr Measure reduce_time = {
    .name = "reduce", .help = "time in which kernels reduced what came", .unit = Unit::Seconds};
inline constexpr Measure decode_time = {
    .name = "decode", .help = "time in which kernels wrote the result", .unit = Unit::Seconds};
}  // namespace measure
inline constexpr std::array measures = {&measure::compression, &measure::encode_time, &measure::reduce_time,
                                        &measure::decode_time};

/// These are the functions of the method.
Status check(const Call& call, const Algorithm& algorithm, const Hosts& hosts);
void plan(const PlanRequest& request, Plan& plan);
/// One round to the owners, one back.
int rounds(const PartPlan& part, Rank size);
int half_rounds(const PartPlan& part, Rank size);
int tree_rounds(const PartPlan& part, Rank size);
extern const Predictions of_allreduce, of_reduce_scatter, of_allgather, of_broadcast;

extern const Algorithm allreduce, reduce_scatter, allgather, broadcast;

}  // namespace lacuna::casting

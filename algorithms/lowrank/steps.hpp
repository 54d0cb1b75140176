#pragma once

#include <array>
#include <string_view>

#include "algorithms/lowrank/form.hpp"
#include "algorithms/lowrank/lowrank.hpp"
#include "algorithms/phases/predictions.hpp"
#include "kernels/matrices.hpp"
#include "runtime/graph/algorithm.hpp"
#include "runtime/method/method.hpp"

/// This file has what the files of lowrank share.
namespace lacuna::factoring {

inline const LowRank& options_of(const Call& call) { return call.options.method.as<LowRank>(); }

/// The matrix that so many elements are seen as.
kernels::MatrixShape shape_of(const LowRank& asked, std::size_t count);
/// The elements of both factors.
constexpr std::size_t elements_of(const kernels::MatrixShape& shape) {
  return shape.rank * (shape.rows() + shape.columns);
}
/// Are the factors shorter than the data? Else the call is a dense one.
constexpr bool is_shorter(const kernels::MatrixShape& shape) { return elements_of(shape) < shape.count; }

/// The array of the state that holds the right factor of the last run. It is equal on all ranks.
inline constexpr std::string_view right_factor_array = "right_factor";

/// The measures of lowrank.
namespace measure {
inline constexpr Measure compression = {.name = "compression",
                                        .help = "bytes of the dense call over the bytes that are sent",
                                        .unit = Unit::Ratio,
                                        .adds_up = AddsUp::Mean,
                                        .by = CountedBy::Plan,
                                        .role = MeasureRole::Headline};
inline constexpr Measure multiply_time = {
    .name = "multiply", .help = "time in which kernels multiplied the matrix by a factor", .unit = Unit::Seconds};
inline constexpr Measure orthonormalize_time = {
    .name = "orthonormalize", .help = "time in which kernels made the left factor orthonormal", .unit = Unit::Seconds};
inline constexpr Measure decode_time = {
    .name = "decode", .help = "time in which kernels wrote the result and the residual", .unit = Unit::Seconds};
}  // namespace measure
inline constexpr std::array measures = {&measure::compression, &measure::multiply_time, &measure::orthonormalize_time,
                                        &measure::decode_time};

/// These are the functions of the method.
Status check(const Call& call, const Algorithm& algorithm, const Hosts& hosts);
Status ready(const Call& call, Rank size);
void plan(const PlanRequest& request, Plan& plan);
int rounds(const PartPlan& part, Rank size);
extern const Predictions predictions;

extern const Algorithm allreduce;

}  // namespace lacuna::factoring

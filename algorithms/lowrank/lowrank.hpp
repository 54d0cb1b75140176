#pragma once

#include <cstddef>

#include "runtime/values/method_options.hpp"
#include "runtime/values/option.hpp"

namespace lacuna {

/// The sum of all inputs, seen as a matrix, is approximated by a product of two factors of few vectors, and only the
/// factors travel (Vogels, Karimireddy, Jaggi: PowerSGD: Practical low-rank gradient compression for distributed
/// optimization, 2019, algorithms 1 and 2). A run is one pass of a subspace iteration, which begins with the right
/// factor of the last run. A sum whose rank is no larger than that of the factors is exact up to rounding. It serves
/// allreduce of f32 and f64 with sum or avg. All ranks get the same bits.
///
/// The data may have any shape: rows of `columns` elements follow one another, and the last one may be shorter. Where
/// the factors would not be shorter than the data, the call is a dense one.
///
/// The call needs a state, which keeps the right factor. With feedback a rank adds what its own factors lack of its
/// input to its next input. options.def says what the members mean. All ranks give the same options.
struct LowRank {
  static constexpr double most_rank = 4;
  static constexpr double most_columns = 4294967295.0;

#define LACUNA_OPTION(name, type, value, ...) type name = value;
#include "algorithms/lowrank/options.def"
#undef LACUNA_OPTION
};

/// Makes Options::method of these options.
MethodOptions lowrank(const LowRank& options);

extern const Method lowrank_method;

}  // namespace lacuna

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/values/method_options.hpp"
#include "runtime/values/option.hpp"

namespace lacuna {

/// What the estimates of the rows of a count sketch become. A median needs an odd number of rows.
enum class SketchEstimate : std::uint8_t { Median = 0, Mean = 1 };
inline constexpr std::string_view sketch_estimate_names[] = {"median", "mean"};

template <>
inline constexpr std::span<const std::string_view> names_of<SketchEstimate>{sketch_estimate_names};

/// Only the elements travel that are not zero on some rank, without their places. A bitmap tells all ranks the *union*:
/// the blocks in which some rank has a bit that is not zero. Three algorithms of allreduce serve the method:
///
/// - `count_sketch` is lossy (Ge, Fu, Lai, Deng, Li: S2 Reducer, 2021). It sends a table of fewer
///   cells than the union has elements, in which elements share cells. It serves sum and avg of floating-point data.
///   Where the table is not shorter than the union, while no union is known, and for sums with an infinity or a NaN, it
///   sends the union itself, so that nothing is lost.
/// - `compaction` sends the elements of the union. It loses nothing, for all types and reductions, because each of
///   these makes a zero of zeros.
/// - `peel` is `compaction` in fewer rounds and with more bytes: the table has so many cells that the elements can be
///   found one after the other. It serves sum and avg. Integers are exact, other data nearly, because they are summed
///   in f64. Elements that are not found are sent by compaction.
///
/// `count_sketch` and `peel` need a state: it keeps how large the last union was, and counts the runs, each of which
/// hashes in another way. options.def says what the members mean. All ranks give the same options.
struct Sketch {
  static constexpr double most_rows = 8;
  static constexpr double most_cells = 4294967295.0;

#define LACUNA_OPTION(name, type, value, ...) type name = value;
#include "algorithms/sketch/options.def"
#undef LACUNA_OPTION
};

/// Makes Options::method of these options.
MethodOptions sketch(const Sketch& options);

extern const Method sketch_method;

}  // namespace lacuna

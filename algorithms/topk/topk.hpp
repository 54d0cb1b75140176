#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "algorithms/phases/message_format.hpp"
#include "runtime/values/method_options.hpp"
#include "runtime/values/option.hpp"

namespace lacuna {

/// Which elements are sent.
enum class TopkSelection : std::uint8_t { Exact = 0, Threshold = 1, Sampled = 2, Gaussian = 3 };
inline constexpr std::string_view topk_selection_names[] = {"exact", "threshold", "sampled", "gaussian"};

/// How the data are cut into ranges, of which each rank sums up one.
enum class TopkRanges : std::uint8_t { Balanced = 0, Even = 1 };
inline constexpr std::string_view topk_ranges_names[] = {"balanced", "even"};

template <>
inline constexpr std::span<const std::string_view> names_of<TopkSelection>{topk_selection_names};
template <>
inline constexpr std::span<const std::string_view> names_of<TopkRanges>{topk_ranges_names};

/// A rank sends only its largest elements, with their places, and adds what it has not sent to its next input (Aji,
/// Heafield: Sparse communication for distributed gradient descent, 2017; Lin, Han, Mao, Wang, Dally: Deep gradient
/// compression, 2018, from which momentum correction, masking, clipping and warm-up come). With a density of 1 nothing
/// is lost. It serves sum and avg of floating-point data of at most 2^32 - 1 elements. A zero is never sent. A NaN
/// counts as larger than any number. What is sent counts as contributed, even if the sum of all ranks is 0. options.def
/// says what the members mean. All ranks give the same options.
struct Topk {
  static constexpr double most_places = 4294967295.0;
  static constexpr double most_runs = 1e15;
  static constexpr double most_factor = 1e300;

#define LACUNA_OPTION(name, type, value, ...) type name = value;
#include "algorithms/topk/options.def"
#undef LACUNA_OPTION
};

/// Makes Options::method of these options.
MethodOptions topk(const Topk& options);

extern const Method topk_method;

}  // namespace lacuna

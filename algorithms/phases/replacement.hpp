#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/values/dtype.hpp"
#include "runtime/values/parameters.hpp"
#include "runtime/values/scale.hpp"

namespace lacuna {

struct FinalSum;

/// What stands in a sum for the terms that are left out.
enum class ReplacementRule : std::uint8_t {
  ZeroFill = 0,  ///< zeros: avg divides by P all the same, which makes its results smaller
  /// The mean of the others: avg divides by their number, sum is multiplied by P over it. Where hosts of different
  /// numbers of ranks are turned, their number on average is taken instead, so that over all draws each rank weighs the
  /// same.
  Renormalised = 1,
  Factor = 2,  ///< zeros; sum and avg are the sum of the others times a factor, where any are missing
};
inline constexpr std::string_view replacement_rule_names[] = {"zero_fill", "renormalised", "factor"};
constexpr std::string_view to_string(ReplacementRule rule) {
  return replacement_rule_names[static_cast<std::size_t>(rule)];
}
template <>
inline constexpr std::span<const std::string_view> names_of<ReplacementRule>{replacement_rule_names};

/// The arguments of a part whose sums lack terms. replacement.def says what the members mean.
struct Replacement {
#define LACUNA_PARAMETER(name, type, value, ...) type name = value;
#include "algorithms/phases/replacement.def"
#undef LACUNA_PARAMETER

  friend bool operator==(const Replacement&, const Replacement&) = default;
};

inline constexpr Parameter replacement_arguments[] = {
#define LACUNA_PARAMETER(name, type, value, least, most, meaning) \
  parameter::of<&Replacement::name>(#name, {least, most}, meaning),
#include "algorithms/phases/replacement.def"
#undef LACUNA_PARAMETER
};
template <>
inline constexpr std::span<const Parameter> declared_parameters<Replacement>{replacement_arguments};

/// In how many of how many draws the terms of a host are there.
struct Chance {
  Rank there = 0, of = 0;
};
/// For GraphBuilder::finish, where hosts of different numbers of ranks are turned: each is there equally often, but not
/// among equally many ranks.
std::uint64_t note_of(const Chance& chance);

/// What a sum that lacks terms is multiplied by, as the Replacement of its part says. For Method::scale.
Scale scale_replaced(const FinalSum& sum);

}  // namespace lacuna

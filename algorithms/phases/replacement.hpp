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
  ZeroFill = 0,  ///< zeros: avg still divides by P, which makes its results smaller
  /// The mean of the other terms: avg divides by their number, and sum is multiplied by P over it. Where hosts of
  /// different sizes are rotated, the average of their number is taken instead, so that over all draws each rank weighs
  /// the same.
  Renormalised = 1,
  Factor = 2,  ///< zeros; where terms are missing, sum and avg are the sum of the others times a factor
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

/// `there` of `of` draws have the terms of a host.
struct Chance {
  Rank there = 0, of = 0;
};
/// Packs a chance for GraphBuilder::finish, where hosts of different sizes are rotated: each host is there equally
/// often, but not among equally many ranks.
std::uint64_t note_of(const Chance& chance);

/// What a sum that lacks terms is multiplied by, as the Replacement of its part says. It serves as Method::scale.
Scale scale_replaced(const FinalSum& sum);

}  // namespace lacuna

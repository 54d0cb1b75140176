#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/values/method_options.hpp"
#include "runtime/values/option.hpp"

namespace lacuna {

/// The types that messages may have.
enum class CastTo : std::uint8_t { BF16 = 0, F16 = 1, F32 = 2 };
inline constexpr std::string_view cast_to_names[] = {"bf16", "f16", "f32"};
template <>
inline constexpr std::span<const std::string_view> names_of<CastTo>{cast_to_names};

/// Elements of f32 or f64 travel as a shorter type. It serves allreduce and reduce_scatter with all reductions,
/// allgather and broadcast. Each element is rounded to the nearest, ties to even. An element that is too large becomes
/// an infinity; a NaN stays a NaN.
///
/// The rank that owns a piece of the data reduces it, in the type of the data and in the order of the ranks. It takes
/// the terms of the others as they arrive, its own as it is, and rounds the result once. So an element of an allreduce
/// is rounded once on each side of the sum, whatever the number of ranks, and all ranks get the same bits.
///
/// With feedback what was rounded off is added next time, at the rank where it was: the call needs a state. options.def
/// says what the members mean. All ranks give the same options.
struct Cast {
#define LACUNA_OPTION(name, type, value, ...) type name = value;
#include "algorithms/cast/options.def"
#undef LACUNA_OPTION
};

/// Makes Options::method of these options.
MethodOptions cast(const Cast& options);

extern const Method cast_method;

}  // namespace lacuna

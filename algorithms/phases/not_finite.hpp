#pragma once

#include "kernels/backend.hpp"
#include "runtime/graph/builder.hpp"
#include "runtime/values/measure.hpp"

/// What is not finite, an infinity or a NaN, never stays in a residual or a velocity. There it would reach the results
/// of many later calls. The call that meets such an element tells it: its result is not finite, and what the rank has
/// neither contributed nor kept is counted.
namespace lacuna {

inline constexpr Measure dropped_elements = {
    .name = "elements_dropped",
    .help = "elements that were neither contributed nor kept, because they were infinite or NaN",
    .unit = Unit::Elements};

/// Counts the elements that are not finite. There must be fewer than 2^32 elements. Of integers, all are finite.
std::uint64_t count_not_finite(const kernels::Backend& backend, const kernels::Source& from);

/// Ports of the memory in which elements are listed that are not finite.
struct NotFiniteRooms {
  Write places{}, values{};
};
NotFiniteRooms not_finite_rooms(GraphBuilder& g);

/// Lists the elements that are not finite, as many as there is room for. *found = how many there are. There must be
/// fewer than 2^32 elements. Of integers, all are finite.
void list_not_finite(const kernels::Backend& backend, const kernels::Source& from, const NotFiniteRooms& rooms,
                     std::uint64_t* found);

/// Clears the elements that are not finite, and returns how many there were. Of a residual they count as dropped.
std::uint64_t drop_not_finite(const kernels::Backend& backend, const kernels::Target& from,
                              const NotFiniteRooms& rooms);

}  // namespace lacuna

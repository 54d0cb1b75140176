#include "algorithms/phases/not_finite.hpp"

#include <algorithm>
#include <limits>

#include "kernels/elements.hpp"

namespace lacuna {
namespace {

/// Whole arrays are counted at a time, but places are listed only where there is something to clear.
constexpr std::size_t most_counted = std::size_t{1} << 31, most_listed = std::size_t{1} << 16;

std::size_t places_listed(const PartView& part) { return std::min(most_listed, input_length(part.call, part.size)); }

kernels::Cut all_not_finite(Dtype dtype) {
  return {.above = kernels::magnitude_of(dtype, std::numeric_limits<double>::max())};
}

/// Calls visit(stretch) for stretches of at most so many elements.
template <class Visit>
void in_stretches(const kernels::Target& all, std::size_t most, const Visit& visit) {
  for (std::size_t begin = 0; begin < all.count; begin += most) {
    visit(kernels::Target{all.dtype, all.data + begin * size_of(all.dtype), std::min(most, all.count - begin)});
  }
}

}  // namespace

std::uint64_t count_not_finite(const kernels::Backend& backend, const kernels::Source& from) {
  std::uint64_t count = 0;
  if (is_integer(from.dtype)) return count;
  const kernels::Cut cut = all_not_finite(from.dtype);
  backend.count(from, &cut, &count);
  return count;
}

NotFiniteRooms not_finite_rooms(GraphBuilder& g) {
  return {.places = g.buffer({.element = Dtype::I32, .capacity = places_listed}),
          .values = g.buffer({.capacity = places_listed})};
}

void list_not_finite(const kernels::Backend& backend, const kernels::Source& from, const NotFiniteRooms& rooms,
                     std::uint64_t* found) {
  *found = 0;
  if (is_integer(from.dtype)) return;
  const kernels::Cut cut = all_not_finite(from.dtype);
  auto* const places = reinterpret_cast<std::uint32_t*>(rooms.places->data);
  backend.compact(from, &cut, {places, rooms.values->data, rooms.places->count}, found);
}

std::uint64_t drop_not_finite(const kernels::Backend& backend, const kernels::Target& from,
                              const NotFiniteRooms& rooms) {
  std::uint64_t dropped = 0;
  in_stretches(from, most_counted, [&](const kernels::Target& counted) {
    if (count_not_finite(backend, {counted.dtype, counted.data, counted.count}) == 0) return;
    in_stretches(counted, rooms.places->count, [&](const kernels::Target& listed) {
      std::uint64_t found = 0;
      list_not_finite(backend, {listed.dtype, listed.data, listed.count}, rooms, &found);
      backend.clear_at({reinterpret_cast<const std::uint32_t*>(rooms.places->data), found}, listed);
      dropped += found;
    });
  });
  return dropped;
}

}  // namespace lacuna

#include <algorithm>
#include <bit>
#include <utility>

#include "kernels/places.hpp"
#include "kernels/reduce.hpp"
#include "kernels/space_backend.hpp"

/// A radix sort that begins with the lowest digit. A pass cuts the list into sections and counts the digits in each
/// section. So it knows where each section puts its entries with a digit: behind all entries with smaller digits, and
/// behind those with the same digit in the sections before it.
namespace lacuna::kernels {
namespace {

/// The most bits of a digit, and how many different digits there are then.
constexpr unsigned digit_bits = 8;
constexpr std::size_t most_digits = std::size_t{1} << digit_bits;

/// Entries in any order. All places that are not below `length` count as `length`, and so come last.
struct Entries {
  PlaceList places;
  const std::byte* values;
  std::uint32_t length;

  KOKKOS_INLINE_FUNCTION std::uint32_t place(std::size_t i) const {
    const std::uint32_t place = places[i];
    return place < length ? place : length;
  }
};

/// Counts how often a place is below the one before it.
struct CountEntryDescents {
  Entries from;

  KOKKOS_FUNCTION void operator()(std::size_t i, std::uint64_t& descents) const {
    descents += from.place(i + 1) < from.place(i) ? 1u : 0u;
  }
};

/// What lies at the start of the workspace. Behind it stand the starts of a pass.
struct Cells {
  std::uint64_t descents;  ///< how often a place is below the one before it; if never, there are no passes
  std::uint64_t all;
};

/// The sections of a list: one for each lane of each team.
struct Pieces {
  static constexpr std::size_t least = 128;  ///< so many entries are worth a lane with counts of its own
  static constexpr std::size_t most_lanes = Space::most_scratch / (most_digits * sizeof(std::uint32_t));
  static constexpr std::size_t most_teams =
      (Backend::workspace_bytes() - sizeof(Cells)) / (most_digits * sizeof(std::uint32_t));

  std::size_t count;
  std::size_t lanes;
  std::size_t teams;
  std::size_t length;

  explicit Pieces(std::size_t entries) : count(entries) {
    const std::size_t wanted = std::clamp((entries + least - 1) / least, std::size_t{1}, most_lanes * most_teams);
    lanes = lesser(wanted, most_lanes);
    teams = (wanted + lanes - 1) / lanes;
    length = (entries + lanes * teams - 1) / (lanes * teams);
  }

  /// Calls body(i) for the entries of a lane's section, in order.
  template <class Body>
  KOKKOS_INLINE_FUNCTION void each(std::size_t team, std::size_t lane, const Body& body) const {
    const std::size_t first = (team * lanes + lane) * length, end = lesser(first + length, count);
    for (std::size_t i = first; i < end; ++i) body(i);
  }
};

/// A pass. `digits` is a power of two.
struct Pass {
  Entries from;
  Pieces pieces;
  unsigned shift;
  std::size_t digits;
  const Cells* cells;
  std::uint32_t* starts;  ///< for each digit and team: how many entries have it; later, how many stand before these

  KOKKOS_INLINE_FUNCTION std::size_t digit(std::uint32_t place) const { return place >> shift & (digits - 1); }
  KOKKOS_INLINE_FUNCTION std::uint32_t& start(std::size_t digit, std::size_t team) const {
    return starts[digit * pieces.teams + team];
  }
  std::size_t scratch_bytes() const { return pieces.lanes * digits * sizeof(std::uint32_t); }

  /// Writes counts[lane * digits + digit] for the lanes of a team.
  KOKKOS_INLINE_FUNCTION void count(const Space::Team& team, std::uint32_t* counts) const {
    team.each(pieces.lanes * digits, [&](std::size_t i) { counts[i] = 0; });
    team.barrier();
    team.each(pieces.lanes, [&](std::size_t lane) {
      pieces.each(team.number(), lane, [&](std::size_t i) { ++counts[lane * digits + digit(from.place(i))]; });
    });
    team.barrier();
  }
};

struct CountDigits {
  Pass pass;

  KOKKOS_FUNCTION void operator()(const Space::Team& team) const {
    if (pass.cells->descents == 0) return;
    auto* const counts = team.scratch<std::uint32_t>();
    pass.count(team, counts);
    team.each(pass.digits, [&](std::size_t digit) {
      std::uint32_t sum = 0;
      for (std::size_t lane = 0; lane < pass.pieces.lanes; ++lane) sum += counts[lane * pass.digits + digit];
      pass.start(digit, team.number()) = sum;
    });
  }
};

/// Turns counts into starts.
struct FindStarts {
  Pass pass;

  KOKKOS_FUNCTION void operator()(std::size_t i, std::uint64_t& sum, bool final) const {
    if (pass.cells->descents == 0) return;
    const std::uint32_t count = pass.starts[i];
    if (final) pass.starts[i] = static_cast<std::uint32_t>(sum);
    sum += count;
  }
};

/// Puts each entry where it belongs. Values are moved as bits.
template <class Bits>
struct MoveEntries {
  Pass pass;
  EntriesList to;

  KOKKOS_FUNCTION void operator()(const Space::Team& team) const {
    if (pass.cells->descents == 0) return;
    auto* const starts = team.scratch<std::uint32_t>();
    pass.count(team, starts);
    team.each(pass.digits, [&](std::size_t digit) {
      std::uint32_t sum = pass.start(digit, team.number());
      for (std::size_t lane = 0; lane < pass.pieces.lanes; ++lane) {
        const std::uint32_t count = starts[lane * pass.digits + digit];
        starts[lane * pass.digits + digit] = sum;
        sum += count;
      }
    });
    team.barrier();
    team.each(pass.pieces.lanes, [&](std::size_t lane) {
      pass.pieces.each(team.number(), lane, [&](std::size_t i) {
        const std::uint32_t place = pass.from.place(i);
        const std::size_t at = starts[lane * pass.digits + pass.digit(place)]++;
        to.places[at] = place;
        store(to.values, at, load<Bits>(pass.from.values, i));
      });
    });
  }
};

/// The entries in order: the given ones if they were in order, or else the sorted ones.
struct Ordered {
  Entries given;
  Entries sorted;
  const Cells* cells;

  KOKKOS_INLINE_FUNCTION const Entries& entries() const { return cells->descents == 0 ? given : sorted; }
};

/// Adds up the entries of each place. The first entry of a place does it for all of them.
template <class T>
struct AddEntries {
  Ordered ordered;
  EntriesList to;

  KOKKOS_FUNCTION void operator()(std::size_t i, std::uint64_t& taken, bool final) const {
    const Entries& from = ordered.entries();
    const std::uint32_t place = from.place(i);
    if (place == from.length || (i != 0 && from.place(i - 1) == place)) return;
    if (final) {
      T sum = load<T>(from.values, i);
      for (std::size_t next = i + 1; next < from.places.count && from.place(next) == place; ++next) {
        sum = narrow<T>(widen(sum) + widen(load<T>(from.values, next)));
      }
      to.places[taken] = to.base + place;
      store(to.values, taken, sum);
    }
    ++taken;
  }
};

struct JudgePlaces {
  Ordered ordered;
  std::uint64_t* sound;

  KOKKOS_FUNCTION void operator()(std::size_t) const {
    const Entries& from = ordered.entries();
    *sound = from.places.count == 0 || from.place(from.places.count - 1) < from.length ? 1 : 0;
  }
};

Entries entries_of(const EntriesList& list, const Entries& like) {
  const auto* const places = reinterpret_cast<const std::byte*>(list.places);
  return {{places, like.places.count, 0}, list.values, like.length};
}

/// Sorts into `to`. The passes write to `to` and to `spare` in turn.
template <class Bits>
void sort_by_digits(Entries from, EntriesList to, EntriesList spare, Cells* cells) {
  const auto bits = static_cast<unsigned>(std::bit_width(from.length));
  const unsigned passes = (bits + digit_bits - 1) / digit_bits;
  if (passes % 2 == 0) std::swap(to, spare);
  auto* const starts = reinterpret_cast<std::uint32_t*>(cells + 1);
  for (unsigned number = 0; number < passes; ++number) {
    const unsigned width = (bits + passes - 1) / passes;
    const Pass pass{from, Pieces(from.places.count), number * width, std::size_t{1} << width, cells, starts};
    Space::for_teams(pass.pieces.teams, pass.scratch_bytes(), CountDigits{pass});
    Space::scan(pass.pieces.teams * pass.digits, FindStarts{pass}, &cells->all);
    Space::for_teams(pass.pieces.teams, pass.scratch_bytes(), MoveEntries<Bits>{pass, to});
    from = entries_of(to, from);
    std::swap(to, spare);
  }
}

}  // namespace

void SpaceBackend::sort(Dtype dtype, const EntriesView& list, std::size_t length, EntriesList to, EntriesList spare,
                        std::byte* workspace, std::uint64_t* taken, std::uint64_t* sound) const {
  auto* const cells = reinterpret_cast<Cells*>(workspace);
  const std::size_t count = list.entries;
  const Entries given{{list.places, count, list.base}, list.values, static_cast<std::uint32_t>(length)};
  const Ordered ordered{given, entries_of(spare, given), cells};
  Space::reduce(count == 0 ? 0 : count - 1, CountEntryDescents{given}, &cells->descents);
  with_floating_element(dtype, [&]<class T>(Element<T>) {
    sort_by_digits<typename FloatBits<T>::Bits>(given, spare, to, cells);
    Space::scan(count, AddEntries<T>{ordered, to}, taken);
    Space::for_each(1, JudgePlaces{ordered, sound});
  });
}

}  // namespace lacuna::kernels

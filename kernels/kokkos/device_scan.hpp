#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/kokkos/policies.hpp"

/// A scan on a device in one pass: the decoupled look-back of Merrill and Garland (Single-pass parallel prefix scan,
/// 2016). The calls lie in tiles, each of which one team works through. A team publishes the sum of its tile, adds up
/// what the teams before it have published, and publishes the sum up to its end. So the second look of its calls finds
/// what they read in a cache.
namespace lacuna::kernels {

inline constexpr std::size_t rows_of_tile = 4, most_tiles = 8192;

/// What teams tell each other. Scans use it one after another. It is zero at first.
struct ScanMemory {
  std::uint64_t carry;  ///< the sum of all calls so far
  std::uint32_t taken;  ///< how many tiles teams have taken, which begin in this order
  /// Of each tile: twice the number of the scan once `sum` is valid, and one more once `up_to` is.
  std::uint64_t known[most_tiles];
  std::uint64_t sum[most_tiles];
  std::uint64_t up_to[most_tiles];
};

/// All scans of an execution space.
struct Scans {
  ScanMemory* memory = nullptr;
  std::uint64_t number = 0;  ///< how many there have been
};

/// Works through the tiles of at most most_tiles, a team each.
template <class Execution, class T, class Body>
struct ScanTiles {
  using Member = typename TeamsOf<Execution>::member_type;
  static constexpr std::size_t row = threads_of_device_team;
  static constexpr std::size_t calls = row * rows_of_tile;

  ScanMemory* memory;
  std::uint64_t number;  ///< of the scan
  std::size_t first;     ///< call
  std::size_t end;       ///< behind the last call
  Body body;

  std::size_t tiles() const { return (end - first + calls - 1) / calls; }

  KOKKOS_FUNCTION void operator()(const Member& member) const {
    const std::size_t tile = take_tile(member);
    T own[rows_of_tile];
    T of_tile{};
    for (std::size_t r = 0; r < rows_of_tile; ++r) {
      const std::size_t i = call_of(member, tile, r);
      own[r] = T{};
      if (i < end) body(i, own[r], false);
      of_tile = static_cast<T>(of_tile + own[r]);
    }
    member.team_reduce(Kokkos::Sum<T>(of_tile));
    T before = sum_before(member, tile, of_tile);
    for (std::size_t r = 0; r < rows_of_tile; ++r) {
      const std::size_t i = call_of(member, tile, r);
      const T in_row = member.team_scan(own[r]);
      T sum = static_cast<T>(before + in_row);
      if (i < end) body(i, sum, true);
      T of_row = static_cast<T>(in_row + own[r]);
      member.team_broadcast(of_row, member.team_size() - 1);
      before = static_cast<T>(before + of_row);
    }
    if (first + (tile + 1) * calls < end || member.team_rank() != 0) return;
    memory->carry = before;
    memory->taken = 0;
  }

  KOKKOS_FUNCTION static std::size_t thread_of(const Member& member) {
    return static_cast<std::size_t>(member.team_rank());
  }
  KOKKOS_FUNCTION std::size_t call_of(const Member& member, std::size_t tile, std::size_t r) const {
    return first + (tile * rows_of_tile + r) * row + thread_of(member);
  }

  /// Teams may begin in any order. They take the tiles in order, so that a team waits only for those that have begun.
  KOKKOS_FUNCTION std::size_t take_tile(const Member& member) const {
    std::uint32_t tile = 0;
    if (member.team_rank() == 0) tile = Kokkos::atomic_fetch_add(&memory->taken, std::uint32_t{1});
    member.team_broadcast(tile, 0);
    return tile;
  }

  /// Returns the sum of all calls before the tile, and publishes what this team knows.
  KOKKOS_FUNCTION T sum_before(const Member& member, std::size_t tile, T of_tile) const {
    const bool publishes = member.team_rank() == 0;
    T before{};
    if (tile > 0) {
      if (publishes) publish(memory->sum, tile, of_tile, 2 * number);
      before = look_back(member, tile);
    } else if (first > 0) {
      before = static_cast<T>(memory->carry);
    }
    if (publishes) publish(memory->up_to, tile, static_cast<T>(before + of_tile), 2 * number + 1);
    return before;
  }

  KOKKOS_FUNCTION void publish(std::uint64_t* sums, std::size_t tile, T value, std::uint64_t known) const {
    *shared(&sums[tile]) = static_cast<std::uint64_t>(value);
    Kokkos::memory_fence();
    *shared(&memory->known[tile]) = known;
  }

  /// A number that other teams read or write. Each access is a single one, to the memory that all teams share.
  KOKKOS_FUNCTION static volatile std::uint64_t* shared(std::uint64_t* number) { return number; }

  /// Looks at as many tiles at once as the team has threads, the nearest first, until the sum up to one is known. That
  /// of the first tile always becomes known.
  KOKKOS_FUNCTION T look_back(const Member& member, std::size_t tile) const {
    const std::size_t thread = thread_of(member);
    T before{};
    for (std::size_t behind = tile;; behind -= row) {
      std::uint64_t value = 0, nearest = row;
      if (thread < behind) {
        const std::size_t at = behind - 1 - thread;
        std::uint64_t known = 0;
        while (known < 2 * number) known = *shared(&memory->known[at]);
        Kokkos::memory_fence();
        const bool is_up_to = known > 2 * number;
        value = *shared(is_up_to ? &memory->up_to[at] : &memory->sum[at]);
        if (is_up_to) nearest = thread;
      }
      member.team_reduce(Kokkos::Min<std::uint64_t>(nearest));
      if (thread > nearest) value = 0;
      member.team_reduce(Kokkos::Sum<std::uint64_t>(value));
      before = static_cast<T>(before + static_cast<T>(value));
      if (nearest < row) return before;
    }
  }
};

template <class T>
struct TotalOfScan {
  const std::uint64_t* from;
  T* to;
  KOKKOS_FUNCTION void operator()(std::size_t) const { *to = static_cast<T>(*from); }
};

/// Calls body(i, T& sum, bool final) as Space::scan does. Calls may read what *total holds until all have ended.
template <class T, class Execution, class Body>
void scan_on_device(const Execution& instance, std::size_t count, const Body& body, Scans& scans, T* total) {
  static_assert(std::is_unsigned_v<T>);
  using Tiles = ScanTiles<Execution, T, Body>;
  for (std::size_t first = 0; first < count; first += most_tiles * Tiles::calls) {
    const std::size_t left = count - first, some = most_tiles * Tiles::calls;
    const Tiles tiles{scans.memory, ++scans.number, first, first + (left < some ? left : some), body};
    const auto teams = static_cast<int>(tiles.tiles());
    Kokkos::parallel_for(light(TeamsOf<Execution>(instance, teams, threads_of_device_team)), tiles);
  }
  Kokkos::parallel_for(light(RangeOf<Execution>(instance, 0, 1)), TotalOfScan<T>{&scans.memory->carry, total});
}

}  // namespace lacuna::kernels

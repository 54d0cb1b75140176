#pragma once

#include "kernels/block_map.hpp"
#include "kernels/peel_table.hpp"

/// Peeling by the threads of a team. It computes what one thread computes, with the same bits: blocks are peeled in the
/// same order, and each cell loses their values in that order.
namespace lacuna::kernels {

/// Calls put(i, place) for those i in [0, count) for which test(i) holds: `place` is how many of them come before.
/// Returns how many there are. All threads of the team must call it; `counts` is a number for each of them, and one
/// more.
template <class Test, class Put>
KOKKOS_INLINE_FUNCTION std::size_t keep_in_order(const Space::Team& team, std::size_t* counts, std::size_t count,
                                                 const Test& test, const Put& put) {
  constexpr std::size_t threads = Space::team_threads;
  team.each(threads, [&](std::size_t thread) {
    std::size_t kept = 0;
    for (std::size_t i = count * thread / threads; i < count * (thread + 1) / threads; ++i) kept += test(i) ? 1 : 0;
    counts[thread] = kept;
  });
  team.barrier();
  team.once([&] {
    std::size_t sum = 0;
    for (std::size_t thread = 0; thread <= threads; ++thread) {
      const std::size_t kept = thread < threads ? counts[thread] : 0;
      counts[thread] = sum;
      sum += kept;
    }
  });
  team.barrier();
  team.each(threads, [&](std::size_t thread) {
    std::size_t place = counts[thread];
    for (std::size_t i = count * thread / threads; i < count * (thread + 1) / threads; ++i) {
      if (test(i)) put(i, place++);
    }
  });
  const std::size_t all = counts[threads];
  team.barrier();
  return all;
}

/// Peels a table whose blocks have been counted.
///
/// That a block leaves one of its buckets is an event. The events of a round have numbers, in the order in which one
/// thread would handle them: that of the i-th block of the round in row r is i * rows + r. In the block's home, which
/// has told it, nothing happens. Those events that happen in one bucket form a list, and the thread of the event that
/// came first into the list handles them all, the lowest number first.
template <class Cell>
struct PeelTogether {
  static constexpr std::size_t scratch_bytes = (Space::team_threads + 1) * sizeof(std::size_t);
  static constexpr std::uint32_t never = 0xffffffff;    // the place of a bucket that tells nothing
  static constexpr std::uint32_t is_home = 0xffffffff;  // the blocks of a bucket that has told its block

  PeelTable<Cell> table;
  Peeled* peeled;

  /// The blocks that are peeled in one round.
  struct Round {
    const std::uint32_t* homes;
    std::size_t blocks;
  };
  struct Event {
    std::size_t home, row, bucket;
    std::uint32_t block;
    bool happens;
  };

  KOKKOS_FUNCTION void operator()(const Space::Team& team) const {
    const PeelingRoom& in = table.in;
    auto* const counts = team.scratch<std::size_t>();
    team.each(table.buckets(), [&](std::size_t bucket) { in.events[bucket] = 0; });
    std::size_t done = 0, next = 0, rounds = 0;
    std::size_t end = keep_in_order(
        team, counts, table.buckets(), [&](std::size_t bucket) { return in.at[bucket].blocks == 1; },
        [&](std::size_t bucket, std::size_t place) { in.queue[place] = static_cast<std::uint32_t>(bucket); });
    while (next < end) {
      find_places(team, next, end);
      const std::size_t blocks = keep_in_order(
          team, counts, end - next, [&](std::size_t i) { return tells(next + i); },
          [&](std::size_t i, std::size_t place) { in.homes[done + place] = in.queue[next + i]; });
      const Round round{in.homes + done, blocks};
      link_events(team, round);
      take_out_values(team, round);
      take_out_numbers(team, round);
      next = end;
      end += keep_in_order(
          team, counts, events_of(round), [&](std::size_t e) { return leaves_one(round, e); },
          [&](std::size_t e, std::size_t place) {
            in.queue[next + place] = static_cast<std::uint32_t>(event(round, e).bucket);
          });
      forget_events(team, round);
      done += blocks;
      rounds += blocks > 0 ? 1 : 0;
    }
    team.once([&] { *peeled = {.blocks = done, .rounds = rounds}; });
  }

  /// Writes where the buckets lie in the queue.
  KOKKOS_INLINE_FUNCTION void find_places(const Space::Team& team, std::size_t next, std::size_t end) const {
    team.each(end - next, [&](std::size_t i) {
      const std::uint32_t bucket = table.in.queue[next + i];
      table.in.places[bucket] = table.is_finite(bucket) ? static_cast<std::uint32_t>(next + i) : never;
    });
    team.barrier();
  }

  /// Does a bucket tell its block? Of several that hold the block alone, the first one in the queue does.
  KOKKOS_INLINE_FUNCTION bool tells(std::size_t place) const {
    const PeelingRoom& in = table.in;
    const std::uint32_t own = in.queue[place], x = mixed(in.at[own].number);
    if (in.places[own] == never) return false;
    for (std::size_t row = 0; row < table.shape.rows; ++row) {
      const std::size_t bucket = table.bucket_of(row, x);
      if (in.at[bucket].blocks == 1 && in.places[bucket] < place) return false;
    }
    return true;
  }

  KOKKOS_INLINE_FUNCTION std::size_t events_of(const Round& round) const { return round.blocks * table.shape.rows; }
  KOKKOS_INLINE_FUNCTION Event event(const Round& round, std::size_t e) const {
    const std::size_t home = round.homes[e / table.shape.rows], row = e % table.shape.rows;
    const std::uint32_t block = table.in.at[home].number;
    return {home, row, table.bucket_of(row, mixed(block)), block, row != home / table.shape.buckets};
  }

  KOKKOS_INLINE_FUNCTION void link_events(const Space::Team& team, const Round& round) const {
    team.each(events_of(round), [&](std::size_t e) {
      const Event now = event(round, e);
      if (now.happens) {
        table.in.links[e] = Space::Team::exchange(&table.in.events[now.bucket], static_cast<std::uint32_t>(e + 1));
      } else {
        table.in.at[now.home].blocks = is_home;
      }
    });
    team.barrier();
  }

  /// Calls visit(e) for the events of a bucket, the last one that came into the list first.
  template <class Visit>
  KOKKOS_INLINE_FUNCTION void for_each_event(std::size_t bucket, const Visit& visit) const {
    for (std::uint32_t link = table.in.events[bucket]; link != 0; link = table.in.links[link - 1]) visit(link - 1);
  }
  KOKKOS_INLINE_FUNCTION bool handles_all(const Event& now, std::size_t e) const {
    return now.happens && table.in.links[e] == 0;
  }

  KOKKOS_INLINE_FUNCTION void take_out_values(const Space::Team& team, const Round& round) const {
    const std::size_t lanes = table.shape.block;
    team.each(events_of(round) * lanes, [&](std::size_t i) {
      const std::size_t first = i / lanes;
      const Event now = event(round, first);
      if (!handles_all(now, first)) return;
      std::size_t begin = 0;  // events before this one have been handled
      while (true) {
        std::size_t lowest = never;
        for_each_event(now.bucket, [&](std::size_t e) {
          if (begin <= e && e < lowest) lowest = e;
        });
        if (lowest == never) break;
        table.take_out(round.homes[lowest / table.shape.rows], now.row, now.bucket, i % lanes);
        begin = lowest + 1;
      }
    });
    team.barrier();
  }

  /// Of the events of a bucket only the last one is remembered: then the bucket got the blocks that it has now.
  KOKKOS_INLINE_FUNCTION void take_out_numbers(const Space::Team& team, const Round& round) const {
    team.each(events_of(round), [&](std::size_t first) {
      const Event now = event(round, first);
      if (!handles_all(now, first)) return;
      Bucket& bucket = table.in.at[now.bucket];
      std::size_t last = 0;
      for_each_event(now.bucket, [&](std::size_t e) {
        bucket.number -= event(round, e).block;
        --bucket.blocks;
        if (e > last) last = e;
      });
      table.in.events[now.bucket] = static_cast<std::uint32_t>(last + 1);
    });
    team.barrier();
  }

  /// Is this the last event of a bucket that now holds one block?
  KOKKOS_INLINE_FUNCTION bool leaves_one(const Round& round, std::size_t e) const {
    const Event now = event(round, e);
    return now.happens && table.in.events[now.bucket] == e + 1 && table.in.at[now.bucket].blocks == 1;
  }

  KOKKOS_INLINE_FUNCTION void forget_events(const Space::Team& team, const Round& round) const {
    team.each(events_of(round), [&](std::size_t e) { table.in.events[event(round, e).bucket] = 0; });
  }
};

/// Writes a word of the map of those blocks that no bucket has told.
template <class Cell>
struct KeepUntold {
  PeelTable<Cell> table;
  BlockMap map;
  std::byte* left;

  KOKKOS_FUNCTION void operator()(std::size_t w) const {
    std::uint64_t untold = 0;
    for_each_one(map.word(w), w, [&](std::size_t b) {
      if (!is_told(static_cast<std::uint32_t>(b))) untold |= std::uint64_t{1} << b % word_bits;
    });
    map.put_word(w, untold, left);
  }

  KOKKOS_INLINE_FUNCTION bool is_told(std::uint32_t b) const {
    const std::uint32_t x = mixed(b);
    for (std::size_t row = 0; row < table.shape.rows; ++row) {
      const Bucket& bucket = table.in.at[table.bucket_of(row, x)];
      if (bucket.blocks == PeelTogether<Cell>::is_home && bucket.number == b) return true;
    }
    return false;
  }
};

}  // namespace lacuna::kernels

#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>

#include "kernels/kokkos/policies.hpp"

/// A scan on a device. Each team adds up a share of the calls, one team scans these sums, and then each team goes
/// through its share again, a row of neighbouring calls at a time. So the calls of a row read neighbouring memory.
namespace lacuna::kernels {

inline constexpr std::size_t most_shares = 1024;

/// The shares of all teams.
template <class Execution, class T>
struct Shares {
  static constexpr std::size_t row = threads_of_device_team;
  using Member = typename TeamsOf<Execution>::member_type;

  std::size_t count, rows;  ///< of all calls; of a team
  std::size_t teams;
  T* sums;  ///< of the shares, and the total behind them

  Shares(std::size_t calls, T* memory) : count(calls), sums(memory) {
    const std::size_t all_rows = (count + row - 1) / row;
    rows = (all_rows + most_shares - 1) / most_shares;
    teams = (all_rows + rows - 1) / rows;
  }

  static KOKKOS_FUNCTION std::size_t thread_of(const Member& member) {
    return static_cast<std::size_t>(member.team_rank());
  }
  static KOKKOS_FUNCTION std::size_t team_of(const Member& member) {
    return static_cast<std::size_t>(member.league_rank());
  }
  /// The call of this thread in a row of its team. It may be beyond the last call.
  KOKKOS_FUNCTION std::size_t call_of(const Member& member, std::size_t r) const {
    return (team_of(member) * rows + r) * row + thread_of(member);
  }
};

template <class Execution, class T, class Body>
struct SumOfShare {
  Shares<Execution, T> shares;
  Body body;

  KOKKOS_FUNCTION void operator()(const typename Shares<Execution, T>::Member& member) const {
    T sum{};
    for (std::size_t r = 0; r < shares.rows; ++r) {
      const std::size_t i = shares.call_of(member, r);
      if (i < shares.count) body(i, sum, false);
    }
    member.team_reduce(Kokkos::Sum<T>(sum));
    if (member.team_rank() == 0) shares.sums[shares.team_of(member)] = sum;
  }
};

/// Replaces each sum by that of all before it. One team does this.
template <class Execution, class T>
struct ScanOfSums {
  Shares<Execution, T> shares;

  KOKKOS_FUNCTION void operator()(const typename Shares<Execution, T>::Member& member) const {
    constexpr std::size_t each = most_shares / Shares<Execution, T>::row;
    const std::size_t first = each * shares.thread_of(member);
    T sum{};
    for (std::size_t i = first; i < first + each && i < shares.teams; ++i) sum += shares.sums[i];
    T before = member.team_scan(sum);
    for (std::size_t i = first; i < first + each && i < shares.teams; ++i) {
      const T own = shares.sums[i];
      shares.sums[i] = before;
      before += own;
    }
  }
};

template <class Execution, class T, class Body>
struct ScanOfShare {
  Shares<Execution, T> shares;
  Body body;

  KOKKOS_FUNCTION void operator()(const typename Shares<Execution, T>::Member& member) const {
    T before = shares.sums[shares.team_of(member)];
    for (std::size_t r = 0; r < shares.rows; ++r) {
      const std::size_t i = shares.call_of(member, r);
      T own{};
      if (i < shares.count) body(i, own, false);
      const T in_row = member.team_scan(own);
      T sum = static_cast<T>(before + in_row);
      if (i < shares.count) body(i, sum, true);
      T of_row = static_cast<T>(in_row + own);
      member.team_broadcast(of_row, member.team_size() - 1);
      before = static_cast<T>(before + of_row);
    }
    const std::size_t next = shares.team_of(member) + 1;
    if (next == shares.teams && member.team_rank() == 0) shares.sums[next] = before;
  }
};

template <class T>
struct TotalOfScan {
  const T* from;
  T* to;
  KOKKOS_FUNCTION void operator()(std::size_t) const { *to = *from; }
};

/// The memory that any scan needs for its sums, bytes.
inline constexpr std::size_t bytes_of_scan = (most_shares + 1) * sizeof(std::uint64_t);

/// Calls body(i, T& sum, bool final) as Space::scan does. Calls may read what *total holds until all have ended.
template <class T, class Execution, class Body>
void scan_on_device(const Execution& instance, std::size_t count, const Body& body, void* memory, T* total) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t));
  const Shares<Execution, T> shares(count, static_cast<T*>(memory));
  const auto policy = [&](std::size_t teams) {
    return light(TeamsOf<Execution>(instance, static_cast<int>(teams), threads_of_device_team));
  };
  Kokkos::parallel_for(policy(shares.teams), SumOfShare<Execution, T, Body>{shares, body});
  Kokkos::parallel_for(policy(1), ScanOfSums<Execution, T>{shares});
  Kokkos::parallel_for(policy(shares.teams), ScanOfShare<Execution, T, Body>{shares, body});
  Kokkos::parallel_for(light(RangeOf<Execution>(instance, 0, 1)), TotalOfScan<T>{shares.sums + shares.teams, total});
}

}  // namespace lacuna::kernels

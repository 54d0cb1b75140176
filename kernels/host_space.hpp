#pragma once

#include <Kokkos_Macros.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lacuna::kernels {

/// A team: threads that share some work. On the host it is the calling thread.
class HostTeam {
 public:
  HostTeam(std::size_t number, std::byte* scratch) : number_(number), scratch_(scratch) {}

  /// The number of the team, from 0.
  std::size_t number() const { return number_; }
  /// The memory of the team, as any type.
  template <class T>
  T* scratch() const {
    return reinterpret_cast<T*>(scratch_);
  }
  /// Calls body(i) for i in [0, count), on all threads of the team. The calls must not depend on one another.
  template <class Body>
  void each(std::size_t count, const Body& body) const {
    for (std::size_t i = 0; i < count; ++i) body(i);
  }
  /// Waits until all threads of the team have come here.
  void barrier() const {}
  /// Calls body() on one thread of the team.
  template <class Body>
  void once(const Body& body) const {
    body();
  }
  /// *to += value. Other threads of this team and of other teams may do the same at the same time.
  template <class T>
  static void add(T* to, T value) {
    *to = static_cast<T>(*to + value);
  }
  /// *to = value. Returns what it was. Other threads of this team and of other teams may do the same at the same time.
  template <class T>
  static T exchange(T* to, T value) {
    const T before = *to;
    *to = value;
    return before;
  }

 private:
  std::size_t number_;
  std::byte* scratch_;
};

/// Runs functors by lacuna's own loops, on the calling thread. The loops vectorise, allocate nothing, and may run on
/// any number of threads at the same time. The functors of kernels/ are written once, for this and for the execution
/// spaces of Kokkos (kernels/kokkos/kokkos_space.hpp has the same members). A space may call a body in any order, on
/// several threads and, in a scan, twice.
struct HostSpace {
  using Team = HostTeam;
  /// The most bytes that the scratch of a team may have.
  static constexpr std::size_t most_scratch = 32 * 1024;
  /// How many elements one call of a body should take: many if the calls follow one another, few if they run at the
  /// same time. It is a multiple of 8 and at most 2048.
  static constexpr std::size_t stretch = 256;
  /// How many threads a team has, and how many teams may run at the same time.
  static constexpr std::size_t team_threads = 1, teams_at_once = 1;
  /// More teams than this are not worth what each of them does once.
  static constexpr std::size_t most_teams = 256;

  /// How many elements of an array fit into a cache, so that several passes over them are cheap.
  static constexpr std::size_t elements_in_cache = 32 * 1024;

  /// Calls body(i) for i in [0, count). No other call may read or write what call i writes.
  template <class Body>
  static void for_each(std::size_t count, const Body& body) {
    const Body local = body;
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
    for (std::size_t i = 0; i < count; ++i) local(i);
  }

  /// *sum = the sum of what body(i, T& sum) adds, for i in [0, count).
  template <class T, class Body>
  static void reduce(std::size_t count, const Body& body, T* sum) {
    T local{};
    for (std::size_t i = 0; i < count; ++i) body(i, local);
    *sum = local;
  }

  /// Calls body(i, T& sum, bool final) for i in [0, count). `sum` holds what the calls before i have added, and the
  /// call adds to it. It may write results only if `final`. Once all calls have ended, *total = the sum of all. Until
  /// then the calls may read what *total holds.
  template <class T, class Body>
  static void scan(std::size_t count, const Body& body, T* total) {
    T sum{};
    for (std::size_t i = 0; i < count; ++i) body(i, sum, true);
    *total = sum;
  }

  /// Calls body(Team&) for the teams 0 .. count-1. Each has so many bytes of scratch, with undefined content.
  template <class Body>
  static void for_teams(std::size_t count, std::size_t /*scratch_bytes*/, const Body& body) {
    alignas(64) std::byte scratch[most_scratch];
    for (std::size_t i = 0; i < count; ++i) body(HostTeam(i, scratch));
  }

  /// Copies so many bytes. The two places may overlap. No address is null.
  static void move(std::byte* to, const std::byte* from, std::size_t bytes) { std::memmove(to, from, bytes); }
};

}  // namespace lacuna::kernels

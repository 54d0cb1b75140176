#pragma once

#include <Kokkos_Macros.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lacuna::kernels {

/// The threads that share a piece of work; on the host, the calling one.
class HostTeam {
 public:
  HostTeam(std::size_t number, std::byte* scratch) : number_(number), scratch_(scratch) {}

  /// Which team it is.
  std::size_t number() const { return number_; }
  /// Memory of the team, for any type.
  template <class T>
  T* scratch() const {
    return reinterpret_cast<T*>(scratch_);
  }
  /// body(i) for i in [0, count), shared out among the team's threads. The calls must not depend on one another.
  template <class Body>
  void each(std::size_t count, const Body& body) const {
    for (std::size_t i = 0; i < count; ++i) body(i);
  }
  /// All threads of the team have come here.
  void barrier() const {}
  /// body() on one of its threads.
  template <class Body>
  void once(const Body& body) const {
    body();
  }
  /// *to += value, while others of the team, or of all teams, do so too.
  template <class T>
  static void add(T* to, T value) {
    *to = static_cast<T>(*to + value);
  }

 private:
  std::size_t number_;
  std::byte* scratch_;
};

/// Where functors run: lacuna's own loops, on the calling thread. They vectorise, allocate nothing and are safe on any
/// number of threads. The functors of kernels/ are written once for this and for the execution spaces of Kokkos
/// (kernels/kokkos/kokkos_space.hpp), which has the same members: what they are handed they may call in any order, on
/// several threads and, in a scan, twice.
struct HostSpace {
  using Team = HostTeam;
  /// Bytes that the scratch of a team may have.
  static constexpr std::size_t most_scratch = 32 * 1024;
  /// Elements that one call of a body may well take, a multiple of 8 and at most 2048: many where the calls follow one
  /// another, few where they run beside each other.
  static constexpr std::size_t stretch = 256;

  /// Of arrays that one pass reads after another.
  static constexpr std::size_t elements_in_cache = 32 * 1024;

  /// body(i) for i in [0, count). What call i writes, no other call reads or writes.
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

  /// *sum = what body(i, T& sum) adds for i in [0, count).
  template <class T, class Body>
  static void reduce(std::size_t count, const Body& body, T* sum) {
    T local{};
    for (std::size_t i = 0; i < count; ++i) body(i, local);
    *sum = local;
  }

  /// body(i, T& sum, bool final) adds to `sum`, which holds what all calls before i add; it writes results only where
  /// `final`. Once all calls have ended *total = the sum of all: until then they may read what it holds.
  template <class T, class Body>
  static void scan(std::size_t count, const Body& body, T* total) {
    T sum{};
    for (std::size_t i = 0; i < count; ++i) body(i, sum, true);
    *total = sum;
  }

  /// body(Team&) for teams 0 .. count-1, each with so much scratch, whose content is not defined.
  template <class Body>
  static void for_teams(std::size_t count, std::size_t /*scratch_bytes*/, const Body& body) {
    alignas(64) std::byte scratch[most_scratch];
    for (std::size_t i = 0; i < count; ++i) body(HostTeam(i, scratch));
  }

  /// Copies so many bytes, which may overlap. Neither address is null.
  static void move(std::byte* to, const std::byte* from, std::size_t bytes) { std::memmove(to, from, bytes); }
};

}  // namespace lacuna::kernels

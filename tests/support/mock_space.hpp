#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/host_space.hpp"
#include "tests/support/mock_pages.hpp"
#include "tests/support/team_of_fibers.hpp"

namespace lacuna::kernels {

/// A team of several threads, as one of them sees it.
class MockTeam {
 public:
  MockTeam(std::size_t number, std::size_t thread, std::byte* scratch)
      : number_(number), thread_(thread), scratch_(scratch) {}

  std::size_t number() const { return number_; }
  template <class T>
  T* scratch() const {
    return reinterpret_cast<T*>(scratch_);
  }
  template <class Body>
  void each(std::size_t count, const Body& body) const {
    for (std::size_t i = thread_; i < count; i += test::TeamOfFibers::threads()) body(i);
  }
  void barrier() const { test::TeamOfFibers::barrier(); }
  template <class Body>
  void once(const Body& body) const {
    if (thread_ == 0) body();
  }
  template <class T>
  static void add(T* to, T value) {
    *to = static_cast<T>(*to + value);
  }
  template <class T>
  static T exchange(T* to, T value) {
    return std::exchange(*to, value);
  }

 private:
  std::size_t number_, thread_;
  std::byte* scratch_;
};

/// Runs functors on the host as a device does: in no order, by teams of several threads, and twice in a scan. Only
/// functors reach the memory of the mock device. The members are those of HostSpace, which explains them.
struct MockSpace {
  using Team = MockTeam;
  static constexpr std::size_t most_scratch = HostSpace::most_scratch;
  static constexpr std::size_t stretch = 8;
  static constexpr std::size_t team_threads = 6, teams_at_once = 3;
  static constexpr std::size_t most_teams = 16;
  static constexpr std::size_t elements_in_cache = ~std::size_t{0};

  template <class Body>
  static void for_each(std::size_t count, const Body& body) {
    const test::OpenPages open;
    in_any_order(count, [&](std::size_t i) { body(i); });
  }

  /// The same calls always add up in the same order.
  template <class T, class Body>
  static void reduce(std::size_t count, const Body& body, T* sum) {
    const test::OpenPages open;
    std::array<T, 3> sums{};
    for (std::size_t i = count; i > 0; --i) body(i - 1, sums[i % sums.size()]);
    *sum = static_cast<T>(sums[2] + sums[1] + sums[0]);
  }

  /// The first calls of all come before the second ones.
  template <class T, class Body>
  static void scan(std::size_t count, const Body& body, T* total) {
    const test::OpenPages open;
    static thread_local std::vector<T> before;
    before.assign(count + 1, T{});
    in_any_order(count, [&](std::size_t i) { body(i, before[i + 1], false); });
    for (std::size_t i = 0; i < count; ++i) before[i + 1] = static_cast<T>(before[i] + before[i + 1]);
    in_any_order(count, [&](std::size_t i) {
      T sum = before[i];
      body(i, sum, true);
    });
    *total = before[count];
  }

  template <class Body>
  static void for_teams(std::size_t count, std::size_t scratch_bytes, const Body& body) {
    const test::OpenPages open;
    std::byte* const scratch = test::TeamOfFibers::scratch(most_scratch);
    const Body* const shared = &body;
    in_any_order(count, [&](std::size_t number) {
      std::memset(scratch, 0xa5, scratch_bytes);
      struct Teamed {
        const Body* body;
        std::size_t number;
        std::byte* scratch;
      } teamed{shared, number, scratch};
      test::TeamOfFibers::run(
          [](const void* on, std::size_t thread) {
            const auto& all = *static_cast<const Teamed*>(on);
            (*all.body)(MockTeam(all.number, thread, all.scratch));
          },
          &teamed);
    });
  }

  static void move(std::byte* to, const std::byte* from, std::size_t bytes) {
    const test::OpenPages open;
    HostSpace::move(to, from, bytes);
  }

 private:
  /// Begins at a drawn place, and goes up or down from there.
  template <class Visit>
  static void in_any_order(std::size_t count, const Visit& visit) {
    if (count == 0) return;
    const std::size_t first = test::TeamOfFibers::draw(count);
    const bool down = test::TeamOfFibers::draw(2) == 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = (first + i) % count;
      visit(down ? count - 1 - at : at);
    }
  }
};

}  // namespace lacuna::kernels

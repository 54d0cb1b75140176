#pragma once

#include <cstddef>

#include "kernels/host_space.hpp"
#include "tests/support/mock_kernels.hpp"

namespace lacuna::kernels {

/// Runs functors on the host, with the memory of a mock device. Only functors reach that memory, as on a real device.
struct MockSpace : HostSpace {
  template <class Body>
  static void for_each(std::size_t count, const Body& body) {
    const test::OpenPages open;
    HostSpace::for_each(count, body);
  }

  template <class T, class Body>
  static void reduce(std::size_t count, const Body& body, T* sum) {
    const test::OpenPages open;
    HostSpace::reduce(count, body, sum);
  }

  template <class T, class Body>
  static void scan(std::size_t count, const Body& body, T* total) {
    const test::OpenPages open;
    HostSpace::scan(count, body, total);
  }

  template <class Body>
  static void for_teams(std::size_t count, std::size_t scratch_bytes, const Body& body) {
    const test::OpenPages open;
    HostSpace::for_teams(count, scratch_bytes, body);
  }

  static void move(std::byte* to, const std::byte* from, std::size_t bytes) {
    const test::OpenPages open;
    HostSpace::move(to, from, bytes);
  }
};

}  // namespace lacuna::kernels

#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/method/method.hpp"

namespace lacuna::test {

/// The options of a method for tests. Its allreduce on two ranks is cut into as many parts as a test wants.
struct Parts {
  std::size_t parts = 1;
  std::uint32_t in_flight = 0;  ///< Plan::in_flight
  bool asks = false;            ///< whenever a part has ended, the method is asked what follows; nothing does
};

extern const Method parts_method;
/// The algorithm that serves the method: each rank sends its data to the other one, and adds what it gets.
extern const Algorithm parts_algorithm;

/// The method with these options, for Options::method.
MethodOptions parts_options(const Parts& options);

}  // namespace lacuna::test

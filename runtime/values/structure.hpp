#pragma once

#include <cstdint>

#include "runtime/values/parameters.hpp"

namespace lacuna {

/// What stands for the caller's two buffers in a program.
enum class Data : std::uint8_t {
  Own,        ///< themselves
  Packed,     ///< memory of the part, into which stretches of the input are gathered, and back to the output at the end
  RunMemory,  ///< memory of the run, which other parts fill and read
};

/// What a graph depends on beside its algorithm, its ranks and their hosts.
struct Structure {
  bool in_place = false;    ///< the caller's two buffers are one memory
  bool feedback = false;    ///< the input is added to the state's residual, which stands for it and is made if missing
  Data data = Data::Own;    ///< what stands for the caller's two buffers
  Parameters parameters{};  ///< of the program

  friend bool operator==(const Structure&, const Structure&) = default;
};

}  // namespace lacuna

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace lacuna {

/// What stands for the caller's two buffers in a program.
enum class Data : std::uint8_t {
  Own,     ///< themselves
  Packed,  ///< memory of the part, into which stretches of the input are gathered, and back to the output at the end
  Kept,    ///< memory of the run, which other parts fill and read
};

/// What a graph depends on beside its algorithm, its ranks and their hosts: how the buffers of the call lie to each
/// other, and a few small integers whose meaning only the algorithm's program knows; 0 is the usual.
struct Structure {
  static constexpr std::size_t most_numbers = 4;

  bool in_place = false;
  bool feedback = false;  ///< the input is added to the state's residual, which stands for it and is made if it lacks
  Data data = Data::Own;
  std::array<int, most_numbers> numbers{};

  bool has_numbers() const { return (numbers[0] | numbers[1] | numbers[2] | numbers[3]) != 0; }

  /// Number by number: on each call's way, where a call of memcmp would cost more.
  friend bool operator==(const Structure& a, const Structure& b) {
    bool same = a.in_place == b.in_place && a.feedback == b.feedback && a.data == b.data;
    for (std::size_t i = 0; i < most_numbers; ++i) same = same && a.numbers[i] == b.numbers[i];
    return same;
  }
};

}  // namespace lacuna

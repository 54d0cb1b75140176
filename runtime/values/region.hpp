#pragma once

#include <cstddef>
#include <cstdint>

namespace lacuna {

/// The buffers that a graph knows: the caller's two, temporary blocks of the run, and what earlier calls have left out
/// of the input, which has the input's layout.
enum class Buffer : std::uint8_t { Input = 0, Output = 1, Scratch = 2, Residual = 3 };

/// The range [begin, end) of the pieces that come from cutting a part's data evenly into `of` pieces, in one buffer.
/// Boundary i of n elements lies at floor(i n / of), so 1 of 2 and 2 of 4 are the same place. A scratch block (number
/// `slot`) stands for such a range. With `of` = 0 the region is a signal: no bytes, but its message is always sent.
struct Region {
  Buffer buffer = Buffer::Output;
  std::uint8_t slot = 0;
  std::uint32_t of = 0;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  constexpr bool is_signal() const { return of == 0; }
  friend constexpr bool operator==(const Region&, const Region&) = default;
};

/// Do the two ranges hold the same elements, whatever their buffers?
constexpr bool same_interval(const Region& a, const Region& b) {
  if (a.is_signal() || b.is_signal()) return a.is_signal() && b.is_signal();
  return std::uint64_t{a.begin} * b.of == std::uint64_t{b.begin} * a.of &&
         std::uint64_t{a.end} * b.of == std::uint64_t{b.end} * a.of;
}

/// Can the two regions share a byte? Exact for even partitions of one buffer; a scratch block overlaps itself.
constexpr bool overlap(const Region& a, const Region& b) {
  if (a.is_signal() || b.is_signal() || a.buffer != b.buffer || a.slot != b.slot) return false;
  if (a.buffer == Buffer::Scratch) return true;
  return std::uint64_t{a.begin} * b.of < std::uint64_t{b.end} * a.of &&
         std::uint64_t{b.begin} * a.of < std::uint64_t{a.end} * b.of;
}

/// Does a contain all of b?
constexpr bool covers(const Region& a, const Region& b) {
  if (a.is_signal() || b.is_signal() || a.buffer != b.buffer || a.slot != b.slot) return false;
  if (a.buffer == Buffer::Scratch) return true;
  return std::uint64_t{a.begin} * b.of <= std::uint64_t{b.begin} * a.of &&
         std::uint64_t{b.end} * a.of <= std::uint64_t{a.end} * b.of;
}

/// Boundary i of n elements cut evenly into m: floor(i n / m) without overflow.
constexpr std::size_t boundary(std::size_t i, std::size_t n, std::size_t m) {
  if (i == 0 || i == m) return i == 0 ? 0 : n;  // divisions are dear
  return n / m * i + n % m * i / m;
}

}  // namespace lacuna

#pragma once

#include <cstddef>
#include <cstdint>

namespace lacuna {

/// A buffer, by its place in its graph's table of buffers. The caller's two are in every table.
enum class Buffer : std::uint16_t { Input = 0, Output = 1 };

/// A number that is known only when a part runs, by its place in its graph's table of values.
enum class Value : std::uint32_t { None = 0xffffffff };

/// The range [begin, end) of the pieces that come from cutting a part's data evenly into `of` pieces, in one buffer.
/// Boundary i of n elements lies at floor(i n / of), so 1 of 2 and 2 of 4 are the same place. A buffer with a length of
/// its own is cut likewise. With `of` = 0 the region is a signal: no bytes, but its message is always sent. With `of` =
/// counted it is as long as a value says, from where another says.
struct Region {
  static constexpr std::uint32_t counted = 0xffffffff;

  Buffer buffer = Buffer::Output;
  bool at_start = false;   ///< it lies at the start of its buffer, whatever range it stands for: a scratch block
  std::uint8_t apart = 0;  ///< counted: it shares no element with the others of this number; 0: nobody knows
  std::uint32_t of = 0;
  std::uint32_t begin = 0;  ///< counted: the value that is its offset, in elements; none: 0
  std::uint32_t end = 0;    ///< counted: the value that is its length, in elements

  constexpr bool is_signal() const { return of == 0; }
  constexpr bool is_counted() const { return of == counted; }
  constexpr Value offset() const { return is_counted() ? Value{begin} : Value::None; }
  constexpr Value length() const { return is_counted() ? Value{end} : Value::None; }
  friend constexpr bool operator==(const Region&, const Region&) = default;
};

/// Do the two ranges hold the same elements, whatever their buffers? Nobody knows it of counted ones.
constexpr bool same_elements(const Region& a, const Region& b) {
  if (a.is_signal() || b.is_signal()) return a.is_signal() && b.is_signal();
  if (a.is_counted() || b.is_counted()) return false;
  return std::uint64_t{a.begin} * b.of == std::uint64_t{b.begin} * a.of &&
         std::uint64_t{a.end} * b.of == std::uint64_t{b.end} * a.of;
}

/// Can the two regions share a byte? Exact for even partitions of one buffer, and for counted regions as their program
/// declares them; else all of the buffer counts.
constexpr bool overlap(const Region& a, const Region& b) {
  if (a.is_signal() || b.is_signal() || a.buffer != b.buffer) return false;
  if (a.apart != 0 && a.apart == b.apart) return a == b;
  if (a.at_start || b.at_start || a.is_counted() || b.is_counted()) return true;
  return std::uint64_t{a.begin} * b.of < std::uint64_t{b.end} * a.of &&
         std::uint64_t{b.begin} * a.of < std::uint64_t{a.end} * b.of;
}

/// Does all that can share a byte with b share one with a?
constexpr bool covers(const Region& a, const Region& b) {
  if (a.is_signal() || b.is_signal() || a.buffer != b.buffer) return false;
  if (a.apart != 0) return a == b;
  if (a.at_start || a.is_counted()) return true;
  if (b.at_start || b.is_counted()) return false;
  return std::uint64_t{a.begin} * b.of <= std::uint64_t{b.begin} * a.of &&
         std::uint64_t{b.end} * a.of <= std::uint64_t{a.end} * b.of;
}

/// Boundary i of n elements cut evenly into m: floor(i n / m) without overflow.
constexpr std::size_t boundary(std::size_t i, std::size_t n, std::size_t m) {
  if (i == 0 || i == m) return i == 0 ? 0 : n;  // divisions are dear
  return n / m * i + n % m * i / m;
}

}  // namespace lacuna

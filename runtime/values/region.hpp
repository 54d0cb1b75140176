#pragma once

#include <cstddef>
#include <cstdint>

namespace lacuna {

/// A buffer, named by its row in the graph's table of buffers. The caller's input and output are in every table.
enum class Buffer : std::uint16_t { Input = 0, Output = 1 };

/// A number that is known only when a part runs, named by its row in the graph's table of values.
enum class Value : std::uint32_t { None = 0xffffffff };

/// Some of a buffer: the pieces begin .. end-1 when the buffer is cut evenly into `of` pieces. Boundary i of n elements
/// lies at floor(i n / of), so 1 of 2 and 2 of 4 are the same place. If `of` is 0, the region is a signal: it has no
/// bytes, but its message is always sent. If `of` is `counted`, one value says how long the region is, and another one
/// where it begins.
struct Region {
  static constexpr std::uint32_t counted = 0xffffffff;

  Buffer buffer = Buffer::Output;
  bool at_start = false;   ///< of scratch: the region lies at the start of its buffer, whatever pieces it stands for
  std::uint8_t apart = 0;  ///< counted: it shares no element with others of this number; 0: that is not known
  std::uint32_t of = 0;
  std::uint32_t begin = 0;  ///< the first piece; counted: the value that is its offset, in elements; None: 0
  std::uint32_t end = 0;    ///< behind the last piece; counted: the value that is its length in elements

  constexpr bool is_signal() const { return of == 0; }
  constexpr bool is_counted() const { return of == counted; }
  constexpr Value offset() const { return is_counted() ? Value{begin} : Value::None; }
  constexpr Value length() const { return is_counted() ? Value{end} : Value::None; }
  friend constexpr bool operator==(const Region&, const Region&) = default;
};

/// Do the two regions stand for the same elements of the data, in whatever buffers? False for counted regions, of which
/// this is not known.
constexpr bool same_elements(const Region& a, const Region& b) {
  if (a.is_signal() || b.is_signal()) return a.is_signal() && b.is_signal();
  if (a.is_counted() || b.is_counted()) return false;
  return std::uint64_t{a.begin} * b.of == std::uint64_t{b.begin} * a.of &&
         std::uint64_t{a.end} * b.of == std::uint64_t{b.end} * a.of;
}

/// Can the two regions share a byte? The answer is exact for pieces of an evenly cut buffer, and for counted regions
/// that their program declares disjoint. Any other region counts as the whole buffer.
constexpr bool overlap(const Region& a, const Region& b) {
  if (a.is_signal() || b.is_signal() || a.buffer != b.buffer) return false;
  if (a.apart != 0 && a.apart == b.apart) return a == b;
  if (a.at_start || b.at_start || a.is_counted() || b.is_counted()) return true;
  return std::uint64_t{a.begin} * b.of < std::uint64_t{b.end} * a.of &&
         std::uint64_t{b.begin} * a.of < std::uint64_t{a.end} * b.of;
}

/// Does every region that can share a byte with `b` share one with `a`?
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
  if (i == 0 || i == m) return i == 0 ? 0 : n;  // a division is slow
  return n / m * i + n % m * i / m;
}

}  // namespace lacuna

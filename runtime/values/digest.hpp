#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lacuna {

/// A bijection of 64-bit words in which every bit of the result depends on every bit of the word: the finaliser of
/// splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).
constexpr std::uint64_t mix64(std::uint64_t word) {
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
  return word ^ (word >> 31);
}

/// A 64-bit hash of a sequence of words and texts. It is the same on every machine. It tells different sequences apart
/// unless somebody has made them to have the same hash.
class Digest {
 public:
  constexpr Digest() = default;
  /// The hash of the sequence that had this value().
  explicit constexpr Digest(std::uint64_t value) : state_(value) {}

  constexpr Digest& add(std::uint64_t word) {
    constexpr std::uint64_t golden_ratio = 0x9e3779b97f4a7c15u;
    state_ = mix64((state_ ^ word) + golden_ratio);
    return *this;
  }

  /// Adds the length and then the bytes, eight to a word. So "ab", "c" differs from "a", "bc".
  constexpr Digest& add(std::string_view text) {
    add(std::uint64_t{text.size()});
    for (std::size_t start = 0; start < text.size(); start += 8) {
      std::uint64_t word = 0;
      const std::string_view bytes = text.substr(start, 8);
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        word |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
      }
      add(word);
    }
    return *this;
  }

  constexpr std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0;
};

}  // namespace lacuna

#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace lacuna::runtime {

/// Puts integers (little endian) and byte strings (with their length) one after the other.
class Encoder {
 public:
  template <std::integral T>
  Encoder& put(T value) {
    const auto bits = static_cast<std::make_unsigned_t<T>>(value);
    for (std::size_t i = 0; i < sizeof(T); ++i) bytes_.push_back(static_cast<std::byte>((bits >> (8 * i)) & 0xff));
    return *this;
  }
  Encoder& put(std::span<const std::byte> bytes) {
    put(static_cast<std::uint32_t>(bytes.size()));
    for (std::byte byte : bytes) bytes_.push_back(byte);
    return *this;
  }
  Encoder& put(std::string_view text) { return put(std::as_bytes(std::span(text))); }

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// Takes apart what an Encoder put together. Reading past the end, or a string longer than allowed, yields zeros and
/// makes complete() false; nothing is allocated for it.
class Decoder {
 public:
  explicit Decoder(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <std::integral T>
  T get() {
    std::make_unsigned_t<T> bits = 0;
    const auto bytes = take(sizeof(T));
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bits = static_cast<std::make_unsigned_t<T>>(bits |
                                                  (std::uint64_t{std::to_integer<std::uint8_t>(bytes[i])} << (8 * i)));
    }
    return static_cast<T>(bits);
  }
  std::vector<std::byte> bytes(std::size_t longest) {
    const auto length = get<std::uint32_t>();
    const auto found = length <= longest ? take(length) : fail();
    return {found.begin(), found.end()};
  }
  /// Returns a text for people to read. Control characters become question marks.
  std::string text(std::size_t longest) {
    std::string text;
    for (std::byte byte : bytes(longest)) {
      const auto code = std::to_integer<unsigned char>(byte);
      text.push_back(code < 0x20 || code == 0x7f ? '?' : static_cast<char>(code));
    }
    return text;
  }

  /// Returns true if everything that was asked for was there and nothing is left.
  bool complete() const { return !failed_ && rest_.empty(); }

 private:
  std::span<const std::byte> take(std::size_t count) {
    if (failed_ || rest_.size() < count) return fail();
    return std::exchange(rest_, rest_.subspan(count)).first(count);
  }
  std::span<const std::byte> fail() {
    failed_ = true;
    return {};
  }

  std::span<const std::byte> rest_;
  bool failed_ = false;
};

}  // namespace lacuna::runtime

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

/// The quantities that command lines take, such as "64M", "1gbit", "20us" and "10%". Each has
///   Value         the C++ type of a value;
///   word          what help shows in its place;
///   parse(text)   returns the value, or nothing if the text is not allowed;
///   text(value)   returns a short text for people, which parse() reads back as about the same value;
///   allowed       what may be given, for a text that begins with "must be".
namespace lacuna::cli::quantity {

/// A number of bytes. K, M, G and T are powers of 1024; "KB" and "KiB" mean the same as "K".
struct Size {
  using Value = std::size_t;
  static constexpr std::string_view word = "SIZE", allowed = "a number of bytes up to 1T, such as 512, 64K or 32M";
  static std::optional<Value> parse(std::string_view text);
  static std::string text(Value bytes);
};

/// A rate in bytes per second. Prefixes are powers of 1000, as network devices count: "1gbit" is 125e6.
struct Rate {
  using Value = double;
  static constexpr std::string_view word = "RATE", allowed = "a rate, such as 1gbit, 100mbit, 125MB/s or 125e6";
  static std::optional<Value> parse(std::string_view text);
  static std::string text(Value bytes_per_second);
};

/// A time in seconds.
struct Duration {
  using Value = double;
  static constexpr std::string_view word = "TIME", allowed = "a time, such as 20us, 1.5ms, 2s or 20e-6";
  static std::optional<Value> parse(std::string_view text);
  /// Returns up to four digits and the unit that suits them: "12.5 us", "15.1 ms", "2.04 s".
  static std::string text(Value seconds);
};

/// A share of a whole, from 0 on: "10%" or "0.1".
struct Share {
  using Value = double;
  static constexpr std::string_view word = "SHARE", allowed = "a share, such as 10% or 0.1";
  static std::optional<Value> parse(std::string_view text);
  static std::string text(Value share);
};

}  // namespace lacuna::cli::quantity

#include "runtime/config/config_types.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "runtime/values/clock.hpp"

namespace lacuna::runtime::variable {
namespace {

constexpr std::size_t largest_count = mebibyte;
constexpr std::size_t largest_microseconds = 1'000'000;
constexpr double largest_seconds = std::chrono::duration<double>(never).count();

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

struct Unit {
  char suffix;
  std::size_t bytes;
};
constexpr std::array<Unit, 3> units = {{{'G', gibibyte}, {'M', mebibyte}, {'K', kibibyte}}};

bool has_white_space(std::string_view text) { return text.find_first_of(" \t\r\n\v\f") != std::string_view::npos; }

}  // namespace

std::optional<OptionalInteger::Value> OptionalInteger::parse(std::string_view text) {
  const std::optional<Rank> number = parse_number<Rank>(text);
  if (!number || *number < 0) return std::nullopt;
  return Value(number);
}
std::string OptionalInteger::format(const Value& value) { return value ? fmt::format("{}", *value) : "not set"; }
std::string OptionalInteger::allowed() {
  return fmt::format("an integer from 0 to {}", std::numeric_limits<Rank>::max());
}

std::optional<std::size_t> Count::parse(std::string_view text) {
  const std::optional<std::size_t> number = parse_number<std::size_t>(text);
  if (!number || *number < 1 || *number > largest_count) return std::nullopt;
  return number;
}
std::string Count::format(std::size_t value) { return fmt::format("{}", value); }
std::string Count::allowed() { return fmt::format("an integer from 1 to {}", largest_count); }

std::optional<std::size_t> Bytes::parse(std::string_view text) {
  std::size_t unit_bytes = 1;
  for (const Unit& unit : units) {
    if (text.ends_with(unit.suffix)) unit_bytes = unit.bytes;
  }
  if (unit_bytes != 1) text.remove_suffix(1);
  const std::optional<std::size_t> number = parse_number<std::size_t>(text);
  if (!number || *number > std::numeric_limits<std::size_t>::max() / unit_bytes) return std::nullopt;
  return *number * unit_bytes;
}
std::string Bytes::format(std::size_t value) {
  for (const Unit& unit : units) {
    if (value != 0 && value % unit.bytes == 0) return fmt::format("{}{}", value / unit.bytes, unit.suffix);
  }
  return fmt::format("{}", value);
}
std::string Bytes::allowed() { return "a number of bytes, such as 4096, 256K, 1M or 2G"; }

std::optional<std::size_t> PositiveBytes::parse(std::string_view text) {
  const std::optional<std::size_t> bytes = Bytes::parse(text);
  return bytes == 0 ? std::nullopt : bytes;
}
std::string PositiveBytes::allowed() { return Bytes::allowed() + ", more than 0"; }

std::optional<std::chrono::milliseconds> Seconds::parse(std::string_view text) {
  if (text == "never") return never;
  const std::optional<double> seconds = parse_number<double>(text);
  if (!seconds || !(*seconds > 0 && *seconds <= largest_seconds)) return std::nullopt;
  return std::chrono::milliseconds(static_cast<std::chrono::milliseconds::rep>(std::ceil(*seconds * 1e3)));
}
std::string Seconds::format(std::chrono::milliseconds value) {
  return value < never ? fmt::format("{}", static_cast<double>(value.count()) / 1e3) : "never";
}
std::string Seconds::allowed() {
  return fmt::format("a number of seconds above 0 and up to {:.0f}, such as 2.5, or never", largest_seconds);
}

std::optional<std::chrono::microseconds> Microseconds::parse(std::string_view text) {
  const std::optional<std::size_t> number = parse_number<std::size_t>(text);
  if (!number || *number > largest_microseconds) return std::nullopt;
  return std::chrono::microseconds(*number);
}
std::string Microseconds::format(std::chrono::microseconds value) { return fmt::format("{}", value.count()); }
std::string Microseconds::allowed() {
  return fmt::format("an integer number of microseconds from 0 to {}", largest_microseconds);
}

std::optional<std::string> HostPort::parse(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || has_white_space(text)) return std::nullopt;
  const std::string_view host = text.substr(0, colon);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (!bracketed && host.find_first_of(":[]") != std::string_view::npos) return std::nullopt;
  const std::optional<unsigned> port = parse_number<unsigned>(text.substr(colon + 1));
  if (!port || *port < 1 || *port > 65535) return std::nullopt;
  return std::string(text);
}
std::string HostPort::format(const std::string& value) { return value.empty() ? "not set" : value; }
std::string HostPort::allowed() { return "host:port with a port from 1 to 65535, such as node1:29500 or [::1]:29500"; }

std::optional<std::string> Secret::parse(std::string_view text) { return std::string(text); }
std::string Secret::format(const std::string& value) { return value.empty() ? "not set" : "set, not shown"; }
std::string Secret::allowed() { return "any text"; }

std::optional<std::string> HostName::parse(std::string_view text) {
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (has_white_space(text) || text.size() > 255 || std::any_of(text.begin(), text.end(), is_control)) {
    return std::nullopt;
  }
  return std::string(text);
}
std::string HostName::format(const std::string& value) { return value.empty() ? "the machine's name" : value; }
std::string HostName::allowed() { return "a name of at most 255 characters without white space or control characters"; }

std::optional<AlgorithmNames::Value> AlgorithmNames::parse(std::string_view text) {
  Value names;
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find(','));
    text.remove_prefix(std::min(entry.size() + 1, text.size()));
    const std::size_t equals = std::min(entry.find('='), entry.size());
    const auto collective = parse_collective(entry.substr(0, equals));
    if (!collective || equals + 1 >= entry.size() || has_white_space(entry)) return std::nullopt;
    if (std::any_of(names.begin(), names.end(), [&](const auto& one) { return one.first == *collective; })) {
      return std::nullopt;
    }
    names.emplace_back(*collective, entry.substr(equals + 1));
  }
  return names;
}
std::string AlgorithmNames::format(const Value& value) {
  std::string text;
  for (const auto& [collective, name] : value) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", to_string(collective), name);
  }
  return text.empty() ? "not set" : text;
}
std::string AlgorithmNames::allowed() {
  return "collective=algorithm, several separated by commas, each collective once; see `lacuna list`";
}

std::string Levels::allowed() {
  std::string subsystems;
  for (Subsystem subsystem : all_subsystems) {
    subsystems += fmt::format("{}{}", subsystems.empty() ? "" : ", ", to_string(subsystem));
  }
  return fmt::format(
      "error, warning, info or debug, and levels of single subsystems ({}), separated by commas, such as {}",
      subsystems, "info,transport=debug");
}

std::optional<std::string> KernelBackend::parse(std::string_view text) {
  for (std::string_view name : {"host", "x86-64", "x86-64-v3", "x86-64-v4", "kokkos"}) {
    if (text == name) return std::string(text);
  }
  return std::nullopt;
}
std::string KernelBackend::allowed() { return "host, x86-64, x86-64-v3, x86-64-v4 or kokkos"; }

std::optional<bool> Switch::parse(std::string_view text) {
  if (text != "on" && text != "off") return std::nullopt;
  return text == "on";
}

std::string ProgressMode::allowed() { return "caller or thread"; }

}  // namespace lacuna::runtime::variable

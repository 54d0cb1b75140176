#include "bindings/cli/shared/quantities.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <iterator>
#include <span>

namespace lacuna::cli::quantity {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr double kibi = 1024, most_bytes = kibi * kibi * kibi * kibi;
constexpr std::array sizes = {Unit{"", 1}, Unit{"K", kibi}, Unit{"M", kibi* kibi}, Unit{"G", kibi* kibi* kibi},
                              Unit{"T", most_bytes}};
constexpr std::array bit_rates = {Unit{"bit", 0.125}, Unit{"kbit", 125}, Unit{"mbit", 125e3}, Unit{"gbit", 125e6},
                                  Unit{"tbit", 125e9}};
constexpr std::array byte_rates = {Unit{"", 1},     Unit{"B", 1},    Unit{"kB", 1e3}, Unit{"KB", 1e3},
                                   Unit{"MB", 1e6}, Unit{"GB", 1e9}, Unit{"TB", 1e12}};
constexpr std::array times = {Unit{"s", 1}, Unit{"ms", 1e-3}, Unit{"us", 1e-6}, Unit{"ns", 1e-9}, Unit{"", 1}};
constexpr std::array shares = {Unit{"", 1}, Unit{"%", 0.01}};

std::string with_case(std::string_view text, int (*change)(int)) {
  std::string changed(text);
  std::transform(changed.begin(), changed.end(), changed.begin(),
                 [change](unsigned char letter) { return static_cast<char>(change(letter)); });
  return changed;
}

/// A number, and what stands behind it.
struct Split {
  double number;
  std::string_view unit;
};

/// Returns nothing unless the text begins with a number that is finite and not negative.
std::optional<Split> split(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number) || std::signbit(number)) return std::nullopt;
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  return Split{number, unit};
}

std::optional<double> in_units(double number, std::string_view name, std::span<const Unit> units) {
  const auto unit = std::find_if(units.begin(), units.end(), [&](const Unit& one) { return one.name == name; });
  if (unit == units.end()) return std::nullopt;
  return number * unit->factor;
}

}  // namespace

std::optional<std::size_t> Size::parse(std::string_view text) {
  const auto parts = split(text);
  if (!parts) return std::nullopt;
  std::string unit = with_case(parts->unit, std::toupper);
  if (unit.ends_with('B')) unit.pop_back();
  if (unit.size() == 2 && unit.ends_with('I')) unit.pop_back();
  const auto bytes = in_units(parts->number, unit, sizes);
  if (!bytes || *bytes > most_bytes || *bytes != std::floor(*bytes)) return std::nullopt;
  return static_cast<std::size_t>(*bytes);
}

std::string Size::text(std::size_t bytes) {
  const auto number = static_cast<double>(bytes);
  const auto unit = std::find_if(sizes.rbegin(), std::prev(sizes.rend()),
                                 [&](const Unit& one) { return bytes > 0 && std::fmod(number, one.factor) == 0; });
  return fmt::format("{}{}", number / unit->factor, unit->name);
}

std::optional<double> Rate::parse(std::string_view text) {
  auto parts = split(text);
  if (!parts || parts->number == 0) return std::nullopt;
  if (parts->unit.ends_with("/s")) parts->unit.remove_suffix(2);
  const auto bits = in_units(parts->number, with_case(parts->unit, std::tolower), bit_rates);
  return bits ? bits : in_units(parts->number, parts->unit, byte_rates);
}

std::string Rate::text(double bytes_per_second) {
  const auto unit = std::find_if(bit_rates.rbegin(), std::prev(bit_rates.rend()),
                                 [&](const Unit& one) { return bytes_per_second >= one.factor; });
  return fmt::format("{:.4g}{}", bytes_per_second / unit->factor, unit->name);
}

std::optional<double> Duration::parse(std::string_view text) {
  const auto parts = split(text);
  if (!parts || parts->number == 0) return std::nullopt;
  return in_units(parts->number, parts->unit, times);
}

std::string Duration::text(double seconds) {
  constexpr double just_below = 1 - 5e-5;  // what rounds to 1000 of a unit is shown as 1 of the next one
  const auto unit = std::find_if(times.begin(), times.begin() + 2,
                                 [&](const Unit& one) { return seconds >= just_below * one.factor; });
  return fmt::format("{:.4g} {}", seconds / unit->factor, unit->name);
}

std::optional<double> Share::parse(std::string_view text) {
  const auto parts = split(text);
  return parts ? in_units(parts->number, parts->unit, shares) : std::nullopt;
}

std::string Share::text(double share) { return fmt::format("{:g}%", 100 * share); }

}  // namespace lacuna::cli::quantity

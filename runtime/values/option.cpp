#include "runtime/values/option.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "runtime/values/nearest.hpp"

namespace lacuna {
namespace {

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<OptionPairs> parse_pairs(std::string_view text) {
  OptionPairs pairs;
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find('/'));
    const std::size_t colon = one.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const auto first = parse_number<std::int64_t>(one.substr(0, colon));
    const auto second = parse_number<std::int64_t>(one.substr(colon + 1));
    if (!first || !second) return std::nullopt;
    pairs.emplace_back(*first, *second);
    text.remove_prefix(std::min(text.size(), one.size() + 1));
  }
  return pairs;
}

std::optional<OptionValue> parse(const Option& option, std::string_view text) {
  const auto as_value = [](auto parsed) { return parsed ? std::optional<OptionValue>(*parsed) : std::nullopt; };
  switch (option.kind) {
    case Option::Kind::Flag:
      if (text == "1" || text == "true") return true;
      return text == "0" || text == "false" ? std::optional<OptionValue>(false) : std::nullopt;
    case Option::Kind::Integer:
      return as_value(parse_number<std::int64_t>(text));
    case Option::Kind::Number:
      return as_value(parse_number<double>(text));
    case Option::Kind::Choice:
      return std::string(text);
    case Option::Kind::Pairs:
      return as_value(parse_pairs(text));
  }
  return std::nullopt;
}

std::string number_text(double value) { return fmt::format("{}", value); }

Status refused(const Option& option, std::string_view given) {
  return {Code::InvalidArgument, fmt::format("{} is {}, must be {}{}", option.name, given, allowed_text(option),
                                             did_you_mean(given, option.choices))};
}

bool is_within(const Option& option, double value) { return value >= option.least && value <= option.most; }

bool is_allowed(const Option& option, const OptionValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return is_within(option, static_cast<double>(*integer));
  if (const auto* number = std::get_if<double>(&value)) return is_within(option, *number);
  if (const auto* name = std::get_if<std::string>(&value)) {
    return std::find(option.choices.begin(), option.choices.end(), *name) != option.choices.end();
  }
  const auto* pairs = std::get_if<OptionPairs>(&value);
  if (!pairs) return true;
  const auto both_within = [&](const auto& pair) {
    return is_within(option, static_cast<double>(pair.first)) && is_within(option, static_cast<double>(pair.second));
  };
  const auto is_no_later = [](const auto& earlier, const auto& later) { return later.first <= earlier.first; };
  return std::all_of(pairs->begin(), pairs->end(), both_within) &&
         std::adjacent_find(pairs->begin(), pairs->end(), is_no_later) == pairs->end();
}

}  // namespace

std::string allowed_text(const Option& option) {
  switch (option.kind) {
    case Option::Kind::Flag:
      return "0 or 1";
    case Option::Kind::Integer:
    case Option::Kind::Number:
      return fmt::format("{} .. {}", number_text(option.least), number_text(option.most));
    case Option::Kind::Choice:
      break;
    case Option::Kind::Pairs:
      return fmt::format("RUN:VALUE/RUN:VALUE/... of {} .. {}, each RUN later than the one before it",
                         number_text(option.least), number_text(option.most));
  }
  std::string text;
  for (std::size_t i = 0; i < option.choices.size(); ++i) {
    text += i == 0 ? "" : i + 1 < option.choices.size() ? ", " : " or ";
    text += option.choices[i];
  }
  return text;
}

std::string value_text(const OptionValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "1" : "0";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *integer);
  if (const auto* number = std::get_if<double>(&value)) return number_text(*number);
  if (const auto* name = std::get_if<std::string>(&value)) return *name;
  std::string text;
  for (const auto& [first, second] : std::get<OptionPairs>(value)) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : "/", first, second);
  }
  return text;
}

Result<OptionValue> parse_value(const Option& option, std::string_view text) {
  auto value = parse(option, text);
  if (!value) return refused(option, text.empty() ? "empty" : text);
  if (Status valid = check_value(option, *value); !valid) return valid;
  return std::move(*value);
}

Status check_value(const Option& option, const OptionValue& value) {
  return is_allowed(option, value) ? Status() : refused(option, value_text(value));
}

Status set_value(const Option& option, void* values, const OptionValue& value) {
  if (Status valid = check_value(option, value); !valid) return valid;
  option.set(values, value);
  if (option.get(values) == value) return {};
  return {Code::InvalidArgument,
          fmt::format("{} is {}: such large numbers do not fit", option.name, value_text(value))};
}

Status check_options(std::string_view method, std::span<const Option> options, const void* values) {
  for (const Option& option : options) {
    if (Status valid = check_value(option, option.get(values)); !valid) {
      return {valid.code(), fmt::format("{}: {}", method, valid.message())};
    }
  }
  return {};
}

Status set_option(std::string_view method, std::span<const Option> options, void* values, std::string_view name,
                  std::string_view text) {
  const auto found =
      std::find_if(options.begin(), options.end(), [&](const Option& option) { return option.name == name; });
  if (found == options.end()) {
    std::vector<std::string_view> names;
    for (const Option& option : options) names.push_back(option.name);
    return {Code::InvalidArgument, fmt::format("{} has no option '{}'{}; it has {}", method, name,
                                               did_you_mean(name, names), fmt::join(names, ", "))};
  }
  auto value = parse_value(*found, text);
  if (!value) return {value.status().code(), fmt::format("{}: {}", method, value.status().message())};
  Status set = set_value(*found, values, *value);
  return set ? set : Status(set.code(), fmt::format("{}: {}", method, set.message()));
}

}  // namespace lacuna

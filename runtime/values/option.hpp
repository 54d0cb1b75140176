#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/values/status.hpp"

namespace lacuna {

/// Pairs of whole numbers: a run of a state, and the value that holds from that run on. The runs ascend.
using OptionPairs = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// The value of an option. A choice is held by its name.
using OptionValue = std::variant<bool, std::int64_t, double, std::string, OptionPairs>;

/// One option of a method. A line of the method's options.def declares it; both this and the member of the C++ struct
/// are made of that line. Texts, TOML tables, digests, checks and the manual use nothing else.
struct Option {
  enum class Kind : std::uint8_t { Flag, Integer, Number, Choice, Pairs };

  std::string_view name;
  std::string_view help;
  Kind kind = Kind::Flag;
  double least = 0, most = 0;  ///< the range of an integer or a number, and of both numbers of a pair
  std::span<const std::string_view> choices{};
  OptionValue (*get)(const void* options) = nullptr;
  void (*set)(void* options, const OptionValue& value) = nullptr;
  /// Does this option change anything, as the other options are set? If not, texts and digests leave it out. Null: it
  /// always does.
  bool (*counts)(const void* options) = nullptr;
};

/// What the option may be, such as "0 .. 1", "static, random or shuffled", "0 or 1", or "RUN:VALUE/RUN:VALUE/... of 0
/// .. 9, each RUN later than the one before it".
std::string allowed_text(const Option& option);
/// The text of a value, as it is written after `name=`.
std::string value_text(const OptionValue& value);
/// Reads a value from its text. An error says what was given and what is allowed.
Result<OptionValue> parse_value(const Option& option, std::string_view text);
/// Returns ok, or why this option can't have this value. The value is of the option's kind.
Status check_value(const Option& option, const OptionValue& value);

/// Checks all members of the struct. The error names the first one that is out of its range.
Status check_options(std::string_view method, std::span<const Option> options, const void* values);
/// Sets the option in the struct, or says why it can't have this value.
Status set_value(const Option& option, void* values, const OptionValue& value);
/// Sets the option called `name` from its text. If there is no such option, the error names the nearest one.
Status set_option(std::string_view method, std::span<const Option> options, void* values, std::string_view name,
                  std::string_view text);

/// The names of an enumeration's values, in order. An option of that type is a choice. Each such enumeration
/// specialises this.
template <class Enum>
inline constexpr std::span<const std::string_view> names_of{};

namespace option {

template <class Value>
constexpr Option::Kind kind_of() {
  if constexpr (std::is_same_v<Value, bool>) return Option::Kind::Flag;
  if constexpr (std::is_enum_v<Value>) return Option::Kind::Choice;
  if constexpr (std::is_floating_point_v<Value>) return Option::Kind::Number;
  if constexpr (std::is_integral_v<Value>) return Option::Kind::Integer;
  return Option::Kind::Pairs;
}

template <class Value>
OptionValue generic(const Value& value) {
  if constexpr (std::is_same_v<Value, bool> || std::is_same_v<Value, double>) return value;
  if constexpr (std::is_enum_v<Value>) {
    const auto number = static_cast<std::size_t>(value);
    return std::string(number < names_of<Value>.size() ? names_of<Value>[number] : std::to_string(number));
  } else if constexpr (std::is_integral_v<Value>) {
    return static_cast<std::int64_t>(value);
  } else if constexpr (kind_of<Value>() == Option::Kind::Pairs) {
    OptionPairs pairs;
    for (const auto& [first, second] : value) {
      pairs.emplace_back(static_cast<std::int64_t>(first), static_cast<std::int64_t>(second));
    }
    return pairs;
  }
}

template <class Value>
void assign(Value& to, const OptionValue& value) {
  if constexpr (std::is_same_v<Value, bool> || std::is_same_v<Value, double>) {
    to = std::get<Value>(value);
  } else if constexpr (std::is_enum_v<Value>) {
    for (std::size_t i = 0; i < names_of<Value>.size(); ++i) {
      if (names_of<Value>[i] == std::get<std::string>(value)) to = static_cast<Value>(i);
    }
  } else if constexpr (std::is_integral_v<Value>) {
    to = static_cast<Value>(std::get<std::int64_t>(value));
  } else {
    to.clear();
    for (const auto& pair : std::get<OptionPairs>(value)) {
      auto& [first, second] = to.emplace_back();
      first = static_cast<std::remove_reference_t<decltype(first)>>(pair.first);
      second = static_cast<std::remove_reference_t<decltype(second)>>(pair.second);
    }
  }
}

template <class Struct, class Value>
Struct struct_of(Value Struct::*);
template <class Struct, class Value>
Value value_of(Value Struct::*);

/// The range of a member, as an options.def declares it.
struct Limits {
  double least = 0, most = 0;
};

/// The function Method::make for a method with this struct.
template <class Struct>
std::shared_ptr<void> make(const void* like) {
  return like ? std::make_shared<Struct>(*static_cast<const Struct*>(like)) : std::make_shared<Struct>();
}

/// The option of a member of a method's struct.
template <auto Member>
constexpr Option of(std::string_view name, Limits limits, bool (*counts)(const void*), std::string_view help) {
  using Struct = decltype(struct_of(Member));
  using Value = decltype(value_of(Member));
  return {.name = name,
          .help = help,
          .kind = kind_of<Value>(),
          .least = limits.least,
          .most = limits.most,
          .choices = names_of<Value>,
          .get = [](const void* options) { return generic(static_cast<const Struct*>(options)->*Member); },
          .set = [](void* options, const OptionValue& value) { assign(static_cast<Struct*>(options)->*Member, value); },
          .counts = counts};
}

}  // namespace option
}  // namespace lacuna

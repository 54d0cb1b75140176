#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "runtime/values/digest.hpp"
#include "runtime/values/option.hpp"
#include "runtime/values/status.hpp"

namespace lacuna {

/// One parameter of a program. A line of a .def file declares both this and the member of the program's struct.
struct Parameter {
  Option option;                                            ///< the name, range, help and text of the parameter
  std::uint64_t (*word)(const void* parameters) = nullptr;  ///< stands for the parameter's value in digests
};

namespace parameter {

/// The parameter of a member of a program's struct.
template <auto Member>
constexpr Parameter of(std::string_view name, option::Limits limits, std::string_view help) {
  using Struct = decltype(option::struct_of(Member));
  using Value = decltype(option::value_of(Member));
  return {.option = option::of<Member>(name, limits, nullptr, help), .word = [](const void* parameters) {
            const Value value = static_cast<const Struct*>(parameters)->*Member;
            if constexpr (std::is_floating_point_v<Value>)
              return std::bit_cast<std::uint64_t>(double{value});
            else
              return static_cast<std::uint64_t>(value);
          }};
}

}  // namespace parameter

/// The parameters that a struct declares itself. Each struct of parameters specialises this.
template <class Struct>
inline constexpr std::span<const Parameter> declared_parameters{};

/// What is known of a struct of parameters. A struct may extend one other struct, which it then calls its Base.
struct ParameterSet {
  std::span<const Parameter> own;  ///< the parameters that the struct declares itself, without those of its base
  const ParameterSet* base;        ///< null: it extends none
  const void* defaults;            ///< an object of the struct in which all members have their defaults
  std::size_t size;                ///< bytes of the struct
  bool (*equal)(const void* a, const void* b);

  /// Calls visit(parameter) for the parameters of the base, then for its own, in the order of their declarations.
  template <class Visit>
  void each(Visit visit) const {
    if (base) base->each(visit);
    for (const Parameter& one : own) visit(one);
  }
};

template <class Struct>
inline constexpr Struct default_parameters{};
template <class Struct>
inline constexpr ParameterSet parameter_set = {
    .own = declared_parameters<Struct>,
    .base = []() -> const ParameterSet* {
      if constexpr (requires { typename Struct::Base; })
        return &parameter_set<typename Struct::Base>;
      else
        return nullptr;
    }(),
    .defaults = &default_parameters<Struct>,
    .size = sizeof(Struct),
    .equal = [](const void* a,
                const void* b) { return *static_cast<const Struct*>(a) == *static_cast<const Struct*>(b); },
};

/// Declared values that the core carries without knowing them. They are either the parameters of a program, on which
/// its graphs depend beside the ranks and the layout of the buffers, or the arguments of a part, on which no graph
/// depends. It is an immutable value that allocates nothing. Parameters that all have their defaults are equal to none,
/// so that a dense call and a method that changes nothing share their graphs.
class Parameters {
 public:
  /// The most bytes that a struct of parameters may have.
  static constexpr std::size_t most_bytes = 32;

  Parameters() = default;
  template <class Struct>
  requires(!declared_parameters<Struct>.empty()) Parameters(const Struct& values)
      : set_(values == Struct() ? nullptr : &parameter_set<Struct>) {  // NOLINT: implicit
    static_assert(std::is_trivially_copyable_v<Struct> && sizeof(Struct) <= most_bytes);
    if (set_) std::memcpy(bytes_.data(), &values, sizeof(Struct));
  }

  bool are_defaults() const { return set_ == nullptr; }
  /// Were they made of this struct, or are they all defaults?
  bool belong_to(const ParameterSet* set) const { return !set_ || set_ == set; }

  /// The values as the struct that they were made of, or as a struct that it extends. As any other struct, they all
  /// have their defaults.
  template <class Struct>
  Struct as() const {
    Struct values;
    for (const ParameterSet* set = set_; set; set = set->base) {
      if (set == &parameter_set<Struct>) std::memcpy(&values, bytes_.data(), sizeof(Struct));
    }
    return values;
  }

  friend bool operator==(const Parameters& a, const Parameters& b) {
    return a.set_ == b.set_ && (!a.set_ || a.set_->equal(a.bytes_.data(), b.bytes_.data()));
  }
  void add_to(Digest& digest) const;
  /// "name=value,name=value", with the values that are not as they are by default. Empty: there are none.
  std::string text() const;

  /// Sets one parameter of a program from its text. `set` describes the program's parameters. An error says what is
  /// allowed.
  Status set(const ParameterSet& set, std::string_view name, std::string_view text);

 private:
  const ParameterSet* set_ = nullptr;
  alignas(std::uint64_t) std::array<std::byte, most_bytes> bytes_{};
};

}  // namespace lacuna

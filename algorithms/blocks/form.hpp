#pragma once

#include <cstdint>

#include "runtime/values/dtype.hpp"
#include "runtime/values/parameters.hpp"

namespace lacuna {
namespace block {

/// The form of a program of blocks. form.def says what the members mean.
struct Form {
#define LACUNA_PARAMETER(name, type, value, ...) type name = value;
#include "algorithms/blocks/form.def"
#undef LACUNA_PARAMETER

  friend bool operator==(const Form&, const Form&) = default;
};

/// What each part of such a program is told when it runs. arguments.def says what the members mean.
struct Arguments {
#define LACUNA_PARAMETER(name, type, value, ...) type name = value;
#include "algorithms/blocks/arguments.def"
#undef LACUNA_PARAMETER

  friend bool operator==(const Arguments&, const Arguments&) = default;
};

/// The form of the program of streamed_blocks. stream_form.def says what the members mean.
struct StreamForm : Form {
  using Base = Form;

#define LACUNA_PARAMETER(name, type, value, ...) type name = value;
#include "algorithms/blocks/stream_form.def"
#undef LACUNA_PARAMETER

  friend bool operator==(const StreamForm&, const StreamForm&) = default;
};

/// What each part of streamed_blocks is told when it runs. stream_arguments.def says what the members mean.
struct StreamArguments : Arguments {
  using Base = Arguments;

#define LACUNA_PARAMETER(name, type, value, ...) type name = value;
#include "algorithms/blocks/stream_arguments.def"
#undef LACUNA_PARAMETER

  friend bool operator==(const StreamArguments&, const StreamArguments&) = default;
};

inline constexpr Parameter form_parameters[] = {
#define LACUNA_PARAMETER(name, type, value, least, most, meaning) \
  parameter::of<&Form::name>(#name, {least, most}, meaning),
#include "algorithms/blocks/form.def"
#undef LACUNA_PARAMETER
};
inline constexpr Parameter declared_arguments[] = {
#define LACUNA_PARAMETER(name, type, value, least, most, meaning) \
  parameter::of<&Arguments::name>(#name, {least, most}, meaning),
#include "algorithms/blocks/arguments.def"
#undef LACUNA_PARAMETER
};
inline constexpr Parameter stream_form_parameters[] = {
#define LACUNA_PARAMETER(name, type, value, least, most, meaning) \
  parameter::of<&StreamForm::name>(#name, {least, most}, meaning),
#include "algorithms/blocks/stream_form.def"
#undef LACUNA_PARAMETER
};
inline constexpr Parameter stream_arguments[] = {
#define LACUNA_PARAMETER(name, type, value, least, most, meaning) \
  parameter::of<&StreamArguments::name>(#name, {least, most}, meaning),
#include "algorithms/blocks/stream_arguments.def"
#undef LACUNA_PARAMETER
};

}  // namespace block

template <>
inline constexpr std::span<const Parameter> declared_parameters<block::StreamForm>{block::stream_form_parameters};
template <>
inline constexpr std::span<const Parameter> declared_parameters<block::StreamArguments>{block::stream_arguments};
template <>
inline constexpr std::span<const Parameter> declared_parameters<block::Form>{block::form_parameters};
template <>
inline constexpr std::span<const Parameter> declared_parameters<block::Arguments>{block::declared_arguments};

}  // namespace lacuna

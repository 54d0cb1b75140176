#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/config/config_types.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::runtime {

/// lacuna's configuration: one member per line of runtime/config.def, which says what each means. A plain value; a
/// default-constructed one holds the defaults.
struct Config {
#define LACUNA_VARIABLE(NAME, member, Type, fallback, help) variable::Type::Value member = fallback;
#include "runtime/config/config.def"
#undef LACUNA_VARIABLE
  /// Tells apart machines (and network namespaces of one) that have the same name; 0 where LACUNA_HOST gives the name.
  std::uint64_t machine = 0;

  /// Reads the LACUNA_* variables. A variable that is unset or empty keeps its default; a value that is not allowed is
  /// an InvalidArgument which names variable, value and what is allowed. An unknown LACUNA_* variable is logged as a
  /// warning with the nearest known name. An empty `host` is replaced by the machine's name, with
  /// `machine`.
  static Result<Config> from_environment();
};

/// A configuration variable as `lacuna info` shows it.
struct Variable {
  enum class Source { Default, Environment };

  std::string name;           ///< "LACUNA_DEADLINE"
  std::string value;          ///< in effect; of the key only whether it is set
  std::string default_value;  ///< "not set" where there is none
  std::string allowed;        ///< "a number of seconds above 0 ..."
  std::string_view help;
  Source source = Source::Default;  ///< Environment: the environment names it and is not empty
};

/// All variables with the values of `config`, in the order of the manifest.
std::vector<Variable> variables(const Config& config);

/// The manual's table of all variables, in Markdown: name, default, allowed values, help.
std::string variables_as_markdown();

}  // namespace lacuna::runtime

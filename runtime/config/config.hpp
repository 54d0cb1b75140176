#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/config/config_types.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::runtime {

/// The configuration of lacuna, a plain value. It has one member for each line of runtime/config/config.def, which says
/// what the member means. A default-constructed one holds the defaults.
struct Config {
#define LACUNA_VARIABLE(NAME, member, Type, fallback, help) variable::Type::Value member = fallback;
#include "runtime/config/config.def"
#undef LACUNA_VARIABLE
  /// Tells apart machines that have the same name, and network namespaces of one machine. It is 0 if LACUNA_HOST gives
  /// the name.
  std::uint64_t machine = 0;

  /// Reads the LACUNA_* variables. A variable that is unset or empty has its default. If a value is not allowed, the
  /// error is InvalidArgument and names the variable, the value and what is allowed. A warning in the log names an
  /// unknown LACUNA_* variable and the nearest known name. If no host is given, `host` becomes the machine's name, and
  /// `machine` is set.
  static Result<Config> from_environment();
};

/// A configuration variable as `lacuna info` shows it.
struct Variable {
  enum class Source { Default, Environment };

  std::string name;           ///< such as "LACUNA_DEADLINE"
  std::string value;          ///< the value in effect; for the key it says only whether it is set
  std::string default_value;  ///< "not set" if there is none
  std::string allowed;        ///< such as "a number of seconds above 0 ..."
  std::string_view help;
  Source source = Source::Default;  ///< Environment: the variable is set and not empty
};

/// All variables with the values of `config`, in the order of config.def.
std::vector<Variable> variables(const Config& config);

/// The table of all variables for the manual, in Markdown: name, default, allowed values, help.
std::string variables_as_markdown();

}  // namespace lacuna::runtime

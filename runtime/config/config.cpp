#include "runtime/config/config.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <set>

#include "runtime/observe/log.hpp"
#include "runtime/values/digest.hpp"
#include "runtime/values/nearest.hpp"

namespace lacuna::runtime {
namespace {

constexpr std::string_view prefix = "LACUNA_";

/// The names of the variables, without their prefix.
constexpr std::array names = {
#define LACUNA_VARIABLE(NAME, member, Type, fallback, help) std::string_view(#NAME),
#include "runtime/config/config.def"
#undef LACUNA_VARIABLE
};

/// The variable's text; empty if it is unset.
std::string_view environment(std::string_view name) {
  const char* text = std::getenv(fmt::format("{}{}", prefix, name).c_str());
  return text == nullptr ? std::string_view() : std::string_view(text);
}

template <class Type>
Status read(std::string_view name, typename Type::Value& value) {
  const std::string_view text = environment(name);
  if (text.empty()) return Status::ok();
  std::optional<typename Type::Value> parsed = Type::parse(text);
  if (!parsed) {
    std::string wrong;
    if constexpr (requires { Type::explain(text); }) wrong = Type::explain(text);
    return {Code::InvalidArgument,
            fmt::format("{}{} is \"{}\", allowed: {}{}", prefix, name, text, Type::allowed(), wrong)};
  }
  value = *std::move(parsed);
  return Status::ok();
}

/// Is this the first time that this process asks for the name? A process may read its variables several times.
bool is_first(std::string_view name) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>> seen;
  const std::lock_guard lock(mutex);
  return seen.emplace(name).second;
}

void warn_of_unknown_variables() {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    std::string_view name = *entry;
    name = name.substr(0, name.find('='));
    if (!name.starts_with(prefix)) continue;
    name.remove_prefix(prefix.size());
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    if (!is_first(name)) continue;
    const std::string_view meant = nearest(name, names);
    if (meant.empty()) {
      log_warning(Subsystem::Config, "{}{} is not a variable of lacuna; `lacuna info` lists them", prefix, name);
    } else {
      log_warning(Subsystem::Config, "{}{} is not a variable of lacuna; did you mean {}{}?", prefix, name, prefix,
                  meant);
    }
  }
}

std::string machine_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0' ? name.data() : "localhost";
}

/// A number that stands for the current boot of the machine and for the network namespace of this process. 0: there is
/// no /proc to tell them.
std::uint64_t machine_number() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  struct stat network {};
  if (boot.empty() || ::stat("/proc/self/ns/net", &network) != 0) return 0;
  return Digest().add(boot).add(network.st_ino).value() | 1;
}

template <class Type>
Variable describe(std::string_view name, const typename Type::Value& value, const typename Type::Value& fallback,
                  std::string_view help) {
  return {.name = fmt::format("{}{}", prefix, name),
          .value = Type::format(value),
          .default_value = Type::format(fallback),
          .allowed = Type::allowed(),
          .help = help,
          .source = environment(name).empty() ? Variable::Source::Default : Variable::Source::Environment};
}

}  // namespace

Result<Config> Config::from_environment() {
  Config config;
#define LACUNA_VARIABLE(NAME, member, Type, fallback, help) \
  if (Status status = read<variable::Type>(#NAME, config.member); !status) return status;
#include "runtime/config/config.def"
#undef LACUNA_VARIABLE
  warn_of_unknown_variables();
  if (config.host.empty()) {
    config.host = machine_name();
    config.machine = machine_number();
  }
  return config;
}

std::vector<Variable> variables(const Config& config) {
  const Config defaults;
  return {
#define LACUNA_VARIABLE(NAME, member, Type, fallback, help) \
  describe<variable::Type>(#NAME, config.member, defaults.member, help),
#include "runtime/config/config.def"
#undef LACUNA_VARIABLE
  };
}

std::string variables_as_markdown() {
  std::string table = "| Variable | Default | Allowed | Meaning |\n| --- | --- | --- | --- |\n";
  for (const Variable& variable : variables(Config())) {
    table += fmt::format("| `{}` | {} | {} | {} |\n", variable.name, variable.default_value, variable.allowed,
                         variable.help);
  }
  return table;
}

}  // namespace lacuna::runtime

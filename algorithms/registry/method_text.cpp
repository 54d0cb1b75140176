#include "algorithms/registry/method_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "algorithms/registry/registry.hpp"
#include "runtime/values/nearest.hpp"

namespace lacuna {

Result<MethodOptions> options_of(const Method& method, std::string_view text) {
  std::shared_ptr<void> options = method.make(nullptr);
  std::vector<std::string_view> given;
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    const std::size_t equals = one.find('=');
    if (equals == std::string_view::npos) {
      return Status(Code::InvalidArgument, fmt::format("{}: '{}' is no option=value", method.name, one));
    }
    const std::string_view option = one.substr(0, equals);
    if (std::find(given.begin(), given.end(), option) != given.end()) {
      return Status(Code::InvalidArgument, fmt::format("{}: {} is given twice", method.name, option));
    }
    given.push_back(option);
    if (Status set = set_option(method.name, method.options, options.get(), option, one.substr(equals + 1)); !set) {
      return set;
    }
  }
  return MethodOptions(method, std::move(options));
}

Result<MethodOptions> method_options(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(':'));
  const auto methods = all_methods();
  const auto found = std::find_if(methods.begin(), methods.end(), [&](const Method* one) { return one->name == name; });
  if (found != methods.end()) return options_of(**found, text.substr(std::min(text.size(), name.size() + 1)));
  std::vector<std::string_view> names;
  for (const Method* one : methods) names.push_back(one->name);
  return Status(Code::InvalidArgument, fmt::format("no method is called '{}'{}; there are: {}", name,
                                                   did_you_mean(name, names), fmt::join(names, ", ")));
}

}  // namespace lacuna

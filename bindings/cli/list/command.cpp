#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "algorithms/registry/registry.hpp"
#include "bindings/cli/commands.hpp"
#include "bindings/cli/list/list.hpp"
#include "bindings/cli/shared/command_options.hpp"

namespace lacuna::cli {

void add_list(CLI::App& app, int&) {
  auto method = std::make_shared<MethodOptions>();
  auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand(
      "list", "list all collectives, algorithms and methods, or the options and measures of a method");
  std::vector<std::string> names;
  for (const Method* one : all_methods()) names.emplace_back(one->name);
  command
      ->add_option_function<std::string>(
          "method",
          [method, names](const std::string& given) {
            check_name("method", "method", given, names);
            *method = *method_options(given);
          },
          fmt::format("list its options and measures: {}", fmt::join(names, ", ")))
      ->type_name("NAME");
  command->add_flag("-J,--json", *json, "print JSON");
  command->callback([method, json] { *method ? list_method(*method->method(), *json) : list_all(*json); });
}

}  // namespace lacuna::cli

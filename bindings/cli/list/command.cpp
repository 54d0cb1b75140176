#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>

#include "algorithms/registry/registry.hpp"
#include "bindings/cli/commands.hpp"

namespace lacuna::cli {
namespace {

int list_algorithms() {
  fmt::print("{:<16} {:<20} {}\n", "collective", "algorithm", "P ranks; what each sends");
  for (const Algorithm* algorithm : all_algorithms()) {
    fmt::print("{:<16} {:<20} {}\n", to_string(algorithm->collective), algorithm->name, algorithm->summary);
  }
  fmt::print("\n{:<16} {}\n", "method", "what a call gives up; `lacuna list METHOD` shows its options");
  for (const Method* method : all_methods()) fmt::print("{:<16} {}\n", method->name, method->summary);
  return 0;
}

int list_method(const Method& method) {
  const std::shared_ptr<void> defaults = method.make(nullptr);
  std::vector<std::array<std::string, 4>> rows = {{"option", "default", "allowed", "what"}};
  for (const Option& option : method.options) {
    rows.push_back({std::string(option.name), value_text(option.get(defaults.get())), allowed_text(option),
                    std::string(option.help)});
  }
  std::array<std::size_t, 3> widths{};
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  fmt::print("{}: {}\n\n", method.name, method.summary);
  for (const auto& [name, value, allowed, help] : rows) {
    fmt::print("{:<{}}  {:<{}}  {:<{}}  {}\n", name, widths[0], value, widths[1], allowed, widths[2], help);
  }
  fmt::print("\n{:<16} {:<20} {:<24} {}\n", "collective", "algorithm", "as", "P ranks; what each sends");
  for (const MethodAlgorithm& one : method.algorithms) {
    fmt::print("{:<16} {:<20} {:<24} {}\n", to_string(one.algorithm->collective), one.algorithm->name, one.name,
               one.summary);
  }
  fmt::print("\nfor example\n");
  for (std::string_view example : method.examples) fmt::print("  {}:{}\n", method.name, example);
  return 0;
}

}  // namespace

void add_list(CLI::App& app, int& exit_code) {
  auto name = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("list", "all collectives, algorithms and methods, or the options of a method");
  std::vector<std::string> names;
  for (const Method* method : all_methods()) names.emplace_back(method->name);
  command->add_option("method", *name, "its options")->check(CLI::IsMember(names));
  command->callback([name, &exit_code] {
    exit_code = name->empty() ? list_algorithms() : list_method(*method_options(*name)->method());
  });
}

}  // namespace lacuna::cli

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "algorithms/registry/registry.hpp"
#include "bindings/cli/commands.hpp"
#include "bindings/cli/shared/command_options.hpp"

namespace lacuna::cli {
namespace {

int list_algorithms() {
  fmt::print("{:<16} {:<20} {}\n", "collective", "algorithm", "P ranks; what each sends");
  for (const Algorithm* algorithm : all_algorithms()) {
    fmt::print("{:<16} {:<20} {}\n", to_string(algorithm->collective), algorithm->name, algorithm->summary);
  }
  fmt::print("\n{:<16} {}\n", "method", "what a call gives up; `lacuna list METHOD` shows its options and measures");
  for (const Method* method : all_methods()) fmt::print("{:<16} {}\n", method->name, method->summary);
  return 0;
}

/// Prints rows that all have the same number of cells, with two spaces between the columns.
void print_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size() - 1);
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < widths.size(); ++i) fmt::print("{:<{}}  ", row[i], widths[i]);
    fmt::print("{}\n", row.back());
  }
}

void print_options(const Method& method) {
  const std::shared_ptr<void> defaults = method.make(nullptr);
  std::vector<std::vector<std::string>> rows = {{"option", "default", "allowed", "what"}};
  for (const Option& option : method.options) {
    rows.push_back({std::string(option.name), value_text(option.get(defaults.get())), allowed_text(option),
                    std::string(option.help)});
  }
  print_table(rows);
}

void print_measures(const Method& method) {
  if (method.measures.empty()) return;
  std::vector<std::vector<std::string>> rows = {{"measure", "unit", "adds up", "counted by", "what"}};
  for (const Measure* measure : method.measures) {
    rows.push_back({std::string(measure->name), std::string(to_string(measure->unit)),
                    std::string(to_string(measure->adds_up)), std::string(to_string(measure->by)),
                    std::string(measure->help)});
  }
  fmt::print("\n");
  print_table(rows);
}

int list_method(const Method& method) {
  fmt::print("{}: {}\n\n", method.name, method.summary);
  print_options(method);
  print_measures(method);
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
  CLI::App* command = app.add_subcommand(
      "list", "list all collectives, algorithms and methods, or the options and measures of a method");
  std::vector<std::string> names;
  for (const Method* method : all_methods()) names.emplace_back(method->name);
  command
      ->add_option_function<std::string>(
          "method",
          [name, names](const std::string& given) {
            check_name("method", "method", given, names);
            *name = given;
          },
          fmt::format("list its options and measures: {}", fmt::join(names, ", ")))
      ->type_name("NAME");
  command->callback([name, &exit_code] {
    exit_code = name->empty() ? list_algorithms() : list_method(*method_options(*name)->method());
  });
}

}  // namespace lacuna::cli

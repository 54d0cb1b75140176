#include "bindings/cli/list/list.hpp"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "algorithms/registry/registry.hpp"
#include "bindings/cli/shared/output.hpp"
#include "bindings/cli/shared/provenance.hpp"
#include "bindings/cli/shared/text_table.hpp"

namespace lacuna::cli {
namespace {

using Rows = std::vector<std::vector<std::string>>;

constexpr const char* what_is_sent = "P ranks; what each sends";

std::string collective_of(const Algorithm& algorithm) { return std::string(to_string(algorithm.collective)); }

/// On how many hosts the ranks of a call may be.
const char* hosts_of(const Algorithm& algorithm) { return algorithm.on_board ? "one" : "any"; }

std::string options_text(const Method& method) {
  const std::shared_ptr<void> defaults = method.make(nullptr);
  Rows rows = {{"option", "default", "allowed", "what"}};
  for (const Option& option : method.options) {
    rows.push_back({std::string(option.name), value_text(option.get(defaults.get())), allowed_text(option),
                    std::string(option.help)});
  }
  return text_table(rows);
}

std::string measures_text(const Method& method) {
  if (method.measures.empty()) return {};
  Rows rows = {{"measure", "unit", "adds up", "counted by", "what"}};
  for (const Measure* measure : method.measures) {
    rows.push_back({std::string(measure->name), std::string(to_string(measure->unit)),
                    std::string(to_string(measure->adds_up)), std::string(to_string(measure->by)),
                    std::string(measure->help)});
  }
  return "\n" + text_table(rows);
}

Json json_of(const Method& method) {
  const std::shared_ptr<void> defaults = method.make(nullptr);
  Json json = {{"name", method.name},
               {"summary", method.summary},
               {"options", Json::array()},
               {"measures", Json::array()},
               {"algorithms", Json::array()}};
  for (const Option& option : method.options) {
    json["options"].push_back({{"name", option.name},
                               {"default", value_text(option.get(defaults.get()))},
                               {"allowed", allowed_text(option)},
                               {"help", option.help}});
  }
  for (const Measure* measure : method.measures) {
    json["measures"].push_back({{"name", measure->name},
                                {"unit", to_string(measure->unit)},
                                {"adds_up", to_string(measure->adds_up)},
                                {"counted_by", to_string(measure->by)},
                                {"help", measure->help}});
  }
  for (const MethodAlgorithm& one : method.algorithms) {
    json["algorithms"].push_back({{"collective", to_string(one.algorithm->collective)},
                                  {"name", one.name},
                                  {"algorithm", one.algorithm->name},
                                  {"summary", one.summary}});
  }
  for (std::string_view example : method.examples) {
    json["examples"].push_back(fmt::format("{}:{}", method.name, example));
  }
  return json;
}

/// The algorithms that stand alone: lacuna's own, then those of plugins.
std::vector<const Algorithm*> known_algorithms() {
  std::vector<const Algorithm*> known;
  for (const auto list : {all_algorithms(), registered_algorithms()})
    known.insert(known.end(), list.begin(), list.end());
  return known;
}

}  // namespace

void list_all(bool json) {
  if (json) {
    Json all = provenance();
    for (const Algorithm* one : known_algorithms()) {
      all["algorithms"].push_back({{"collective", to_string(one->collective)},
                                   {"name", one->name},
                                   {"hosts", hosts_of(*one)},
                                   {"summary", one->summary}});
    }
    for (const Method* method : all_methods()) all["methods"].push_back(json_of(*method));
    return write_out("{}", json_text(all));
  }
  Rows algorithms = {{"collective", "algorithm", "hosts", what_is_sent}};
  for (const Algorithm* one : known_algorithms()) {
    algorithms.push_back({collective_of(*one), std::string(one->name), hosts_of(*one), std::string(one->summary)});
  }
  Rows methods = {{"method", "what a call gives up; `lacuna list METHOD` shows its options and measures"}};
  Rows serving = {{"with method", "collective", "algorithm", what_is_sent}};
  for (const Method* method : all_methods()) {
    methods.push_back({std::string(method->name), std::string(method->summary)});
    for (const MethodAlgorithm& one : method->algorithms) {
      serving.push_back(
          {std::string(method->name), collective_of(*one.algorithm), std::string(one.name), std::string(one.summary)});
    }
  }
  write_out("{}\n{}\n{}", text_table(algorithms), text_table(methods), text_table(serving));
}

void list_method(const Method& method, bool json) {
  if (json) {
    Json all = provenance();
    all["methods"].push_back(json_of(method));
    return write_out("{}", json_text(all));
  }
  Rows algorithms = {{"collective", "algorithm", "as", what_is_sent}};
  for (const MethodAlgorithm& one : method.algorithms) {
    algorithms.push_back({collective_of(*one.algorithm), std::string(one.algorithm->name), std::string(one.name),
                          std::string(one.summary)});
  }
  write_out("{}: {}\n\n{}{}\n{}\nfor example\n", method.name, method.summary, options_text(method),
            measures_text(method), text_table(algorithms));
  for (std::string_view example : method.examples) write_out("  {}:{}\n", method.name, example);
}

}  // namespace lacuna::cli

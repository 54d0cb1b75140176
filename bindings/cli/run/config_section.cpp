#include "bindings/cli/run/config_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <tuple>

#include "bindings/cli/shared/join.hpp"
#include "runtime/values/nearest.hpp"

namespace lacuna::cli {
namespace {

std::string shown(const toml::node& node) {
  std::ostringstream text;
  node.visit([&](const auto& value) { text << toml::default_formatter(value); });
  return text.str();
}

std::string shown(const std::string& value) { return fmt::format("\"{}\"", value); }
std::string shown(std::int64_t value) { return fmt::format("{}", value); }
std::string shown(double value) { return fmt::format("{}", value); }

std::string list_text(const std::vector<std::int64_t>& list) { return fmt::format("[{}]", joined(list, ", ")); }

/// Returns nothing if the node is no list of integers from `low` to `high`.
std::optional<std::vector<std::int64_t>> integers_of(const toml::node& node, std::int64_t low, std::int64_t high) {
  const toml::array* list = node.as_array();
  if (list == nullptr) return std::nullopt;
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const toml::value<std::int64_t>* value = list->get_as<std::int64_t>(i);
    if (value == nullptr || value->get() < low || value->get() > high) return std::nullopt;
    values.push_back(value->get());
  }
  return values;
}

}  // namespace

void ConfigReport::error(const toml::source_region& where, std::string_view text) {
  errors_.push_back({where.begin, std::string(text)});
}

std::string ConfigReport::errors() const {
  std::vector<Error> sorted = errors_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Error& a, const Error& b) {
    return std::tie(a.where.line, a.where.column) < std::tie(b.where.line, b.where.column);
  });
  std::string text;
  for (const Error& error : sorted) {
    text += fmt::format("{}{}:{}:{}: {}", text.empty() ? "" : "\n", file_, error.where.line, error.where.column,
                        error.text);
  }
  return text;
}

void ConfigReport::value(std::string section, std::string_view key, std::string_view value) {
  values_.push_back({std::move(section), fmt::format("{} = {}", key, value)});
}

std::string ConfigReport::values() const {
  std::string text;
  for (const Value& value : values_) text += fmt::format("{}.{}\n", value.section, value.text);
  return text;
}

std::string ConfigReport::values_of(std::string_view section, std::string_view kind) const {
  std::string text;
  for (const Value& value : values_) {
    if (value.section == section) text += fmt::format("{}.{}\n", kind, value.text);
  }
  return text;
}

std::string ConfigSection::text(Key key, std::optional<std::string> fallback) {
  const std::string allowed = "a text that is not empty";
  const toml::node* node = find(key, !fallback, allowed, fallback ? shown(*fallback) : "");
  std::optional<std::string> given = fallback;
  if (node != nullptr) {
    given = node->is_string() ? node->value<std::string>() : std::nullopt;
    if (given && given->empty()) given.reset();
    if (!given) wrong(key.name, *node, allowed);
  }
  if (given) keep(key, shown(*given));
  return given.value_or("");
}

std::string ConfigSection::one_of(Key key, const std::vector<std::string>& allowed,
                                  std::optional<std::string> fallback) {
  const std::string listed = fmt::format("one of {}", joined(allowed, ", "));
  const toml::node* node = find(key, !fallback, listed, fallback ? shown(*fallback) : "");
  std::optional<std::string> given = fallback;
  if (node != nullptr) {
    given = node->is_string() ? node->value<std::string>() : std::nullopt;
    if (!given || std::find(allowed.begin(), allowed.end(), *given) == allowed.end()) {
      const std::string_view meant = nearest(given.value_or(""), allowed);
      wrong(key.name, *node, meant.empty() ? listed : fmt::format("{}; did you mean \"{}\"?", listed, meant));
      given.reset();
    }
  }
  if (given) keep(key, shown(*given));
  return given.value_or("");
}

std::int64_t ConfigSection::integer(Key key, std::int64_t low, std::int64_t high,
                                    std::optional<std::int64_t> fallback) {
  const std::string allowed = fmt::format("an integer from {} to {}", low, high);
  const toml::node* node = find(key, !fallback, allowed, fallback ? shown(*fallback) : "");
  std::int64_t value = fallback.value_or(low);
  bool good = fallback.has_value();
  if (node != nullptr) {
    value = node->value<std::int64_t>().value_or(low);
    good = node->is_integer() && value >= low && value <= high;
    if (!good) wrong(key.name, *node, allowed);
  }
  if (!good) return low;
  keep(key, shown(value));
  return value;
}

std::optional<std::int64_t> ConfigSection::optional_integer(Key key, std::int64_t low, std::int64_t high) {
  if (has(key.name)) return integer(key, low, high);
  find(key, false, fmt::format("an integer from {} to {}", low, high), "");
  return std::nullopt;
}

double ConfigSection::number(Key key, double low, double high, std::optional<double> fallback) {
  const std::string allowed = fmt::format("a number from {} to {}", low, high);
  const toml::node* node = find(key, !fallback, allowed, fallback ? shown(*fallback) : "");
  double value = fallback.value_or(low);
  bool good = fallback.has_value();
  if (node != nullptr) {
    value = node->value<double>().value_or(low);
    good = node->is_number() && value >= low && value <= high;
    if (!good) wrong(key.name, *node, allowed);
  }
  if (!good) return low;
  keep(key, shown(value));
  return value;
}

bool ConfigSection::flag(Key key, bool fallback) {
  const std::string allowed = "true or false";
  const toml::node* node = find(key, false, allowed, fmt::to_string(fallback));
  bool given = fallback;
  if (node != nullptr) {
    if (!node->is_boolean()) wrong(key.name, *node, allowed);
    given = node->value_or(fallback);
  }
  keep(key, fmt::to_string(given));
  return given;
}

std::vector<std::int64_t> ConfigSection::integers(Key key, std::int64_t low, std::int64_t high,
                                                  std::vector<std::int64_t> fallback) {
  const std::string allowed = fmt::format("a list of integers from {} to {}", low, high);
  const toml::node* node = find(key, false, allowed, list_text(fallback));
  std::vector<std::int64_t> given = fallback;
  if (node != nullptr) {
    const auto list = integers_of(*node, low, high);
    if (!list) {
      wrong(key.name, *node, allowed);
      return fallback;
    }
    given = *list;
  }
  keep(key, list_text(given));
  return given;
}

std::vector<std::array<std::int64_t, 2>> ConfigSection::pairs(Key key, std::int64_t low, std::int64_t high) {
  const std::string allowed = fmt::format("a list of pairs [first, second] of integers from {} to {}", low, high);
  const toml::node* node = find(key, false, allowed, "[]");
  std::vector<std::array<std::int64_t, 2>> given;
  std::vector<std::string> texts;
  if (node != nullptr) {
    const toml::array* list = node->as_array();
    bool good = list != nullptr;
    for (std::size_t i = 0; good && i < list->size(); ++i) {
      const auto pair = integers_of(*list->get(i), low, high);
      good = pair && pair->size() == 2;
      if (!good) break;
      given.push_back({(*pair)[0], (*pair)[1]});
      texts.push_back(list_text(*pair));
    }
    if (!good) {
      wrong(key.name, *node, allowed);
      return {};
    }
  }
  keep(key, fmt::format("[{}]", joined(texts, ", ")));
  return given;
}

std::optional<ConfigSection> ConfigSection::section(const char* key) {
  const toml::node* node = find(key, true);
  if (node == nullptr) return std::nullopt;
  if (const toml::table* table = node->as_table()) return ConfigSection(*table, key, report_);
  wrong(key, *node, fmt::format("a table, written as [{}]", key));
  return std::nullopt;
}

std::vector<ConfigSection> ConfigSection::sections(const char* key) {
  std::vector<ConfigSection> all;
  const toml::node* node = find(key, true);
  if (node == nullptr) return all;
  const toml::array* list = node->as_array();
  if (list == nullptr || list->empty() || !list->is_homogeneous<toml::table>()) {
    wrong(key, *node, fmt::format("tables, each written as [[{}]]", key));
    return all;
  }
  for (const toml::node& element : *list) {
    all.emplace_back(*element.as_table(), fmt::format("{}[{}]", key, all.size()), report_);
  }
  return all;
}

void ConfigSection::error(std::string_view key, std::string_view text) {
  const toml::node* node = table_.get(key);
  note_error(node != nullptr ? node->source() : table_.source(), text);
}

bool ConfigSection::finish() {
  bool known = true;
  for (const auto& [key, node] : table_) {
    if (std::find(asked_.begin(), asked_.end(), key.str()) != asked_.end()) continue;
    const std::string_view meant = nearest(key.str(), asked_);
    const std::string place = name_.empty() ? "at the top level" : fmt::format("in [{}]", name_);
    const std::string hint =
        meant.empty() ? fmt::format("allowed are {}", joined(asked_, ", ")) : fmt::format("did you mean '{}'?", meant);
    known = false;
    note_error(key.source(), fmt::format("unknown key '{}' {}; {}", key.str(), place, hint));
  }
  return known;
}

const toml::node* ConfigSection::find(std::string_view name, bool needed) {
  asked_.emplace_back(name);
  const toml::node* node = table_.get(name);
  if (node == nullptr && needed) {
    const std::string place = name_.empty() ? "at the top level" : fmt::format("in [{}]", name_);
    note_error(table_.source(), fmt::format("'{}' is missing {}", name, place));
  }
  return node;
}

const toml::node* ConfigSection::find(Key key, bool needed, std::string allowed, std::string fallback) {
  report_.key({std::string(key.name), std::move(allowed), std::move(fallback), std::string(key.help)});
  return find(key.name, needed);
}

void ConfigSection::wrong(std::string_view key, const toml::node& node, std::string_view allowed) {
  note_error(node.source(), fmt::format("'{}' is {}, allowed is {}", key, shown(node), allowed));
}

void ConfigSection::keep(Key key, std::string value) {
  if (!key.output_only) report_.value(name_, key.name, value);
}

}  // namespace lacuna::cli

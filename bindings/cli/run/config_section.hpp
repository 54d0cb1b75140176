#pragma once

#include <toml++/toml.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lacuna::cli {

/// The most steps or epochs that a key may ask for.
constexpr std::int64_t most_steps = 1'000'000'000;

/// What a key may be, as the reader of a config asks for it.
struct KeyInfo {
  std::string name;
  std::string allowed;
  std::string fallback;  ///< its value if it is left out; empty: none, the key is needed or may be left out
  std::string help;
};

/// What reading a config gives beside its values: every error, the values in effect, and the keys that were asked for.
class ConfigReport {
 public:
  explicit ConfigReport(std::string file) : file_(std::move(file)) {}

  void error(const toml::source_region& where, std::string_view text);
  void value(std::string section, std::string_view key, std::string_view value);

  /// Takes note of a key that was asked for.
  void key(KeyInfo info) { keys_.push_back(std::move(info)); }

  bool has_errors() const { return !errors_.empty(); }
  /// Returns all keys that were asked for, in this order.
  const std::vector<KeyInfo>& keys() const { return keys_; }
  /// Returns "file:line:column: text" for each error, in the order of the file.
  std::string errors() const;
  /// Returns one line "section.key = value" for each value that a result depends on, also for defaults. Configs that
  /// mean the same give equal lines, whatever their comments and formatting.
  std::string values() const;
  /// Returns those lines of one section, each as "kind.key = value".
  std::string values_of(std::string_view section, std::string_view kind) const;

 private:
  struct Error {
    toml::source_position where;
    std::string text;
  };

  struct Value {
    std::string section;
    std::string text;  // "key = value"
  };

  std::string file_;
  std::vector<Error> errors_;
  std::vector<Value> values_;
  std::vector<KeyInfo> keys_;
};

/// A key, as the reader of a config asks for it.
struct Key {
  std::string_view name;
  std::string_view help;     ///< what it means, in one line
  bool output_only = false;  ///< no result depends on it, and it may change between a run and its continuation
};

/// One table of a config. Each function reads a key. If the key is wrong, the report gets an error, and the function
/// returns the fallback or an empty value. Without a fallback the key is needed. Ranges of numbers include both ends.
/// Call finish() after the last key; it reports the keys that nobody asked for.
class ConfigSection {
 public:
  /// `table` and `report` must outlive the section. Errors call it `name`.
  ConfigSection(const toml::table& table, std::string name, ConfigReport& report)
      : table_(table), name_(std::move(name)), report_(report) {}

  std::string text(Key key, std::optional<std::string> fallback = std::nullopt);
  std::string one_of(Key key, const std::vector<std::string>& allowed, std::optional<std::string> fallback);
  /// Returns the value whose to_string() is given, or the first value without the key.
  template <class Value>
  Value choice(Key key, std::initializer_list<Value> values) {
    std::vector<std::string> names;
    for (const Value value : values) names.emplace_back(to_string(value));
    const std::string given = one_of(key, names, names.front());
    for (const Value value : values) {
      if (to_string(value) == given) return value;
    }
    return *values.begin();
  }
  std::int64_t integer(Key key, std::int64_t low, std::int64_t high,
                       std::optional<std::int64_t> fallback = std::nullopt);
  /// Returns nothing if the key is left out.
  std::optional<std::int64_t> optional_integer(Key key, std::int64_t low, std::int64_t high);
  double number(Key key, double low, double high, std::optional<double> fallback = std::nullopt);
  bool flag(Key key, bool fallback);
  std::vector<std::int64_t> integers(Key key, std::int64_t low, std::int64_t high, std::vector<std::int64_t> fallback);
  /// Returns a list of pairs of integers, which is empty unless it is given.
  std::vector<std::array<std::int64_t, 2>> pairs(Key key, std::int64_t low, std::int64_t high);
  /// Returns a table. If it is missing, reports an error and returns nothing.
  std::optional<ConfigSection> section(const char* key);
  /// Returns a list of tables, written as [[key]]. If it is missing or empty, reports an error.
  std::vector<ConfigSection> sections(const char* key);

  bool has(std::string_view key) const { return table_.contains(key); }
  /// Was anything wrong in this section?
  bool has_errors() const { return has_errors_; }
  /// Reports an error at a key, or at the section if the key is missing.
  void error(std::string_view key, std::string_view text);
  /// Returns true if all keys of the section have been asked for.
  bool finish();

 private:
  const toml::node* find(std::string_view name, bool needed);
  const toml::node* find(Key key, bool needed, std::string allowed, std::string fallback);
  void wrong(std::string_view key, const toml::node& node, std::string_view allowed);
  void keep(Key key, std::string value);

  void note_error(const toml::source_region& where, std::string_view text) {
    has_errors_ = true;
    report_.error(where, text);
  }

  const toml::table& table_;
  bool has_errors_ = false;
  std::string name_;
  ConfigReport& report_;
  std::vector<std::string> asked_;
};

}  // namespace lacuna::cli

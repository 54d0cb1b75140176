#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/observe/log_levels.hpp"
#include "runtime/values/collective.hpp"
#include "runtime/values/progress.hpp"

/// The types of configuration variables. Each has
///   Value                 the C++ type of the member of Config;
///   parse(text)           returns the value, or nothing if the text is not allowed; the text is never empty;
///   format(value)         returns the text shown to people, which parse() reads back if it stands for a value;
///   allowed()             returns what may be given, for a text that ends with "allowed: ".
/// A type may also have
///   explain(text)         returns what is wrong with the text; it is added to the error.
namespace lacuna::runtime::variable {

inline constexpr std::size_t kibibyte = 1024;
inline constexpr std::size_t mebibyte = 1024 * kibibyte;
inline constexpr std::size_t gibibyte = 1024 * mebibyte;

/// A number of ranks or a rank, from 0. It may be left out.
struct OptionalInteger {
  using Value = std::optional<Rank>;
  static std::optional<Value> parse(std::string_view text);
  static std::string format(const Value& value);
  static std::string allowed();
};

struct Count {
  using Value = std::size_t;
  static std::optional<Value> parse(std::string_view text);
  static std::string format(Value value);
  static std::string allowed();
};

/// A number of bytes, such as "512", "64K", "1M" or "2G", with units that are powers of 1024.
struct Bytes {
  using Value = std::size_t;
  static std::optional<Value> parse(std::string_view text);
  static std::string format(Value value);
  static std::string allowed();
};

struct PositiveBytes {
  using Value = std::size_t;
  static std::optional<Value> parse(std::string_view text);
  static std::string format(Value value) { return Bytes::format(value); }
  static std::string allowed();
};

/// A decimal number of seconds, rounded up to milliseconds, or "never", which stands for the largest of them.
struct Seconds {
  using Value = std::chrono::milliseconds;
  static std::optional<Value> parse(std::string_view text);
  static std::string format(Value value);
  static std::string allowed();
};

struct Microseconds {
  using Value = std::chrono::microseconds;
  static std::optional<Value> parse(std::string_view text);
  static std::string format(Value value);
  static std::string allowed();
};

/// A host and a port, such as "node1:29500", "10.0.0.1:29500" or "[::1]:29500". It is empty if none is given.
struct HostPort {
  using Value = std::string;
  static std::optional<Value> parse(std::string_view text);
  static std::string format(const Value& value);
  static std::string allowed();
};

/// Any text. format() tells only whether there is one.
struct Secret {
  using Value = std::string;
  static std::optional<Value> parse(std::string_view text);
  static std::string format(const Value& value);
  static std::string allowed();
};

/// A name without white space. An empty one stands for the machine's name.
struct HostName {
  using Value = std::string;
  static std::optional<Value> parse(std::string_view text);
  static std::string format(const Value& value);
  static std::string allowed();
};

/// The path of a folder. It is empty if none is given.
struct Folder {
  using Value = std::string;
  static std::optional<Value> parse(std::string_view text) { return std::string(text); }
  static std::string format(const Value& value) { return value.empty() ? "not set" : value; }
  static std::string allowed() { return "a folder"; }
};

/// Paths of files, separated by colons. They are empty if none is given.
struct Files {
  using Value = std::string;
  static std::optional<Value> parse(std::string_view text) { return std::string(text); }
  static std::string format(const Value& value) { return value.empty() ? "not set" : value; }
  static std::string allowed() { return "paths of files, separated by colons"; }
};

/// The algorithms of some collectives, such as "allreduce=ring,broadcast=tree".
struct AlgorithmNames {
  using Value = std::vector<std::pair<Collective, std::string>>;
  static std::optional<Value> parse(std::string_view text);
  static std::string format(const Value& value);
  static std::string allowed();
};

/// A log level for all subsystems, and levels of single ones, such as "info,transport=debug".
struct Levels {
  using Value = LogLevels;
  static std::optional<Value> parse(std::string_view text) { return LogLevels::parse(text); }
  static std::string format(const Value& value) { return value.to_string(); }
  static std::string explain(std::string_view text) { return LogLevels::explain(text); }
  static std::string allowed();
};

/// A name that kernels::backend_named() knows on at least one architecture.
struct KernelBackend {
  using Value = std::string;
  static std::optional<Value> parse(std::string_view text);
  static std::string format(const Value& value) { return value; }
  static std::string allowed();
};

/// Whether something is done.
struct Switch {
  using Value = bool;
  static std::optional<Value> parse(std::string_view text);
  static std::string format(Value value) { return value ? "on" : "off"; }
  static std::string allowed() { return "on or off"; }
};

struct ProgressMode {
  using Value = Progress;
  static std::optional<Value> parse(std::string_view text) { return parse_progress(text); }
  static std::string format(Value value) { return std::string(to_string(value)); }
  static std::string allowed();
};

}  // namespace lacuna::runtime::variable

#include "runtime/observe/log_levels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "runtime/values/nearest.hpp"

namespace lacuna::runtime {
namespace {

struct Entry {
  std::optional<std::string_view> subsystem;  // none: the level is for all subsystems
  std::string_view level;
};

std::vector<Entry> entries_of(std::string_view text) {
  std::vector<Entry> entries;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view entry = text.substr(begin, end - begin);
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) {
      entries.push_back({.subsystem = std::nullopt, .level = entry});
    } else {
      entries.push_back({.subsystem = entry.substr(0, equals), .level = entry.substr(equals + 1)});
    }
    begin = end + 1;
  }
  return entries;
}

template <class All>
std::string unknown(std::string_view what, std::string_view given, const All& all) {
  std::vector<std::string_view> names;
  for (auto one : all) names.push_back(lacuna::to_string(one));
  const std::string_view meant = nearest(given, names);
  return fmt::format("; there is no {} \"{}\"{}", what, given,
                     meant.empty() ? "" : fmt::format(", did you mean \"{}\"?", meant));
}

}  // namespace

std::optional<LogLevels> LogLevels::parse(std::string_view text) {
  const std::vector<Entry> entries = entries_of(text);
  LogLevels levels;
  for (const bool all : {true, false}) {  // levels of single subsystems come last, wherever they stand in the text
    for (const Entry& entry : entries) {
      if (entry.subsystem.has_value() == all) continue;
      const auto is_same = [&](const Entry& other) { return other.subsystem == entry.subsystem; };
      const auto level = parse_log_level(entry.level);
      const auto subsystem = parse_subsystem(entry.subsystem.value_or(""));
      if (!level || (!all && !subsystem) || std::count_if(entries.begin(), entries.end(), is_same) > 1) {
        return std::nullopt;
      }
      if (all) {
        levels = LogLevels(*level);
      } else {
        levels.set(*subsystem, *level);
      }
    }
  }
  return levels;
}

std::string LogLevels::explain(std::string_view text) {
  for (const Entry& entry : entries_of(text)) {
    if (entry.subsystem && !parse_subsystem(*entry.subsystem)) {
      return unknown("subsystem", *entry.subsystem, all_subsystems);
    }
    if (parse_log_level(entry.level)) continue;
    if (!entry.subsystem && parse_subsystem(entry.level)) {
      return fmt::format("; the subsystem \"{0}\" needs a level, such as {0}=debug", entry.level);
    }
    return unknown("level", entry.level, all_log_levels);
  }
  return "; a level is given twice";
}

std::string LogLevels::to_string() const {
  LogLevel most = levels_.front();  // the most frequent level becomes the one for all
  const auto number_of = [&](LogLevel level) { return std::count(levels_.begin(), levels_.end(), level); };
  for (LogLevel level : levels_) {
    if (number_of(level) > number_of(most)) most = level;
  }
  std::string text(lacuna::to_string(most));
  for (Subsystem subsystem : all_subsystems) {
    if (of(subsystem) == most) continue;
    text += fmt::format(",{}={}", lacuna::to_string(subsystem), lacuna::to_string(of(subsystem)));
  }
  return text;
}

}  // namespace lacuna::runtime

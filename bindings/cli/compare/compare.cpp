#include "bindings/cli/compare/compare.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "runtime/files/regular_file.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::cli {
namespace {

using Json = nlohmann::json;

/// The two files may differ in these options.
constexpr std::array<std::string_view, 3> harmless = {"iterations", "warmup_iterations", "validation"};

/// Figures with the same key can be compared: it has size, type, reduction, algorithm and placement.
using Key = std::tuple<std::size_t, std::string, std::string, std::string, std::string>;

struct Figure {
  double microseconds = 0;
  std::size_t wrong = 0;
};

struct File {
  std::string title;  ///< names the collective and the number of ranks
  Json config;        ///< the options, without the harmless ones
  std::map<Key, Figure> figures;
};

File read(const std::string& path) {
  const Result<std::string> text = read_regular(path, Links::Followed);
  if (!text) throw std::runtime_error(std::string(text.status().message()));
  try {
    const Json json = Json::parse(*text);
    File file{.title = fmt::format("{} on {}", json.at("collective").get<std::string>(),
                                   count_of(json.at("ranks").get<int>(), "rank")),
              .config = json.value("config", Json::object()),
              .figures = {}};
    for (std::string_view name : harmless) file.config.erase(std::string(name));
    for (const Json& row : json.value("results", Json::array())) {
      for (const char* placement : {"out_of_place", "in_place"}) {
        if (!row.contains(placement)) continue;  // messages are never in place
        const Json& figure = row.at(placement);
        file.figures[{row.at("size"), row.at("type"), row.at("redop"), row.at("algorithm"), placement}] = {
            figure.at("time"), figure.value("nwrong", std::size_t{0})};
      }
    }
    return file;
  } catch (const Json::exception& error) {
    throw std::runtime_error(fmt::format("{} is no result of `lacuna perf -J`: {}", path, error.what()));
  }
}

/// Says in which option the two measurements differ, if they do.
std::optional<std::string> config_difference(const Json& before, const Json& after) {
  for (const auto& [name, value] : before.items()) {
    const Json other = after.value(name, Json());
    if (value != other) return fmt::format("'{}' is {} in one and {} in the other", name, value.dump(), other.dump());
  }
  return before.size() == after.size() ? std::nullopt : std::optional<std::string>("the two know different options");
}

/// What a comparison counts.
struct Tally {
  int common = 0, worse = 0, missing = 0;
};

Tally print_rows(const File& before, const File& after, double tolerance) {
  Tally tally;
  for (const auto& [key, was] : before.figures) {
    const auto& [size, type, redop, algorithm, placement] = key;
    fmt::print("{:>13} {:>5} {:>5} {:>19} {:>13} {:>12.2f} ", size, type, redop, algorithm, placement,
               was.microseconds);
    const auto found = after.figures.find(key);
    if (found == after.figures.end()) {
      fmt::print("{:>12} {:>7}  missing\n", "-", "-");
      ++tally.missing;
      continue;
    }
    const Figure& is = found->second;
    const double ratio = was.microseconds > 0 ? is.microseconds / was.microseconds : 1;
    const bool wrong = is.wrong > was.wrong, slower = ratio > 1 + tolerance;
    fmt::print("{:>12.2f} {:>7.2f}{}\n", is.microseconds, ratio, wrong ? "  wrong" : slower ? "  slower" : "");
    ++tally.common;
    tally.worse += wrong || slower;
  }
  return tally;
}

}  // namespace

int compare(const CompareOptions& options) {
  try {
    const File before = read(options.before), after = read(options.after);
    if (before.title != after.title) {
      throw std::runtime_error(fmt::format("one measures {}, the other {}", before.title, after.title));
    }
    if (const auto difference = config_difference(before.config, after.config)) throw std::runtime_error(*difference);
    fmt::print("# {}; times in microseconds\n{:>13} {:>5} {:>5} {:>19} {:>13} {:>12} {:>12} {:>7}\n", before.title,
               "size", "type", "redop", "algorithm", "placement", "before", "after", "ratio");
    const Tally tally = print_rows(before, after, options.tolerance);
    if (tally.common == 0) throw std::runtime_error("the two have no size, type and algorithm in common");
    fmt::print("# {} of {} are worse; the tolerance is {:g} %\n", tally.worse, tally.common, 100 * options.tolerance);
    if (tally.missing > 0) {
      fmt::print("# {} of {} are missing in {}{}\n", tally.missing, before.figures.size(), options.after,
                 options.allow_missing ? "" : "; --allow-missing passes over them");
    }
    return tally.worse > 0 || (tally.missing > 0 && !options.allow_missing) ? 1 : 0;
  } catch (const std::runtime_error& error) {
    fmt::print(stderr, "lacuna compare: {}\n", error.what());
    return 2;
  }
}

}  // namespace lacuna::cli

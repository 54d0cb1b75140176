#include "bindings/cli/compare/compare.hpp"

#include <fmt/format.h>

#include <array>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "bindings/cli/shared/output.hpp"
#include "bindings/cli/shared/provenance.hpp"
#include "bindings/cli/shared/quantities.hpp"
#include "runtime/files/regular_file.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::cli {
namespace {

/// The two files may differ in these options.
constexpr std::array<std::string_view, 3> harmless = {"iterations", "warmup_iterations", "check"};

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
        file.figures[{row.at("size_bytes"), row.at("dtype"), row.value("reduction", "none"),
                      row.value("algorithm", "-"), placement}] = {figure.at("time_us"),
                                                                  figure.value("wrong_elements", std::size_t{0})};
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

/// What both files have to say about one key.
struct Row {
  Key key;
  Figure before;
  std::optional<Figure> after{};  ///< none: it is missing

  double ratio() const { return before.microseconds > 0 ? after->microseconds / before.microseconds : 1; }
  bool is_wrong() const { return after && after->wrong > before.wrong; }
  bool is_slower(double tolerance) const { return after && ratio() > 1 + tolerance; }
  std::string_view verdict(double tolerance) const {
    if (!after) return "missing";
    return is_wrong() ? "wrong" : is_slower(tolerance) ? "slower" : "ok";
  }
};

std::vector<Row> rows_of(const File& before, const File& after) {
  std::vector<Row> rows;
  for (const auto& [key, was] : before.figures) {
    rows.push_back({.key = key, .before = was});
    if (const auto found = after.figures.find(key); found != after.figures.end()) rows.back().after = found->second;
  }
  return rows;
}

/// What a comparison counts.
struct Tally {
  std::size_t common = 0, worse = 0, missing = 0;
};

Tally tally_of(const std::vector<Row>& rows, double tolerance) {
  Tally tally;
  for (const Row& row : rows) {
    ++(row.after ? tally.common : tally.missing);
    tally.worse += row.is_wrong() || row.is_slower(tolerance);
  }
  return tally;
}

std::string time_text(const Figure& figure) { return quantity::Duration::text(1e-6 * figure.microseconds); }

void print_text(const CompareOptions& options, const std::string& title, const std::vector<Row>& rows) {
  write_out("# {}\n{:>13} {:>5} {:>5} {:>19} {:>13} {:>12} {:>12} {:>7}\n", title, "size", "dtype", "redop",
            "algorithm", "placement", "before", "after", "ratio");
  for (const Row& row : rows) {
    const auto& [size, dtype, reduction, algorithm, placement] = row.key;
    const std::string_view verdict = row.verdict(options.tolerance);
    const std::string remark = verdict == "ok" ? "" : fmt::format("  {}", verdict);
    write_out("{:>13} {:>5} {:>5} {:>19} {:>13} {:>12} {:>12} {:>7}{}\n", size, dtype, reduction, algorithm, placement,
              time_text(row.before), row.after ? time_text(*row.after) : "-",
              row.after ? fmt::format("{:.2f}", row.ratio()) : "-", remark);
  }
  const Tally tally = tally_of(rows, options.tolerance);
  write_out("# {} of {} are worse; the tolerance is {:g} %\n", tally.worse, tally.common, 100 * options.tolerance);
  if (tally.missing == 0) return;
  write_out("# {} of {} are missing in {}{}\n", tally.missing, rows.size(), options.after,
            options.allow_missing ? "" : "; --allow-missing passes over them");
}

void print_json(const CompareOptions& options, const std::string& title, const std::vector<Row>& rows) {
  Json json = provenance();
  json["title"] = title;
  json["tolerance_share"] = options.tolerance;
  for (const Row& row : rows) {
    const auto& [size, dtype, reduction, algorithm, placement] = row.key;
    json["rows"].push_back({{"size_bytes", size},
                            {"dtype", dtype},
                            {"reduction", reduction},
                            {"algorithm", algorithm},
                            {"placement", placement},
                            {"before_us", row.before.microseconds},
                            {"after_us", row.after ? Json(row.after->microseconds) : Json()},
                            {"ratio", row.after ? Json(row.ratio()) : Json()},
                            {"verdict", row.verdict(options.tolerance)}});
  }
  const Tally tally = tally_of(rows, options.tolerance);
  json["common"] = tally.common;
  json["worse"] = tally.worse;
  json["missing"] = tally.missing;
  write_out("{}", json_text(json));
}

}  // namespace

int compare(const CompareOptions& options) {
  try {
    const File before = read(options.before), after = read(options.after);
    if (before.title != after.title) {
      throw std::runtime_error(fmt::format("one measures {}, the other {}", before.title, after.title));
    }
    if (const auto difference = config_difference(before.config, after.config)) throw std::runtime_error(*difference);
    const std::vector<Row> rows = rows_of(before, after);
    const Tally tally = tally_of(rows, options.tolerance);
    if (tally.common == 0) throw std::runtime_error("the two have no size, type and algorithm in common");
    (options.json ? print_json : print_text)(options, before.title, rows);
    return tally.worse > 0 || (tally.missing > 0 && !options.allow_missing) ? 1 : 0;
  } catch (const std::runtime_error& error) {
    write_error("lacuna compare: {}\n", error.what());
    return 2;
  }
}

}  // namespace lacuna::cli

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "bindings/cli/perf/perf.hpp"
#include "bindings/cli/shared/join.hpp"
#include "bindings/cpp/lacuna.hpp"
#include "runtime/files/output_folder.hpp"
#include "runtime/method/method.hpp"

namespace lacuna::cli {
namespace {

std::string figures(const PerfFigures& measured) {
  if (measured.microseconds == 0) return fmt::format("{:>10} {:>7} {:>7} {:>6}", "N/A", "N/A", "N/A", "N/A");
  const std::string wrong = measured.wrong ? fmt::to_string(*measured.wrong) : "N/A";
  return fmt::format("{:>10.2f} {:>7.2f} {:>7.2f} {:>6}", measured.microseconds, measured.algorithm_bandwidth,
                     measured.bus_bandwidth, wrong);
}

nlohmann::json json_of(const PerfOptions& options, const PerfFigures& measured) {
  nlohmann::json json = {{"time", measured.microseconds},
                         {"alg_bw", measured.algorithm_bandwidth},
                         {"bus_bw", measured.bus_bandwidth},
                         {"payload_bytes", measured.payload_bytes}};
  if (measured.wrong) json["nwrong"] = *measured.wrong;
  if (measured.error) json["error"] = *measured.error;
  if (!measured.phases.empty()) {
    const std::vector<const Measure*> phases = phases_of(*options.method.method());
    for (std::size_t i = 0; i < phases.size(); ++i) json["phases"][std::string(phases[i]->name)] = measured.phases[i];
    json["phases"]["wire"] = measured.wire();
  }
  if (options.percentiles) {
    const Percentiles& p = measured.percentiles;
    json["percentiles"] = {{"p50", p.p50}, {"p95", p.p95}, {"p99", p.p99}};
  }
  return json;
}

/// Returns the column behind those that are always there.
std::string density_column(const PerfOptions& options, const std::string& text) {
  return options.densities.empty() ? std::string() : fmt::format(" {:>8}", text);
}

/// Returns the columns behind that one, which are about the out-of-place calls.
std::string percentile_columns(const PerfOptions& options, const std::string& a, const std::string& b,
                               const std::string& c) {
  return options.percentiles ? fmt::format("  {:>10} {:>10} {:>10}", a, b, c) : std::string();
}

/// A column of what the method of --method does. It stands behind the percentiles.
struct Column {
  std::string title, unit;
  std::function<std::string(const PerfRow&)> cell;
};

std::string percent_saved(const PerfRow& row) { return fmt::format("{:.1f}", 100 * row.report.bytes_saved); }

/// Returns the columns of a method whose graphs tell what is left out: the method's headline, if it has one, rounds and
/// bytes compared with the dense call, and how many ranks are in the result.
std::vector<Column> graph_columns(const Method& method) {
  const auto contributors = [](const PerfRow& row) {
    return row.report.contributors > 0 ? fmt::format("{:.2f}", row.report.contributors) : "-";
  };
  std::vector<Column> columns = {
      {"rounds", "saved", [](const auto& row) { return fmt::to_string(row.report.rounds_saved); }},
      {"bytes", "-%", percent_saved},
      {"contrib", "(mean)", contributors}};
  if (const Measure* headline = find(method.measures, MeasureRole::Headline)) {
    columns.insert(columns.begin(), {std::string(headline->name), "", [headline](const auto& row) {
                                       return fmt::format("{}", row.report.measures.value(*headline));
                                     }});
  }
  return columns;
}

/// Returns the columns of a method whose kernels tell what is left out: the error of the first call, what it sends and
/// what comes out, and where the time of the out-of-place calls goes.
std::vector<Column> kernel_columns(const Method& method) {
  std::vector<Column> columns;
  const auto add = [&](std::string title, std::string unit, auto cell) {
    columns.push_back({std::move(title), std::move(unit),
                       [cell](const PerfRow& row) { return row.report.served ? cell(row) : std::string("-"); }});
  };
  add("error", "(L2)", [](const PerfRow& row) {
    return row.out_of_place.error ? fmt::format("{:.2e}", *row.out_of_place.error) : std::string("N/A");
  });
  add("dens.in", "", [](const PerfRow& row) { return fmt::format("{:.4f}", row.report.density_in); });
  if (find(method.measures, MeasureRole::Result)) {
    add("dens.out", "", [](const PerfRow& row) { return fmt::format("{:.4f}", row.report.density_out); });
  }
  add("bytes", "-%", percent_saved);
  const std::vector<const Measure*> phases = phases_of(method);
  for (std::size_t i = 0; i < phases.size(); ++i) {
    add(std::string(phases[i]->name), "(ms)",
        [i](const PerfRow& row) { return fmt::format("{:.3f}", row.out_of_place.phases[i] / 1e3); });
  }
  add("wire", "(ms)", [](const PerfRow& row) { return fmt::format("{:.3f}", row.out_of_place.wire() / 1e3); });
  return columns;
}

/// Returns one line of all columns that stand behind the percentiles.
std::string method_columns(const PerfOptions& options, const std::function<std::string(const Column&)>& text) {
  if (!options.method) return {};
  const Method& method = *options.method.method();
  std::string line = " ";
  for (const Column& column : phases_of(method).empty() ? graph_columns(method) : kernel_columns(method)) {
    line += fmt::format(" {:>8}", text(column));
  }
  return line;
}

nlohmann::json json_of(const PerfOptions& options, const PerfReport& report) {
  nlohmann::json json = {{"rounds_saved", report.rounds_saved},
                         {"bytes_saved_share", report.bytes_saved},
                         {"contributors_fewest", report.fewest},
                         {"contributors_mean", report.contributors}};
  const Method& method = *options.method.method();
  if (!phases_of(method).empty()) json["density_in"] = report.density_in;
  if (find(method.measures, MeasureRole::Result)) json["density_out"] = report.density_out;
  for (const Measure* measure : method.measures) {
    json["measures"][std::string(measure->name)] = {{"value", report.measures.value(*measure)},
                                                    {"unit", to_string(measure->unit)}};
  }
  return json;
}

}  // namespace

Percentiles percentiles_of(std::vector<double> microseconds) {
  std::sort(microseconds.begin(), microseconds.end());
  const auto at = [&](std::size_t percent) { return microseconds[(microseconds.size() * percent + 99) / 100 - 1]; };
  return {.p50 = at(50), .p95 = at(95), .p99 = at(99)};
}

std::string perf_header(const PerfOptions& options, Rank size, const std::vector<std::string>& hosts) {
  std::string text =
      fmt::format("# lacuna {} {} on {} ranks: size {} .. {} factor {}, {} iterations of {}, {} to warm up, check {}\n",
                  version(), options.subject(), size, options.begin_bytes, options.end_bytes, options.factor,
                  options.iterations, options.operations, options.warmup, options.check ? "on" : "off");
  if (!options.densities.empty()) {
    text +=
        fmt::format("# {} of the elements are not zero: {}\n", joined(options.densities, ", "), options.pattern.text);
  }
  for (Rank rank = 0; rank < size; ++rank) {
    text += fmt::format("#  rank {:>3} on {}\n", rank, hosts[static_cast<std::size_t>(rank)]);
  }
  const std::string columns = fmt::format("{:>10} {:>7} {:>7} {:>6}", "time", "algbw", "busbw", "#wrong");
  const std::string units = fmt::format("{:>10} {:>7} {:>7} {:>6}", "(us)", "(GB/s)", "(GB/s)", "");
  text += fmt::format("#{:>12} {:>12} {:>5} {:>6} {:>19}  {:^33}  {:^33} {:>14}\n", "", "", "", "", "", "out-of-place",
                      "in-place", "");
  text += fmt::format("#{:>12} {:>12} {:>5} {:>6} {:>19}  {}  {} {:>14}{}{}{}\n", "size", "count", "type", "redop",
                      "algorithm", columns, columns, "payload/rank", density_column(options, "density"),
                      percentile_columns(options, "p50", "p95", "p99"),
                      method_columns(options, [](const Column& column) { return column.title; }));
  text +=
      fmt::format("#{:>12} {:>12} {:>5} {:>6} {:>19}  {}  {} {:>14}{}{}{}\n", "(B)", "(elements)", "", "", "", units,
                  units, "(B)", density_column(options, ""), percentile_columns(options, "(us)", "(us)", "(us)"),
                  method_columns(options, [](const Column& column) { return column.unit; }));
  return text;
}

std::string perf_line(const PerfOptions& options, const PerfRow& row) {
  const bool reduces = !options.messages && traits_of(options.collective).reduces;
  const Percentiles& p = row.out_of_place.percentiles;
  const auto us = [](double time) { return fmt::format("{:.2f}", time); };
  return fmt::format(" {:>12} {:>12} {:>5} {:>6} {:>19}  {}  {} {:>14}{}{}{}\n", row.bytes, row.count,
                     to_string(options.dtype), reduces ? to_string(options.reduction) : "none", row.algorithm,
                     figures(row.out_of_place), figures(row.in_place), row.payload_bytes,
                     density_column(options, fmt::format("{:.4g}", row.density.value_or(1))),
                     percentile_columns(options, us(p.p50), us(p.p95), us(p.p99)),
                     method_columns(options, [&](const Column& column) { return column.cell(row); }));
}

std::string perf_footer(const std::vector<PerfRow>& rows) {
  double bandwidth = 0;
  std::size_t wrong = 0, measured = 0;
  for (const PerfRow& row : rows) {
    for (const PerfFigures* figures : {&row.out_of_place, &row.in_place}) {
      bandwidth += figures->bus_bandwidth;
      wrong += figures->wrong.value_or(0);
      measured += figures->microseconds > 0;
    }
  }
  return fmt::format("# Out of bounds values : {} {}\n# Avg bus bandwidth    : {:.4f}\n", wrong,
                     wrong == 0 ? "OK" : "FAILED", bandwidth / static_cast<double>(std::max<std::size_t>(measured, 1)));
}

Status write_perf_json(const PerfOptions& options, Rank size, const std::vector<std::string>& hosts,
                       const std::vector<PerfRow>& rows) {
  nlohmann::json json = {{"version", version()},
                         {"collective", options.subject()},
                         {"ranks", size},
                         {"hosts", hosts},
                         {"config",
                          {{"iterations", options.iterations},
                           {"warmup_iterations", options.warmup},
                           {"agg_iterations", options.operations},
                           {"groups", options.groups},
                           {"priority", static_cast<int>(options.priority)},
                           {"beside_bytes", options.beside},
                           {"root", options.root},
                           {"method", options.method.text()},
                           {"validation", options.check}}}};
  if (!options.densities.empty()) json["config"]["pattern"] = options.pattern.text;
  for (const char* name : {"UCX_TLS", "UCX_NET_DEVICES", "LACUNA_PROGRESS", "LACUNA_CHUNK", "LACUNA_EAGER"}) {
    if (const char* value = std::getenv(name)) json["env"][name] = value;
  }
  for (const PerfRow& row : rows) {
    json["results"].push_back({{"size", row.bytes},
                               {"count", row.count},
                               {"type", to_string(options.dtype)},
                               {"redop", to_string(options.reduction)},
                               {"algorithm", row.algorithm},
                               {"out_of_place", json_of(options, row.out_of_place)},
                               {"payload_bytes_per_rank", row.payload_bytes}});
    if (row.density) json["results"].back()["density"] = *row.density;
    if (options.method) json["results"].back()["report"] = json_of(options, row.report);
    if (options.beside > 0) json["results"].back()["beside_started"] = row.beside;
    if (!options.messages) json["results"].back()["in_place"] = json_of(options, row.in_place);
  }
  return write_whole(options.json_path, [&](std::FILE* file) {
    put(file, json.dump(2) + "\n");
    return Status::ok();
  });
}

}  // namespace lacuna::cli

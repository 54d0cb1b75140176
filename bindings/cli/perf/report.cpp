#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "bindings/cli/perf/perf.hpp"
#include "bindings/cli/shared/join.hpp"
#include "bindings/cpp/lacuna.hpp"
#include "runtime/method/method.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::cli {
namespace {

/// Returns microseconds. A time of a tenth of a second or more has its own unit behind it.
std::string time_cell(double microseconds) {
  if (microseconds >= 1e7) return fmt::format("{:.2f}s", microseconds / 1e6);
  if (microseconds >= 1e5) return fmt::format("{:.1f}ms", microseconds / 1e3);
  return fmt::format("{:.2f}", microseconds);
}

std::string figures(const PerfFigures& measured) {
  if (measured.microseconds == 0) return fmt::format("{:>10} {:>7} {:>7} {:>6}", "N/A", "N/A", "N/A", "N/A");
  const std::string wrong = measured.wrong ? fmt::to_string(*measured.wrong) : "N/A";
  return fmt::format("{:>10} {:>7.2f} {:>7.2f} {:>6}", time_cell(measured.microseconds), measured.algorithm_bandwidth,
                     measured.bus_bandwidth, wrong);
}

/// Returns the column behind those that are always there.
std::string density_column(const PerfOptions& options, const std::string& text) {
  return options.densities.empty() ? std::string() : fmt::format(" {:>8}", text);
}

/// Returns the columns behind that one, which are about the out-of-place calls.
std::string percentile_columns(const PerfOptions& options, const std::array<std::string, 4>& texts) {
  return options.percentiles ? fmt::format("  {:>10}", fmt::join(texts, " ")) : std::string();
}

/// Returns the columns behind these, which are about copies between host and device in out-of-place calls.
std::string copy_columns(const PerfOptions& options, const std::string& bytes, const std::string& time) {
  return is_on_device(options.device) ? fmt::format("  {:>12} {:>10}", bytes, time) : std::string();
}

/// A column of what the method of --method does. It stands behind those.
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

}  // namespace

Percentiles percentiles_of(std::vector<double> microseconds) {
  std::sort(microseconds.begin(), microseconds.end());
  const auto at = [&](std::size_t percent) { return microseconds[(microseconds.size() * percent + 99) / 100 - 1]; };
  return {.least = microseconds.front(), .p50 = at(50), .p95 = at(95), .p99 = at(99)};
}

std::string perf_header(const PerfOptions& options, Rank size, const std::vector<std::string>& hosts) {
  const std::string iterations = options.iterations
                                     ? fmt::format("{} iterations of {}", *options.iterations, options.operations)
                                     : fmt::format("iterations of {} until the time is stable", options.operations);
  std::string text = fmt::format("# lacuna {} {} on {} ranks: size {} .. {} factor {}, {}, {} to warm up, check {}\n",
                                 version(), options.subject(), size, options.begin_bytes, options.end_bytes,
                                 options.factor, iterations, options.warmup, options.check ? "on" : "off");
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
  text += fmt::format("#{:>12} {:>12} {:>5} {:>6} {:>19}  {}  {} {:>14}{}{}{}{}\n", "size", "count", "type", "redop",
                      "algorithm", columns, columns, "payload/rank", density_column(options, "density"),
                      percentile_columns(options, {"least", "p50", "p95", "p99"}),
                      copy_columns(options, "copied/rank", "copies"),
                      method_columns(options, [](const Column& column) { return column.title; }));
  text += fmt::format(
      "#{:>12} {:>12} {:>5} {:>6} {:>19}  {}  {} {:>14}{}{}{}{}\n", "(B)", "(elements)", "", "", "", units, units,
      "(B)", density_column(options, ""), percentile_columns(options, {"(us)", "(us)", "(us)", "(us)"}),
      copy_columns(options, "(B)", "(us)"), method_columns(options, [](const Column& column) { return column.unit; }));
  return text;
}

std::string perf_line(const PerfOptions& options, const PerfRow& row) {
  const bool reduces = !options.messages && traits_of(options.collective).reduces;
  const Percentiles& p = row.out_of_place.percentiles;
  return fmt::format(
      " {:>12} {:>12} {:>5} {:>6} {:>19}  {}  {} {:>14}{}{}{}{}\n", row.bytes, row.count, to_string(options.dtype),
      reduces ? to_string(options.reduction) : "none", row.algorithm, figures(row.out_of_place), figures(row.in_place),
      row.payload_bytes, density_column(options, fmt::format("{:.4g}", row.density.value_or(1))),
      percentile_columns(options, {time_cell(p.least), time_cell(p.p50), time_cell(p.p95), time_cell(p.p99)}),
      copy_columns(options, fmt::format("{:.0f}", row.out_of_place.copied_bytes), time_cell(row.out_of_place.copies)),
      method_columns(options, [&](const Column& column) { return column.cell(row); }));
}

std::string perf_footer(const std::vector<PerfRow>& rows) {
  struct Sum {
    double bandwidth = 0;
    int measured = 0;
  };
  std::vector<std::pair<std::string, Sum>> sums;  // one for each algorithm, in the order of the rows
  std::size_t wrong = 0;
  int measured = 0, shared = 0;
  for (const PerfRow& row : rows) {
    auto sum = std::find_if(sums.begin(), sums.end(), [&](const auto& one) { return one.first == row.algorithm; });
    if (sum == sums.end()) sum = sums.insert(sum, {row.algorithm, {}});
    for (const PerfFigures* figures : {&row.out_of_place, &row.in_place}) {
      sum->second.bandwidth += figures->bus_bandwidth;
      sum->second.measured += figures->microseconds > 0;
      measured += figures->microseconds > 0;
      shared += figures->shares_processor;
      wrong += figures->wrong.value_or(0);
    }
  }
  std::string text = fmt::format("# Out of bounds values : {} {}\n", wrong, wrong == 0 ? "OK" : "FAILED");
  for (const auto& [algorithm, sum] : sums) {
    text += fmt::format("# Avg bus bandwidth    : {:.4f}{}\n", sum.bandwidth / std::max(sum.measured, 1),
                        sums.size() > 1 ? " of " + algorithm : "");
  }
  if (shared > 0) {
    text += fmt::format(
        "# In {} of {} ranks shared a processor, which takes time. `lacuna launch --bind` keeps them apart.\n", shared,
        count_of(measured, "measurement"));
  }
  return text;
}

}  // namespace lacuna::cli

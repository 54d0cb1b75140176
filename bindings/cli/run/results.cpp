#include "bindings/cli/run/results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "bindings/checkpoint/checkpoint.hpp"
#include "bindings/cli/shared/join.hpp"
#include "bindings/cli/shared/provenance.hpp"
#include "runtime/method/method.hpp"
#include "transports/ucx.hpp"

namespace lacuna::cli {
namespace {

/// Texts of what the JSON of the command says, for attributes.
std::string machine_text(const Json& machine) {
  return fmt::format("{}, {}, {} processors", machine["system"].get<std::string>(),
                     machine["processor"].get<std::string>(), machine["processors"].get<unsigned>());
}

std::string environment_text(const Json& environment) {
  std::vector<std::string> lines;
  for (const auto& [name, value] : environment.items()) lines.push_back(name + "=" + value.get<std::string>());
  return joined(lines, "\n");
}

/// Adds columns to the results of one method with one seed.
class Columns {
 public:
  Columns(const WorkRecord& record, std::vector<checkpoint::ResultColumn>& columns)
      : record_(record), columns_(columns) {}

  template <class Number>
  checkpoint::ResultColumn& add(std::string name, Number number, Attributes about) {
    checkpoint::ResultColumn column{.name = std::move(name), .values = {}, .about = std::move(about)};
    for (const Evaluation& one : record_.evaluations) column.values.push_back(number(one));
    columns_.push_back(std::move(column));
    return columns_.back();
  }
  /// Adds what ranks have had, each for itself. `place` is its place in CostOfRanks::by_rank.
  template <class Number>
  void add_cost(std::string name, std::size_t place, Number number, Attributes about) {
    std::vector<double>& by_rank = add(std::move(name), number, std::move(about)).by_rank;
    for (const Evaluation& one : record_.evaluations) {
      by_rank.insert(by_rank.end(), one.cost.by_rank[place].begin(), one.cost.by_rank[place].end());
    }
  }

 private:
  const WorkRecord& record_;
  std::vector<checkpoint::ResultColumn>& columns_;
};

Attributes about(std::string unit, std::string description) {
  return {{"unit", std::move(unit)}, {"description", std::move(description)}};
}

Attributes about(const Measure& measure) {
  Attributes attributes = about(std::string(to_string(measure.unit)), std::string(measure.help));
  attributes.push_back({"adds_up", std::string(to_string(measure.adds_up))});
  attributes.push_back({"counted_by", std::string(to_string(measure.by))});
  return attributes;
}

void add_costs(Columns& columns) {
  columns.add_cost(
      "seconds", 0, [](const Evaluation& one) { return one.cost.together.seconds; },
      about("seconds",
            "time of the steps so far, without evaluations, checkpoints and recording; mean "
            "over the ranks"));
  columns.add_cost(
      "waited_seconds", 1, [](const Evaluation& one) { return one.cost.together.waited; },
      about("seconds",
            "how many of these seconds a rank has waited for communication; mean over the "
            "ranks"));
  columns.add_cost(
      "payload_bytes", 2, [](const Evaluation& one) { return one.cost.together.payload; },
      about("bytes", "payload that a rank has sent in the steps so far; mean over the ranks"));
}

void add_metrics(Columns& columns, const WorkRecord& record, std::vector<Metric> Metrics::*metrics) {
  const std::vector<Metric>& all = record.evaluations.front().metrics.*metrics;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto value = [&](const Evaluation& one) {
      const std::vector<Metric>& known = one.metrics.*metrics;
      return i < known.size() && known[i].name == all[i].name ? known[i].value
                                                              : std::numeric_limits<double>::quiet_NaN();
    };
    Attributes attributes = about(all[i].unit, all[i].description);
    if (all[i].percent) attributes.push_back({"shown_in", "percent"});
    columns.add(all[i].name, value, std::move(attributes));
  }
}

void add_measures(Columns& columns, const WorkRecord& record, MeasureTable table) {
  const std::vector<MeasureCost>& measures = record.evaluations.front().cost.together.measures;
  for (std::size_t i = 0; i < measures.size(); ++i) {
    columns.add_cost(
        measures[i].name, 3 + i, [i](const Evaluation& one) { return one.cost.together.measures[i].told.value; },
        about(*table[i]));
  }
}

checkpoint::MethodResults results_of(const RunConfig& config, const MethodChoice& choice, const WorkRecord& record) {
  checkpoint::MethodResults results{.method = record.label,
                                    .seed = static_cast<std::int64_t>(record.seed),
                                    .about = {{"finished", std::int64_t{record.finished}},
                                              {"steps", static_cast<std::int64_t>(record.steps)},
                                              {"dense", std::int64_t{record.dense}},
                                              {"method", choice.options ? choice.options.text() : "dense"},
                                              {"algorithm", record.algorithms}},
                                    .steps = {},
                                    .columns = {}};
  for (const Evaluation& one : record.evaluations) results.steps.push_back(static_cast<std::int64_t>(one.steps));
  Columns columns(record, results.columns);
  if (config.workload->has_epochs()) {
    columns.add(
        "epochs", [](const Evaluation& one) { return one.epochs; },
        about("epochs", "the steps, counted in passes over the training data"));
  }
  add_costs(columns);
  columns.add(
      config.workload->figure_name(), [](const Evaluation& one) { return one.figures.mean(); },
      about("ratio", "mean over all ranks and over the steps since the evaluation before"));
  add_metrics(columns, record, &Metrics::values);
  add_metrics(columns, record, &Metrics::details);
  const Method* method = choice.options.method();
  add_measures(columns, record, method ? method->measures : MeasureTable());
  return results;
}

/// Returns the mean, and the deviation of the sample, which is 0 for one value.
std::pair<double, double> mean_and_deviation(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, values.size() > 1 ? std::sqrt(squares / (count - 1)) : 0};
}

/// Returns a line for each method that has finished with any seed: means and deviations over the seeds.
std::vector<checkpoint::SummaryRow> summary_of(const RunRecord& record, bool has_epochs) {
  std::vector<checkpoint::SummaryRow> rows;
  for (const WorkRecord& first : record) {
    const auto same = [&](const WorkRecord& one) { return one.label == first.label && one.finished; };
    if (&*std::find_if(record.begin(), record.end(), same) != &first) continue;
    checkpoint::SummaryRow row{.method = first.label, .metrics = {}};
    const auto add = [&](const std::string& name, auto number) {
      std::vector<double> values;
      for (const WorkRecord& one : record) {
        if (same(one)) values.push_back(number(one.evaluations.back()));
      }
      const auto [mean, deviation] = mean_and_deviation(values);
      if (row.metrics.empty()) row.metrics.push_back({"seeds", static_cast<double>(values.size())});
      row.metrics.push_back({name, mean});
      row.metrics.push_back({name + "_deviation", deviation});
    };
    has_epochs ? add("epochs", [](const Evaluation& one) { return one.epochs; })
               : add("steps", [](const Evaluation& one) { return static_cast<double>(one.steps); });
    add("seconds", [](const Evaluation& one) { return one.cost.together.seconds; });
    add("waited_seconds", [](const Evaluation& one) { return one.cost.together.waited; });
    add("payload_bytes", [](const Evaluation& one) { return one.cost.together.payload; });
    const std::vector<Metric>& metrics = first.evaluations.back().metrics.values;
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      add(metrics[i].name, [i](const Evaluation& one) { return one.metrics.values[i].value; });
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

std::filesystem::path result_path(const RunConfig& config) { return config.output / (config.name + ".h5"); }

Attributes provenance_of(const RunConfig& config, const Communicator& communicator, const Attributes& earlier) {
  const auto* created = find_attribute<std::string>(earlier, "created_utc");
  const Json here = provenance();
  return {{"created_utc", created ? *created : here["date_utc"].get<std::string>()},
          {"name", config.name},
          {"lacuna_version", std::string(version())},
          {"commit", here["versions"]["commit"].get<std::string>()},
          {"compiler", std::string(__VERSION__)},
          {"libraries", fmt::format("UCX {}, HDF5 {}", ucx_version(), checkpoint::hdf5_version())},
          {"machine", machine_text(here["machine"])},
          {"hosts", joined(communicator.hosts(), " ")},
          {"ranks", std::int64_t{communicator.size()}},
          {"command", joined(here["command_line"].get<std::vector<std::string>>(), " ")},
          {"environment", environment_text(here["environment"])},
          {"seeds", joined(config.seeds, " ")},
          {"config", config.text},
          {"values", config.values}};
}

checkpoint::RunResults results_of(const RunConfig& config, Attributes provenance, const std::vector<Work>& work,
                                  const RunRecord& record) {
  checkpoint::RunResults results{
      .provenance = std::move(provenance), .methods = {}, .summary = summary_of(record, config.workload->has_epochs())};
  for (std::size_t i = 0; i < record.size(); ++i) {
    if (record[i].evaluations.empty()) continue;
    results.methods.push_back(results_of(config, config.methods[work[i].method], record[i]));
  }
  results.about_summary =
      about("",
            "a line for each method: means over the seeds with which it has finished, after its last step, and their "
            "deviations; the units are those of the datasets in /methods");
  return results;
}

}  // namespace lacuna::cli

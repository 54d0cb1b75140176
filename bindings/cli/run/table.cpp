#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/cli/run/display.hpp"
#include "bindings/cli/shared/text_table.hpp"

namespace lacuna::cli {
namespace {

std::string ratio_text(double value, double dense) { return dense > 0 ? fmt::format("{:.2f}", value / dense) : "-"; }

std::string heading(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

/// The last evaluations of one method with all seeds that have finished.
struct Finished {
  std::string label;
  bool dense = false;
  std::vector<const Evaluation*> last{};

  template <class Number>
  Spread of(Number number) const {
    std::vector<double> values;
    for (const Evaluation* one : last) values.push_back(number(*one));
    return spread_of(values);
  }
  double seconds() const { return of(&seconds_of).mean; }
  double payload() const { return of(&payload_of).mean; }

  static double seconds_of(const Evaluation& one) { return one.cost.together.seconds; }
  static double waited_of(const Evaluation& one) { return one.cost.together.waited; }
  static double payload_of(const Evaluation& one) { return one.cost.together.payload; }
};

std::vector<Finished> finished(const RunRecord& record) {
  std::vector<Finished> methods;
  for (const WorkRecord& work : record) {
    if (!work.finished || work.evaluations.empty()) continue;
    auto known =
        std::find_if(methods.begin(), methods.end(), [&](const Finished& one) { return one.label == work.label; });
    if (known == methods.end()) known = methods.insert(methods.end(), {.label = work.label, .dense = work.dense});
    known->last.push_back(&work.evaluations.back());
  }
  return methods;
}

/// Returns a text of the mean with the deviation, if there are several seeds.
std::string shown(const Spread& spread, int digits, std::string_view unit) {
  if (!spread.several) return fmt::format("{:.{}f} {}", spread.mean, digits, unit);
  return fmt::format("{:.{}f} ± {:.{}f} {}", spread.mean, digits, spread.deviation, digits, unit);
}

std::string shown(const Finished& method) {
  const auto first = [](const Evaluation& one) { return one.metrics.values.front().value; };
  Spread spread = method.of(first);
  if (method.last.front()->metrics.values.front().percent) {
    return shown({100 * spread.mean, 100 * spread.deviation, spread.several}, 2, "%");
  }
  if (!spread.several) return fmt::format("{:.4g}", spread.mean);
  return fmt::format("{:.4g} ± {:.2g}", spread.mean, spread.deviation);
}

}  // namespace

Spread spread_of(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  Spread spread{.mean = std::accumulate(values.begin(), values.end(), 0.0) / count, .several = values.size() > 1};
  double squares = 0;
  for (const double value : values) squares += (value - spread.mean) * (value - spread.mean);
  if (spread.several) spread.deviation = std::sqrt(squares / (count - 1));
  return spread;
}

std::string table_of(const RunRecord& record) {
  const std::vector<Finished> methods = finished(record);
  if (methods.empty()) return "no method is finished\n";
  const auto dense = std::find_if(methods.begin(), methods.end(), [](const Finished& method) { return method.dense; });
  const double base_seconds = dense == methods.end() ? 0 : dense->seconds();
  const double base_payload = dense == methods.end() ? 0 : dense->payload();
  const bool several =
      std::any_of(methods.begin(), methods.end(), [](const Finished& one) { return one.last.size() > 1; });
  const std::string metric = heading(methods.front().last.front()->metrics.values.front().name);
  std::vector<Row> rows = {
      {"method", "epochs", metric, "time", "waiting", "share", "payload per rank", "time / dense", "bytes / dense"}};
  for (const Finished& method : methods) {
    const Spread seconds = method.of(&Finished::seconds_of), waited = method.of(&Finished::waited_of);
    rows.push_back({method.label, fmt::format("{:.2f}", method.last.front()->epochs), shown(method),
                    shown(seconds, 1, "s"), shown(waited, 1, "s"),
                    fmt::format("{:.0f} %", seconds.mean > 0 ? 100 * waited.mean / seconds.mean : 0),
                    bytes_text(method.payload()), ratio_text(seconds.mean, base_seconds),
                    ratio_text(method.payload(), base_payload)});
  }
  if (several) {
    rows.front().insert(rows.front().begin() + 1, "seeds");
    for (std::size_t i = 0; i < methods.size(); ++i) {
      rows[i + 1].insert(rows[i + 1].begin() + 1, fmt::to_string(methods[i].last.size()));
    }
  }
  return aligned(rows);
}

std::string prediction_of(const RunRecord& record) {
  constexpr std::array<std::pair<const char*, double>, 4> links = {
      {{"100 Mbit/s", 1e8}, {"1 Gbit/s", 1e9}, {"10 Gbit/s", 1e10}, {"100 Gbit/s", 1e11}}};
  std::vector<Row> rows = {{"method"}};
  for (const auto& link : links) rows.front().emplace_back(link.first);
  for (const Finished& method : finished(record)) {
    Row row = {method.label};
    const double computing = method.seconds() - method.of(&Finished::waited_of).mean;
    for (const auto& link : links) {
      row.push_back(fmt::format("{:.1f} s", computing + 8 * method.payload() / link.second));
    }
    rows.push_back(std::move(row));
  }
  return aligned(rows);
}

}  // namespace lacuna::cli

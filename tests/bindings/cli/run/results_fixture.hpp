#pragma once

#include <string>
#include <vector>

#include "bindings/checkpoint/result_file.hpp"

namespace lacuna::cli {

/// Returns what a method has at two evaluations of two ranks, as `lacuna run` would write it.
inline checkpoint::MethodResults method_results(const std::string& label, std::int64_t seed, bool dense, double seconds,
                                                double accuracy) {
  const auto about = [](const char* unit) {
    return Attributes{{"unit", std::string(unit)}, {"description", std::string("what it is")}};
  };
  Attributes percent = about("ratio");
  percent.push_back({"shown_in", std::string("percent")});
  return {.method = label,
          .seed = seed,
          .about = {{"finished", std::int64_t{1}}, {"dense", std::int64_t{dense}}},
          .steps = {5, 10},
          .columns = {{.name = "epochs", .values = {0.25, 0.5}, .about = about("epochs")},
                      {.name = "seconds",
                       .values = {seconds / 2, seconds},
                       .about = about("seconds"),
                       .by_rank = {seconds / 2, seconds / 2, seconds, seconds}},
                      {.name = "waited_seconds", .values = {seconds / 4, seconds / 4}, .about = about("seconds")},
                      {.name = "payload_bytes", .values = {1e9, 2e9}, .about = about("bytes")},
                      {.name = "training_loss", .values = {1.5, 0.5}, .about = about("ratio")},
                      {.name = "test_accuracy", .values = {accuracy / 2, accuracy}, .about = percent}}};
}

/// Returns a line of the table.
inline checkpoint::SummaryRow summary_row(const std::string& label, double seeds, double seconds, double waited,
                                          double payload, double accuracy) {
  checkpoint::SummaryRow row{.method = label, .metrics = {{"seeds", seeds}}};
  const auto add = [&](const std::string& name, double mean) {
    row.metrics.push_back({name, mean});
    row.metrics.push_back({name + "_deviation", mean / 10});
  };
  add("epochs", 0.5);
  add("seconds", seconds);
  add("waited_seconds", waited);
  add("payload_bytes", payload);
  add("test_accuracy", accuracy);
  return row;
}

/// Returns a run of two methods with that many seeds each.
inline checkpoint::RunResults sample_results(int seeds) {
  checkpoint::RunResults results{.provenance = {{"name", std::string("sample")}}, .methods = {}, .summary = {}};
  for (int seed = 1; seed <= seeds; ++seed) {
    results.methods.push_back(method_results("half, \"new\"", seed, false, 20, 0.85));
    results.methods.push_back(method_results("ring", seed, true, 40, 0.875));
  }
  results.summary = {summary_row("half, \"new\"", seeds, 20, 5, 2e9, 0.85),
                     summary_row("ring", seeds, 40, 30, 4e9, 0.875)};
  return results;
}

}  // namespace lacuna::cli

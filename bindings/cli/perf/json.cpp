#include <fmt/format.h>

#include "bindings/cli/perf/perf.hpp"
#include "bindings/cli/shared/arguments.hpp"
#include "bindings/cli/shared/provenance.hpp"
#include "runtime/files/output_folder.hpp"
#include "runtime/method/method.hpp"

namespace lacuna::cli {
namespace {

Json config_of(const PerfOptions& options) {
  Json json = {{"iterations", options.iterations ? Json(*options.iterations) : Json("until stable")},
               {"warmup_iterations", options.warmup},
               {"operations_in_flight", options.operations},
               {"groups", options.groups},
               {"priority", priority_texts[static_cast<std::size_t>(options.priority)]},
               {"beside_bytes", options.beside},
               {"method", options.method.text()},
               {"device", to_string(options.device)},
               {"memory", options.mapped ? "mapped" : "malloc"},
               {"check", options.check}};
  if (!options.messages && has_root(options.collective)) json["root"] = options.root;
  if (!options.densities.empty()) json["pattern"] = options.pattern.text;
  return json;
}

Json json_of(const PerfOptions& options, const PerfFigures& measured) {
  Json json = {{"time_us", measured.microseconds},
               {"iterations", measured.iterations},
               {"spread", measured.spread},
               {"shares_processor", measured.shares_processor},
               {"algbw_gb_per_s", measured.algorithm_bandwidth},
               {"busbw_gb_per_s", measured.bus_bandwidth},
               {"payload_bytes", measured.payload_bytes}};
  if (measured.wrong) json["wrong_elements"] = *measured.wrong;
  if (measured.error) json["relative_error"] = *measured.error;
  if (!measured.phases.empty()) {
    const std::vector<const Measure*> phases = phases_of(*options.method.method());
    Json& times = json["phases_us"];
    for (std::size_t i = 0; i < phases.size(); ++i) times[std::string(phases[i]->name)] = measured.phases[i];
    times["wire"] = measured.wire();
  }
  if (is_on_device(options.device)) {
    json["copied_bytes"] = measured.copied_bytes;
    json["copies_us"] = measured.copies;
  }
  if (options.percentiles) {
    const Percentiles& p = measured.percentiles;
    json["percentiles_us"] = {{"least", p.least}, {"p50", p.p50}, {"p95", p.p95}, {"p99", p.p99}};
  }
  return json;
}

Json json_of(const Method& method, const PerfReport& report) {
  Json json = {{"rounds_saved", report.rounds_saved},
               {"bytes_saved_share", report.bytes_saved},
               {"contributors_fewest", report.fewest},
               {"contributors_mean", report.contributors}};
  if (!phases_of(method).empty()) json["density_in"] = report.density_in;
  if (find(method.measures, MeasureRole::Result)) json["density_out"] = report.density_out;
  for (const Measure* measure : method.measures) {
    json["measures"][std::string(measure->name)] = {{"value", report.measures.value(*measure)},
                                                    {"unit", to_string(measure->unit)}};
  }
  return json;
}

Json json_of(const PerfOptions& options, const PerfRow& row) {
  const bool reduces = !options.messages && traits_of(options.collective).reduces;
  Json json = {{"size_bytes", row.bytes}, {"count", row.count}, {"dtype", to_string(options.dtype)}};
  if (reduces) json["reduction"] = to_string(options.reduction);
  if (!options.messages) json["algorithm"] = row.algorithm;
  if (row.density) json["density"] = *row.density;
  json["payload_bytes_per_rank"] = row.payload_bytes;
  json["out_of_place"] = json_of(options, row.out_of_place);
  if (!options.messages) json["in_place"] = json_of(options, row.in_place);
  if (options.method) json["report"] = json_of(*options.method.method(), row.report);
  if (options.beside > 0) json["beside_started"] = row.beside;
  return json;
}

}  // namespace

Status write_perf_json(const PerfOptions& options, Rank size, const std::vector<std::string>& hosts,
                       const std::vector<PerfRow>& rows) {
  Json json = provenance();
  json["collective"] = options.subject();
  json["ranks"] = size;
  json["hosts"] = hosts;
  json["config"] = config_of(options);
  for (const PerfRow& row : rows) json["results"].push_back(json_of(options, row));
  return write_whole(options.json_path, [&](std::FILE* file) {
    put(file, json_text(json));
    return Status::ok();
  });
}

}  // namespace lacuna::cli

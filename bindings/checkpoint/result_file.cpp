#include "bindings/checkpoint/result_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "bindings/checkpoint/hdf5_input.hpp"
#include "bindings/checkpoint/hdf5_output.hpp"
#include "bindings/checkpoint/sealed_file.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::checkpoint {

namespace {

const std::string methods_group = "/methods";
const std::string summary_table = "/summary";
const std::string step_column = "step";
const std::string rank_group = "by_rank";
const std::string seed_prefix = "seed-";

Attributes schema() { return {{"schema", "lacuna-run"}, {"schema_version", result_version}}; }

std::string group_of(const std::string& method) { return methods_group + "/" + method; }
std::string group_of(const MethodResults& results) {
  return fmt::format("{}/{}{}", group_of(results.method), seed_prefix, results.seed);
}

Status wrong(const std::filesystem::path& path, std::string_view text) {
  return {Code::InvalidArgument, fmt::format("{}: {}", path.string(), text)};
}

/// Checks that names differ, can be stored, and are not taken.
Status check_names(const std::filesystem::path& path, const std::vector<std::string>& names, std::string_view of) {
  std::set<std::string> known = {step_column, "method", rank_group};
  for (const std::string& name : names) {
    if (Status named = hdf5::check_name(path, name); !named) return named;
    if (!known.insert(name).second) {
      return wrong(path, fmt::format("{} has '{}' twice; 'step', 'method' and 'by_rank' are taken", of, name));
    }
  }
  return {};
}

Status check(const std::filesystem::path& path, const MethodResults& results) {
  const std::string of = fmt::format("'{}' with seed {}", results.method, results.seed);
  if (Status named = hdf5::check_name(path, results.method); !named) return named;
  std::vector<std::string> names;
  const std::size_t rows = results.steps.size();
  if (std::adjacent_find(results.steps.begin(), results.steps.end(), std::greater_equal<>()) != results.steps.end()) {
    return wrong(path, fmt::format("the steps of {} do not ascend", of));
  }
  for (const ResultColumn& column : results.columns) {
    names.push_back(column.name);
    const bool whole = rows > 0 ? column.by_rank.size() % rows == 0 : column.by_rank.empty();
    if (column.values.size() == rows && whole) continue;
    return wrong(path,
                 fmt::format("'{}' of {} has {} and {} of ranks for {}", column.name, of,
                             count_of(column.values.size(), "value"), column.by_rank.size(), count_of(rows, "step")));
  }
  return check_names(path, names, of);
}

Status check(const std::filesystem::path& path, const RunResults& results) {
  for (const MethodResults& one : results.methods) {
    if (Status fits = check(path, one); !fits) return fits;
  }
  const auto names_of = [](const SummaryRow& row) {
    std::vector<std::string> names;
    for (const Metric& metric : row.metrics) names.push_back(metric.name);
    return names;
  };
  for (const SummaryRow& row : results.summary) {
    const std::string of = fmt::format("the summary of '{}'", row.method);
    if (Status named = check_names(path, names_of(row), of); !named) return named;
    if (names_of(row) != names_of(results.summary.front())) {
      return wrong(path, fmt::format("{} has other metrics than that of '{}'", of, results.summary.front().method));
    }
  }
  return {};
}

void write_method(hdf5::Output& output, const MethodResults& results) {
  const std::string group = group_of(results), ranks = group + "/" + rank_group;
  output.group(group);
  output.attributes(group, results.about);
  std::vector<std::int64_t> steps = results.steps;
  output.array(group, {step_column, Dtype::I64, steps.data(), steps.size()});
  output.attributes(group + "/" + step_column,
                    {{"unit", "steps"}, {"description", "training steps done at each evaluation"}});
  output.group(ranks);
  for (const ResultColumn& column : results.columns) {
    std::vector<double> values = column.values, by_rank = column.by_rank;
    output.array(group, {column.name, Dtype::F64, values.data(), values.size()});
    output.attributes(group + "/" + column.name, column.about);
    if (by_rank.empty()) continue;
    output.array(ranks, {column.name, Dtype::F64, by_rank.data(), by_rank.size()}, by_rank.size() / values.size());
    output.attributes(ranks + "/" + column.name, column.about);
    output.attributes(ranks + "/" + column.name,
                      {{"layout", "a row for each step and a column for each rank, with that rank's own value"}});
  }
}

hdf5::Table table_of(const std::vector<SummaryRow>& rows) {
  hdf5::Table table;
  table.key_name = "method";
  for (const Metric& metric : rows.front().metrics) table.columns.push_back({metric.name, {}});
  for (const SummaryRow& row : rows) {
    table.keys.push_back(row.method);
    for (std::size_t i = 0; i < row.metrics.size(); ++i) table.columns[i].values.push_back(row.metrics[i].value);
  }
  return table;
}

std::vector<SummaryRow> rows_of(const hdf5::Table& table) {
  std::vector<SummaryRow> rows;
  for (std::size_t i = 0; i < table.keys.size(); ++i) {
    SummaryRow& row = rows.emplace_back(SummaryRow{table.keys[i], {}});
    for (const hdf5::Table::Column& column : table.columns) row.metrics.push_back({column.name, column.values[i]});
  }
  return rows;
}

/// Reads a result file into its parts.
class Reader {
 public:
  Reader(const std::filesystem::path& path, const hdf5::Input& input) : path_(path), input_(input) {}

  Result<RunResults> read() {
    if (Status known = read_schema(); !known) return known;
    const Result<std::vector<std::string>> methods = input_.names(methods_group);
    if (!methods) return methods.status();
    for (const std::string& method : *methods) {
      if (Status done = read_seeds(method); !done) return done;
    }
    if (Status done = read_summary(); !done) return done;
    return std::move(results_);
  }

 private:
  Status damaged(std::string_view text) const { return {Code::Io, fmt::format("{}: {}", path_.string(), text)}; }

  Status read_schema() {
    Result<Attributes> found = input_.attributes("/");
    if (!found) return found.status();
    const auto* kind = find_attribute<std::string>(*found, "schema");
    const auto* number = find_attribute<std::int64_t>(*found, "schema_version");
    if (kind == nullptr || *kind != "lacuna-run" || number == nullptr) {
      return damaged("this is not a result file of `lacuna run`");
    }
    if (*number != result_version) {
      const auto* writer = find_attribute<std::string>(*found, "lacuna_version");
      return damaged(
          fmt::format("this result file has the layout {}, written by lacuna {}; this lacuna reads layout {}", *number,
                      writer == nullptr ? "of an unknown version" : *writer, result_version));
    }
    std::erase_if(*found, [](const Attribute& one) { return one.name == "schema" || one.name == "schema_version"; });
    results_.provenance = *std::move(found);
    return {};
  }

  Status read_seeds(const std::string& method) {
    const Result<std::vector<std::string>> seeds = input_.names(group_of(method));
    if (!seeds) return seeds.status();
    for (const std::string& name : *seeds) {
      MethodResults results{.method = method};
      const char* end = name.data() + name.size();
      const bool is_seed = name.starts_with(seed_prefix) &&
                           std::from_chars(name.data() + seed_prefix.size(), end, results.seed).ptr == end;
      if (!is_seed) return damaged(fmt::format("'{}' of the method '{}' is not a seed", name, method));
      if (Status done = read_method(results); !done) return done;
      results_.methods.push_back(std::move(results));
    }
    return {};
  }

  Status read_method(MethodResults& results) const {
    const std::string group = group_of(results), ranks = group + "/" + rank_group;
    Result<Attributes> about = input_.attributes(group);
    if (!about) return about.status();
    results.about = *std::move(about);
    const Result<std::vector<std::string>> names = input_.names(group), by_rank = input_.names(ranks);
    if (!names || !by_rank) return names ? by_rank.status() : names.status();
    for (const std::string& name : *names) {
      if (name == rank_group) continue;
      if (Status done = name == step_column ? input_.read_all(group, name, Dtype::I64, 1, results.steps)
                                            : read_column(group, name, results);
          !done) {
        return done;
      }
    }
    for (ResultColumn& column : results.columns) {
      if (std::find(by_rank->begin(), by_rank->end(), column.name) == by_rank->end()) continue;
      if (Status done = input_.read_all(ranks, column.name, Dtype::F64, 2, column.by_rank); !done) return done;
    }
    const Status fits = check(path_, results);
    return fits ? fits : Status(Code::Io, std::string(fits.message()));
  }

  Status read_column(const std::string& group, const std::string& name, MethodResults& results) const {
    ResultColumn& column = results.columns.emplace_back(ResultColumn{.name = name});
    Result<Attributes> about = input_.attributes(group + "/" + name);
    if (!about) return about.status();
    std::erase_if(*about, [](const Attribute& one) { return one.name == "dtype"; });
    column.about = *std::move(about);
    return input_.read_all(group, name, Dtype::F64, 1, column.values);
  }

  Status read_summary() {
    const Result<std::vector<std::string>> members = input_.names("/");
    if (!members) return members.status();
    if (std::find(members->begin(), members->end(), summary_table.substr(1)) == members->end()) return {};
    const Result<hdf5::Table> table = input_.table(summary_table);
    if (!table) return table.status();
    results_.summary = rows_of(*table);
    Result<Attributes> about = input_.attributes(summary_table);
    if (about) results_.about_summary = *std::move(about);
    return about.status();
  }

  const std::filesystem::path& path_;
  const hdf5::Input& input_;
  RunResults results_;
};

}  // namespace

Status write_results(const std::filesystem::path& path, const RunResults& results) {
  if (Status fits = check(path, results); !fits) return fits;
  const hdf5::Turn turn;
  hdf5::Output output(path, 0);
  output.attributes("/", schema());
  output.attributes("/", results.provenance);
  output.group(methods_group);
  std::set<std::string> made;
  for (const MethodResults& one : results.methods) {
    if (made.insert(one.method).second) output.group(group_of(one.method));
    write_method(output, one);
  }
  if (!results.summary.empty()) {
    output.table(summary_table, table_of(results.summary));
    output.attributes(summary_table, results.about_summary);
  }
  return output.finish([&path](std::span<const std::byte> image) { return replace_sealed(path, image); });
}

Result<RunResults> read_results(const std::filesystem::path& path) {
  const hdf5::Turn turn;
  const Result<hdf5::Input> input = hdf5::Input::open_sealed(path, "a result file of `lacuna run`");
  if (!input) return input.status();
  return Reader(path, *input).read();
}

}  // namespace lacuna::checkpoint

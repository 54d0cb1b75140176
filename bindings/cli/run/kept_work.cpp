#include "bindings/cli/run/kept_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "bindings/checkpoint/checkpoint.hpp"
#include "bindings/checkpoint/file_names.hpp"
#include "bindings/cli/shared/join.hpp"
#include "bindings/cli/shared/output.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::cli {
namespace {

/// Earlier versions of lacuna had one sequence of checkpoints for all methods, in the output folder itself.
Status check_layout(const std::filesystem::path& output) {
  const Result<std::vector<checkpoint::SetFileName>> files = checkpoint::list_set_files(output);
  if (!files) return files.status();
  const auto is_manifest = [](const checkpoint::SetFileName& file) { return !file.rank && !file.temporary; };
  const auto manifest = std::find_if(files->begin(), files->end(), is_manifest);
  if (manifest == files->end()) return Status::ok();
  return {Code::InvalidArgument,
          fmt::format("{} is a checkpoint of an earlier lacuna (0.1.0 before seeds had folders), which this one cannot "
                      "continue. Finish the run with that version or choose another output; --fresh starts anew and "
                      "removes it",
                      (output / manifest->name).string())};
}

/// Says how the config would change work that is there, or nothing.
std::string change_of(const checkpoint::Manifest& set, const Work& work, std::uint64_t steps) {
  std::string change = difference_of_values(set.config_text, work.values);
  if (change.empty() && static_cast<std::uint64_t>(set.step) > steps) {
    change = fmt::format("run.steps is {} in effect", steps);
  }
  return change;
}

}  // namespace

Result<std::vector<std::int64_t>> newest_sets(const RunConfig& config, const std::vector<Work>& work, Rank ranks,
                                              std::uint64_t steps) {
  if (Status known = check_layout(config.output); !known) return known;
  std::vector<std::int64_t> sets;
  std::vector<std::string> changes;
  for (const Work& one : work) {
    const std::string name = name_of(config, one);
    const Result<checkpoint::SetSearch> search = checkpoint::newest_set(one.folder, ranks);
    if (!search) return search.status();
    for (const std::string& reason : search->passed_over) {
      write_error("lacuna run: '{}': passed over a checkpoint: {}\n", name, reason);
    }
    sets.push_back(search->set ? search->set->step : no_set);
    const std::string change = search->set ? change_of(*search->set, one, steps) : "";
    if (change.empty()) continue;
    changes.push_back(fmt::format("'{}' has done {}: {}", name, count_of(search->set->step, "step"), change));
  }
  if (changes.empty()) return sets;
  return Status(
      Code::InvalidArgument,
      fmt::format("the config would change work that {} holds already:\n  {}\nPut the old values back, give a "
                  "changed method another label, or choose another output; --fresh starts anew and removes "
                  "the work",
                  config.output.string(), joined(changes, "\n  ")));
}

}  // namespace lacuna::cli

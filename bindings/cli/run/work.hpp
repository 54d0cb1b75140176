#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/cli/run/config.hpp"

namespace lacuna::cli {

/// The work of one method with one seed. It has a folder of its own for its checkpoints.
struct Work {
  std::size_t method = 0;  ///< its place in the config
  std::uint64_t seed = 0;
  std::filesystem::path folder;  ///< <output>/seed-<seed>/<label>
  /// All that its steps depend on, one line "key = value" each. Work with equal values goes through the same bits.
  /// Every checkpoint has it.
  std::string values;
};

/// Returns how many steps each method does.
std::uint64_t steps_of(const RunConfig& config, std::uint64_t steps_per_epoch);

/// Returns all work of a config whose methods do so many steps: all methods with the first seed, then with the second.
std::vector<Work> work_of(const RunConfig& config, std::uint64_t steps);

/// Returns what people are told: the label, and the seed if the config has several.
std::string name_of(const RunConfig& config, const Work& work);

/// Returns the folders of all work that an output folder holds, also of work that the config no longer has.
std::vector<std::filesystem::path> folders_of_work(const std::filesystem::path& output);

/// Says how values differ, such as "workload.batch was 16, is now 32". Returns nothing if they are equal.
std::string difference_of_values(std::string_view before, std::string_view now);

}  // namespace lacuna::cli

#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/values/dtype.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::checkpoint {

/// Returns "ckpt-<step>-rank<r>.h5".
std::string rank_file_name(std::int64_t step, Rank rank);
/// Returns "manifest-<step>.json".
std::string manifest_name(std::int64_t step);

/// What the name of a file of a checkpoint set says.
struct SetFileName {
  std::int64_t step = 0;
  std::optional<Rank> rank;  ///< nothing: the file is the manifest
  bool temporary = false;    ///< its writer has not finished it
  std::string name;          ///< the whole name
};

/// Returns nothing for a name that the two functions above do not make.
std::optional<SetFileName> parse_set_file_name(std::string_view name);

/// Lists the files of checkpoint sets in a directory, in no order. Without the directory there are none.
Result<std::vector<SetFileName>> list_set_files(const std::filesystem::path& directory);

}  // namespace lacuna::checkpoint

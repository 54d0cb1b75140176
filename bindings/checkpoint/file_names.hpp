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

/// "ckpt-<step>-rank<r>.h5"
std::string rank_file_name(std::int64_t step, Rank rank);
/// "manifest-<step>.json"
std::string manifest_name(std::int64_t step);

/// What the name of a file of a checkpoint set says.
struct SetFileName {
  std::int64_t step = 0;
  std::optional<Rank> rank;  ///< nothing: the manifest
  bool temporary = false;    ///< a file whose writer did not come to its end, or has not yet
  std::string name;          ///< the whole of it
};

/// Nothing for any name that these functions do not make.
std::optional<SetFileName> parse_set_file_name(std::string_view name);

/// The regular files of checkpoint sets in a directory, in no order; none if it does not exist.
Result<std::vector<SetFileName>> list_set_files(const std::filesystem::path& directory);

}  // namespace lacuna::checkpoint

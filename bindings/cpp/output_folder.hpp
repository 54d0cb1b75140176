#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "runtime/values/status.hpp"

namespace lacuna {

/// Makes the folder that a configuration variable names, unless it is there. An empty one is none, and ok.
Status prepare_folder(std::string_view variable, const std::string& folder);

/// Writes a file so that nobody ever reads half of it: under another name first. What was there is replaced.
Status write_whole(const std::filesystem::path& path, const std::function<void(std::FILE*)>& write);

}  // namespace lacuna

#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "runtime/values/status.hpp"

namespace lacuna {

/// Makes the folder that a configuration variable names, unless it is there. An empty one is none, and ok.
Status prepare_folder(std::string_view variable, const std::string& folder);

/// Ok, or why write_whole() can put no file there: for those who want to know it before long work.
Status check_writable(const std::filesystem::path& path);

/// Writes a file so that nobody ever reads half of it: under another name first. What was there is replaced, unless
/// `write` returns an error or there is no room. It writes by put().
Status write_whole(const std::filesystem::path& path, const std::function<Status(std::FILE*)>& write);

/// Errors stay with the file.
void put(std::FILE* file, std::string_view text);

}  // namespace lacuna

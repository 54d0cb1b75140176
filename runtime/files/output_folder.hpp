#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/values/status.hpp"

namespace lacuna {

/// Makes the folder that a configuration variable names, unless it is there. An empty one is none, and ok.
Status prepare_folder(std::string_view variable, const std::string& folder);

/// Ok, or why write_whole() can put no file there: for those who want to know it before long work. Makes a file beside
/// it and removes that.
Status check_writable(const std::filesystem::path& path);

/// What write_whole() makes.
struct NewFile {
  mode_t mode = 0666;    ///< its permissions, less those that the umask takes; those of the file before don't count
  bool durable = false;  ///< it and its name are on the disk when write_whole() returns, in that order
};

/// Writes a file so that nobody ever reads half of it: under another name first, one that nobody can foresee and that
/// was not there. What was there is replaced, unless `write` returns an error or there is no room; a link is replaced,
/// never followed. `write` uses put().
Status write_whole(const std::filesystem::path& path, const std::function<Status(std::FILE*)>& write,
                   const NewFile& made = {});

/// What a file that is called so was to become: "x.json" for "x.json.0123456789abcdef.tmp". Nothing for names that
/// write_whole() does not make.
std::optional<std::string_view> name_when_finished(std::string_view unfinished);

/// Removes what killed writers of this file have left behind. Nobody may be writing it.
Status remove_unfinished(const std::filesystem::path& path);

/// Makes names that were added to or removed from a folder durable.
Status sync_folder(const std::filesystem::path& folder);

/// Errors stay with the file.
void put(std::FILE* file, std::string_view text);

}  // namespace lacuna

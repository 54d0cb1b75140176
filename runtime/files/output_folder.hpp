#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/values/status.hpp"

namespace lacuna {

/// Makes the folder that a configuration variable names, unless it exists. An empty name stands for no folder: the
/// result is ok. The error is Io if nothing can be written to the folder.
Status prepare_folder(std::string_view variable, const std::string& folder);

/// Returns ok, or why write_whole() can't write this file, for callers that want to know it before long work. It makes
/// a file in the same folder, and removes it.
Status check_writable(const std::filesystem::path& path);

/// Options of write_whole().
struct NewFile {
  mode_t mode = 0666;    ///< permissions of the file, less those that the umask takes, whatever a file before it had
  bool durable = false;  ///< the file, and then its name, are on the disk when write_whole() returns
};

/// Writes a file so that nobody ever reads half of it. It first writes a new file under a random name, and then renames
/// it. This replaces a file or a link at `path`; a link is never followed. On an error, what is at `path` does not
/// change. `write` writes by put().
Status write_whole(const std::filesystem::path& path, const std::function<Status(std::FILE*)>& write,
                   const NewFile& made = {});

/// The name that a file of write_whole() would get at the end: "x.json" for "x.json.0123456789abcdef.tmp". Nothing for
/// names that write_whole() does not make.
std::optional<std::string_view> name_when_finished(std::string_view unfinished);

/// Removes the unfinished files that killed writers of this file have left. Nobody may be writing the file.
Status remove_unfinished(const std::filesystem::path& path);

/// Brings the names that were added to a folder, or removed from it, to the disk.
Status sync_folder(const std::filesystem::path& folder);

/// Writes the text. An error stays in the file's state, and write_whole() reports it.
void put(std::FILE* file, std::string_view text);

}  // namespace lacuna

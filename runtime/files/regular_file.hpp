#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "runtime/files/fd.hpp"
#include "runtime/values/status.hpp"

namespace lacuna {

/// Is a link taken for the file that it leads to?
enum class Links : bool { Followed, Refused };

/// "it is a pipe, not a regular file"; empty for a regular file. Of what stat(), lstat() or fstat() has filled.
std::string why_not_regular(const struct stat& info);

/// Ok if a regular file is at the path, or nothing at all. Io names the path and says what is there instead.
Status check_regular(const std::filesystem::path& path, Links links);

/// Opens a regular file for reading. Never waits, and never reads from anything else: Io names the path and says what
/// is there instead.
Result<runtime::Fd> open_regular(const std::filesystem::path& path, Links links);

/// The whole content of such a file.
Result<std::string> read_regular(const std::filesystem::path& path, Links links);

}  // namespace lacuna

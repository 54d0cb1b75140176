#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "runtime/values/fd.hpp"
#include "runtime/values/status.hpp"

namespace lacuna {

/// Says whether a link stands for the file that it leads to.
enum class Links : bool { Followed, Refused };

/// A text such as "it is a pipe, not a regular file", or an empty one for a regular file. stat(), lstat() or fstat()
/// has filled `info`.
std::string why_not_regular(const struct stat& info);

/// Returns ok if a regular file or nothing is at the path. If not, the error is Io, and names the path and what is
/// there.
Status check_regular(const std::filesystem::path& path, Links links);

/// Opens a regular file for reading. It never waits, and opens nothing else: the error is Io, and names the path and
/// what is there.
Result<runtime::Fd> open_regular(const std::filesystem::path& path, Links links);

/// Returns the whole content of a regular file. The errors are those of open_regular().
Result<std::string> read_regular(const std::filesystem::path& path, Links links);

}  // namespace lacuna

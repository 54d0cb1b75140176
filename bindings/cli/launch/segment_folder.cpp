#include "bindings/cli/launch/segment_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <system_error>

namespace lacuna::cli {
namespace {

namespace fs = std::filesystem;
using runtime::Fd;

const std::string beginning = "lacuna-segments-";

/// Opens and locks a folder of this user that is still there. Returns an empty Fd if it is another user's, or if its
/// launcher lives.
Fd lock(const fs::path& folder) {
  Fd opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  const bool mine = opened.is_open() && ::fstat(opened.get(), &info) == 0 && info.st_uid == ::geteuid();
  if (!mine || ::flock(opened.get(), LOCK_EX | LOCK_NB) != 0) return {};
  const bool removed = ::fstat(opened.get(), &info) != 0 || info.st_nlink == 0;
  return removed ? Fd() : std::move(opened);
}

void remove_abandoned(const fs::path& where) {
  std::error_code error;
  for (fs::directory_iterator entry(where, error), end; !error && entry != end; entry.increment(error)) {
    if (!entry->path().filename().string().starts_with(beginning)) continue;
    std::error_code kept;
    if (const Fd held = lock(entry->path()); held.is_open()) fs::remove_all(entry->path(), kept);
  }
}

}  // namespace

SegmentFolder::SegmentFolder(const fs::path& where) {
  remove_abandoned(where);
  // Until a new folder is locked, another launcher may take it for an abandoned one and remove it.
  for (int tries = 0; tries < 100 && !lock_.is_open(); ++tries) {
    std::string name = (where / (beginning + "XXXXXX")).string();
    if (::mkdtemp(name.data()) == nullptr) return;
    lock_ = lock(name);
    if (lock_.is_open()) path_ = name;
  }
}

SegmentFolder::~SegmentFolder() {
  std::error_code error;
  if (!path_.empty()) fs::remove_all(path_, error);
}

}  // namespace lacuna::cli

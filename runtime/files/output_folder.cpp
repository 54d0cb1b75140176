#include "runtime/files/output_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <utility>

#include "runtime/files/regular_file.hpp"
#include "runtime/values/fd.hpp"

namespace lacuna {

namespace {

namespace fs = std::filesystem;
using runtime::Fd;

constexpr std::string_view unfinished_ending = ".tmp";
constexpr std::size_t random_digits = 16;

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : "."; }

Status unwritable(const fs::path& path, std::string_view why) {
  return {Code::Io, fmt::format("{} could not be written: {}", path.string(), why)};
}

Status unwritable(const fs::path& path) { return unwritable(path, std::strerror(errno)); }

/// The file under its random name. The destructor removes it unless finish() has renamed it.
class Unfinished {
 public:
  Unfinished(const fs::path& path, mode_t mode) : path_(path) {
    std::uint64_t random = 0;
    if (::getrandom(&random, sizeof random, 0) != sizeof random) return;
    name_ = fmt::format("{}.{:0{}x}{}", path.string(), random, random_digits, unfinished_ending);
    const int fd = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    file_ = fd < 0 ? nullptr : ::fdopen(fd, "w");
    if (fd < 0) name_.clear();
  }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;
  ~Unfinished() {
    if (file_) std::fclose(file_);
    if (!name_.empty()) ::unlink(name_.c_str());
  }

  std::FILE* file() const { return file_; }
  Status finish(bool durable) {
    bool good = std::fflush(file_) == 0 && std::ferror(file_) == 0;
    if (durable) good = good && ::fsync(::fileno(file_)) == 0;
    const int error = errno;
    if (std::fclose(std::exchange(file_, nullptr)) != 0 && good) return unwritable(path_);
    if (!good) return unwritable(path_, std::strerror(error));
    if (::rename(name_.c_str(), path_.c_str()) != 0) return unwritable(path_);
    name_.clear();
    return durable ? sync_folder(folder_of(path_)) : Status::ok();
  }

 private:
  fs::path path_;
  std::string name_;  // empty: there is no such file
  std::FILE* file_ = nullptr;
};

Status check_replaceable(const fs::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0)
    return Status::ok();  // there is no file, or making one fails for the same reason
  const std::string why = why_not_regular(info);
  return why.empty() ? Status::ok() : unwritable(path, why);
}

}  // namespace

Status prepare_folder(std::string_view variable, const std::string& folder) {
  if (folder.empty()) return {};
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error && ::access(folder.c_str(), W_OK | X_OK) == 0) return {};
  return {Code::Io, fmt::format("{}: nothing can be written to the folder {}: {}", variable, folder,
                                error ? error.message() : std::strerror(errno))};
}

Status check_writable(const fs::path& path) {
  if (Status replaceable = check_replaceable(path); !replaceable) return replaceable;
  return Unfinished(path, 0600).file() ? Status::ok() : unwritable(path);
}

Status write_whole(const fs::path& path, const std::function<Status(std::FILE*)>& write, const NewFile& made) {
  if (Status replaceable = check_replaceable(path); !replaceable) return replaceable;
  Unfinished unfinished(path, made.mode);
  if (!unfinished.file()) return unwritable(path);
  Status written = write(unfinished.file());
  return written ? unfinished.finish(made.durable) : written;
}

std::optional<std::string_view> name_when_finished(std::string_view unfinished) {
  constexpr std::size_t longer = 1 + random_digits + unfinished_ending.size();
  if (unfinished.size() <= longer || !unfinished.ends_with(unfinished_ending)) return {};
  const std::string_view name = unfinished.substr(0, unfinished.size() - longer);
  const std::string_view digits = unfinished.substr(name.size() + 1, random_digits);
  const bool made_here =
      unfinished[name.size()] == '.' && digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  return made_here ? std::optional(name) : std::nullopt;
}

Status remove_unfinished(const fs::path& path) {
  const fs::path folder = folder_of(path);
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (name_when_finished(name) != path.filename().string()) continue;
    fs::remove(entry->path(), error);
    if (error) break;
  }
  return error ? Status(Code::Io, fmt::format("{}: {}", folder.string(), error.message())) : Status::ok();
}

Status sync_folder(const fs::path& folder) {
  const Fd opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems can't sync a folder, which is EINVAL.
  const bool synced = opened.is_open() && (::fsync(opened.get()) == 0 || errno == EINVAL);
  if (synced) return Status::ok();
  return {Code::Io, fmt::format("{} could not be brought to the disk: {}", folder.string(), std::strerror(errno))};
}

void put(std::FILE* file, std::string_view text) { std::fwrite(text.data(), 1, text.size(), file); }

}  // namespace lacuna

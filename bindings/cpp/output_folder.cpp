#include "bindings/cpp/output_folder.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <system_error>

namespace lacuna {

Status prepare_folder(std::string_view variable, const std::string& folder) {
  if (folder.empty()) return {};
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error && ::access(folder.c_str(), W_OK | X_OK) == 0) return {};
  return {Code::Io, fmt::format("{}: nothing can be written to the folder {}: {}", variable, folder,
                                error ? error.message() : std::strerror(errno))};
}

Status check_writable(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error)) {
    return {Code::Io, fmt::format("{} could not be written: it is no regular file", path.string())};
  }
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  if (::access(folder.c_str(), W_OK | X_OK) == 0) return {};
  return {Code::Io, fmt::format("{} could not be written: the folder {}: {}", path.string(), folder.string(),
                                std::strerror(errno))};
}

Status write_whole(const std::filesystem::path& path, const std::function<Status(std::FILE*)>& write) {
  if (Status writable = check_writable(path); !writable) return writable;
  const std::filesystem::path unfinished = path.string() + fmt::format(".{}.tmp", ::getpid());
  const auto failed = [&](Status status) {
    std::error_code ignored;
    std::filesystem::remove(unfinished, ignored);
    return status;
  };
  const auto system_error = [&]() -> Status {
    return {Code::Io, fmt::format("{} could not be written: {}", path.string(), std::strerror(errno))};
  };
  std::FILE* file = std::fopen(unfinished.c_str(), "w");
  if (!file) return failed(system_error());
  Status written = write(file);
  if (written && (std::fflush(file) != 0 || std::ferror(file) != 0)) written = system_error();
  if (std::fclose(file) != 0 && written) written = system_error();
  if (written && std::rename(unfinished.c_str(), path.c_str()) != 0) written = system_error();
  return written ? written : failed(written);
}

void put(std::FILE* file, std::string_view text) { std::fwrite(text.data(), 1, text.size(), file); }

}  // namespace lacuna

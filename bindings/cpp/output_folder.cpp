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

Status write_whole(const std::filesystem::path& path, const std::function<void(std::FILE*)>& write) {
  const std::filesystem::path unfinished = path.string() + fmt::format(".{}.tmp", ::getpid());
  const auto failed = [&]() -> Status {
    const Status status(Code::Io, fmt::format("{} could not be written: {}", path.string(), std::strerror(errno)));
    std::error_code ignored;
    std::filesystem::remove(unfinished, ignored);
    return status;
  };
  std::FILE* file = std::fopen(unfinished.c_str(), "w");
  if (!file) return failed();
  write(file);
  const bool well = std::fflush(file) == 0 && std::ferror(file) == 0;
  if (std::fclose(file) != 0 || !well || std::rename(unfinished.c_str(), path.c_str()) != 0) return failed();
  return {};
}

}  // namespace lacuna

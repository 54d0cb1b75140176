#include "bindings/checkpoint/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

namespace lacuna::checkpoint {

namespace {

constexpr std::size_t piece_bytes = 1 << 20;

class Descriptor {
 public:
  Descriptor(const std::filesystem::path& path, int flags) : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  int get() const { return fd_; }
  bool close() {
    const int fd = std::exchange(fd_, -1);
    return fd < 0 || ::close(fd) == 0;
  }

 private:
  int fd_;
};

Status system_failure(const std::filesystem::path& path, std::string_view attempt, int error) {
  return Status(Code::Io,
                fmt::format("{}: cannot {}: {}", path.string(), attempt, std::generic_category().message(error)));
}

Status write_all(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  Descriptor file(path, O_WRONLY | O_CREAT | O_TRUNC);
  if (file.get() < 0) return system_failure(path, "create the file", errno);
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_failure(path, "write the file", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  if (::fsync(file.get()) != 0) return system_failure(path, "bring the file to the disk", errno);
  if (!file.close()) return system_failure(path, "close the file", errno);
  return Status::ok();
}

/// Feeds a file's bytes to `use`, in order.
template <class Use>
Status for_each_piece(const std::filesystem::path& path, Use use) {
  const Descriptor file(path, O_RDONLY);
  if (file.get() < 0) return system_failure(path, "open the file", errno);
  std::vector<std::byte> piece(piece_bytes);
  while (true) {
    const ssize_t bytes = ::read(file.get(), piece.data(), piece.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return system_failure(path, "read the file", errno);
    if (bytes == 0) return Status::ok();
    use(std::span<const std::byte>(piece).first(static_cast<std::size_t>(bytes)));
  }
}

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    good_ = context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1;
  }
  void add(std::span<const std::byte> bytes) {
    good_ = good_ && EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1;
  }
  Result<std::string> hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
    unsigned length = 0;
    if (!good_ || EVP_DigestFinal_ex(context_.get(), digest.data(), &length) != 1) {
      return Status(Code::Internal, "libcrypto does not compute SHA-256 here");
    }
    std::string text;
    for (unsigned i = 0; i < length; ++i) text += fmt::format("{:02x}", digest[i]);
    return text;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
  bool good_ = false;
};

}  // namespace

Status sync_directory(const std::filesystem::path& directory) {
  const Descriptor opened(directory, O_RDONLY | O_DIRECTORY);
  if (opened.get() < 0) return system_failure(directory, "open the directory", errno);
  const bool synced = ::fsync(opened.get()) == 0 || errno == EINVAL;  // EINVAL: a file system without this service
  return synced ? Status::ok() : system_failure(directory, "bring the directory to the disk", errno);
}

Status replace_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  const std::filesystem::path directory = path.has_parent_path() ? path.parent_path() : ".";
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return system_failure(directory, "make the directory", error.value());
  const std::filesystem::path temporary = path.string() + std::string(temporary_suffix);
  Status written = write_all(temporary, bytes);
  if (written && ::rename(temporary.c_str(), path.c_str()) != 0) {
    written = system_failure(path, "put the file in its place", errno);
  }
  if (!written) {
    ::unlink(temporary.c_str());
    return written;
  }
  return sync_directory(directory);
}

Result<FileSum> sum_of(std::string name, std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.add(bytes);
  Result<std::string> hex = hash.hex();
  if (!hex) return hex.status();
  return FileSum{std::move(name), bytes.size(), *std::move(hex)};
}

Result<FileSum> sum_of_file(const std::filesystem::path& path) {
  Sha256 hash;
  std::uint64_t bytes = 0;
  const Status read = for_each_piece(path, [&](std::span<const std::byte> piece) {
    hash.add(piece);
    bytes += piece.size();
  });
  if (!read) return read;
  Result<std::string> hex = hash.hex();
  if (!hex) return hex.status();
  return FileSum{path.filename().string(), bytes, *std::move(hex)};
}

Result<std::string> read_text_file(const std::filesystem::path& path) {
  std::string text;
  const Status read = for_each_piece(path, [&](std::span<const std::byte> piece) {
    text.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  });
  if (!read) return read;
  return text;
}

Result<std::string> digest_of(std::string_view text) {
  Result<FileSum> sum = sum_of("", std::as_bytes(std::span(text)));
  if (!sum) return sum.status();
  return std::move(sum->sha256);
}

}  // namespace lacuna::checkpoint

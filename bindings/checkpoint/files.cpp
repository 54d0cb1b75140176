#include "bindings/checkpoint/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "bindings/job/output_folder.hpp"

namespace lacuna::checkpoint {

namespace {

constexpr std::size_t piece_bytes = 1 << 20;

Status system_failure(const std::filesystem::path& path, std::string_view attempt, int error) {
  return Status(Code::Io,
                fmt::format("{}: cannot {}: {}", path.string(), attempt, std::generic_category().message(error)));
}

/// Feeds a file's bytes to `use`, in order.
template <class Use>
Status for_each_piece(const std::filesystem::path& path, Use use) {
  const Result<runtime::Fd> file = open_regular(path);
  if (!file) return file.status();
  std::vector<std::byte> piece(piece_bytes);
  while (true) {
    const ssize_t bytes = ::read(file->get(), piece.data(), piece.size());
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

Status replace_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  const std::filesystem::path directory = path.has_parent_path() ? path.parent_path() : ".";
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return system_failure(directory, "make the directory", error.value());
  const auto write = [bytes](std::FILE* file) {
    put(file, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    return Status::ok();
  };
  return write_whole(path, write, {.mode = 0640, .durable = true});
}

Result<runtime::Fd> open_regular(const std::filesystem::path& path) {
  runtime::Fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  if (!file.is_open() && errno != ELOOP) return system_failure(path, "open the file", errno);
  struct stat info {};
  if (file.is_open() && ::fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode)) return file;
  return Status(Code::Io, fmt::format("{}: cannot open the file: it is a link or no regular file", path.string()));
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

#include "bindings/checkpoint/files.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/files/output_folder.hpp"
#include "runtime/files/regular_file.hpp"

namespace lacuna::checkpoint {

namespace {

constexpr std::size_t piece_bytes = 1 << 20;

/// Feeds a file's bytes to `use`, in order.
template <class Use>
Status for_each_piece(const std::filesystem::path& path, Use use) {
  const Result<runtime::Fd> file = open_regular(path, Links::Refused);
  if (!file) return file.status();
  std::vector<std::byte> piece(piece_bytes);
  while (true) {
    const ssize_t bytes = ::read(file->get(), piece.data(), piece.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) {
      return Status(Code::Io, fmt::format("{} cannot be read: {}", path.string(), std::strerror(errno)));
    }
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

Status replace_file(const std::filesystem::path& path, std::span<const std::byte> bytes, std::string_view head) {
  const auto write = [bytes, head](std::FILE* file) {
    put(file, head);
    put(file, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    return Status::ok();
  };
  return write_whole(path, write, {.mode = 0640, .durable = true});
}

Result<std::string> sha256_of(std::span<const std::span<const std::byte>> pieces) {
  Sha256 hash;
  for (std::span<const std::byte> piece : pieces) hash.add(piece);
  return hash.hex();
}

Result<FileSum> sum_of(std::string name, std::span<const std::byte> bytes) {
  Result<std::string> hex = sha256_of(std::span(&bytes, 1));
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

Result<std::string> digest_of(std::string_view text) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
  return sha256_of(std::span(&bytes, 1));
}

}  // namespace lacuna::checkpoint

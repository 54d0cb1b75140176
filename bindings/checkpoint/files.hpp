#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "bindings/checkpoint/checkpoint.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::checkpoint {

/// Replaces a file by these bytes, so that whatever happens, its name shows the old content or the new one
/// (write_whole() of a durable file). Only owner and group may read it. The directory must be there. The file begins
/// with `head`.
Status replace_file(const std::filesystem::path& path, std::span<const std::byte> bytes, std::string_view head = {});

/// Returns the SHA-256 of the pieces, one after the other, as 64 hexadecimal digits.
Result<std::string> sha256_of(std::span<const std::span<const std::byte>> pieces);

/// Returns the length and checksum of these bytes, under this name.
Result<FileSum> sum_of(std::string name, std::span<const std::byte> bytes);
/// Returns the length and checksum of a file's content, which it reads in pieces.
Result<FileSum> sum_of_file(const std::filesystem::path& path);

}  // namespace lacuna::checkpoint

#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "bindings/checkpoint/checkpoint.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::checkpoint {

/// What a file that is being written is called until it is complete: its name and this.
inline constexpr std::string_view temporary_suffix = ".tmp";

/// Replaces a file by these bytes so that, whatever happens, its name shows the old content or the new one: temporary
/// file beside it, fsync, rename, fsync of the directory, which is made if it is missing. After an error
/// the temporary file is gone.
Status replace_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

/// Makes names that were added to or removed from a directory durable.
Status sync_directory(const std::filesystem::path& directory);

/// Length and checksum of these bytes, under this name.
Result<FileSum> sum_of(std::string name, std::span<const std::byte> bytes);
/// The same of a file's content, read piece by piece.
Result<FileSum> sum_of_file(const std::filesystem::path& path);

Result<std::string> read_text_file(const std::filesystem::path& path);

}  // namespace lacuna::checkpoint

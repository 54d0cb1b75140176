#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "bindings/checkpoint/checkpoint.hpp"
#include "runtime/job/socket.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::checkpoint {

/// Replaces a file by these bytes so that, whatever happens, its name shows the old content or the new one:
/// write_whole() of a durable file, in a directory that is made if it is missing. Only owner and group may read it.
Status replace_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

/// Opens a file for reading and never waits: Io for links, pipes, devices and whatever else is no regular file.
Result<runtime::Fd> open_regular(const std::filesystem::path& path);

/// Length and checksum of these bytes, under this name.
Result<FileSum> sum_of(std::string name, std::span<const std::byte> bytes);
/// The same of a file's content, read piece by piece.
Result<FileSum> sum_of_file(const std::filesystem::path& path);

Result<std::string> read_text_file(const std::filesystem::path& path);

}  // namespace lacuna::checkpoint

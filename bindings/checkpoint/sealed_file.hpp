#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/values/status.hpp"

/// A sealed file begins with a digest of what follows. So damage is found before HDF5 reads the file, which may crash
/// or loop on it. The seal is a user block of HDF5, as the format has it: a text, padded with zero bytes to 512 bytes
/// or to 512 times a power of two. HDF5, h5py and the like look for their data behind it.
///
///     lacuna-sealed 1
///     sha256 <64 hexadecimal digits>      of the lines below and of all bytes behind the block, without the stretches
///     except <begin> <length>             a stretch that may change; bytes, counted from the end of the block
namespace lacuna::checkpoint {

/// Bytes of a sealed file that may change later. They are counted from the end of the seal.
struct Stretch {
  std::uint64_t begin = 0;
  std::uint64_t length = 0;
};

/// Returns the length of a seal with these stretches.
std::size_t seal_bytes(std::span<const Stretch> open);

/// Replaces a file by a seal and the image of an HDF5 file (replace_file()). The stretches are ascending and apart.
Status replace_sealed(const std::filesystem::path& path, std::span<const std::byte> image,
                      std::span<const Stretch> open = {});

/// Returns the image of an HDF5 file. It is Io if the file is not sealed, which `kind` says what it should be, or if it
/// does not have the digest of its seal.
Result<std::string> read_sealed(const std::filesystem::path& path, std::string_view kind);

}  // namespace lacuna::checkpoint

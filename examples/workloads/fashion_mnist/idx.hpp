#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/values/status.hpp"

namespace lacuna::workloads {

/// An array of bytes, as an IDX file holds it.
struct IdxArray {
  std::vector<std::size_t> shape;
  std::vector<std::uint8_t> values;
};

/// Reads an IDX file of bytes, gzipped or not. Io says what is wrong with the file. A file whose header promises other
/// sizes than it has is refused before memory is taken for them.
Result<IdxArray> read_idx(const std::filesystem::path& path, std::size_t dimensions);

/// Images and their labels. Image i is values [i * pixels, (i + 1) * pixels).
struct LabelledImages {
  std::size_t count = 0;
  std::size_t pixels = 0;  ///< height x width
  std::size_t height = 0;
  std::size_t width = 0;
  std::vector<std::uint8_t> images;
  std::vector<std::uint8_t> labels;
};

/// Reads `<prefix>-images-idx3-ubyte.gz` and `<prefix>-labels-idx1-ubyte.gz` of a folder. Every label must be below
/// `class_count`.
Result<LabelledImages> read_images(const std::filesystem::path& folder, const std::string& prefix,
                                   std::size_t class_count);

}  // namespace lacuna::workloads

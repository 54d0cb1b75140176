#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "examples/workloads/fashion_mnist/idx.hpp"

namespace lacuna::workloads {

inline constexpr std::size_t classes = 10;

/// The images for training and those for testing, all of one size.
struct FashionMnistData {
  LabelledImages training;
  LabelledImages test;
};

/// Reads the four files of Fashion-MNIST (Xiao, Rasul and Vollgraf, 2017). An error says where they come from. Only the
/// first `images` training images count, or all of them for 0. It is an error if there are fewer.
Result<FashionMnistData> read_fashion_mnist(const std::filesystem::path& folder, std::size_t images = 0);

/// Returns a pixel as networks see it: those of the training images have mean 0 and deviation 1.
inline float normalised(std::uint8_t pixel) {
  constexpr float mean = 0.2860F;  // in units of the brightest pixel
  constexpr float deviation = 0.3530F;
  return (static_cast<float>(pixel) / 255.0F - mean) / deviation;
}

}  // namespace lacuna::workloads

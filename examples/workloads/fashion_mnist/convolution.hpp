#pragma once

#include <cstddef>
#include <cstdint>

namespace lacuna::workloads {

/// Values of a sample by row, column and channel, the channels of a place side by side.
struct Volume {
  std::size_t height = 0;
  std::size_t width = 0;
  std::size_t channels = 0;

  std::size_t places() const { return height * width; }
  std::size_t values() const { return places() * channels; }
  /// Half the places each way; an odd last one is left out.
  Volume halved() const { return {height / 2, width / 2, channels}; }
};

/// Places around one, itself included, that a convolution looks at.
inline constexpr std::size_t window = 9;

/// A row of window x channels values for each place of a sample: those around it by row, column and channel, zeros
/// beyond the border. So a convolution is a matrix product.
void gather_windows(const Volume& shape, const float* values, float* windows);
/// The transposed map: adds each value of the rows to the one that it was gathered from.
void add_windows(const Volume& shape, const float* windows, float* values);

/// The greatest value of each 2 x 2 places, channel by channel, and which of the four it was.
void take_maxima(const Volume& shape, const float* values, float* maxima, std::uint8_t* which);
/// The transposed map: each to the place that it was taken from, zeros elsewhere.
void return_maxima(const Volume& shape, const float* maxima, const std::uint8_t* which, float* values);

}  // namespace lacuna::workloads

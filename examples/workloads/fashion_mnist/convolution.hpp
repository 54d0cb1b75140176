#pragma once

#include <cstddef>
#include <cstdint>

namespace lacuna::workloads {

/// The shape of a sample whose values lie by row, column and channel. The channels of a place lie side by side.
struct Volume {
  std::size_t height = 0;
  std::size_t width = 0;
  std::size_t channels = 0;

  std::size_t places() const { return height * width; }
  std::size_t values() const { return places() * channels; }
  /// Returns half of the places each way. An odd last place is left out.
  Volume halved() const { return {height / 2, width / 2, channels}; }
};

/// How many places a convolution looks at: a place and those around it.
inline constexpr std::size_t window = 9;

/// Makes a row of window x channels values for each place of a sample: the values around it by row, column and channel,
/// and zeros beyond the border. So a convolution is a matrix product.
void gather_windows(const Volume& shape, const float* values, float* windows);
/// The transposed map adds each value of the rows to the value that it was gathered from.
void add_windows(const Volume& shape, const float* windows, float* values);

/// Takes the greatest value of each 2 x 2 places, channel by channel, and says which of the four it was.
void take_maxima(const Volume& shape, const float* values, float* maxima, std::uint8_t* which);
/// The transposed map puts each value at the place that it was taken from, and zeros elsewhere.
void return_maxima(const Volume& shape, const float* maxima, const std::uint8_t* which, float* values);

}  // namespace lacuna::workloads

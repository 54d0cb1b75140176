#include "examples/workloads/fashion_mnist/convolution.hpp"

#include <algorithm>

namespace lacuna::workloads {
namespace {

/// Calls row(window values, sample values, count) for the values of a window that lie side by side in the sample, and
/// outside(window values, count) for those beyond the border.
template <class Row, class Outside>
void each_window_row(const Volume& shape, Row row, Outside outside) {
  const std::size_t channels = shape.channels;
  std::size_t at = 0;
  for (std::size_t y = 0; y < shape.height; ++y) {
    for (std::size_t x = 0; x < shape.width; ++x) {
      const std::size_t left = x == 0 ? 1 : 0, right = x + 1 == shape.width ? 2 : 3;  // columns of the window inside
      for (std::size_t dy = 0; dy < 3; ++dy, at += 3 * channels) {
        if (y + dy < 1 || y + dy > shape.height) {
          outside(at, 3 * channels);
          continue;
        }
        if (left > 0) outside(at, channels);
        const std::size_t from = ((y + dy - 1) * shape.width + x + left - 1) * channels;
        row(at + left * channels, from, (right - left) * channels);
        if (right < 3) outside(at + 2 * channels, channels);
      }
    }
  }
}

/// Calls visit(maximum, values of its four candidates) for each place and channel of the halved shape.
template <class Visit>
void each_maximum(const Volume& shape, Visit visit) {
  const Volume half = shape.halved();
  std::size_t at = 0;
  for (std::size_t y = 0; y < half.height; ++y) {
    for (std::size_t x = 0; x < half.width; ++x) {
      for (std::size_t c = 0; c < shape.channels; ++c, ++at) {
        visit(at, (2 * y * shape.width + 2 * x) * shape.channels + c);
      }
    }
  }
}

std::size_t candidate(const Volume& shape, std::size_t first, std::size_t which) {
  return first + ((which / 2) * shape.width + which % 2) * shape.channels;
}

}  // namespace

void gather_windows(const Volume& shape, const float* values, float* windows) {
  each_window_row(
      shape, [&](std::size_t to, std::size_t from, std::size_t n) { std::copy_n(values + from, n, windows + to); },
      [&](std::size_t to, std::size_t n) { std::fill_n(windows + to, n, 0.0F); });
}

void add_windows(const Volume& shape, const float* windows, float* values) {
  each_window_row(
      shape,
      [&](std::size_t from, std::size_t to, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) values[to + i] += windows[from + i];
      },
      [](std::size_t, std::size_t) {});
}

void take_maxima(const Volume& shape, const float* values, float* maxima, std::uint8_t* which) {
  each_maximum(shape, [&](std::size_t at, std::size_t first) {
    std::uint8_t best = 0;
    for (std::uint8_t other = 1; other < 4; ++other) {
      if (values[candidate(shape, first, other)] > values[candidate(shape, first, best)]) best = other;
    }
    which[at] = best;
    maxima[at] = values[candidate(shape, first, best)];
  });
}

void return_maxima(const Volume& shape, const float* maxima, const std::uint8_t* which, float* values) {
  std::fill_n(values, shape.values(), 0.0F);
  each_maximum(shape,
               [&](std::size_t at, std::size_t first) { values[candidate(shape, first, which[at])] = maxima[at]; });
}

}  // namespace lacuna::workloads

#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "bindings/cpp/exchange.hpp"

namespace lacuna::workloads {

/// A stretch of rows or columns.
struct Stretch {
  std::size_t begin = 0, end = 0;
};

/// The points of one rank, with a rim of one point around them that holds the neighbours' points.
class Box {
 public:
  /// Factors of the two second differences in a step.
  struct Factors {
    double rows = 0, columns = 0;
  };

  Box(Stretch rows, Stretch columns);

  Stretch rows() const { return rows_; }
  Stretch columns() const { return columns_; }
  std::size_t height() const { return rows_.end - rows_.begin; }
  std::size_t width() const { return columns_.end - columns_.begin; }
  /// A point, whose place counts from the box's first one.
  double& at(std::size_t row, std::size_t column) { return now_[place(row + 1, column + 1)]; }
  /// All points with the rim. The memory stays the same.
  std::vector<double>& values() { return now_; }

  /// What is exchanged with the ranks above, below, left and right.
  std::array<Halo, 4> halos();
  /// Takes the border points to what is sent.
  void pack();
  /// Puts what has been received into the rim. At a place without a neighbour the rim stays 0.
  void unpack(std::span<const Neighbour> neighbours);

  /// Computes the points of the next step that need no rim.
  void compute_inner(const Factors& by);
  /// Computes the others, and goes to the next step. Returns the largest change of a point.
  double compute_border(const Factors& by);

 private:
  std::size_t place(std::size_t row, std::size_t column) const { return row * (width() + 2) + column; }
  void compute(Stretch rows, Stretch columns, const Factors& by);
  /// Visits the border points of one side: the place of each in the box, and in the rim beside it.
  template <class Visit>
  void each_of_side(std::size_t side, const Visit& visit) const;

  Stretch rows_, columns_;
  std::vector<double> now_, next_;
  std::array<std::vector<double>, 4> sent_, received_;
};

}  // namespace lacuna::workloads

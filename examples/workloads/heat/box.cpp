#include "examples/workloads/heat/box.hpp"

#include <algorithm>
#include <cmath>

namespace lacuna::workloads {

Box::Box(Stretch rows, Stretch columns)
    : rows_(rows), columns_(columns), now_((height() + 2) * (width() + 2)), next_(now_) {
  for (std::size_t side = 0; side < 4; ++side) {
    sent_[side].resize(side < 2 ? width() : height());
    received_[side].resize(sent_[side].size());
  }
}

std::array<Halo, 4> Box::halos() {
  std::array<Halo, 4> all;
  for (std::size_t side = 0; side < 4; ++side) all[side] = halo(sent_[side], received_[side]);
  return all;
}

template <class Visit>
void Box::each_of_side(std::size_t side, const Visit& visit) const {
  const bool behind = side % 2 == 1;
  const std::size_t last = side < 2 ? height() : width();
  const std::size_t border = behind ? last : 1, rim = behind ? last + 1 : 0;
  for (std::size_t i = 0; i < sent_[side].size(); ++i) {
    side < 2 ? visit(i, place(border, i + 1), place(rim, i + 1)) : visit(i, place(i + 1, border), place(i + 1, rim));
  }
}

void Box::pack() {
  for (std::size_t side = 0; side < 4; ++side) {
    each_of_side(side, [&](std::size_t i, std::size_t border, std::size_t) { sent_[side][i] = now_[border]; });
  }
}

void Box::unpack(std::span<const Neighbour> neighbours) {
  for (std::size_t side = 0; side < 4; ++side) {
    if (neighbours[side].rank == Neighbour::nobody) continue;
    each_of_side(side, [&](std::size_t i, std::size_t, std::size_t rim) { now_[rim] = received_[side][i]; });
  }
}

/// Each point is computed by the same expression wherever its box ends.
void Box::compute(Stretch rows, Stretch columns, const Factors& by) {
  const std::size_t line = width() + 2;
  for (std::size_t row = rows.begin; row < rows.end; ++row) {
    for (std::size_t i = place(row, columns.begin); i < place(row, columns.end); ++i) {
      const double twice = 2 * now_[i];
      next_[i] = now_[i] + by.rows * (now_[i - line] + now_[i + line] - twice) +
                 by.columns * (now_[i - 1] + now_[i + 1] - twice);
    }
  }
}

void Box::compute_inner(const Factors& by) {
  if (height() > 2 && width() > 2) compute({2, height()}, {2, width()}, by);
}

double Box::compute_border(const Factors& by) {
  const Stretch all_columns{1, width() + 1};
  compute({1, 2}, all_columns, by);
  if (height() > 1) compute({height(), height() + 1}, all_columns, by);
  if (height() > 2) {
    compute({2, height()}, {1, 2}, by);
    if (width() > 1) compute({2, height()}, {width(), width() + 1}, by);
  }
  double largest = 0;
  for (std::size_t row = 1; row <= height(); ++row) {
    for (std::size_t i = place(row, 1); i < place(row, width() + 1); ++i) {
      largest = std::max(largest, std::abs(next_[i] - now_[i]));
      now_[i] = next_[i];
    }
  }
  return largest;
}

}  // namespace lacuna::workloads

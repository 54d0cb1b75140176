#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <vector>

/// A small Monte Carlo transport code. Particles fly through a cube of cells of width 1, collide, slow down and are
/// absorbed. The code knows nothing about ranks.
namespace transport {

inline constexpr std::size_t groups = 4;                                ///< groups of energy
inline constexpr std::size_t kinds = 2;                                 ///< kinds of scores: collisions, track length
inline constexpr std::size_t lattice = 4, sources = lattice * lattice;  ///< sources along x and y, at half the height
inline constexpr double cross_section[groups] = {0.3, 0.4, 0.6, 0.9};   ///< collisions in a cell's width
inline constexpr double absorbed = 0.3, slowed_down = 0.4;              ///< shares of the collisions

/// The random numbers of one history, whoever follows it. They are a stretch of SplitMix64's sequence that belongs to
/// this history (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014). Any number of the
/// sequence can be reached at once.
class Random {
 public:
  explicit Random(std::uint64_t history) : next_(history << 20) {}
  /// Returns a number in (0, 1].
  double operator()() {
    std::uint64_t bits = ++next_ * 0x9e3779b97f4a7c15u;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
    return static_cast<double>(((bits ^ (bits >> 31)) >> 11) + 1) * 0x1p-53;
  }

 private:
  std::uint64_t next_;
};

/// Scores by [cell][group][kind], and beside them the list of scores in their order, in which a bin may come often.
struct Tally {
  void score(std::size_t bin, double what) {
    bins[bin] += what;
    places.push_back(static_cast<std::uint32_t>(bin));
    scores.push_back(what);
  }
  void clear() {
    for (std::uint32_t place : places) bins[place] = 0;
    places.clear();
    scores.clear();
  }

  std::vector<double> bins;
  std::vector<std::uint32_t> places{};
  std::vector<double> scores{};
};

using Vector = std::array<double, 3>;

inline Vector isotropic(Random& random) {
  const double cosine = 2 * random() - 1, angle = 2 * std::numbers::pi * random();
  const double sine = std::sqrt(1 - cosine * cosine);
  return {sine * std::cos(angle), sine * std::sin(angle), cosine};
}

struct Particle {
  std::array<std::size_t, 3> cell;
  Vector direction, at{};
  std::size_t group = 0;

  std::size_t bin(std::size_t cells) const {
    return (((cell[2] * cells + cell[1]) * cells + cell[0]) * groups + group) * kinds;
  }

  /// Moves along the direction, from cell to cell. Returns false if the particle leaves the mesh.
  bool fly(double distance, std::size_t cells, Tally& tally) {
    while (true) {
      std::size_t axis = 3;  // the axis of the wall that the particle reaches first; 3: none
      double step = distance;
      for (std::size_t i = 0; i < 3; ++i) {
        const double wall = static_cast<double>(cell[i] + (direction[i] > 0 ? 1 : 0));
        const double reach = direction[i] == 0 ? distance : std::max(0.0, (wall - at[i]) / direction[i]);
        if (reach < step) step = reach, axis = i;
      }
      tally.score(bin(cells) + 1, std::nearbyint(step * 0x1p20) * 0x1p-20);
      for (std::size_t i = 0; i < 3; ++i) at[i] += step * direction[i];
      if (axis == 3) return true;
      distance -= step;
      cell[axis] += direction[axis] > 0 ? std::size_t{1} : ~std::size_t{0};  // a number below 0 wraps to one far above
      if (cell[axis] >= cells) return false;
    }
  }
};

/// Follows a history from its source until the particle is absorbed or leaves the mesh.
inline void follow(std::uint64_t history, std::size_t source, std::size_t cells, Tally& tally) {
  Random random(history);
  const auto middle = [&](std::size_t i, std::size_t of) { return (2 * i + 1) * cells / (2 * of); };
  Particle particle{.cell = {middle(source % lattice, lattice), middle(source / lattice, lattice), middle(0, 1)},
                    .direction = isotropic(random)};
  for (std::size_t i = 0; i < 3; ++i) particle.at[i] = static_cast<double>(particle.cell[i]) + 0.5;
  while (particle.fly(-std::log(random()) / cross_section[particle.group], cells, tally)) {
    tally.score(particle.bin(cells), 1);
    if (random() <= absorbed) return;
    if (random() <= slowed_down) particle.group = std::min(particle.group + 1, groups - 1);
    particle.direction = isotropic(random);
  }
}

}  // namespace transport

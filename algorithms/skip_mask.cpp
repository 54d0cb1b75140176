#include "algorithms/skip_mask.hpp"

namespace lacuna {
namespace {

/// The cell of n elements cut evenly into m that holds element i.
std::size_t cell_of(std::size_t i, std::size_t n, std::size_t m) {
  std::size_t cell = i / (n / m + 1);
  while (boundary(cell + 1, n, m) <= i) ++cell;
  return cell;
}

}  // namespace

SkipMask::SkipMask(const Call& call, Rank size, const Sampler& sampler, std::uint32_t parts)
    : call_(call), size_(size), sampler_(sampler), parts_(parts) {}

Rank SkipMask::owner(std::size_t element) const {
  const std::size_t part = cell_of(element, call_.count, parts_);
  const std::size_t begin = boundary(part, call_.count, parts_);
  const std::size_t length = boundary(part + 1, call_.count, parts_) - begin;
  const auto piece = static_cast<Rank>(cell_of(element - begin, length, static_cast<std::size_t>(size_)));
  return (piece + skip_ring_shift(call_, size_, sampler_, static_cast<std::uint32_t>(part))) % size_;
}

bool SkipMask::contributes(Rank rank, std::size_t element) const {
  const Rank behind = (rank - owner(element) + size_) % size_;
  return behind == 0 || behind > call_.options.skip_steps;
}

}  // namespace lacuna

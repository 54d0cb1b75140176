#pragma once

#include <cstddef>

#include "runtime/algorithm.hpp"

namespace lacuna {

/// The turn of the ring that skip_ring gives to one part of a call: position = rank - shift.
Rank skip_ring_shift(const Call& call, Rank size, const Sampler& sampler, std::uint32_t part);

/// Which ranks' values reach an element of a skip_ring allreduce: all but the S ranks after the owner of its piece.
/// A plain value for checks and reports; `sampler` is the one that the call was started with, before its draw advanced.
class SkipMask {
 public:
  SkipMask(const Call& call, Rank size, const Sampler& sampler, std::uint32_t parts);

  bool contributes(Rank rank, std::size_t element) const;

 private:
  Rank owner(std::size_t element) const;

  const Call& call_;
  Rank size_;
  Sampler sampler_;
  std::uint32_t parts_;
};

}  // namespace lacuna

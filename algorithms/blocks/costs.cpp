#include <algorithm>
#include <cmath>

#include "algorithms/blocks/steps.hpp"

namespace lacuna::block {
namespace {

/// What is expected of the blocks of a part.
struct Expected {
  Roles roles;
  double size, owners;
  double all;           ///< blocks of the data
  double sent, result;  ///< those of one rank that are not zero, and those of all ranks together
  double block_bytes;

  explicit Expected(const ExpectedPart& part)
      : roles(roles_of(part.plan.structure.parameters.as<Form>(), part.call.collective, part.size)),
        size(part.size),
        owners(roles.owners) {
    const std::size_t length = part.plan.arguments.as<Arguments>().block;
    all = std::ceil(part.places / static_cast<double>(length));
    sent = part.blocks_of(1, length);
    result = part.blocks_of(roles.terms(), length);
    block_bytes = static_cast<double>(length * size_of(part.call.dtype));
  }

  /// The bytes of so many blocks of a shard, which has a share of all blocks, with the message of their set.
  double bytes_of(double blocks, double share) const {
    const double set = blocks > 0 ? 4 + std::min(std::ceil(all * share / 8), 4 * blocks * share) : 0;
    return set + blocks * share * block_bytes;
  }
  /// To how many owners a rank sends, on average: all others.
  double others() const { return roles.dedicated ? roles.terms() * owners / size : owners - owners / size; }
  /// To how many ranks an owner sends its part of the result.
  double receivers() const { return roles.dedicated ? roles.terms() : size - 1; }
};

}  // namespace

int rounds(const PartPlan&, Rank size) { return size > 1 ? 2 : 0; }
int half_rounds(const PartPlan&, Rank size) { return size > 1 ? 1 : 0; }

double expected_bytes(const ExpectedPart& part) {
  const Expected of(part);
  const double share = 1 / of.owners;
  switch (part.call.collective) {
    case Collective::ReduceScatter:
      return (of.size - 1) * of.bytes_of(of.sent, share);
    case Collective::Allgather:
      return (of.size - 1) * of.bytes_of(of.sent, 1);
    case Collective::Broadcast:  // the root sends to the other owners, and each owner to all others but the root
      return ((of.owners - 1) + (of.owners - 1) * (of.size - 2) + (of.size - 1)) / of.size *
             of.bytes_of(of.sent, share);
    default:
      return of.others() * of.bytes_of(of.sent, share) +
             of.owners / of.size * of.receivers() * of.bytes_of(of.result, share);
  }
}

/// Each block travels with the number of the next one, and each slot begins with a number for each column.
double expected_stream_bytes(const ExpectedPart& part) {
  const Expected of(part);
  const StreamArguments given = part.plan.arguments.as<StreamArguments>();
  const double share = 1 / of.owners, first = 4.0 * given.columns * given.slots * share;
  return of.others() * (of.sent * share * (of.block_bytes + 4) + first) +
         of.owners / of.size * of.receivers() * (of.result * share * (of.block_bytes + 4) + first);
}

/// Dedicated owners send while the others receive, so that the longer way counts.
double path_bytes(const ExpectedPart& part) {
  const Expected of(part);
  if (!of.roles.dedicated) return expected_bytes(part);
  return std::max(1.0, of.roles.terms() / of.owners) * of.bytes_of(std::max(of.sent, of.result), 1);
}

int expected_stream_rounds(const ExpectedPart& part) {
  if (part.size == 1) return 0;
  const StreamArguments given = part.plan.arguments.as<StreamArguments>();
  return 2 + 2 * static_cast<int>(std::ceil(Expected(part).result / given.columns / given.slots));
}

double result_elements(const ExpectedPart& part) {
  const std::size_t length = part.plan.arguments.as<Arguments>().block;
  return std::min(part.blocks_of(part.size, length) * static_cast<double>(length), part.places);
}

}  // namespace lacuna::block

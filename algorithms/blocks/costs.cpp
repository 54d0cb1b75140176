#include <algorithm>
#include <cmath>

#include "algorithms/blocks/sets.hpp"
#include "algorithms/blocks/steps.hpp"

namespace lacuna::block {
namespace {

/// The bytes of so many blocks out of `all`, with the message of their set.
double bytes_of(const ExpectedPart& part, double blocks, double all) {
  const auto length = static_cast<double>(part.plan.arguments.as<Arguments>().block);
  const double element = static_cast<double>(size_of(part.call.dtype));
  const double map = std::ceil(all / 8), list = 4 * blocks;
  const double set = blocks > 0 ? 4 + std::min(map, list) : 0;
  return set + blocks * length * element;
}

}  // namespace

int rounds(const PartPlan&, Rank size) { return size > 1 ? 2 : 0; }
int half_rounds(const PartPlan&, Rank size) { return size > 1 ? 1 : 0; }

double expected_bytes(const ExpectedPart& part) {
  const auto length = static_cast<double>(part.plan.arguments.as<Arguments>().block);
  const Form form = part.plan.structure.parameters.as<Form>();
  const double size = part.size, owners = form.owners == 0 ? size : form.owners;
  const double all = std::ceil(part.places / length);
  const double sent = std::min(part.entries / length, all), result = std::min(part.entries_of(size) / length, all);
  // An owner sends its share of the result to all others, and no own blocks to itself.
  const double up = (owners - owners / size) * bytes_of(part, sent / owners, all / owners);
  const double down = owners / size * (size - 1) * bytes_of(part, result / owners, all / owners);
  switch (part.call.collective) {
    case Collective::ReduceScatter:
      return (size - 1) * bytes_of(part, sent / size, all / size);
    case Collective::Allgather:
      return (size - 1) * bytes_of(part, sent, all);
    case Collective::Broadcast:
      return (up + (owners - 1) / size * bytes_of(part, sent / owners, all / owners) * (size - 2)) / size;
    default:
      return up + down;
  }
}

/// Each block travels with the number of the next one, and each slot begins with a number for each column.
double expected_stream_bytes(const ExpectedPart& part) {
  const StreamArguments given = part.plan.arguments.as<StreamArguments>();
  const Form form = part.plan.structure.parameters.as<Form>();
  const double size = part.size, owners = form.owners == 0 ? size : form.owners,
               length = static_cast<double>(given.block);
  const double all = std::ceil(part.places / length),
               bytes = length * static_cast<double>(size_of(part.call.dtype)) + 4;
  const double sent = std::min(part.entries / length, all), result = std::min(part.entries_of(size) / length, all);
  const double first = 4.0 * given.columns * given.slots;
  return (owners - owners / size) / owners * (sent * bytes + first) + (size - 1) / size * (result * bytes + first);
}

int expected_stream_rounds(const ExpectedPart& part) {
  const StreamArguments given = part.plan.arguments.as<StreamArguments>();
  if (part.size == 1) return 0;
  const double result = part.entries_of(part.size) / static_cast<double>(given.block);
  return 2 + 2 * static_cast<int>(std::ceil(result / given.columns / given.slots));
}

double result_elements(const ExpectedPart& part) { return part.entries_of(part.size); }

}  // namespace lacuna::block

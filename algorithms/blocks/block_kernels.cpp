#include "algorithms/blocks/block_kernels.hpp"

namespace lacuna::block {
namespace {

std::size_t bytes_of_owners_sets(const PartView& part) {
  return static_cast<std::size_t>(roles_of(part).owners) * bytes_of_set(part);
}

}  // namespace

kernels::BlockGrid shard_of(const PartView& part, Rank owner) {
  const std::size_t length = arguments_of(part).block;
  if (has_blocks(part.call.collective)) return {.elements = part.count, .length = length};
  const Roles roles = roles_of(part);
  const auto owners = static_cast<std::size_t>(roles.owners);
  const std::size_t first = (static_cast<std::size_t>(roles.number(owner)) + part.part.draw) % owners;
  return {.elements = part.count, .length = length, .first = first, .stride = owners, .turns = true};
}

Dealt dealt(const PartView& part, const Roles& roles, std::size_t block) {
  const auto owners = static_cast<std::size_t>(roles.owners);
  const std::size_t first = kernels::BlockGrid{.stride = owners, .turns = true}.first_of(block);
  const std::size_t number = (first + owners - part.part.draw % owners) % owners;
  return {roles.first_owner() + static_cast<Rank>(number), block / owners};
}

std::size_t most_blocks(const PartView& part) {
  const kernels::BlockGrid grid = shard_of(part, roles_of(part).first_owner());
  return (grid.blocks_of_array() + grid.stride - 1) / grid.stride;
}
std::size_t most_elements(const PartView& part) { return most_blocks(part) * arguments_of(part).block; }
std::size_t bytes_of_set(const PartView& part) { return set_bytes(most_blocks(part)); }
std::size_t bytes_of_message(const PartView& part) { return most_message_bytes(most_blocks(part)); }

const BufferInfo sets_of_owners = {.element = Dtype::U8, .capacity = bytes_of_owners_sets, .memory = MemoryKind::Host};
const BufferInfo one_set = {.element = Dtype::U8, .capacity = bytes_of_set, .memory = MemoryKind::Host};
const BufferInfo one_message = {.element = Dtype::U8, .capacity = bytes_of_message, .memory = MemoryKind::Host};

Region set_of_owner(const GraphBuilder& g, const Region& sets, Rank owner) {
  const Roles roles = roles_of(g);
  const auto begin = static_cast<std::uint32_t>(roles.number(owner));
  return {.buffer = sets.buffer, .of = static_cast<std::uint32_t>(roles.owners), .begin = begin, .end = begin + 1};
}

std::byte* set_at(const PartView& part, std::byte* sets, Rank owner) {
  return sets + static_cast<std::size_t>(roles_of(part).number(owner)) * bytes_of_set(part);
}

Data own_data_for(const GraphBuilder& g, Rank owner) {
  const CollectiveTraits& traits = traits_of(g.collective());
  Region data = has_blocks(g.collective()) ? g.input(traits.input == Holds::Blocks ? owner : g.position()) : g.input();
  if (form_of(g).keeps) return {.kept = std::vector{data}};
  return {.read = std::vector{data}};
}

Data own_data(const GraphBuilder& g) {
  if (traits_of(g.collective()).input != Holds::Blocks) return own_data_for(g, g.position());
  std::vector<Region> blocks;
  for (Rank owner = 0; owner < g.size(); ++owner) blocks.push_back(g.input(owner));
  if (form_of(g).keeps) return {.kept = blocks};
  return {.read = blocks};
}

SumScale scale_of(const PartView& part) {
  if (!traits_of(part.call.collective).reduces) return {};
  const Reduction reduction = part.call.reduction;
  const Rank terms = roles_of(part).terms();
  const double factor = factor_of_terms(reduction, terms);
  return {.first = factor, .second = factor, .sum = scale_of_scaled_terms(reduction, terms)};
}

}  // namespace lacuna::block

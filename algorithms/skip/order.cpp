#include <algorithm>
#include <numeric>
#include <utility>

#include "algorithms/skip/skipping.hpp"
#include "runtime/values/philox.hpp"

namespace lacuna {
namespace {

/// A uniform permutation (Fisher, Yates; Durstenfeld 1964).
std::vector<Rank> shuffled(const Sampler& sampler, std::uint32_t part, Rank size) {
  std::vector<Rank> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  for (std::uint32_t left = static_cast<std::uint32_t>(size); left > 1; --left) {
    std::swap(ranks[left - 1], ranks[bounded_draw(sampler, part, left, left)]);
  }
  return ranks;
}

Order backwards(const Order& order) {
  std::vector<Rank> ranks;
  for (Rank position = 0; position < order.size(); ++position) {
    ranks.push_back(order.rank_of(position == 0 ? 0 : order.size() - position));
  }
  return Order(std::move(ranks));
}

/// The mode random rotates the hosts, which stay in the same order around the ring.
Order order_of_hosts(const Binding& binding, std::uint32_t part) {
  const Hosts& hosts = binding.hosts;
  if (skip_of(binding.call).mode == SkipMode::Static) return hosts.size();
  const auto first = static_cast<Rank>(bounded_draw(binding.sampler, part, static_cast<std::uint32_t>(hosts.count())));
  std::vector<Rank> ranks;
  for (Rank turn = 0; turn < hosts.count(); ++turn) {
    const Rank host = first + turn < hosts.count() ? first + turn : first + turn - hosts.count();
    for (Rank rank = 0; rank < hosts.size(); ++rank) {
      if (hosts.host_of(rank) == host) ranks.push_back(rank);
    }
    if (turn == 0 && hosts.in_rows()) return {hosts.size(), ranks.front()};
  }
  return Order(std::move(ranks));
}

}  // namespace

Order skip_order(const Binding& binding, std::uint32_t part) {
  if (binding.algorithm.by_hosts) return order_of_hosts(binding, part);
  const Skip& skip = skip_of(binding.call);
  const Rank size = binding.hosts.size();
  Order order = size;
  if (skip.mode == SkipMode::Random) {
    order = {size, static_cast<Rank>(bounded_draw(binding.sampler, part, static_cast<std::uint32_t>(size)))};
  } else if (skip.mode == SkipMode::Shuffled) {
    order = Order(shuffled(binding.sampler, part, size));
  }
  return skip.reversed ? backwards(order) : order;
}

}  // namespace lacuna

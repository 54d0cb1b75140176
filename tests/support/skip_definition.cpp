#include "tests/support/skip_definition.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "runtime/values/philox.hpp"

namespace lacuna::test {
namespace {

/// The hosts of the positions, numbered in the order of their first one.
std::vector<Rank> hosts_by_position(const Case& what, const std::vector<Rank>& order) {
  std::vector<Rank> names, numbers;
  for (Rank rank : order) {
    const Rank name = what.hosts.empty() ? 0 : what.hosts[static_cast<std::size_t>(rank)];
    const auto found = std::find(names.begin(), names.end(), name);
    numbers.push_back(static_cast<Rank>(found - names.begin()));
    if (found == names.end()) names.push_back(name);
  }
  return numbers;
}

Rank count_hosts(const std::vector<Rank>& hosts) { return *std::max_element(hosts.begin(), hosts.end()) + 1; }

bool are_even(const std::vector<Rank>& hosts) {
  const auto p = static_cast<Rank>(hosts.size()), h = count_hosts(hosts);
  return std::all_of(hosts.begin(), hosts.end(),
                     [&](Rank host) { return std::count(hosts.begin(), hosts.end(), host) * h == p; });
}

/// Is `position` one of the `skip` positions that follow `owner`, modulo `size`?
bool follows(Rank position, Rank owner, int skip, Rank size) {
  const Rank behind = (position - owner + size) % size;
  return behind >= 1 && behind <= skip;
}

void add_heights(Rank before, Rank count, std::vector<int>& heights) {
  if (count == 0) return;
  const auto top = static_cast<Rank>(std::bit_floor(static_cast<unsigned>(count)));
  add_heights(before, top - 1, heights);
  add_heights(before + top, count - top, heights);
  int& height = heights[static_cast<std::size_t>(before + top)];
  for (Rank below = before + 1; below <= before + count; ++below) {
    if (below != before + top) height = std::max(height, heights[static_cast<std::size_t>(below)] + 1);
  }
}

}  // namespace

std::vector<int> tree_heights(Rank size, Rank half) {
  std::vector<int> by_number(static_cast<std::size_t>(size) + 1, 0), heights;
  add_heights(0, size, by_number);
  for (Rank position = 0; position < size; ++position) {
    heights.push_back(by_number[static_cast<std::size_t>((position + half) % size + 1)]);
  }
  return heights;
}

int skips_in_rows(int skip, Rank columns) { return std::min(skip, columns - 1); }

Rank torus_rows(Rank size) {
  Rank rows = 1;
  for (Rank i = 1; i * i <= size; ++i) rows = size % i == 0 ? i : rows;
  return rows;
}

std::vector<Rank> skip_order(const Case& what, std::uint32_t part) {
  const auto draw = [&](Rank bound, Rank which) {
    return static_cast<Rank>(
        bounded_draw(what.sampler, part, static_cast<std::uint32_t>(bound), static_cast<std::uint32_t>(which)));
  };
  std::vector<Rank> order(static_cast<std::size_t>(what.size));
  std::iota(order.begin(), order.end(), 0);
  if (what.skip == 0 || what.mode == SkipMode::Static) return order;
  if (what.mode == SkipMode::Shuffled) {
    for (Rank left = what.size; left > 1; --left) {
      std::swap(order[static_cast<std::size_t>(left - 1)], order[static_cast<std::size_t>(draw(left, left))]);
    }
    return order;
  }
  if (what.algorithm->by_hosts) {
    const std::vector<Rank> hosts = hosts_by_position(what, order);
    const Rank h = count_hosts(hosts), first = draw(h, 0);
    const auto turns_before = [&](Rank rank) { return (hosts[static_cast<std::size_t>(rank)] - first + h) % h; };
    std::stable_sort(order.begin(), order.end(), [&](Rank a, Rank b) { return turns_before(a) < turns_before(b); });
  } else {
    std::rotate(order.begin(), order.begin() + draw(what.size, 0), order.end());
  }
  return order;
}

Rank skip_cells(const Case& what, const std::vector<Rank>& order) {
  const auto name = what.algorithm->name;
  if (name == "halving_doubling") return static_cast<Rank>(std::bit_floor(static_cast<unsigned>(what.size)));
  if (name == "double_tree") return 2;
  if (name != "two_level") return what.size;
  const std::vector<Rank> hosts = hosts_by_position(what, order);
  return are_even(hosts) ? what.size : count_hosts(hosts);
}

std::vector<Rank> left_out(const Case& what, const std::vector<Rank>& order, Rank cell) {
  const Rank p = what.size;
  const auto name = what.algorithm->name;
  std::vector<Rank> ranks;
  const auto add_where = [&](auto lacks) {
    for (Rank position = 0; position < p; ++position) {
      if (lacks(position)) ranks.push_back(order[static_cast<std::size_t>(position)]);
    }
  };
  if (what.algorithm->collective == Collective::Allgather) {
    add_where([&](Rank position) { return follows(cell, position, what.skip, p); });
  } else if (name == "ring") {
    add_where([&](Rank position) { return follows(position, cell, what.skip, p); });
  } else if (name == "halving_doubling") {
    const Rank core = skip_cells(what, order), block = core >> what.skip;
    add_where([&](Rank position) { return position % core / block != cell / block; });
  } else if (name == "double_tree") {
    add_where([&, heights = tree_heights(p, cell)](Rank position) {
      return heights[static_cast<std::size_t>(position)] < what.skip;
    });
  } else if (name == "torus") {
    const Rank rows = torus_rows(p), columns = p / rows;
    const int in_rows = skips_in_rows(what.skip, columns);
    add_where([&](Rank position) {
      return follows(position % columns, cell / rows, in_rows, columns) ||
             follows(position / columns, cell % rows, what.skip - in_rows, rows);
    });
  } else if (name == "two_level") {
    const std::vector<Rank> hosts = hosts_by_position(what, order);
    const Rank h = count_hosts(hosts), owner = are_even(hosts) ? cell % h : cell;
    add_where([&](Rank position) { return follows(hosts[static_cast<std::size_t>(position)], owner, what.skip, h); });
  }
  return ranks;
}

}  // namespace lacuna::test

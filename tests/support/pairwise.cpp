#include "tests/support/pairwise.hpp"

#include <set>
#include <tuple>

namespace lacuna::test {
namespace {

using Row = std::vector<std::size_t>;
using Pair = std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>;  // factor, value, later factor, value

Pair pair_of(std::size_t a, std::size_t a_value, std::size_t b, std::size_t b_value) {
  return a < b ? Pair{a, a_value, b, b_value} : Pair{b, b_value, a, a_value};
}

/// The value of a factor that makes the most new pairs with the values set so far.
std::size_t best_value(std::size_t factor, std::size_t values, const Row& row, const std::vector<bool>& set,
                       const std::set<Pair>& open) {
  std::size_t best = open.size() % values, most = 0;
  for (std::size_t value = 0; value < values; ++value) {
    std::size_t gained = 0;
    for (std::size_t other = 0; other < row.size(); ++other) {
      if (set[other]) gained += open.count(pair_of(factor, value, other, row[other]));
    }
    if (gained > most) {
      most = gained;
      best = value;
    }
  }
  return best;
}

}  // namespace

std::vector<Row> pairwise(const std::vector<std::size_t>& sizes) {
  std::set<Pair> open;
  for (std::size_t a = 0; a < sizes.size(); ++a) {
    for (std::size_t b = a + 1; b < sizes.size(); ++b) {
      for (std::size_t i = 0; i < sizes[a] * sizes[b]; ++i) open.insert({a, i / sizes[b], b, i % sizes[b]});
    }
  }
  std::vector<Row> rows;
  while (!open.empty()) {
    const auto [a, a_value, b, b_value] = *open.begin();
    Row row(sizes.size());
    std::vector<bool> set(sizes.size());
    row[a] = a_value;
    row[b] = b_value;
    set[a] = set[b] = true;
    for (std::size_t factor = 0; factor < sizes.size(); ++factor) {
      if (set[factor]) continue;
      row[factor] = best_value(factor, sizes[factor], row, set, open);
      set[factor] = true;
    }
    for (std::size_t i = 0; i < row.size(); ++i) {
      for (std::size_t j = i + 1; j < row.size(); ++j) open.erase({i, row[i], j, row[j]});
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace lacuna::test

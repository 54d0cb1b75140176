#include "tests/support/covering_rows.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

namespace lacuna::test {
namespace {

using Row = FactorValues;
// Factor, value, later factor, value. A single value is a pair with itself.
using Pair = std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>;

Pair pair_of(std::size_t a, std::size_t a_value, std::size_t b, std::size_t b_value) {
  return a < b ? Pair{a, a_value, b, b_value} : Pair{b, b_value, a, a_value};
}

class Rows {
 public:
  Rows(const Row& sizes, const std::function<bool(const Row&)>& accepts, Cover cover)
      : sizes_(sizes), accepts_(accepts) {
    needs_.resize(sizes.size());
    for (std::size_t a = 0; a < sizes.size(); ++a) {
      for (std::size_t value = 0; value < sizes[a]; ++value) {
        Row row(sizes.size());
        row[a] = value;
        needs_[a].push_back(repaired(row, {a}));
        if (cover == Cover::Values) open_.insert({a, value, a, value});
      }
      for (std::size_t b = a + 1; cover == Cover::Pairs && b < sizes.size(); ++b) {
        for (std::size_t i = 0; i < sizes[a] * sizes[b]; ++i) open_.insert({a, i / sizes[b], b, i % sizes[b]});
      }
    }
  }

  std::vector<Row> make() {
    std::vector<Row> rows;
    while (!open_.empty()) {
      const Pair pair = *open_.begin();
      if (std::optional<Row> row = with_pair(pair)) {
        fill(*row, pair);
        rows.push_back(*row);
      } else {
        open_.erase(pair);
      }
    }
    add_lone_values(rows);
    return rows;
  }

 private:
  /// Adds rows for the values that are in none, as all are where there is only one factor.
  void add_lone_values(std::vector<Row>& rows) const {
    if (sizes_.empty()) rows.emplace_back();
    for (std::size_t factor = 0; factor < sizes_.size(); ++factor) {
      for (std::size_t value = 0; value < sizes_[factor]; ++value) {
        const bool is_there =
            std::any_of(rows.begin(), rows.end(), [&](const Row& row) { return row[factor] == value; });
        if (!is_there && needs_[factor][value]) rows.push_back(*needs_[factor][value]);
      }
    }
  }

  /// The row, with the value of at most one other factor changed so that it is accepted.
  std::optional<Row> repaired(Row row, const std::set<std::size_t>& fixed) const {
    if (accepts_(row)) return row;
    for (std::size_t factor = 0; factor < sizes_.size(); ++factor) {
      if (fixed.count(factor) > 0) continue;
      const std::size_t before = row[factor];
      for (row[factor] = 0; row[factor] < sizes_[factor]; ++row[factor]) {
        if (row[factor] != before && accepts_(row)) return row;
      }
      row[factor] = before;
    }
    return std::nullopt;
  }

  /// An accepted row with two values, and with what each of them needs.
  std::optional<Row> with_pair(const Pair& pair) const {
    const auto [a, a_value, b, b_value] = pair;
    if (!needs_[a][a_value] || !needs_[b][b_value]) return std::nullopt;
    Row row = *needs_[a][a_value];
    for (std::size_t factor = 0; factor < row.size(); ++factor) {
      if (row[factor] == 0) row[factor] = (*needs_[b][b_value])[factor];
    }
    row[a] = a_value;
    row[b] = b_value;
    return repaired(std::move(row), {a, b});
  }

  /// Gives the other factors values that make new pairs with those before them, and removes the pairs of the row.
  void fill(Row& row, const Pair& pair) {
    std::vector<bool> set(row.size());
    set[std::get<0>(pair)] = set[std::get<2>(pair)] = true;
    for (std::size_t factor = 0; factor < row.size(); ++factor) {
      if (set[factor]) continue;
      choose(row, factor, set);
      set[factor] = true;
    }
    for (std::size_t i = 0; i < row.size(); ++i) {
      for (std::size_t j = i; j < row.size(); ++j) open_.erase({i, row[i], j, row[j]});
    }
  }

  /// Takes that value of a factor which makes the most new pairs and leaves the row accepted.
  void choose(Row& row, std::size_t factor, const std::vector<bool>& set) const {
    const std::size_t drawn = open_.size() % sizes_[factor];
    std::optional<std::size_t> best, most;
    Row tried = row;
    for (std::size_t i = 0; i < sizes_[factor]; ++i) {
      tried[factor] = (drawn + i) % sizes_[factor];
      std::size_t gained = open_.count({factor, tried[factor], factor, tried[factor]});
      for (std::size_t other = 0; other < row.size(); ++other) {
        if (set[other]) gained += open_.count(pair_of(factor, tried[factor], other, row[other]));
      }
      if ((!most || gained > *most) && (tried == row || accepts_(tried))) {
        best = tried[factor];
        most = gained;
      }
    }
    row[factor] = *best;
  }

  const Row& sizes_;
  const std::function<bool(const Row&)>& accepts_;
  std::vector<std::vector<std::optional<Row>>> needs_;  // by factor and value: an accepted row with it
  std::set<Pair> open_;
};

}  // namespace

std::vector<Row> covering_rows(const std::vector<std::size_t>& sizes, Cover cover) {
  return covering_rows(
      sizes, [](const Row&) { return true; }, cover);
}

std::vector<Row> covering_rows(const std::vector<std::size_t>& sizes, const std::function<bool(const Row&)>& accepts,
                               Cover cover) {
  return Rows(sizes, accepts, cover).make();
}

}  // namespace lacuna::test

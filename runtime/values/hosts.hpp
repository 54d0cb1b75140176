#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "runtime/values/dtype.hpp"

namespace lacuna {

/// Says which ranks share a host. Hosts are numbered in the order of their first rank, so that equal groupings are
/// equal values. Copies are cheap.
class Hosts {
 public:
  /// No ranks on no hosts.
  Hosts() = default;
  /// So many ranks on one host.
  Hosts(Rank size) : size_(size), count_(size > 0), on_each_(size) {}  // NOLINT: implicit by design
  /// The name of each rank's host. Ranks with equal names share a host.
  template <class Name>
  explicit Hosts(const std::vector<Name>& names) : size_(static_cast<Rank>(names.size())) {
    std::map<Name, Rank> known;
    std::vector<Rank> numbers;
    for (const Name& name : names) {
      numbers.push_back(known.emplace(name, static_cast<Rank>(known.size())).first->second);
    }
    set(std::move(numbers), static_cast<Rank>(known.size()));
  }

  /// The number of ranks.
  Rank size() const { return size_; }
  /// The number of hosts.
  Rank count() const { return count_; }
  Rank host_of(Rank rank) const { return numbers_ ? (*numbers_)[static_cast<std::size_t>(rank)] : 0; }
  Rank ranks_on(Rank host) const;
  /// Does each host have consecutive ranks?
  bool in_rows() const {
    for (Rank rank = 1, seen = 1; numbers_ && rank < size_; ++rank) {
      if (host_of(rank) == host_of(rank - 1)) continue;
      if (host_of(rank) != seen++) return false;
    }
    return true;
  }
  /// The number of ranks on each host, or 0 if it differs between hosts.
  Rank ranks_on_each() const { return on_each_; }

  /// The same hosts, of which the ranks say how many processors they have.
  Hosts with_processors(std::span<const std::uint32_t> by_rank) const;
  /// Does a host have more ranks than processors? No, if no rank has said how many it has. A group and turned positions
  /// answer as the ranks that they are from.
  bool is_crowded() const { return is_crowded_; }
  /// The same hosts, of which the ranks share a board, or do not. All ranks must be on one host.
  Hosts with_board(bool has_board = true) const {
    Hosts hosts = *this;
    hosts.has_board_ = has_board && count_ == 1;
    return hosts;
  }
  /// Do all ranks share a board (transports/board.hpp)? Turned positions answer as the ranks that they are from. The
  /// result of of() says no, because a group does not use the board of the ranks that it is from.
  bool has_board() const { return has_board_; }

  /// The hosts of a group whose rank i is rank members[i] here.
  Hosts of(std::span<const Rank> members) const;
  /// The host of each position, where position i is rank i + shift, modulo the number of ranks.
  Hosts turned(Rank shift) const;

  /// Compares who shares a host with whom.
  friend bool operator==(const Hosts& a, const Hosts& b) {
    if (a.size_ != b.size_ || a.count_ != b.count_) return false;
    return a.numbers_ == b.numbers_ || (a.numbers_ && b.numbers_ && *a.numbers_ == *b.numbers_);
  }

 private:
  void set(std::vector<Rank> numbers, Rank count);

  Hosts keeping_crowd(Hosts others) const;

  Rank size_ = 0, count_ = 0, on_each_ = 0;
  bool is_crowded_ = false, has_board_ = false;
  std::shared_ptr<const std::vector<Rank>> numbers_;  // by rank; null: all on one host
};

}  // namespace lacuna

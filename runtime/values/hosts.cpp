#include "runtime/values/hosts.hpp"

#include <algorithm>

namespace lacuna {

void Hosts::set(std::vector<Rank> numbers, Rank count) {
  count_ = count;
  on_each_ = size_;
  if (count < 2) return;
  std::vector<Rank> ranks(static_cast<std::size_t>(count), 0);
  for (Rank host : numbers) ++ranks[static_cast<std::size_t>(host)];
  const bool even = std::all_of(ranks.begin(), ranks.end(), [&](Rank one) { return one == ranks.front(); });
  on_each_ = even ? ranks.front() : 0;
  numbers_ = std::make_shared<const std::vector<Rank>>(std::move(numbers));
}

Rank Hosts::ranks_on(Rank host) const {
  return numbers_ ? static_cast<Rank>(std::count(numbers_->begin(), numbers_->end(), host)) : size_;
}

Hosts Hosts::with_processors(std::span<const std::uint32_t> by_rank) const {
  Hosts hosts = *this;
  std::vector<std::uint32_t> ranks(static_cast<std::size_t>(count_));
  const auto ranks_beside = [&](Rank rank) -> std::uint32_t& { return ranks[static_cast<std::size_t>(host_of(rank))]; };
  for (Rank rank = 0; rank < size_; ++rank) ++ranks_beside(rank);
  hosts.is_crowded_ = false;
  for (Rank rank = 0; rank < size_; ++rank) {
    if (ranks_beside(rank) > by_rank[static_cast<std::size_t>(rank)]) hosts.is_crowded_ = true;
  }
  return hosts;
}

Hosts Hosts::keeping_crowd(Hosts others) const {
  others.is_crowded_ = is_crowded_;
  return others;
}

Hosts Hosts::of(std::span<const Rank> members) const {
  if (!numbers_) return keeping_crowd(static_cast<Rank>(members.size()));
  std::vector<Rank> numbers;
  for (Rank rank : members) numbers.push_back(host_of(rank));
  return keeping_crowd(Hosts(numbers));
}

Hosts Hosts::turned(Rank shift) const {
  if (!numbers_ || shift == 0) return *this;
  std::vector<Rank> numbers = *numbers_;
  std::rotate(numbers.begin(), numbers.begin() + shift, numbers.end());
  return keeping_crowd(Hosts(numbers));
}

}  // namespace lacuna

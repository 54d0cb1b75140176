#include "runtime/engine/arrived.hpp"

#include <algorithm>

namespace lacuna::runtime {

bool Arrived::has(std::uint64_t begin, std::uint64_t end) const {
  if (end <= end_) return true;
  const auto in = std::partition_point(beyond_.begin(), beyond_.end(), [&](const Range& one) { return one.end < end; });
  return in != beyond_.end() && in->begin <= begin;
}

Arrived::Outcome Arrived::add_out_of_order(std::uint64_t begin, std::uint64_t end) {
  if (end <= end_) return Outcome::Known;
  if (begin < end_) return Outcome::Overlaps;
  auto next = std::partition_point(beyond_.begin(), beyond_.end(), [&](const Range& one) { return one.end <= begin; });
  if (next != beyond_.end() && next->begin < end) {
    return next->begin <= begin && end <= next->end ? Outcome::Known : Outcome::Overlaps;
  }
  const bool after_last = next != beyond_.begin() && std::prev(next)->end == begin;
  if (next != beyond_.end() && next->begin == end) {
    end = next->end;
    next = beyond_.erase(next);
  }
  if (begin == end_) {
    end_ = end;
  } else if (after_last) {
    std::prev(next)->end = end;
  } else {
    beyond_.insert(next, {begin, end});
  }
  return Outcome::New;
}

}  // namespace lacuna::runtime

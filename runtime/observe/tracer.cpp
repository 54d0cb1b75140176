#include "runtime/observe/tracer.hpp"

#include <algorithm>

namespace lacuna::runtime {
namespace {

/// The index of `value` in `all`. A new value is added.
template <class T, class Value>
std::uint32_t place_of(std::vector<T>& all, const Value& value) {
  const auto found = std::find(all.begin(), all.end(), value);
  const auto place = static_cast<std::uint32_t>(found - all.begin());
  if (found == all.end()) all.emplace_back(value);
  return place;
}

}  // namespace

void Tracer::add(Event event) {
  if (events_.size() == capacity_) {
    ++dropped_;
    return;
  }
  event.ticks = time_.ticks_now();
  events_.push_back(event);
}

void Tracer::waited(std::uint64_t begin) {
  add({.bytes = begin, .step = place_of(threads_, std::this_thread::get_id()), .kind = Kind::Waited});
}

std::uint32_t Tracer::index_of(std::string_view name) { return place_of(names_, name); }

}  // namespace lacuna::runtime

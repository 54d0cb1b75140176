#include "runtime/observe/flight_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace lacuna::runtime {

std::string FlightRecord::text(std::size_t newest) const {
  static constexpr std::array<const char*, 6> names = {"posted", "started", "sent", "received", "finished", "failed"};
  const std::uint64_t shown = std::min<std::uint64_t>({newest, count_, capacity});
  std::string lines;
  const std::uint64_t first = count_ - shown;
  for (std::uint64_t i = first; i < count_; ++i) {
    const Event& event = events_[i % capacity];
    fmt::format_to(std::back_inserter(lines), "+{:<12} {:<8} call {} part {} step {} peer {} bytes {}\n",
                   event.ticks - events_[first % capacity].ticks, names[static_cast<std::size_t>(event.kind)],
                   event.run, event.part, event.step, event.peer, event.bytes);
  }
  return lines;
}

}  // namespace lacuna::runtime

#include "bindings/cli/launch/deaths.hpp"

#include <sys/epoll.h>

#include <array>
#include <cstdint>

namespace lacuna::cli {

Deaths::Deaths() : queue_(::epoll_create1(EPOLL_CLOEXEC)) {}

void Deaths::watch(Rank rank, int pidfd) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLONESHOT;
  event.data.u32 = static_cast<std::uint32_t>(rank);
  if (::epoll_ctl(queue_.get(), EPOLL_CTL_ADD, pidfd, &event) != 0) unwatched_.push_back(rank);
}

std::vector<Rank> Deaths::take() {
  std::vector<Rank> ranks;
  std::array<epoll_event, 64> events{};
  while (true) {
    const int count = ::epoll_wait(queue_.get(), events.data(), static_cast<int>(events.size()), 0);
    if (count <= 0) break;
    for (int i = 0; i < count; ++i) ranks.push_back(static_cast<Rank>(events[static_cast<std::size_t>(i)].data.u32));
  }
  ranks.insert(ranks.end(), unwatched_.begin(), unwatched_.end());
  return ranks;
}

}  // namespace lacuna::cli

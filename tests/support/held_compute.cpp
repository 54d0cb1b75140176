#include "tests/support/held_compute.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

namespace lacuna::test {
namespace {

HeldCompute* last = nullptr;

}  // namespace

HeldCompute::HeldCompute() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) { last = this; }

Started HeldCompute::start(runtime::Work& work) {
  const std::lock_guard lock(mutex_);
  held_.push_back(&work);
  return Started::Pending;
}

runtime::Work* HeldCompute::ended() {
  const std::lock_guard lock(mutex_);
  std::uint64_t count = 0;
  [[maybe_unused]] const auto read = ::read(event_.get(), &count, sizeof count);
  if (ended_.empty()) return nullptr;
  runtime::Work* const work = ended_.front();
  ended_.erase(ended_.begin());
  return work;
}

bool HeldCompute::arm() {
  const std::lock_guard lock(mutex_);
  return ended_.empty();
}

std::size_t HeldCompute::held() const {
  const std::lock_guard lock(mutex_);
  return held_.size();
}

void HeldCompute::let_go(std::size_t most) {
  const std::lock_guard lock(mutex_);
  const auto end = held_.begin() + static_cast<std::ptrdiff_t>(std::min(most, held_.size()));
  for (auto work = held_.begin(); work != end; ++work) {
    carry_out(**work);
    ended_.push_back(*work);
  }
  held_.erase(held_.begin(), end);
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(event_.get(), &one, sizeof one);
}

std::unique_ptr<runtime::Compute> held_compute() { return std::make_unique<HeldCompute>(); }

HeldCompute& last_held_compute() { return *last; }

}  // namespace lacuna::test

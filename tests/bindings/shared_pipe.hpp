#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <cstddef>
#include <span>

namespace lacuna::test {

/// What processes that the test forks use to give bytes of rank 0 to all.
class SharedPipe {
 public:
  explicit SharedPipe(int size) : size_(size) { EXPECT_EQ(::pipe(ends_), 0); }
  ~SharedPipe() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  SharedPipe(const SharedPipe&) = delete;
  SharedPipe& operator=(const SharedPipe&) = delete;

  bool broadcast(int rank, std::span<std::byte> bytes) const {
    if (rank > 0) {
      pollfd entry{.fd = ends_[0], .events = POLLIN, .revents = 0};
      if (::poll(&entry, 1, 20'000) != 1) return false;  // rank 0 is gone
      return ::read(ends_[0], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
    }
    for (int other = 1; other < size_; ++other) {
      if (::write(ends_[1], bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) return false;
    }
    return true;
  }

 private:
  const int size_;
  int ends_[2] = {-1, -1};
};

}  // namespace lacuna::test

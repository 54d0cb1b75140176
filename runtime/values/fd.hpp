#pragma once

#include <utility>

namespace lacuna::runtime {

/// Owns a file descriptor, and closes it in the end.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() { close(); }

  bool is_open() const { return fd_ >= 0; }
  int get() const { return fd_; }
  void close();

 private:
  int fd_ = -1;
};

}  // namespace lacuna::runtime

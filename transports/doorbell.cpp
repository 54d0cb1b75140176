#include "transports/doorbell.hpp"

#include <fmt/format.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>

namespace lacuna {
namespace {

/// A socket address with an abstract name, which begins with a zero.
struct Name {
  sockaddr_un address{};
  socklen_t length = 0;

  explicit Name(const Doorbell::Address& of) {
    address.sun_family = AF_UNIX;
    const char* const end =
        fmt::format_to(address.sun_path + 1, "lacuna-{:016x}{:016x}", of.high, of.low);  // 40 of 108 characters
    length = static_cast<socklen_t>(end - reinterpret_cast<const char*>(&address));
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

}  // namespace

Doorbell::Doorbell() {
  Address drawn;
  if (::getrandom(&drawn, sizeof drawn, 0) != sizeof drawn) return;
  runtime::Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const Name name(drawn);
  if (!socket.is_open() || ::bind(socket.get(), name.get(), name.length) != 0) return;
  socket_ = std::move(socket);
  address_ = drawn;
}

void Doorbell::silence() {
  char letter = 0;
  while (::recv(socket_.get(), &letter, sizeof letter, 0) >= 0) {
  }
}

bool Doorbell::ring(const Address& other) const {
  if (!socket_.is_open() || other == Address()) return false;
  const Name name(other);
  const char letter = 0;
  const auto sent = ::sendto(socket_.get(), &letter, sizeof letter, MSG_NOSIGNAL, name.get(), name.length);
  return sent >= 0 || errno == EAGAIN || errno == ENOBUFS;  // whose queue is full has been rung at
}

}  // namespace lacuna

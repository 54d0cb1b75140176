#include "runtime/values/fd.hpp"

#include <unistd.h>

namespace lacuna::runtime {

void Fd::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

}  // namespace lacuna::runtime

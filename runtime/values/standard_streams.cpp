#include "runtime/values/standard_streams.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace lacuna {
namespace {

bool is_closed(int stream) { return ::fcntl(stream, F_GETFD) < 0 && errno == EBADF; }

}  // namespace

void hold_standard_streams() {
  if (!is_closed(STDIN_FILENO) && !is_closed(STDOUT_FILENO) && !is_closed(STDERR_FILENO)) return;
  int opened = STDIN_FILENO;
  do {
    opened = ::open("/dev/null", O_RDONLY);  // the system gives the lowest number that is free
  } while (opened >= 0 && opened < STDERR_FILENO);
  if (opened > STDERR_FILENO) ::close(opened);
}

}  // namespace lacuna

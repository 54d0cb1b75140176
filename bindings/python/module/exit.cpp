#include "bindings/python/module/exit.hpp"

#include <unistd.h>

#include <chrono>

#include "bindings/python/module/communicator.hpp"

namespace lacuna::python {
namespace {

pid_t home = ::getpid();

}  // namespace

void set_home() { home = ::getpid(); }

void leave() {
  using Clock = std::chrono::steady_clock;
  constexpr auto patience = std::chrono::seconds(1);
  if (::getpid() != home) return;
  begin_ending();
  const auto until = Clock::now() + patience;
  std::size_t left = in_flight();
  while (left > 0 && Clock::now() < until) {
    without_lock([] { return ::usleep(1000); });
    left = in_flight();
  }
  if (left > 0) {
    PySys_WriteStderr("lacuna: the interpreter ends with %zu calls in flight; the other ranks may fail\n", left);
  }
  free_all();
}

}  // namespace lacuna::python

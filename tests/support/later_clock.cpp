// A library that makes the monotonic clock of a process that of a host which has been up for longer.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace {

constexpr time_t longer = 100'000;  // seconds

bool is_monotonic(clockid_t clock) {
  return clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE || clock == CLOCK_MONOTONIC_RAW;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const auto failed = static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
  if (failed == 0 && is_monotonic(clock)) time->tv_sec += longer;
  return failed;
}

/// The kernel waits by the real clock of this host, so the time is turned back.
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
  using Wait = int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*);
  static const auto wait = reinterpret_cast<Wait>(::dlsym(RTLD_NEXT, "pthread_cond_clockwait"));
  timespec here = *until;
  if (is_monotonic(clock)) here.tv_sec -= longer;
  return wait(condition, mutex, clock, &here);
}

}  // extern "C"

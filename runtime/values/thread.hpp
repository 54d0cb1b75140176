#pragma once

#include <csignal>
#include <thread>
#include <utility>

namespace lacuna {

/// Blocks all signals in the calling thread, and in the threads that it starts, for as long as this object lives.
/// Threads of ours then never take a signal that the application's own threads have blocked or wait for.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

/// Does the calling thread belong to the library? Such a thread calls no function of the program.
inline constinit thread_local bool is_thread_of_library = false;

/// Starts a thread that runs `body` with all signals blocked. Every thread of the library starts here. Throws
/// std::system_error if the system has no thread to give.
template <class Body>
std::thread start_thread(Body body) {
  const SignalsBlocked blocked;
  return std::thread([body = std::move(body)]() mutable {
    is_thread_of_library = true;
    body();
  });
}

}  // namespace lacuna

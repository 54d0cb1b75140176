#include "bindings/cli/run/interruption.hpp"

#include <atomic>

namespace lacuna::cli {
namespace {

std::atomic<int> taken = 0;
std::atomic<bool> save_is_wanted = false;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

bool is_ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

extern "C" void take_signal(int signal) {
  taken = signal;
  for (const int other : {SIGINT, SIGTERM, SIGHUP}) {
    if (!is_ignored(other)) ::signal(other, SIG_DFL);
  }
}

extern "C" void take_wish(int) { save_is_wanted = true; }

}  // namespace

HandledSignal::HandledSignal(int signal, void (*handler)(int)) : signal_(signal) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigfillset(&action.sa_mask);
  ::sigaction(signal, nullptr, &before_);
  if (!is_ignored(signal)) ::sigaction(signal, &action, nullptr);
}

HandledSignal::~HandledSignal() { ::sigaction(signal_, &before_, nullptr); }

Interruption::Interruption()
    : handled_{HandledSignal(SIGINT, take_signal), HandledSignal(SIGTERM, take_signal),
               HandledSignal(SIGHUP, take_signal)} {}

int Interruption::signal() { return taken; }

SaveWishes::SaveWishes() : handled_(SIGUSR1, take_wish) {}

bool SaveWishes::take() { return save_is_wanted.exchange(false); }

std::string name_of_signal(int signal) {
  if (signal == SIGINT) return "SIGINT (Ctrl-C)";
  return signal == SIGTERM ? "SIGTERM" : "SIGHUP";
}

}  // namespace lacuna::cli

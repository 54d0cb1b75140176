#include "bindings/cli/run/interruption.hpp"

#include <atomic>
#include <cstddef>

namespace lacuna::cli {
namespace {

constexpr std::array signals = {SIGINT, SIGTERM};

std::atomic<int> taken = 0;
static_assert(std::atomic<int>::is_always_lock_free);

bool is_ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

extern "C" void take_signal(int signal) {
  taken = signal;
  for (const int other : signals) {
    if (!is_ignored(other)) ::signal(other, SIG_DFL);
  }
}

}  // namespace

Interruption::Interruption() {
  taken = 0;
  struct sigaction action {};
  action.sa_handler = take_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int signal : signals) sigaddset(&action.sa_mask, signal);
  for (std::size_t i = 0; i < signals.size(); ++i) {
    ::sigaction(signals[i], nullptr, &before_[i]);
    if (!is_ignored(signals[i])) ::sigaction(signals[i], &action, nullptr);
  }
}

Interruption::~Interruption() {
  for (std::size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &before_[i], nullptr);
}

int Interruption::signal() { return taken; }

std::string name_of_signal(int signal) { return signal == SIGINT ? "SIGINT (Ctrl-C)" : "SIGTERM"; }

}  // namespace lacuna::cli

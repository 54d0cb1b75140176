#pragma once

#include <array>
#include <csignal>
#include <string>

namespace lacuna::cli {

/// Lets a function handle a signal of this process while this object lives. A signal that was ignored before stays
/// ignored.
class HandledSignal {
 public:
  HandledSignal(int signal, void (*handler)(int));
  HandledSignal(const HandledSignal&) = delete;
  HandledSignal& operator=(const HandledSignal&) = delete;
  ~HandledSignal();

 private:
  int signal_;
  struct sigaction before_ {};
};

/// Catches the first SIGINT, SIGTERM or SIGHUP of this process while it lives, so that the process can end in good
/// order. After the first one all have their default effect again, so the second one ends the process at once. There is
/// one such object at a time.
class Interruption {
 public:
  Interruption();

  /// Returns the signal that has come, or 0.
  static int signal();

 private:
  std::array<HandledSignal, 3> handled_;
};

/// Takes each SIGUSR1 of this process while it lives as a wish for a checkpoint. There is one such object at a time.
class SaveWishes {
 public:
  SaveWishes();

  /// Returns true if the signal has come since the last call.
  static bool take();

 private:
  HandledSignal handled_;
};

/// Returns "SIGINT (Ctrl-C)", "SIGTERM" or "SIGHUP".
std::string name_of_signal(int signal);

}  // namespace lacuna::cli

#pragma once

#include <array>
#include <csignal>
#include <string>

namespace lacuna::cli {

/// Catches the first SIGINT or SIGTERM of this process while it lives, so that the process can end in good order. After
/// the first one both have their default effect again, so the second one ends the process at once. A signal that was
/// ignored before stays ignored. There is one such object at a time.
class Interruption {
 public:
  Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  ~Interruption();

  /// Returns the signal that has come, or 0.
  static int signal();

 private:
  std::array<struct sigaction, 2> before_{};
};

/// Returns "SIGINT (Ctrl-C)" or "SIGTERM".
std::string name_of_signal(int signal);

}  // namespace lacuna::cli

#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "kernels/kokkos/turn.hpp"

namespace lacuna::kernels {

/// Kokkos for as long as this object lives: initialised if nobody has, and then finalised with it, by the process that
/// made it and unless somebody else has. What the application initialised stays the application's.
class Session {
 public:
  Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  /// Why kernels can't run now; null if they can.
  const char* problem() const;

 private:
  pid_t process_;
  bool ours_;
  std::string failure_;
  std::unique_ptr<OwnThread> thread_;  ///< of a Kokkos that belongs to the thread that initialised it
};

}  // namespace lacuna::kernels

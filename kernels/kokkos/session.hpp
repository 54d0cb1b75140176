#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "kernels/kokkos/turn.hpp"

namespace lacuna::kernels {

/// Makes sure that Kokkos is initialised while this object lives. If nobody had initialised Kokkos, the destructor
/// finalises it, in the process that made the object, unless somebody else has done so. If the application initialised
/// Kokkos, it also finalises it.
class Session {
 public:
  Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  /// Says why kernels can't run now. Null if they can.
  const char* problem() const;

 private:
  pid_t process_;
  bool ours_;
  std::string failure_;
  std::unique_ptr<OwnThread> thread_;  ///< runs kernels, if only the thread that initialised Kokkos may; else null
};

}  // namespace lacuna::kernels

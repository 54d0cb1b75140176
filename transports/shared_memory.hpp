#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace lacuna {

/// The folder where POSIX shared memory lies.
inline const std::string posix_folder = "/dev/shm";

/// What this process can share memory by. Each kind is tried.
struct SharedMemory {
  int posix_problem = 0;  ///< the errno that says why no file of /dev/shm can be made and be opened by /proc; 0: it can
  int sysv_problem = 0;   ///< the same for a segment of SysV
  std::size_t free = 0, size = 0;  ///< bytes of /dev/shm

  static SharedMemory look();
  /// Is there POSIX shared memory of so many bytes?
  bool has_posix(std::size_t bytes) const { return posix_problem == 0 && free >= bytes; }
  bool has_sysv() const { return sysv_problem == 0; }
  /// A number that is equal in processes of one machine that reach each other's memory by both kinds, as far as they
  /// have them: processes of one user in the same namespaces of IPC and of processes, with the same /dev/shm. They are
  /// to have so many bytes of it. 0: nobody reaches this process's memory.
  std::uint64_t reach(std::size_t posix_bytes) const;
};

}  // namespace lacuna

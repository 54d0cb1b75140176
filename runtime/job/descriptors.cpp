#include "runtime/job/descriptors.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <filesystem>

#include "runtime/observe/log.hpp"

namespace lacuna::runtime {
namespace {

constexpr std::size_t of_a_rank = 24;  // those of UCX, the watch and the event loop

std::size_t open_descriptors() {
  std::size_t count = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc/self/fd", error), end; !error && entry != end;
       entry.increment(error)) {
    ++count;
  }
  return count;
}

}  // namespace

Status check_descriptors(Rank rank, Rank size) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return Status::ok();
  const std::size_t open = open_descriptors();
  const auto others = static_cast<std::size_t>(size - 1);
  const std::size_t needed = open + of_a_rank + (rank == 0 ? others : 1);
  if (limit.rlim_cur < needed) {
    return {
        Code::InvalidArgument,
        fmt::format("rank {} of {} needs {} file descriptors, {} of which are open already, and may have {} (ulimit "
                    "-n): allow it more, for instance by `ulimit -n {}` in the shell that starts it",
                    rank, size, needed, open, limit.rlim_cur, needed + others)};
  }
  if (limit.rlim_cur < needed + others) {
    log_warning(Subsystem::Job,
                "rank {} of {} may have {} file descriptors (ulimit -n); if it talks to all others "
                "over TCP it needs {}",
                rank, size, limit.rlim_cur, needed + others);
  }
  return Status::ok();
}

}  // namespace lacuna::runtime

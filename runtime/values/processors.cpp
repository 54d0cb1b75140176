#include "runtime/values/processors.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>
#include <thread>

namespace lacuna {
namespace {

namespace fs = std::filesystem;

/// In each period a group may compute for so much time, both in microseconds. A time of 0 or less means no limit, and
/// so does "max", which is not read as a number.
struct Quota {
  long long time = 0, period = 0;
};

Quota quota_of_version_2(const fs::path& group) {
  Quota quota;
  std::ifstream(group / "cpu.max") >> quota.time >> quota.period;
  return quota;
}

Quota quota_of_version_1(const fs::path& group) {
  Quota quota;
  std::ifstream(group / "cpu.cfs_quota_us") >> quota.time;
  std::ifstream(group / "cpu.cfs_period_us") >> quota.period;
  return quota;
}

/// Does a list such as "cpu,cpuacct" have the controller "cpu"?
bool has_cpu(std::string_view controllers) {
  for (;;) {
    const std::size_t end = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, end) == "cpu") return true;
    if (end == controllers.size()) return false;
    controllers.remove_prefix(end + 1);
  }
}

/// Returns the least quota of a group and of the groups around it, up to `top`. Inside a container the group's folder
/// may be missing. It then has no files, and so no quota.
std::optional<int> least_quota(const fs::path& top, const fs::path& group, Quota (*quota_of)(const fs::path&)) {
  std::optional<int> least;
  for (fs::path inner = group.relative_path();; inner = inner.parent_path()) {
    const Quota quota = quota_of(top / inner);
    if (quota.time > 0 && quota.period > 0) {
      const auto processors = static_cast<int>(std::min((quota.time - 1) / quota.period + 1, 1LL << 20));
      least = std::min(least.value_or(processors), processors);
    }
    if (inner.empty()) return least;
  }
}

}  // namespace

/// Each line of `membership` reads NUMBER:CONTROLLERS:PATH. Groups of version 2 have one line, which names no
/// controllers.
std::optional<int> quota_of_groups(const std::string& membership, const fs::path& root) {
  std::optional<int> least;
  std::istringstream lines(membership);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string_view controllers = std::string_view(line).substr(first + 1, second - first - 1);
    const fs::path group = line.substr(second + 1);
    std::optional<int> quota;
    if (controllers.empty()) quota = least_quota(root, group, quota_of_version_2);
    if (has_cpu(controllers)) quota = least_quota(root / controllers, group, quota_of_version_1);
    if (quota) least = std::min(least.value_or(*quota), *quota);
  }
  return least;
}

int usable_processors() {
  std::ifstream file("/proc/self/cgroup");
  const std::string membership{std::istreambuf_iterator<char>(file), {}};
  const int present = std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
  return std::min(present, quota_of_groups(membership, "/sys/fs/cgroup").value_or(present));
}

}  // namespace lacuna

#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace lacuna {

/// Returns how many processors the ranks of this host or container may use together. These are the processors of the
/// host, but no more than the quota of the control group pays for, and at least 1. It does not matter to which of them
/// a launcher has bound this process, because other ranks may be bound to others. Reads files; any thread may call it.
int usable_processors();

/// Returns how many processors the quota of a process's control groups pays for, rounded up, or nothing if they have no
/// quota. `membership` is the text of /proc/PID/cgroup. `root` is the folder where the groups are mounted, which is
/// /sys/fs/cgroup. The quota of a group also limits the groups inside it. It reads control groups of version 1 and 2.
std::optional<int> quota_of_groups(const std::string& membership, const std::filesystem::path& root);

}  // namespace lacuna

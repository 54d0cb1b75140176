#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace lacuna {

/// How many processors the processes of a container or host may use together, at least 1: those of the host, or as many
/// as the quota of the control group pays for, if these are fewer. To which of them a launcher has bound this process
/// does not matter. Reads files; any thread may call it.
int usable_processors();

/// How many processors' time the control groups of a process may use, rounded up, or nothing if they have no quota.
/// `membership` is the text of /proc/PID/cgroup, and `root` is where the groups are mounted, /sys/fs/cgroup. The quota
/// of a group holds for all groups in it. Both versions of control groups are known.
std::optional<int> quota_of_groups(const std::string& membership, const std::filesystem::path& root);

}  // namespace lacuna

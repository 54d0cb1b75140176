#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/config/config.hpp"
#include "runtime/job/sharing.hpp"
#include "runtime/values/dtype.hpp"
#include "runtime/values/status.hpp"

/// What a process must bring to enter a job.
namespace lacuna::runtime {

inline Rank aggregators_of(const Config& config) { return config.aggregators.value_or(0); }
/// The number of processes of the job: ranks and aggregators.
inline Rank processes_of(const Config& config) { return config.size.value_or(1) + aggregators_of(config); }

/// If the configuration tells neither a rank nor a size, takes both from the launcher, and how the ranks find each
/// other: a store, which the configuration gets, or a way to share an id. A store of the configuration counts more,
/// unless its port is 0.
Status take_place(Config& config, Sharing& sharing);
/// For a process that can't read its configuration: takes the launcher's way to share an id, if the launcher tells the
/// place, so that the other ranks do not wait there.
void share_by_launcher(Sharing& sharing);
/// Returns ok, or why a process with this configuration can't be a rank of its job. `has_store` says that the ranks
/// find each other at a store.
Status check_rank(const Config& config, bool has_store);
/// Returns ok, or why a process with this configuration can't be an aggregator of its job.
Status check_aggregator(const Config& config);

/// What a process tells the others when it joins: where its transport is reached, how many processors it may use,
/// whether it sees the board of the job, and what must be equal on all processes.
std::vector<std::byte> entry_of(const Config& config, const std::vector<std::byte>& address, bool sees_board);

/// What the processes have told, by process.
struct Told {
  std::vector<std::vector<std::byte>> addresses;
  std::vector<std::uint32_t> processors;
  bool all_see_board = true;
};

/// Reads the entries of all processes. If what must be equal differs, the error is Mismatch on all of them.
Result<Told> read_entries(const std::vector<std::vector<std::byte>>& entries);

}  // namespace lacuna::runtime

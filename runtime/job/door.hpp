#pragma once

#include <cstdint>
#include <string>

#include "runtime/job/invitation.hpp"
#include "runtime/job/socket.hpp"
#include "runtime/values/status.hpp"
#include "runtime/values/unique_id.hpp"

namespace lacuna::runtime {

/// Where rank 0 listens until the others come, if nobody has named a store.
struct Door {
  Fd listener;
  Invitation invitation;
};

/// Opens a door with a fresh secret. If `store` is empty, it is at a free port of all addresses of this host. If not,
/// it is at the store, whose port may be 0 for a free one.
Result<Door> open_door(const std::string& store, std::uint64_t machine);

/// Opens a door that stays open until take_door() or until the process ends, and returns the id that invites to it.
/// Thread rule: any thread may call both.
Result<UniqueId> keep_door(const std::string& store, std::uint64_t machine);
/// Takes the door of this id. The error is InvalidArgument if this process has not opened it, or has taken it before.
Result<Door> take_door(const UniqueId& id);

}  // namespace lacuna::runtime

#include "runtime/job/door.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/job/admission.hpp"
#include "runtime/values/standard_streams.hpp"

namespace lacuna::runtime {
namespace {

/// The doors that wait for their rank 0.
struct Kept {
  std::mutex mutex;
  std::vector<std::pair<UniqueId, Door>> doors;
};

Kept& kept() {
  static Kept all;
  return all;
}

Result<Fd> listen_for(const std::string& store) {
  if (store.empty()) return listen_everywhere(0);
  const Result<Endpoint> endpoint = parse_endpoint(store, Port::MayBeFree);
  if (!endpoint) return endpoint.status();
  const Result<std::vector<SocketAddress>> addresses = resolve(*endpoint);
  if (!addresses) return addresses.status();
  return listen_at(*addresses);
}

}  // namespace

Result<Door> open_door(const std::string& store, std::uint64_t machine) {
  Result<Fd> listener = listen_for(store);
  if (!listener) {
    const std::string place = store.empty() ? "" : " at " + store;
    return Status(listener.status().code(),
                  fmt::format("rank 0 cannot listen{}: {}", place, listener.status().message()));
  }
  const SocketAddress own = own_address(*listener);
  Door door{.listener = *std::move(listener), .invitation = invitation_to(own, machine)};
  if (admission::fill_random(door.invitation.secret)) return door;
  return Status(Code::Internal, "the system has no random numbers");
}

Result<UniqueId> keep_door(const std::string& store, std::uint64_t machine) {
  hold_standard_streams();
  Result<Door> door = open_door(store, machine);
  if (!door) return door.status();
  const UniqueId id = encode(door->invitation);
  const std::lock_guard lock(kept().mutex);
  kept().doors.emplace_back(id, *std::move(door));
  return id;
}

Result<Door> take_door(const UniqueId& id) {
  const std::lock_guard lock(kept().mutex);
  auto& doors = kept().doors;
  const auto found = std::find_if(doors.begin(), doors.end(), [&](const auto& one) { return one.first == id; });
  if (found == doors.end()) {
    return Status(Code::InvalidArgument,
                  "rank 0 has a unique id that its process has not made, or has joined with before: the process of "
                  "rank 0 makes the id, and each job needs its own");
  }
  Door door = std::move(found->second);
  doors.erase(found);
  return door;
}

}  // namespace lacuna::runtime

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <thread>
#include <vector>

#include "bindings/c/interface.hpp"

using namespace lacuna::c;
using lacuna::Code;
using lacuna::Status;

namespace {

/// Gives the caller a new communicator, or null if this rank is not in it.
Status hand_over(lacuna::Result<std::optional<lacuna::Communicator>> made, lacuna_communicator** part) {
  if (!made) return made.status();
  *part = *made ? new lacuna_communicator{**std::move(made)} : nullptr;
  return {};
}

/// Gives the bytes of rank 0 to all ranks by an allgather in UCC's shape.
bool broadcast_by(const lacuna_oob& oob, std::span<std::byte> bytes) {
  std::vector<std::byte> all(oob.n_oob_eps * bytes.size());
  if (all.empty() || !oob.allgather || !oob.req_test || !oob.req_free) return false;
  void* request = nullptr;
  int32_t state = oob.allgather(bytes.data(), all.data(), bytes.size(), oob.coll_info, &request);
  if (state < 0) return false;
  while ((state = oob.req_test(request)) > 0) std::this_thread::yield();
  if (oob.req_free(request) < 0 || state < 0) return false;
  std::copy_n(all.begin(), bytes.size(), bytes.begin());
  return true;
}

/// How the ranks of these options give bytes of rank 0 to all. Empty if there is no way.
std::function<bool(std::span<std::byte>)> broadcast_of(const lacuna_world_options& options) {
  if (options.broadcast) {
    return [&options](std::span<std::byte> bytes) {
      return options.broadcast(options.user, bytes.data(), bytes.size()) == 0;
    };
  }
  if (!options.oob) return {};
  return [&options](std::span<std::byte> bytes) { return broadcast_by(*options.oob, bytes); };
}

lacuna::UniqueId id_of(const lacuna_unique_id& given) {
  lacuna::UniqueId id;
  std::memcpy(id.bytes.data(), given.bytes, sizeof(given.bytes));
  return id;
}

Status check_oob(const lacuna_oob& oob, const lacuna_world_options& options) {
  const auto wrong = [](std::string text) { return Status(Code::InvalidArgument, std::move(text)); };
  if (!oob.allgather || !oob.req_test || !oob.req_free) return wrong("a function of oob is null");
  if (oob.n_oob_eps == 0 || oob.n_oob_eps > INT32_MAX || oob.oob_ep >= oob.n_oob_eps) {
    return wrong("oob_ep is " + std::to_string(oob.oob_ep) + " and n_oob_eps is " + std::to_string(oob.n_oob_eps) +
                 ", must be 0 .. n_oob_eps - 1 and 1 .. 2147483647");
  }
  const bool is_rank = options.rank < 0 || static_cast<std::uint32_t>(options.rank) == oob.oob_ep;
  const bool is_size = options.world_size < 0 || static_cast<std::uint32_t>(options.world_size) == oob.n_oob_eps;
  if (is_rank && is_size) return {};
  return wrong("rank and world_size are " + std::to_string(options.rank) + " and " +
               std::to_string(options.world_size) + ", must be those of oob, " + std::to_string(oob.oob_ep) + " and " +
               std::to_string(oob.n_oob_eps) + ", or -1");
}

Status check_numbers(const lacuna_world_options& options) {
  for (const auto& [name, given] :
       {std::pair("rank", options.rank), {"world_size", options.world_size}, {"progress", options.progress}}) {
    if (given >= -1) continue;
    return {Code::InvalidArgument,
            std::string(name) + " is " + std::to_string(given) + ", must be 0 or more; -1: not set"};
  }
  if (options.broadcast && options.oob) {
    return {Code::InvalidArgument, "broadcast and oob are given; one of them is enough"};
  }
  if (Status whole = options.oob ? check_oob(*options.oob, options) : Status(); !whole) return whole;
  if (options.id && !id_of(*options.id)) {
    return {Code::InvalidArgument, "the id has only zeros: rank 0 could not make it"};
  }
  return options.progress < 0 ? Status() : check_range("progress", options.progress, LACUNA_THREAD);
}

Status read_world(const lacuna_world_options& options, lacuna::WorldOptions& world) {
  if (Status valid = check_numbers(options); !valid) return valid;
  if (options.oob) {
    world.rank = static_cast<lacuna::Rank>(options.oob->oob_ep);
    world.size = static_cast<lacuna::Rank>(options.oob->n_oob_eps);
  }
  if (options.rank >= 0) world.rank = options.rank;
  if (options.world_size >= 0) world.size = options.world_size;
  if (options.store) world.store = options.store;
  if (options.key) world.key = options.key;
  if (options.progress >= 0) world.progress = static_cast<lacuna::Progress>(options.progress);
  if (options.id) world.id = id_of(*options.id);
  if (options.interrupted) {
    world.interrupted = [ask = options.interrupted, user = options.interrupted_user] { return ask(user) != 0; };
  }
  if (options.timeout == 0) return {};
  return read_seconds("timeout", options.timeout, world.timeout.emplace());
}

}  // namespace

lacuna_status lacuna_make_unique_id(const char* address, lacuna_unique_id* id) {
  return guarded([&]() -> Status {
    if (!id) return null_argument("id");
    const auto made = lacuna::make_unique_id(address ? address : "");
    if (!made) return made.status();
    std::memcpy(id->bytes, made->bytes.data(), sizeof(id->bytes));
    return {};
  });
}

lacuna_status lacuna_join(const lacuna_world_options* options, lacuna_communicator** communicator) {
  return guarded([&]() -> Status {
    lacuna_world_options value = LACUNA_WORLD_OPTIONS_INIT;
    if (Status valid = read(options, value); !valid) return valid;
    lacuna::WorldOptions world;
    world.broadcast = broadcast_of(value);
    if (Status valid = communicator ? read_world(value, world) : null_argument("communicator"); !valid) {
      lacuna::UniqueId none;
      if (world.broadcast) (void)world.broadcast(none.bytes);  // so that no other rank waits for this one
      return valid;
    }
    auto joined = lacuna::Communicator::world(world);
    if (!joined) return joined.status();
    *communicator = new lacuna_communicator{std::move(*joined)};
    return {};
  });
}

void lacuna_communicator_free(lacuna_communicator* communicator) { delete communicator; }

int32_t lacuna_rank(const lacuna_communicator* communicator) {
  return communicator ? communicator->communicator.rank() : -1;
}

int32_t lacuna_size(const lacuna_communicator* communicator) {
  return communicator ? communicator->communicator.size() : -1;
}

int32_t lacuna_local_rank(const lacuna_communicator* communicator) {
  return communicator ? communicator->communicator.local_rank() : -1;
}

int32_t lacuna_local_size(const lacuna_communicator* communicator) {
  return communicator ? communicator->communicator.local_size() : -1;
}

lacuna_status lacuna_communicator_status(const lacuna_communicator* communicator) {
  return guarded([&] { return communicator ? communicator->communicator.status() : null_argument("communicator"); });
}

lacuna_status lacuna_split(lacuna_communicator* communicator, int32_t colour, int32_t key, lacuna_communicator** part) {
  return guarded([&]() -> Status {
    if (!communicator || !part) return null_argument(communicator ? "part" : "communicator");
    return hand_over(communicator->communicator.split(colour, key), part);
  });
}

lacuna_status lacuna_subgroup(lacuna_communicator* communicator, const int32_t* ranks, size_t count,
                              lacuna_communicator** part) {
  return guarded([&]() -> Status {
    if (!communicator || !part) return null_argument(communicator ? "part" : "communicator");
    if (!ranks && count > 0) return null_argument("ranks");
    return hand_over(communicator->communicator.subgroup({ranks, count}), part);
  });
}

lacuna_status lacuna_get_counters(const lacuna_communicator* communicator, lacuna_counters* counters) {
  return guarded([&]() -> Status {
    if (!communicator || !counters) return null_argument(communicator ? "counters" : "communicator");
    if (Status may = communicator->home.check(); !may) return may;
    lacuna_counters value = LACUNA_COUNTERS_INIT;
    if (Status valid = read(counters, value); !valid) return valid;
    const lacuna::Counters all = communicator->communicator.counters();
    value = {counters->struct_size, all.payload_sent,     all.header_sent,
             all.messages_sent,     all.payload_received, all.messages_received};
    std::memcpy(counters, &value, counters->struct_size);
    return {};
  });
}

lacuna_status lacuna_counters_text(const lacuna_communicator* communicator, int32_t format, char* text, size_t capacity,
                                   size_t* length) {
  return guarded([&]() -> Status {
    if (!communicator || !length) return null_argument(communicator ? "length" : "communicator");
    if (!text && capacity > 0) return null_argument("text");
    if (Status may = communicator->home.check(); !may) return may;
    if (Status valid = check_range("format", format, LACUNA_PROMETHEUS); !valid) return valid;
    const std::string all = communicator->communicator.counters_text(static_cast<lacuna::CountersFormat>(format));
    *length = all.size();
    if (capacity <= all.size()) return too_small(capacity, all.size() + 1);
    std::memcpy(text, all.c_str(), all.size() + 1);
    return {};
  });
}

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

}  // namespace

lacuna_status lacuna_join(const lacuna_world_options* options, lacuna_communicator** communicator) {
  return guarded([&]() -> Status {
    lacuna_world_options value = LACUNA_WORLD_OPTIONS_INIT;
    if (!communicator) return null_argument("communicator");
    if (Status valid = read(options, value); !valid) return valid;
    lacuna::WorldOptions world;
    for (const auto& [name, given] :
         {std::pair("rank", value.rank), {"world_size", value.world_size}, {"progress", value.progress}}) {
      if (given < -1) {
        return {Code::InvalidArgument,
                std::string(name) + " is " + std::to_string(given) + ", must be 0 or more; -1: not set"};
      }
    }
    if (value.rank >= 0) world.rank = value.rank;
    if (value.world_size >= 0) world.size = value.world_size;
    if (value.store) world.store = value.store;
    if (value.key) world.key = value.key;
    if (value.progress >= 0) {
      if (Status valid = check_range("progress", value.progress, LACUNA_THREAD); !valid) return valid;
      world.progress = static_cast<lacuna::Progress>(value.progress);
    }
    if (value.broadcast) {
      world.broadcast = [&value](std::span<std::byte> bytes) {
        return value.broadcast(value.user, bytes.data(), bytes.size()) == 0;
      };
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

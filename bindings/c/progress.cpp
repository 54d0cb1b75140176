#include "bindings/c/interface.hpp"

using namespace lacuna::c;
using lacuna::Status;

lacuna_status lacuna_progress(lacuna_communicator* communicator, int32_t* moved) {
  return guarded([&]() -> Status {
    if (!communicator) return null_argument("communicator");
    if (Status may = communicator->home.check(); !may) return may;
    const bool anything = communicator->communicator.progress();
    if (moved) *moved = anything ? 1 : 0;
    return {};
  });
}

int32_t lacuna_event_fd(const lacuna_communicator* communicator) {
  return communicator ? communicator->communicator.event_fd() : -1;
}

lacuna_status lacuna_arm(lacuna_communicator* communicator, int32_t* armed) {
  return guarded([&]() -> Status {
    if (!communicator || !armed) return null_argument(communicator ? "armed" : "communicator");
    if (Status may = communicator->home.check(); !may) return may;
    *armed = communicator->communicator.arm() ? 1 : 0;
    return {};
  });
}

lacuna_status lacuna_next_completion(lacuna_communicator* communicator, int32_t* found, uint64_t* token,
                                     lacuna_status* outcome) {
  return guarded([&]() -> Status {
    if (!communicator || !found || !token || !outcome) return null_argument("an argument");
    if (Status may = communicator->home.check(); !may) return may;
    const auto next = communicator->communicator.next_completion();
    *found = next ? 1 : 0;
    if (!next) return {};
    *token = next->token;
    *outcome = static_cast<lacuna_status>(next->status.code());
    return {};
  });
}

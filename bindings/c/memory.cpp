// Memory that other ranks can map.
#include <string>

#include "bindings/c/interface.hpp"

using lacuna::Code;
using lacuna::Status;

lacuna_status lacuna_alloc(size_t bytes, void** memory) {
  return lacuna::c::guarded([&]() -> Status {
    if (!memory) return lacuna::c::null_argument("memory");
    void* const taken = lacuna::allocate(bytes);
    if (!taken) return {Code::Internal, "there is no memory for " + std::to_string(bytes) + " bytes"};
    *memory = taken;
    return {};
  });
}

void lacuna_free(void* memory) { lacuna::deallocate(memory); }

#include <exception>
#include <string>

#include "bindings/c/interface.hpp"
#include "bindings/checkpoint/checkpoint.hpp"
#include "bindings/checkpoint/lacuna_checkpoint.h"

using lacuna::Code;
using lacuna::Result;
using lacuna::StateItem;
using lacuna::Status;
namespace checkpoint = lacuna::checkpoint;

namespace {

/// Calls `body`, and lets no exception leave the C interface.
template <class Body>
lacuna_status guarded(Body body) noexcept {
  try {
    const Status status = body();
    return lacuna_fail(static_cast<lacuna_status>(status.code()), std::string(status.message()).c_str());
  } catch (const std::exception& error) {
    return lacuna_fail(LACUNA_INTERNAL, error.what());
  }
}

Status null_argument(const char* what) { return {Code::InvalidArgument, std::string(what) + " is null"}; }

Result<std::vector<StateItem>> items_of(const lacuna_checkpoint_item* items, std::size_t count) {
  if (!items && count > 0) return null_argument("items");
  std::vector<StateItem> all;
  for (const lacuna_checkpoint_item& item : std::span(items, count)) {
    if (!item.name) return null_argument("the name of an item");
    if (item.dtype < 0 || item.dtype > LACUNA_BYTES_64) {
      return Status(Code::InvalidArgument, "the dtype of '" + std::string(item.name) + "' is " +
                                               std::to_string(item.dtype) + ", must be 0 .. " +
                                               std::to_string(LACUNA_BYTES_64));
    }
    all.push_back({item.name, static_cast<lacuna::Dtype>(item.dtype), item.data, item.count});
  }
  return all;
}

}  // namespace

lacuna_status lacuna_checkpoint_save(lacuna_communicator* communicator, const char* directory, int64_t step,
                                     const lacuna_checkpoint_item* items, size_t count) {
  return guarded([&]() -> Status {
    if (!communicator || !directory) return null_argument(communicator ? "directory" : "communicator");
    const auto all = items_of(items, count);
    return all ? checkpoint::save(communicator->communicator, directory, step, *all) : all.status();
  });
}

lacuna_status lacuna_checkpoint_restore(lacuna_communicator* communicator, const char* directory,
                                        const lacuna_checkpoint_item* items, size_t count, int64_t* step) {
  return guarded([&]() -> Status {
    if (!communicator || !directory || !step) {
      return null_argument(!communicator ? "communicator" : directory ? "step" : "directory");
    }
    const auto all = items_of(items, count);
    if (!all) return all.status();
    const auto restored = checkpoint::restore(communicator->communicator, directory, *all);
    if (!restored) return restored.status();
    *step = *restored ? (*restored)->step : -1;
    return {};
  });
}

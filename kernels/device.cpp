#include "kernels/device.hpp"

#include <fmt/format.h>

#include "kernels/libraries.hpp"

namespace lacuna::kernels {
namespace {

constexpr std::string_view library = "liblacuna_cuda.so";

}  // namespace

Result<Device*> open_device(int number) {
  const auto found = load_library(library, device_entry_name, true);
  if (!found) {
    const bool is_there = problem_of_library(library).empty();
    return Status(Code::Unsupported,
                  fmt::format("{}{}", found.status().message(), is_there ? "" : " (it is built with LACUNA_CUDA=ON)"));
  }
  const OpenedDevice opened = reinterpret_cast<DeviceEntry*>(*found)(LACUNA_VERSION, number);
  if (opened.device == nullptr) return Status(Code::Unsupported, fmt::format("{}: {}", library, opened.problem));
  return opened.device;
}

std::string devices_here() {
  const auto opened = open_device(0);
  if (!opened) return fmt::format("none: {}", opened.status().message());
  return fmt::format("{} (device 0), kernels by {}", (*opened)->name(), (*opened)->kernels().name());
}

}  // namespace lacuna::kernels

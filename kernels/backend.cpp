#include "kernels/backend.hpp"

#include <fmt/format.h>

#include <atomic>

#include "kernels/space_backend.hpp"

namespace lacuna::kernels {
namespace {

constinit const SpaceBackend host;
constinit std::atomic<const Backend*> serving = &host;

}  // namespace

const Backend& backend() { return *serving.load(std::memory_order_relaxed); }

}  // namespace lacuna::kernels

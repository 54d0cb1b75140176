// The ranks of a job make each call twice: with their data in the host's memory, and on the CUDA device, which all of
// them share. Both must give the same bits. `lacuna launch -n 4 -- cuda_device_ranks` runs it.
#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "algorithms/blocks/blocks.hpp"
#include "algorithms/cast/cast.hpp"
#include "algorithms/lowrank/lowrank.hpp"
#include "algorithms/ok_topk/ok_topk.hpp"
#include "algorithms/quantize/quantize.hpp"
#include "algorithms/sketch/sketch.hpp"
#include "algorithms/skip/skip.hpp"
#include "algorithms/topk/topk.hpp"
#include "bindings/cpp/lacuna.hpp"
#include "kernels/device.hpp"

namespace {

using namespace lacuna;

constexpr std::size_t count = (std::size_t{1} << 20) + 3;
using Array = std::vector<float>;

/// Numbers of which half are 0. Sums of them are exact.
Array drawn(Rank rank, int turn) {
  std::mt19937 random(static_cast<unsigned>(100 * turn + rank));
  Array array(count);
  for (float& value : array) {
    const auto word = random();
    value = word % 2 ? static_cast<float>(static_cast<int>(word >> 16) % 2000 - 1000) : 0;
  }
  return array;
}

struct Kind {
  const char* name;
  MethodOptions method;
  bool remembers = true;
};

std::vector<Kind> kinds() {
  return {{"no method", {}, false},
          {"skip", skip({.steps = 1}), false},
          {"topk", topk({.density = 0.01})},
          {"topk by a threshold", topk({.selection = TopkSelection::Threshold, .threshold = 900})},
          {"ok_topk", ok_topk({.density = 0.01})},
          {"blocks", sparse_blocks({}), false},
          {"sketch", sketch({})},
          {"cast", cast({}), false},
          {"quantize", quantize({})},
          {"lowrank", lowrank({})}};
}

class Ranks {
 public:
  Ranks(Communicator& communicator, kernels::Device& device) : communicator_(communicator), device_(device) {}

  /// Makes a few calls in both memories. Returns the number of elements that differ.
  Result<std::size_t> differing(const Kind& kind) {
    MethodState on_host, on_device;
    std::size_t different = 0;
    for (int turn = 0; turn < 3; ++turn) {
      const Array input = drawn(communicator_.rank(), turn);
      Array expected(count), got(count);
      Call call{.collective = Collective::Allreduce, .input = input.data(), .output = expected.data(), .count = count};
      call.options.method = kind.method;
      if (kind.remembers) call.options.state = &on_host;
      if (Status status = communicator_.call(call); !status) return status;
      if (kind.remembers) call.options.state = &on_device;
      if (Status status = on_the_device(call, input, got); !status) return status;
      for (std::size_t i = 0; i < count; ++i) different += std::memcmp(&expected[i], &got[i], sizeof(float)) != 0;
    }
    return different;
  }

 private:
  float* take(std::size_t elements) {
    auto* const memory = device_.memory().take(elements * sizeof(float));
    device_.memory().clear(memory, elements * sizeof(float));
    return reinterpret_cast<float*>(memory);
  }
  void give_back(float* memory, std::size_t elements) {
    device_.memory().give_back(reinterpret_cast<std::byte*>(memory), elements * sizeof(float));
  }

  Status on_the_device(Call call, const Array& input, Array& got) {
    float* const data = take(2 * count);
    device_.memory().copy(reinterpret_cast<std::byte*>(data), reinterpret_cast<const std::byte*>(input.data()),
                          count * sizeof(float));
    call.input = data;
    call.output = data + count;
    call.memory = {.kind = MemoryKind::Cuda, .device = device_.number()};
    const Status status = communicator_.call(call);
    device_.memory().copy(reinterpret_cast<std::byte*>(got.data()), reinterpret_cast<const std::byte*>(data + count),
                          count * sizeof(float));
    give_back(data, 2 * count);
    return status;
  }

  Communicator& communicator_;
  kernels::Device& device_;
};

int run() {
  auto communicator = Communicator::world();
  if (!communicator) return fmt::print(stderr, "{}\n", communicator.status().to_string()), 1;
  const auto device = kernels::open_device(0);
  if (!device) return fmt::print(stderr, "{}\n", device.status().to_string()), 1;
  Ranks ranks(*communicator, **device);
  bool right = true;
  for (const Kind& kind : kinds()) {
    const auto different = ranks.differing(kind);
    if (!different) return fmt::print(stderr, "{}: {}\n", kind.name, different.status().to_string()), 1;
    right = right && *different == 0;
    if (communicator->rank() == 0 || *different > 0) {
      fmt::print("rank {}: {:<20} {} elements differ\n", communicator->rank(), kind.name, *different);
    }
  }
  return right ? 0 : 1;
}

}  // namespace

int main() { return run(); }

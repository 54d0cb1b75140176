// A stream of the program waits for the ends of calls, with buffers on the CUDA device that all ranks share. The host
// only waits for the stream. `LACUNA_PROGRESS=thread lacuna launch -n 2 -- cuda_stream_holds` runs it.
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>

#include "bindings/cpp/lacuna.hpp"

namespace {

using namespace lacuna;

void must(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}
void must(const Status& status) {
  if (!status) throw std::runtime_error(status.to_string());
}

/// Memory of the device, and pinned memory to fill it from and to read it.
struct Array {
  explicit Array(std::size_t elements) : count(elements) {
    must(cudaMalloc(reinterpret_cast<void**>(&device), count * sizeof(float)));
    must(cudaMallocHost(reinterpret_cast<void**>(&host), count * sizeof(float)));
  }
  ~Array() {
    cudaFree(device);
    cudaFreeHost(host);
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  std::size_t count;
  float* device = nullptr;
  float* host = nullptr;
};

/// Fills the array, sums it up over the ranks and reads it, all in the order of the stream. Returns how many elements
/// are wrong.
std::size_t wrong_after(Communicator& world, Array& array, const MethodOptions& method, cudaStream_t stream,
                        float value) {
  std::fill_n(array.host, array.count, value + static_cast<float>(world.rank()));
  must(cudaMemcpyAsync(array.device, array.host, array.count * sizeof(float), cudaMemcpyHostToDevice, stream));
  MemorySpan<float> data{array.device, array.count, {.kind = MemoryKind::Cuda, .stream = stream}};
  auto request = world.start(allreduce(data, Reduction::Sum, {.method = method}));
  must(request.status());
  must(request->hold_stream(stream));
  must(cudaMemcpyAsync(array.host, array.device, array.count * sizeof(float), cudaMemcpyDeviceToHost, stream));
  must(cudaStreamSynchronize(stream));
  const auto ranks = static_cast<float>(world.size());
  const float sum = ranks * value + ranks * (ranks - 1) / 2;
  const auto right = std::count(array.host, array.host + array.count, sum);
  must(request->wait());
  return array.count - static_cast<std::size_t>(right);
}

int run() {
  auto world = Communicator::world();
  must(world.status());
  cudaStream_t stream = nullptr;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  std::size_t wrong = 0;
  for (const std::string text : {"", "topk:density=1,feedback=0"}) {
    const MethodOptions method = text.empty() ? MethodOptions() : *method_options(text);
    for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, std::size_t{1} << 20, std::size_t{20} << 20}) {
      Array array(count);
      const auto begin = std::chrono::steady_clock::now();
      constexpr int turns = 20;
      for (int turn = 1; turn <= turns; ++turn) {
        wrong += wrong_after(*world, array, method, stream, static_cast<float>(turn));
      }
      const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
      if (world->rank() != 0) continue;
      fmt::print("{} elements {}: {:.3f} ms a turn, {} wrong\n", count, text, time.count() / turns, wrong);
    }
  }
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}

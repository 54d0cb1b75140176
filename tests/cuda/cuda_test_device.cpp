#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "tests/support/test_device.hpp"

namespace lacuna::test {
namespace {

void must(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(error));
  std::abort();
}

void wait_a_little(void*) { std::this_thread::sleep_for(std::chrono::microseconds(20)); }

/// The CUDA device that lacuna opens, with a stream of the program.
class OnCuda final : public TestDevice {
 public:
  explicit OnCuda(kernels::Device& device) : device_(device) {
    must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  }

  kernels::Device& device() override { return device_; }
  void* stream() override { return stream_; }
  void write_late(std::byte* block, std::size_t block_bytes, std::byte filler, std::byte* to, const std::byte* from,
                  std::size_t bytes) override {
    must(cudaLaunchHostFunc(stream_, wait_a_little, nullptr), "cudaLaunchHostFunc");
    must(cudaMemsetAsync(block, std::to_integer<int>(filler), block_bytes, stream_), "cudaMemsetAsync");
    must(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_), "cudaMemcpyAsync");
  }
  void read(std::byte* to, const std::byte* from, std::size_t bytes) override {
    must(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
  }
  void finish() override { must(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); }
  void idle() override { finish(); }

 private:
  kernels::Device& device_;
  cudaStream_t stream_ = nullptr;
};

}  // namespace
}  // namespace lacuna::test

extern "C" __attribute__((visibility("default"))) lacuna::test::TestDevice* lacuna_test_device() {
  const auto device = lacuna::kernels::open_device(0);
  if (!device) {
    std::fprintf(stderr, "%s\n", device.status().to_string().c_str());
    std::abort();
  }
  return new lacuna::test::OnCuda(**device);
}

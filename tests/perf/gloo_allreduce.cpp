// Gloo's allreduce (f32, sum) over loopback TCP, timed as `lacuna perf` times: gloo_allreduce RANKS ITERATIONS BYTES...
// It starts a process for each rank. Rank 0 prints a line "BYTES MILLISECONDS MILLISECONDS" for each size: out of place
// and in place, the mean over the iterations on the slowest rank.
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace {

using Group = std::shared_ptr<gloo::rendezvous::Context>;
using Clock = std::chrono::steady_clock;

template <class T>
void allreduce(const Group& group, T* input, T* output, std::size_t count,
               void (*reduce)(void*, const void*, const void*, std::size_t)) {
  gloo::AllreduceOptions options(group);
  options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
  options.setReduceFunction(reduce);
  if (input != output) options.setInput(input, count);
  options.setOutput(output, count);
  gloo::allreduce(options);
}

/// Returns milliseconds per call.
double time_of(const Group& group, int iterations, std::vector<float>& input, std::vector<float>& output) {
  const auto once = [&] { allreduce<float>(group, input.data(), output.data(), output.size(), &gloo::sum<float>); };
  for (int i = 0; i < std::max(iterations / 10, 2); ++i) once();
  gloo::BarrierOptions together(group);
  gloo::barrier(together);
  const auto start = Clock::now();
  for (int i = 0; i < iterations; ++i) once();
  double milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - start).count() / iterations;
  allreduce<double>(group, &milliseconds, &milliseconds, 1, &gloo::max<double>);
  return milliseconds;
}

int run(int rank, int ranks, const std::string& folder, int argc, char** argv) {
  gloo::transport::tcp::attr where("127.0.0.1");
  auto device = gloo::transport::tcp::CreateDevice(where);
  gloo::rendezvous::FileStore store(folder);
  auto group = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
  group->connectFullMesh(store, device);
  const int iterations = std::max(std::atoi(argv[2]), 1);
  for (int argument = 3; argument < argc; ++argument) {
    const auto bytes = static_cast<std::size_t>(std::strtoull(argv[argument], nullptr, 10));
    std::vector<float> input(bytes / sizeof(float)), output(input);
    const double out_of_place = time_of(group, iterations, input, output);
    const double in_place = time_of(group, iterations, output, output);
    if (rank == 0) std::printf("%zu %.6f %.6f\n", bytes, out_of_place, in_place);
  }
  std::fflush(stdout);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const int ranks = std::max(std::atoi(argv[1]), 1);
  std::string folder = (std::filesystem::temp_directory_path() / "gloo-XXXXXX").string();
  if (!::mkdtemp(folder.data())) return 1;
  bool well = true;
  for (int rank = 0; rank < ranks; ++rank) {
    if (::fork() == 0) ::_exit(run(rank, ranks, folder, argc, argv));
  }
  for (int rank = 0; rank < ranks; ++rank) {
    int status = 0;
    well = ::wait(&status) > 0 && status == 0 && well;
  }
  std::filesystem::remove_all(folder);
  return well ? 0 : 1;
}

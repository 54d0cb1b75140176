// MPI_Allreduce (f32, sum) timed as `lacuna perf` times: mpi_allreduce ITERATIONS BYTES...
// Rank 0 prints a line "BYTES MILLISECONDS MILLISECONDS" for each size: out of place and in place, the mean over the
// iterations on the slowest rank.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

/// Returns milliseconds per call.
double time_of(int iterations, const void* input, void* output, int count) {
  const auto allreduce = [&] { MPI_Allreduce(input, output, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); };
  for (int i = 0; i < std::max(iterations / 10, 2); ++i) allreduce();
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int i = 0; i < iterations; ++i) allreduce();
  double milliseconds = (MPI_Wtime() - start) * 1e3 / iterations;
  MPI_Allreduce(MPI_IN_PLACE, &milliseconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return milliseconds;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int iterations = argc > 1 ? std::max(std::atoi(argv[1]), 1) : 1;
  for (int argument = 2; argument < argc; ++argument) {
    const auto bytes = static_cast<std::size_t>(std::strtoull(argv[argument], nullptr, 10));
    const int count = static_cast<int>(bytes / sizeof(float));
    std::vector<float> input(static_cast<std::size_t>(count)), output(input);
    const double out_of_place = time_of(iterations, input.data(), output.data(), count);
    const double in_place = time_of(iterations, MPI_IN_PLACE, output.data(), count);
    if (rank == 0) std::printf("%zu %.6f %.6f\n", bytes, out_of_place, in_place);
  }
  MPI_Finalize();
}

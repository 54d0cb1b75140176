// Ranks of MPI join two jobs of lacuna, one after the other, and compare a sum with MPI's.
#include <cstdio>
#include <lacuna/lacuna_mpi.hpp>
#include <vector>

namespace {

bool sums_agree(MPI_Comm ranks) {
  auto world = lacuna::world_of(ranks);
  if (!world) return std::fprintf(stderr, "%s\n", world.status().to_string().c_str()), false;
  std::vector<int> mine(1000), by_mpi(1000);
  for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = static_cast<int>(i) * (world->rank() + 1);
  MPI_Allreduce(mine.data(), by_mpi.data(), 1000, MPI_INT, MPI_SUM, ranks);
  const auto done = world->call(lacuna::allreduce(mine, mine));
  int rank = -1;
  MPI_Comm_rank(ranks, &rank);
  return done && mine == by_mpi && rank == world->rank();
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  bool agree = sums_agree(MPI_COMM_WORLD);
  MPI_Comm part;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &part);  // in reverse order
  agree = sums_agree(part) && agree;
  MPI_Comm_free(&part);
  MPI_Finalize();
  if (agree) std::printf("rank %d: the sums are those of MPI\n", rank);
  return agree ? 0 : 1;
}

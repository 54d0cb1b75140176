/* Ranks of MPI join a job of lacuna, and compare a sum with that of MPI. */
#include <lacuna/lacuna_mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  lacuna_communicator* world = NULL;
  float mine = 0, by_mpi = 0;
  int rank = -1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  mine = (float)rank;
  if (lacuna_join_mpi(MPI_COMM_WORLD, NULL, &world) != LACUNA_OK) {
    fprintf(stderr, "%s\n", lacuna_last_error());
    return 1;
  }
  MPI_Allreduce(&mine, &by_mpi, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  if (lacuna_allreduce(world, &mine, &mine, 1, LACUNA_F32, LACUNA_SUM) != LACUNA_OK || mine != by_mpi) {
    fprintf(stderr, "rank %d: %g by lacuna, %g by MPI: %s\n", rank, mine, by_mpi, lacuna_last_error());
    return 1;
  }
  lacuna_communicator_free(world);
  MPI_Finalize();
  printf("rank %d: the sum is that of MPI\n", rank);
  return 0;
}

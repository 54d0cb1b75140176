!> Ranks of MPI join a job of lacuna by an integer, the handle of mpif.h.
program beside_old_mpi
  use lacuna
  use lacuna_mpi
  implicit none
  include 'mpif.h'
  type(lacuna_communicator) :: world
  integer :: rank, failed, mine(4), by_mpi(4)

  call MPI_Init(failed)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, failed)
  call lacuna_join_mpi(world, MPI_COMM_WORLD)
  if (lacuna_rank(world) /= rank) error stop 'the ranks are not those of MPI'
  mine = [rank, 2 * rank, 1, -rank]
  call MPI_Allreduce(mine, by_mpi, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, failed)
  call lacuna_allreduce(world, mine)
  if (any(mine /= by_mpi)) error stop 'the sum is not that of MPI'
  call lacuna_free(world)
  call MPI_Finalize(failed)
  print '(a, i0, a)', 'rank ', rank, ': the sums are those of MPI'
end program

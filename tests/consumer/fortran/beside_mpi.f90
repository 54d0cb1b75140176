!> Ranks of MPI join a job of lacuna, by both kinds of handles, and compare sums with those of MPI.
program beside_mpi
  use mpi_f08
  use lacuna
  use lacuna_mpi
  implicit none
  type(lacuna_communicator) :: world, half
  type(MPI_Comm) :: part
  integer :: rank, mine(4), by_mpi(4), status
  character(100) :: text

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call lacuna_join_mpi(world, MPI_COMM_WORLD)
  mine = [rank, 2 * rank, 1, -rank]
  call MPI_Allreduce(mine, by_mpi, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call lacuna_allreduce(world, mine)
  if (any(mine /= by_mpi)) error stop 'the sum of all is not that of MPI'

  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), -rank, part)
  call lacuna_join_mpi(half, part%MPI_VAL)
  call MPI_Comm_free(part)
  mine = rank
  call lacuna_allreduce(half, mine, op=lacuna_min)
  if (any(mine /= mod(rank, 2))) error stop 'the least of the part is wrong'

  call lacuna_join_mpi(half, [1, 2], status=status, errmsg=text)
  if (status /= lacuna_invalid_argument .or. index(text, 'must be a communicator of MPI') == 0) error stop 'not refused'
  call lacuna_free(half)
  call lacuna_free(world)
  call MPI_Finalize()
  print '(a, i0, a)', 'rank ', rank, ': the sums are those of MPI'
end program

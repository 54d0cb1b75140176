!> The collectives with blocks of different lengths, with and without places of their own, beside a plain oracle.
program blocks_test
  use, intrinsic :: iso_c_binding, only: c_size_t
  use, intrinsic :: iso_fortran_env, only: int64
  use checks
  use lacuna
  implicit none
  type(lacuna_communicator) :: world
  integer :: rank, ranks, i, root
  integer, allocatable :: counts(:), places(:), spread_places(:)

  call lacuna_join(world)
  rank = lacuna_rank(world)
  ranks = lacuna_size(world)
  counts = [(2 * i + 1 - mod(i, 2), i = 0, ranks - 1)]  ! 1, 2, 5, 6
  places = [(sum(counts(:i)), i = 0, ranks - 1)]
  spread_places = places + [(i, i = 1, ranks)]
  call agreed()
  do root = 0, ranks - 1
    call rooted()
  end do
  call exchanged()
  call finish(world)

contains

  elemental integer function value(of, i)
    integer, intent(in) :: of, i
    value = 1000 * (of + 1) + i
  end function

  function data_of(of, count) result(values)
    integer, intent(in) :: of, count
    integer :: values(count), i
    values = value(of, [(i, i = 1, count)])
  end function

  !> The block of a rank in an array, whose blocks begin at places.
  function block_of(values, begins, of) result(cut)
    integer, intent(in) :: values(:), begins(:), of
    integer, allocatable :: cut(:)
    cut = values(begins(of + 1) + 1:begins(of + 1) + counts(of + 1))
  end function

  subroutine agreed()
    integer :: all_of_it(sum(counts)), apart(sum(counts) + ranks + 1), input(sum(counts)), total(sum(counts)), other
    integer, allocatable :: mine(:)

    allocate(mine(counts(rank + 1)))
    total = 0
    do other = 0, ranks - 1
      total = total + data_of(other, size(total))
    end do
    input = data_of(rank, size(input))
    call lacuna_reduce_scatterv(world, input, mine, counts)
    call check(all(mine == block_of(total, places, rank)), 'a reduce_scatterv gives block rank of the sum')
    call lacuna_reduce_scatterv(world, input, counts=counts)
    call check(all(block_of(input, places, rank) == mine), 'a reduce_scatterv in place leaves it at its place')

    all_of_it = -1
    apart = -1
    call lacuna_allgatherv(world, data_of(rank, counts(rank + 1)), all_of_it, counts)
    call lacuna_allgatherv(world, data_of(rank, counts(rank + 1)), apart, int(counts, int64), int(spread_places, int64))
    do other = 0, ranks - 1
      call check(all(block_of(all_of_it, places, other) == data_of(other, counts(other + 1))), &
        'an allgatherv gives all inputs')
      call check(all(block_of(apart, spread_places, other) == data_of(other, counts(other + 1))), &
        'an allgatherv puts them at offsets')
    end do
    call check(apart(1) == -1, 'what lies between the blocks stays as it is')
    apart = -1
    apart(spread_places(rank + 1) + 1:spread_places(rank + 1) + counts(rank + 1)) = data_of(rank, counts(rank + 1))
    call lacuna_allgatherv(world, output=apart, counts=counts, offsets=spread_places)
    do other = 0, ranks - 1
      call check(all(block_of(apart, spread_places, other) == data_of(other, counts(other + 1))), &
        'an allgatherv in place does so too')
    end do
  end subroutine

  subroutine rooted()
    integer :: all_of_it(sum(counts)), longer(ranks), other
    integer, allocatable :: mine(:)
    integer(c_size_t) :: received(ranks)

    all_of_it = -1
    allocate(mine(counts(rank + 1)))
    if (rank == root) then
      call lacuna_gatherv(world, data_of(rank, size(mine)), all_of_it, counts, root=root)
      do other = 0, ranks - 1
        call check(all(block_of(all_of_it, places, other) == data_of(other, counts(other + 1))), &
          'a gatherv gives all inputs to the root')
      end do
      longer = maxval(counts)
      block
        integer :: room(sum(longer))
        call lacuna_gatherv(world, data_of(rank, size(mine)), room, longer, received=received, root=root)
        call check(all(received == counts), 'received tells how long the inputs are')
        call check(room(longer(1) * (ranks - 1) + 1) == value(ranks - 1, 1), 'each begins at its place')
      end block
      call lacuna_scatterv(world, all_of_it, mine, counts, root=root)
    else
      call lacuna_gatherv(world, data_of(rank, size(mine)), root=root)
      call lacuna_gatherv(world, data_of(rank, size(mine)), root=root)
      call lacuna_scatterv(world, output=mine, root=root)
    end if
    call check(all(mine == data_of(rank, size(mine))), 'a scatterv gives block rank of the data of the root')
  end subroutine

  !> Rank a sends a + 2 b + 1 elements to rank b.
  subroutine exchanged()
    integer :: i
    integer :: out_counts(ranks), in_counts(ranks), at_most(ranks), from, other
    integer, allocatable :: out(:), in(:), wide(:)
    integer(c_size_t) :: received(ranks)

    out_counts = [(rank + 2 * i + 1, i = 0, ranks - 1)]
    in_counts = [(i + 2 * rank + 1, i = 0, ranks - 1)]
    at_most = 3 * ranks
    allocate(out(sum(out_counts)), in(sum(in_counts)), wide(sum(at_most)))
    out = data_of(rank, size(out))
    call lacuna_alltoallv(world, out, in, out_counts, output_counts=in_counts)
    call lacuna_alltoallv(world, out, wide, out_counts, output_counts=at_most, received=received)
    call check(all(received == in_counts), 'received tells what has come from each rank')
    do other = 0, ranks - 1
      from = sum([(other + 2 * i + 1, i = 0, rank - 1)])
      do i = 1, in_counts(other + 1)
        call check(in(sum(in_counts(:other)) + i) == value(other, from + i), 'an alltoallv swaps blocks')
        call check(wide(3 * ranks * other + i) == value(other, from + i), 'where there is more room too')
      end do
    end do
  end subroutine
end program

!> Every collective of equal blocks, in place and not, beside a plain oracle in integers.
program collectives_test
  use checks
  use lacuna
  implicit none
  integer, parameter :: n = 5
  type(lacuna_communicator) :: world
  integer :: rank, ranks, r

  call lacuna_join(world)
  rank = lacuna_rank(world)
  ranks = lacuna_size(world)
  call check(rank >= 0 .and. rank < ranks, 'the rank is one of the ranks')
  call reductions()
  call blocks()
  do r = 0, ranks - 1
    call rooted(r)
  end do
  call scans()
  call lacuna_barrier(world)
  call finish(world)

contains

  !> Element i of the data of a rank.
  elemental integer function value(of, i)
    integer, intent(in) :: of, i
    value = 100 * of + 7 * i + mod(of * i, 3)
  end function

  !> What a rank gives: n elements, or n for each rank.
  function data_of(of, count) result(values)
    integer, intent(in) :: of, count
    integer :: values(count), i
    values = value(of, [(i, i = 1, count)])
  end function

  function sum_of(count) result(values)
    integer, intent(in) :: count
    integer :: values(count), other
    values = 0
    do other = 0, ranks - 1
      values = values + data_of(other, count)
    end do
  end function

  subroutine reductions()
    integer :: x(n), y(n), low(n), high(n), product(n), other
    real :: mean(n)

    low = data_of(0, n)
    high = low
    product = 1
    do other = 0, ranks - 1
      low = min(low, data_of(other, n))
      high = max(high, data_of(other, n))
      product = product * (other + 2)
    end do
    x = data_of(rank, n)
    y = -1
    call lacuna_allreduce(world, x, y)
    call check(all(y == sum_of(n)), 'an allreduce gives the sum')
    call check(all(x == data_of(rank, n)), 'an allreduce leaves its input')
    call lacuna_allreduce(world, x)
    call check(all(x == sum_of(n)), 'an allreduce in place gives the sum')
    x = data_of(rank, n)
    call lacuna_allreduce(world, x, y, op=lacuna_min)
    call check(all(y == low), 'op=lacuna_min gives the least')
    call lacuna_allreduce(world, x, y, op=lacuna_max)
    call check(all(y == high), 'op=lacuna_max gives the largest')
    x = rank + 2
    call lacuna_allreduce(world, x, op=lacuna_prod)
    call check(all(x == product), 'op=lacuna_prod gives the product')
    mean = real(rank)
    call lacuna_allreduce(world, mean, op=lacuna_avg)
    call check(all(2 * mean == real(ranks - 1)), 'op=lacuna_avg gives the mean')
  end subroutine

  subroutine blocks()
    integer :: x(n), mine(n * ranks), all_of_it(n * ranks), total(n * ranks), other, at

    at = n * rank
    total = sum_of(n * ranks)
    mine = data_of(rank, n * ranks)
    x = -1
    call lacuna_reduce_scatter(world, mine, x)
    call check(all(x == total(at + 1:at + n)), 'a reduce_scatter gives block rank of the sum')
    call lacuna_reduce_scatter(world, mine)
    call check(all(mine(at + 1:at + n) == total(at + 1:at + n)), 'a reduce_scatter in place leaves it at its place')

    x = data_of(rank, n)
    all_of_it = -1
    call lacuna_allgather(world, x, all_of_it)
    do other = 0, ranks - 1
      call check(all(all_of_it(n * other + 1:n * other + n) == data_of(other, n)), 'an allgather gives all inputs')
    end do
    all_of_it = -1
    all_of_it(at + 1:at + n) = x
    call lacuna_allgather(world, output=all_of_it)
    do other = 0, ranks - 1
      call check(all(all_of_it(n * other + 1:n * other + n) == data_of(other, n)), 'an allgather in place does so too')
    end do

    mine = data_of(rank, n * ranks)
    all_of_it = -1
    call lacuna_alltoall(world, mine, all_of_it)
    call lacuna_alltoall(world, mine)
    do other = 0, ranks - 1
      total = data_of(other, n * ranks)
      call check(all(all_of_it(n * other + 1:n * other + n) == total(at + 1:at + n)), 'an alltoall swaps blocks')
    end do
    call check(all(mine == all_of_it), 'an alltoall in place swaps blocks')
  end subroutine

  subroutine rooted(root)
    integer, intent(in) :: root
    integer :: x(n), y(n), all_of_it(n * ranks), source(n * ranks), other

    x = data_of(rank, n)
    call lacuna_broadcast(world, x, root=root)
    call check(all(x == data_of(root, n)), 'a broadcast gives the data of the root')

    x = data_of(rank, n)
    y = -1
    call lacuna_reduce(world, x, y, root=root)
    call check(all(y == merge(sum_of(n), -1, rank == root)), 'a reduce gives the sum to the root only')
    call lacuna_reduce(world, x, root=root)
    call check(all(x == merge(sum_of(n), data_of(rank, n), rank == root)), 'a reduce in place gives it to the root')

    x = data_of(rank, n)
    all_of_it = -1
    call lacuna_gather(world, x, all_of_it, root=root)
    do other = 0, ranks - 1
      call check(all(all_of_it(n * other + 1:n * other + n) == merge(data_of(other, n), -1, rank == root)), &
        'a gather gives all inputs to the root only')
    end do
    all_of_it = -1
    if (rank == root) then
      all_of_it(n * rank + 1:n * rank + n) = x
      call lacuna_gather(world, output=all_of_it, root=root)
      do other = 0, ranks - 1
        call check(all(all_of_it(n * other + 1:n * other + n) == data_of(other, n)), 'a gather in place does so too')
      end do
    else
      call lacuna_gather(world, x, root=root)
    end if

    source = data_of(root, n * ranks)
    y = -1
    if (rank == root) then
      call lacuna_scatter(world, source, y, root=root)
      call lacuna_scatter(world, source, root=root)  ! in place
    else
      call lacuna_scatter(world, output=y, root=root)
      call check(all(y == source(n * rank + 1:n * rank + n)), 'a scatter gives block rank of the data of the root')
      y = -1
      call lacuna_scatter(world, output=y, root=root)
    end if
    call check(all(y == source(n * rank + 1:n * rank + n)), 'so does a scatter that the root makes in place')
    call check(all(source == data_of(root, n * ranks)), 'a scatter leaves the data of the root')
  end subroutine

  subroutine scans()
    integer :: x(n), y(n), before(n), other

    before = 0
    do other = 0, rank - 1
      before = before + data_of(other, n)
    end do
    x = data_of(rank, n)
    y = -1
    call lacuna_exclusive_scan(world, x, y)
    call check(all(y == merge(before, -1, rank > 0)), 'an exclusive_scan gives the sum before this rank')
    call lacuna_scan(world, x, y)
    call check(all(y == before + data_of(rank, n)), 'a scan gives the sum up to this rank')
    call lacuna_scan(world, x)
    call check(all(x == y), 'a scan in place does so too')
    x = data_of(rank, n)
    call lacuna_exclusive_scan(world, x)
    call check(all(x == merge(before, data_of(rank, n), rank > 0)), 'an exclusive_scan in place leaves that of rank 0')
  end subroutine
end program

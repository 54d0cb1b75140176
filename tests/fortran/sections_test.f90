!> Sections of arrays: those without gaps are used where they lie, and those with gaps are copied there and back.
program sections_test
  use, intrinsic :: iso_c_binding, only: c_double, c_int64_t
  use checks
  use lacuna
  implicit none
  type :: particle
    real(c_double) :: mass
    integer(c_int64_t) :: number
    real(c_double) :: velocity(3)
  end type
  type(lacuna_communicator) :: world
  integer :: rank, ranks, i

  call lacuna_join(world)
  rank = lacuna_rank(world)
  ranks = lacuna_size(world)
  call rows_and_columns()
  call backwards()
  call boxes()
  call components()
  call rank_0_of_a_scan()
  call blocks_in_place()
  call of_requests()
  call of_prepared()
  call empty()
  call through_other_procedures()
  call of_messages()
  call finish(world)

contains

  subroutine rows_and_columns()
    integer :: x(3, 4)

    x = rank
    call lacuna_allreduce(world, x(:, 2))
    call lacuna_allreduce(world, x(2, 3:4))
    call check(all(x(:, 2) == total(0)), 'a column is summed where it lies')
    call check(all(x(2, 3:4) == total(0)), 'a row is summed')
    call check(all(x(:, 1) == rank) .and. all(x(1:3:2, 3:4) == rank), 'nothing else is')
  end subroutine

  subroutine backwards()
    integer :: x(6), y(3)

    x = [(i + rank, i = 1, 6)]
    call lacuna_allreduce(world, x(6:1:-2), y)
    call check(all(y == [total(6), total(4), total(2)]), 'elements in the other direction')
    call lacuna_allreduce(world, y, x(5:1:-2))
    call check(all(x(1:5:2) == ranks * y(3:1:-1)), 'which are written in this direction too')
    call check(all(x(2:6:2) == [(i + rank, i = 2, 6, 2)]), 'what lies between them stays')
  end subroutine

  subroutine boxes()
    integer :: x(4, 5, 6), y(2, 3, 2), z(4, 5, 6), j, k

    do k = 1, 6
      do j = 1, 5
        x(:, j, k) = [(100 * i + 10 * j + k + rank, i = 1, 4)]
      end do
    end do
    z = x
    call lacuna_allreduce(world, x(2:3, 1:5:2, 6:3:-3), y)
    do k = 1, 2
      do j = 1, 3
        call check(all(y(:, j, k) == [(total(100 * i + 10 * (2 * j - 1) + 9 - 3 * k), i = 2, 3)]), 'a box is summed')
      end do
    end do
    call lacuna_allreduce(world, y * 0, x(2:3, 1:5:2, 6:3:-3))
    call check(all(x(2:3, 1:5:2, 3:6:3) == 0), 'a box is written')
    z(2:3, 1:5:2, 3:6:3) = 0
    call check(all(x == z), 'and nothing else')
  end subroutine

  subroutine components()
    type(particle) :: some(4)

    some%mass = rank
    some%number = 2 * rank
    do i = 1, 4
      some(i)%velocity = -rank
    end do
    call lacuna_allreduce(world, some%mass)
    call lacuna_allreduce(world, some(2:3)%number)
    call lacuna_allreduce(world, some%velocity(2))
    call check(all(some%mass == total(0)), 'a component is summed')
    call check(all(some%number == [2 * rank, 2 * total(0), 2 * total(0), 2 * rank]), 'also that of a section')
    do i = 1, 4
      call check(all(some(i)%velocity == [-rank, -total(0), -rank]), 'also an element of one')
    end do
  end subroutine

  !> What a call does not write comes back as it was.
  subroutine rank_0_of_a_scan()
    integer :: x(4), y(8)

    x = 1
    y = 5
    call lacuna_exclusive_scan(world, x, y(1:8:2))
    call check(all(y(1:8:2) == merge(5, rank, rank == 0)) .and. all(y(2:8:2) == 5), 'an output that stays')
  end subroutine

  subroutine blocks_in_place()
    integer :: x(2, 3 * ranks), other

    x = rank
    call lacuna_reduce_scatter(world, x(1, :))
    call check(all(x(1, 3 * rank + 1:3 * rank + 3) == total(0)), 'a block of a section is its place in the result')
    x = -1
    x(2, 3 * rank + 1:3 * rank + 3) = rank
    call lacuna_allgather(world, output=x(2, :))
    call check(all(x(2, :) == [((other, i = 1, 3), other = 0, ranks - 1)]), 'or in the input')
    call check(all(x(1, :) == -1), 'the other row stays')
  end subroutine

  subroutine of_requests()
    integer, asynchronous :: x(2, 5)
    type(lacuna_request) :: request
    type(particle), asynchronous :: some(3)

    x = rank
    call lacuna_allreduce(world, x(1, :), request=request)
    call lacuna_wait(request)
    call check(all(x(1, :) == total(0)) .and. all(x(2, :) == rank), 'a row is there after the wait')
    x = rank
    call lacuna_allreduce(world, x(2, :), request=request)
    do while (.not. lacuna_test(request))
    end do
    call check(all(x(2, :) == total(0)) .and. all(x(1, :) == rank), 'or after the test that has found the end')
    x = rank
    call lacuna_allreduce(world, x(2, :), request=request)
    call lacuna_free(request)
    call check(all(x(2, :) == total(0)), 'or after the end of the request')
    some%mass = rank
    call lacuna_allreduce(world, some%mass, request=request)
    call lacuna_wait(request)
    call check(all(some%mass == total(0)), 'a component of a request')
    call lacuna_free(request)
  end subroutine

  subroutine of_prepared()
    integer, asynchronous :: x(3, 4), y(4, 2)
    type(lacuna_request) :: again
    integer :: turn

    y = -1
    call lacuna_allreduce(world, x(2, :), y(:, 1), prepared=again)
    do turn = 1, 3
      x = rank + turn
      call lacuna_start(again)
      call lacuna_wait(again)
      call check(all(y(:, 1) == total(turn)), 'a prepared call reads its section anew')
    end do
    call check(all(y(:, 2) == -1), 'and writes nothing else')
    call lacuna_free(again)
  end subroutine

  subroutine empty()
    integer :: x(0), y(3, 0), z(4)

    z = rank
    call lacuna_allreduce(world, x)
    call lacuna_allreduce(world, y)
    call lacuna_allreduce(world, z(3:2))
    call lacuna_allreduce(world, z(3:3))
    call check(all(z == [rank, rank, total(0), rank]), 'arrays without elements and with one')
  end subroutine

  subroutine through_other_procedures()
    integer :: x(2, 4)
    integer, allocatable :: y(:)

    x = rank
    call of_assumed_shape(x(2, :))
    call check(all(x(2, :) == total(0)) .and. all(x(1, :) == rank), 'a section that came as an argument')
    call of_explicit_shape(x(1, :), 4)
    call check(all(x == total(0)), 'a section that the compiler has copied')
    allocate(y(-3:2), source=rank)
    call lacuna_allreduce(world, y)
    call check(all(y == total(0)) .and. lbound(y, 1) == -3, 'an allocatable array with bounds of its own')
    call with_optional(y)
    call with_optional(y, x(1, :))
  end subroutine

  subroutine of_assumed_shape(x)
    integer, intent(inout) :: x(:)
    call lacuna_allreduce(world, x)
  end subroutine

  subroutine of_explicit_shape(x, n)
    integer, intent(in) :: n
    integer, intent(inout) :: x(n)
    call lacuna_allreduce(world, x)
  end subroutine

  !> An absent output is passed on.
  subroutine with_optional(x, y, errmsg)
    integer, intent(inout) :: x(:)
    integer, intent(inout), optional :: y(:)
    character(*), intent(inout), optional :: errmsg
    integer :: status
    if (present(y)) then
      call lacuna_allreduce(world, x(:size(y)), y, errmsg=errmsg, status=status)
    else
      call lacuna_allreduce(world, x, y, errmsg=errmsg, status=status)
    end if
    call check(status == lacuna_ok, 'a procedure passes optional arguments on')
  end subroutine

  subroutine of_messages()
    integer :: x(2, 3), y(3, 2), next, former

    next = mod(rank + 1, ranks)
    former = mod(rank + ranks - 1, ranks)
    x(1, :) = [(10 * rank + i, i = 1, 3)]
    x(2, :) = -7
    y = -1
    call lacuna_sendrecv(world, x(1, :), next, y(:, 2), former)
    call check(all(y(:, 2) == [(10 * former + i, i = 1, 3)]) .and. all(y(:, 1) == -1), 'a row becomes a column')
  end subroutine

  !> The sum of `what` plus the rank over all ranks.
  pure integer function total(what)
    integer, intent(in) :: what
    total = ranks * what + ranks * (ranks - 1) / 2
  end function
end program

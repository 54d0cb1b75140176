!> Neighbours in a grid exchange the borders of their boxes: columns where they lie, rows by a copy.
program exchange_test
  use, intrinsic :: iso_fortran_env, only: real64
  use checks
  use lacuna
  implicit none
  integer, parameter :: n = 4, m = 3
  type(lacuna_communicator) :: world
  type(lacuna_neighbour) :: neighbours(4)
  type(lacuna_halo) :: halos(4)
  type(lacuna_request) :: request
  integer :: rank, ranks, lengths(2), status, turn
  integer, asynchronous :: u(0:n + 1, 0:m + 1)
  complex(real64), asynchronous :: z(0:n + 1, 0:m + 1)

  call lacuna_join(world)
  rank = lacuna_rank(world)
  ranks = lacuna_size(world)
  call lacuna_balanced_grid(ranks, lengths)
  call check(product(lengths) == ranks .and. lengths(1) >= lengths(2), 'a grid has all ranks')
  call lacuna_balanced_grid(0, lengths, status=status)
  call check(status == lacuna_invalid_argument, 'no ranks make no grid')
  call lacuna_balanced_grid(ranks, lengths)
  call open_borders()
  call around()
  call of_complex_numbers()
  call finish(world)

contains

  integer function value(of, i, j)
    integer, intent(in) :: of, i, j
    value = 1000 * of + 10 * i + j
  end function

  subroutine fill(turn)
    integer, intent(in) :: turn
    integer :: i, j

    u = -1
    do j = 1, m
      do i = 1, n
        u(i, j) = value(rank, i, j) + 100000 * turn
      end do
    end do
  end subroutine

  !> Dimension 1 of the grid runs along i, dimension 2 along j.
  subroutine set_halos()
    call lacuna_set_halo(halos(1), send=u(1, 1:m), receive=u(0, 1:m))
    call lacuna_set_halo(halos(2), send=u(n, 1:m), receive=u(n + 1, 1:m))
    call lacuna_set_halo(halos(3), send=u(1:n, 1), receive=u(1:n, 0))
    call lacuna_set_halo(halos(4), send=u(1:n, m), receive=u(1:n, m + 1))
  end subroutine

  subroutine check_borders(turn)
    integer, intent(in) :: turn
    integer :: i, j, add

    add = 100000 * turn
    do j = 1, m
      call check(u(0, j) == expected(1, n, j, add) .and. u(n + 1, j) == expected(2, 1, j, add), 'rows at the borders')
    end do
    do i = 1, n
      call check(u(i, 0) == expected(3, i, m, add) .and. u(i, m + 1) == expected(4, i, 1, add), 'columns there')
    end do
    call check(u(0, 0) == -1 .and. u(n + 1, m + 1) == -1, 'the corners stay')
    call check(u(1, 1) == value(rank, 1, 1) + add .and. u(n, m) == value(rank, n, m) + add, 'and the box itself')
  end subroutine

  integer function expected(side, i, j, add)
    integer, intent(in) :: side, i, j, add
    expected = -1
    if (neighbours(side)%rank /= lacuna_nobody) expected = value(neighbours(side)%rank, i, j) + add
  end function

  subroutine open_borders()
    call lacuna_grid_neighbours(lengths, rank, neighbours)
    if (ranks == 1) call check(all(neighbours%rank == lacuna_nobody), 'a rank alone has no neighbours')
    if (ranks > 1) call check(any(neighbours%rank /= lacuna_nobody), 'others have some')
    call set_halos()
    call fill(0)
    call lacuna_exchange(world, neighbours, halos)
    call check_borders(0)
  end subroutine

  subroutine around()
    call lacuna_grid_neighbours(lengths, rank, neighbours, periodic=[.true., .true.])
    call check(all(neighbours%rank /= lacuna_nobody), 'a periodic grid has no borders')
    call fill(1)
    call lacuna_exchange(world, neighbours, halos, tag=5, request=request)
    call lacuna_wait(request)
    call check_borders(1)
    call lacuna_exchange(world, neighbours, halos, tag=6, prepared=request)
    do turn = 2, 4
      call fill(turn)
      call lacuna_start(request)
      call lacuna_wait(request)
      call check_borders(turn)
    end do
    call lacuna_free(request)
  end subroutine

  subroutine of_complex_numbers()
    z = cmplx(-1, -1, real64)
    z(1:n, 1:m) = cmplx(rank, 2 * rank, real64)
    call lacuna_set_halo(halos(1), send=z(1, 1:m), receive=z(0, 1:m))
    call lacuna_set_halo(halos(2), send=z(n, 1:m), receive=z(n + 1, 1:m))
    call lacuna_exchange(world, neighbours(1:2), halos(1:2))
    call check(all(z(0, 1:m) == cmplx(neighbours(1)%rank, 2 * neighbours(1)%rank, real64)), 'halos of complex numbers')
    call check(all(z(n + 1, 1:m) == cmplx(neighbours(2)%rank, 2 * neighbours(2)%rank, real64)), 'on both sides')
  end subroutine
end program

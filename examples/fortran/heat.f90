!> Heat in a plate, on a grid of ranks: Jacobi's iteration for Laplace's equation. Each rank has a box of the plate, and
!> its neighbours' borders around it. The borders travel while the inner points are computed.
!>   lacuna launch -n 4 ./example_fortran_heat [POINTS] [TOLERANCE]
program heat
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use lacuna
  implicit none
  integer, parameter :: check_every = 50
  type(lacuna_communicator) :: world
  type(lacuna_neighbour) :: neighbours(4)
  type(lacuna_request) :: exchange(2)
  real(real64), allocatable, asynchronous :: plate(:, :, :)  ! two copies: one is read, the other one is written
  real(real64) :: residual, tolerance, heat_inside
  integer :: points, rows, columns, lengths(2), place(2), step, now, next
  integer(int64) :: begin, end, rate

  call read_arguments()
  call lacuna_join(world)
  call lacuna_balanced_grid(lacuna_size(world), lengths)
  call lacuna_grid_neighbours(lengths, lacuna_rank(world), neighbours)
  place = [lacuna_rank(world) / lengths(2), mod(lacuna_rank(world), lengths(2))]
  rows = share(lengths(1), place(1))
  columns = share(lengths(2), place(2))
  allocate(plate(0:rows + 1, 0:columns + 1, 2), source=0.0_real64)
  if (place(1) == 0) plate(0, :, :) = 1  ! one side of the plate is hot

  do now = 1, 2
    call prepare_exchange(now)
  end do
  now = 1
  call system_clock(begin, rate)
  do step = 1, 1000000
    next = 3 - now
    call lacuna_start(exchange(now))
    call relax(2, rows - 1, 2, columns - 1)
    call lacuna_wait(exchange(now))
    call relax_border()
    if (mod(step, check_every) == 0) then
      residual = sum((plate(1:rows, 1:columns, next) - plate(1:rows, 1:columns, now))**2)
      call lacuna_allreduce(world, residual)
      if (sqrt(residual) < tolerance) exit
    end if
    now = next
  end do
  call system_clock(end)

  heat_inside = sum(plate(1:rows, 1:columns, next))
  call lacuna_reduce(world, heat_inside)
  if (lacuna_rank(world) == 0) then
    print '(i0, a, i0, a, i0, a)', lacuna_size(world), ' ranks, a grid of ', lengths(1), ' x ', lengths(2), ':'
    print '(a, i0, a, es9.2, a, f0.6)', 'steps: ', step, ', residual: ', sqrt(residual), ', mean temperature: ', &
      heat_inside / real(points, real64)**2
    print '(a, f0.3)', 'seconds: ', real(end - begin, real64) / real(rate, real64)
  end if
  call lacuna_free(exchange(1))
  call lacuna_free(exchange(2))
  call lacuna_free(world)

contains

  subroutine read_arguments()
    character(20) :: argument

    points = 120
    tolerance = 1e-4_real64
    call get_command_argument(1, argument)
    if (argument /= '') read (argument, *) points
    call get_command_argument(2, argument)
    if (argument /= '') read (argument, *) tolerance
  end subroutine

  !> Points of the box at a place of one dimension of the grid.
  integer function share(length, at)
    integer, intent(in) :: length, at
    share = points / length + merge(1, 0, at < mod(points, length))
  end function

  !> Columns travel from where they lie. Rows have gaps, so that they are copied when the exchange starts and ends.
  subroutine prepare_exchange(copy)
    integer, intent(in) :: copy
    type(lacuna_halo) :: halos(4)

    call lacuna_set_halo(halos(1), send=plate(1, 1:columns, copy), receive=plate(0, 1:columns, copy))
    call lacuna_set_halo(halos(2), send=plate(rows, 1:columns, copy), receive=plate(rows + 1, 1:columns, copy))
    call lacuna_set_halo(halos(3), send=plate(1:rows, 1, copy), receive=plate(1:rows, 0, copy))
    call lacuna_set_halo(halos(4), send=plate(1:rows, columns, copy), receive=plate(1:rows, columns + 1, copy))
    call lacuna_exchange(world, neighbours, halos, prepared=exchange(copy))
  end subroutine

  subroutine relax(first_row, last_row, first_column, last_column)
    integer, intent(in) :: first_row, last_row, first_column, last_column
    integer :: i, j

    do j = first_column, last_column
      do i = first_row, last_row
        plate(i, j, next) = 0.25_real64 * (plate(i - 1, j, now) + plate(i + 1, j, now) + &
                                           plate(i, j - 1, now) + plate(i, j + 1, now))
      end do
    end do
  end subroutine

  subroutine relax_border()
    call relax(1, 1, 1, columns)
    if (rows > 1) call relax(rows, rows, 1, columns)
    call relax(2, rows - 1, 1, 1)
    if (columns > 1) call relax(2, rows - 1, columns, columns)
  end subroutine
end program

!> Arrays that other ranks of the host can map serve calls like any others.
program memory_test
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use checks
  use lacuna
  implicit none
  type(lacuna_communicator) :: world
  integer :: rank, ranks, status
  character(300) :: text

  call lacuna_join(world)
  rank = lacuna_rank(world)
  ranks = lacuna_size(world)
  call shapes()
  call types()
  call long_call()
  call refused()
  call finish(world)

contains

  subroutine shapes()
    real(real64), pointer :: x(:, :, :) => null()
    integer, pointer :: nothing(:) => null()

    call lacuna_alloc(x, [2, 3, 4])
    call check(all(shape(x) == [2, 3, 4]), 'the array has the extents that were asked for')
    call check(all(lbound(x) == 1) .and. is_contiguous(x), 'its indices begin at 1, and it has no gaps')
    x = rank + 1
    call lacuna_allreduce(world, x)
    call check(all(x == ranks * (ranks + 1) / 2), 'a call takes the array')
    call lacuna_free(x)
    call check(.not. associated(x), 'the pointer is null in the end')
    call lacuna_free(x)
    call lacuna_alloc(nothing, [0_int64])
    call check(size(nothing) == 0, 'an array may be empty')
    call lacuna_free(nothing)
  end subroutine

  subroutine types()
    real(real32), pointer :: a(:) => null()
    complex(real32), pointer :: b(:) => null()
    complex(real64), pointer :: c(:) => null()
    integer(int8), pointer :: d(:) => null()
    integer(int16), pointer :: e(:) => null()
    integer(int32), pointer :: f(:) => null()
    integer(int64), pointer :: g(:) => null()

    call lacuna_alloc(a, [5]); call check(size(a) == 5, 'real32'); call lacuna_free(a)
    call lacuna_alloc(b, [5]); call check(size(b) == 5, 'complex of real32'); call lacuna_free(b)
    call lacuna_alloc(c, [5]); call check(size(c) == 5, 'complex of real64'); call lacuna_free(c)
    call lacuna_alloc(d, [5]); call check(size(d) == 5, 'int8'); call lacuna_free(d)
    call lacuna_alloc(e, [5]); call check(size(e) == 5, 'int16'); call lacuna_free(e)
    call lacuna_alloc(f, [5]); call check(size(f) == 5, 'int32'); call lacuna_free(f)
    call lacuna_alloc(g, [5]); call check(size(g) == 5, 'int64'); call lacuna_free(g)
  end subroutine

  !> The input is mappable, and the output is ordinary. Where ranks can map memory, they read the messages in place.
  subroutine long_call()
    integer, parameter :: count = 2**20
    real(real32), pointer :: x(:) => null()
    real(real32), allocatable :: y(:)
    integer :: i

    call lacuna_alloc(x, [count])
    allocate(y(count))
    x = [(real(mod(i, 7) + rank, real32), i = 1, count)]
    call lacuna_allreduce(world, x, y)
    call check(all(y == [(real(mod(i, 7) * ranks + ranks * (ranks - 1) / 2, real32), i = 1, count)]), &
      'a long call is right')
    call lacuna_free(x)
  end subroutine

  subroutine refused()
    real(real32), pointer :: x(:, :) => null()

    call lacuna_alloc(x, [3], status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'extents has 1 elements, must have one for each of 2 dimensions')
    call check(.not. associated(x), 'after an error the pointer is null')
    call lacuna_alloc(x, [3, -1], status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'extents has a negative element, -1')
    call lacuna_alloc(x, [2_int64**40, 2_int64**40], status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'more bytes than there are addresses')
    call lacuna_alloc(x, [2_int64**30, 2_int64**30], status=status, errmsg=text)
    call check_refused(status, lacuna_internal, text, 'memory')
  end subroutine
end program

!> Reductions of the program's own.
module reductions
  use, intrinsic :: iso_c_binding, only: c_double, c_int8_t, c_int64_t, c_ptr, c_size_t
  implicit none
  type, bind(C) :: pair
    real(c_double) :: total
    integer(c_int64_t) :: count
  end type

contains

  subroutine add_pairs(context, in, inout, count) bind(C)
    type(c_ptr), value :: context
    integer(c_size_t), value :: count
    type(pair), intent(in) :: in(count)
    type(pair), intent(inout) :: inout(count)
    if (.false.) print *, transfer(context, 0_c_int64_t)
    inout%total = inout%total + in%total
    inout%count = inout%count + in%count
  end subroutine

  subroutine set_bits(context, in, inout, count) bind(C)
    type(c_ptr), value :: context
    integer(c_size_t), value :: count
    integer(c_int8_t), intent(in) :: in(count)
    integer(c_int8_t), intent(inout) :: inout(count)
    if (.false.) print *, transfer(context, 0_c_int64_t)
    inout = ior(inout, in)
  end subroutine
end module

!> All types that the module takes by themselves, in arrays of all ranks, and those that dtype= names.
program types_test
  use, intrinsic :: iso_c_binding, only: c_double, c_funloc, c_funptr, c_int64_t
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use checks
  use lacuna
  use reductions
  implicit none
  type(lacuna_communicator) :: world
  integer :: rank, ranks, before, i

  call lacuna_join(world)
  rank = lacuna_rank(world)
  ranks = lacuna_size(world)
  before = sum([(i, i = 0, ranks - 1)])
  call of_int8()
  call of_int16()
  call of_int32()
  call of_int64()
  call of_real32()
  call of_real64()
  call of_complex32()
  call of_complex64()
  call located()
  call unsigned()
  call half()
  call own()
  call own_bytes()
  call finish(world)

contains

#define TYPE integer(int8)
#define NAME of_int8
#include "types_of_one.inc"
#undef TYPE
#undef NAME
#define TYPE integer(int16)
#define NAME of_int16
#include "types_of_one.inc"
#undef TYPE
#undef NAME
#define TYPE integer(int32)
#define NAME of_int32
#include "types_of_one.inc"
#undef TYPE
#undef NAME
#define TYPE integer(int64)
#define NAME of_int64
#include "types_of_one.inc"
#undef TYPE
#undef NAME
#define TYPE real(real32)
#define NAME of_real32
#include "types_of_one.inc"
#undef TYPE
#undef NAME
#define TYPE real(real64)
#define NAME of_real64
#include "types_of_one.inc"
#undef TYPE
#undef NAME
#define TYPE complex(real32)
#define NAME of_complex32
#include "types_of_one.inc"
#undef TYPE
#undef NAME
#define TYPE complex(real64)
#define NAME of_complex64
#include "types_of_one.inc"
#undef TYPE
#undef NAME

  !> The largest number and where it was, as MPI_MAXLOC.
  subroutine located()
    type(lacuna_located_f64_type) :: x(2)

    x%value = [real(rank, c_double), -real(rank, c_double)]
    x%index = 10 * rank
    call lacuna_allreduce(world, x, op=lacuna_max, dtype=lacuna_located_f64)
    call check(x(1)%value == ranks - 1 .and. x(1)%index == 10 * (ranks - 1), 'the largest number has its index')
    call check(x(2)%value == 0 .and. x(2)%index == 0, 'the second one too')
  end subroutine

  !> The bits of an integer, as an unsigned number.
  subroutine unsigned()
    integer(int8) :: x

    x = merge(-1_int8, 1_int8, rank == 0)  ! 255, which is more than 1
    call lacuna_allreduce(world, x, op=lacuna_max, dtype=lacuna_u8)
    call check(x == -1_int8, 'dtype= says that the numbers have no sign')
  end subroutine

  !> Numbers of 16 bits, as the upper halves of those of 32.
  subroutine half()
    integer(int16) :: x(3)

    x = int(ishft(transfer(real(2**rank), 1_int32), -16), int16)
    call lacuna_allreduce(world, x, dtype=lacuna_bf16)
    do i = 1, 3
      call check(transfer(ishft(int(x(i), int32), 16), 1.0) == 2.0**ranks - 1, 'dtype= says that they are bf16')
    end do
  end subroutine

  !> A reduction of the program's own, over a type of its own.
  subroutine own()
    type(pair) :: x(4)
    type(c_funptr) :: sum

    sum = c_funloc(add_pairs)
    x = pair(real(rank, c_double), 1)
    call lacuna_allreduce(world, x, own=sum, own_id=17_c_int64_t, dtype=lacuna_bytes_16)
    call check(all(x%total == before) .and. all(x%count == ranks), 'a reduction of the program has added pairs')
  end subroutine

  subroutine own_bytes()
    integer(int8) :: x(5)
    type(c_funptr) :: bits

    bits = c_funloc(set_bits)
    x = int(ibset(0, rank), int8)
    call lacuna_allreduce(world, x, own=bits, own_id=18_c_int64_t, dtype=lacuna_bytes_1)
    call check(all(x == 2**ranks - 1), 'and bits')
  end subroutine
end program

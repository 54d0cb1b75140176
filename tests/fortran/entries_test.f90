!> Lists of entries: places and values in place of all elements.
program entries_test
  use, intrinsic :: iso_c_binding, only: c_size_t
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  use checks
  use lacuna
  implicit none
  integer(int64), parameter :: length = 1000
  type(lacuna_communicator) :: world
  type(lacuna_method) :: lossless
  integer :: rank, ranks

  call lacuna_join(world)
  rank = lacuna_rank(world)
  ranks = lacuna_size(world)
  call lacuna_method_create(lossless, 'topk:density=1,feedback=0')
  call to_a_list()
  call to_all_elements()
  call to_a_block()
  call rows()
  call gathered()
  call with_gaps()
  call prepared()
  call refused()
  call lacuna_free(lossless)
  call finish(world)

contains

  !> Places may have any order, and equal ones add up.
  subroutine to_a_list()
    integer(int32) :: places(20)
    real :: values(20)
    integer(c_size_t) :: found

    call lacuna_allreduce(world, [1.0, 2.0, 3.0, 5.0], values, method=lossless, length=length, &
      places=[7, 3, 7, 100 + rank], output_places=places, found=found)
    call check(found == 2 + ranks, 'the number of entries is told')
    call check(all(places(1:2) == [3, 7]) .and. all(values(1:2) == ranks * [2, 4]), 'entries of a place add up')
    call check(all(places(3:found) == [(100 + rank, rank = 0, ranks - 1)]), 'places ascend')
    call check(all(values(3:found) == 5), 'a place of one rank has its value')
    rank = lacuna_rank(world)
  end subroutine

  !> A rank may have no entries at all.
  subroutine to_all_elements()
    real(real64) :: values(1), sum(length), expected(length)
    integer :: places(1)

    values = 4
    places = 7
    expected = 0
    expected(8) = 4 * (ranks - 1)
    call lacuna_allreduce(world, values(1:min(rank, 1)), sum, method=lossless, length=length, &
      places=places(1:min(rank, 1)))
    call check(all(sum == expected), 'the other elements are 0')
  end subroutine

  !> Each rank gets the entries of its block, at the places of the block.
  subroutine to_a_block()
    real :: mine(5)
    integer :: places(2 * ranks), r

    places = [(5 * r, r = 0, ranks - 1), (5 * r + 4, r = 0, ranks - 1)]
    call lacuna_reduce_scatter(world, [(real(r), r = 1, 2 * ranks)], mine, method=lossless, places=places, &
      length=5_int64 * ranks)
    call check(all(mine(2:4) == 0) .and. mine(1) == ranks * (rank + 1) .and. mine(5) == ranks * (ranks + rank + 1), &
      'reduce_scatter takes entries')
  end subroutine

  !> An entry of blocks is a row.
  subroutine rows()
    real(real64) :: table(4, 2), sum(4, 10)
    integer(int64) :: elements
    integer :: places(10)
    integer(c_size_t) :: found

    call lacuna_entry_length('blocks:block=4', elements)
    call check(elements == 4, 'the length of an entry is told')
    call lacuna_entry_length(lossless, elements)
    call check(elements == 1, 'that of a handle too')
    table(:, 1) = 1
    table(:, 2) = rank + 2
    call lacuna_allreduce(world, table, sum, method='blocks:block=4', places=[9, rank], length=400_int64, &
      output_places=places, found=found)
    call check(found == ranks + 1 .and. places(found) == 9, 'rows are entries')
    call check(all(sum(:, rank + 1) == rank + 2) .and. all(sum(:, found) == ranks), 'and have their elements')
  end subroutine

  !> Each rank brings entries of its own block.
  subroutine gathered()
    real :: all_of_it(3 * ranks), expected(3 * ranks)
    integer :: r

    expected = 0
    expected(2::3) = [(r + 1, r = 0, ranks - 1)]
    call lacuna_allgather(world, [real(rank + 1)], all_of_it, method=lossless, places=[1], length=3_int64)
    call check(all(all_of_it == expected), 'allgather takes entries')
  end subroutine

  !> Columns of an array of structures serve as well.
  subroutine with_gaps()
    type :: entry
      integer(int32) :: place
      real(real32) :: value
    end type
    type(entry) :: mine(2), sum(4)
    integer(c_size_t) :: found

    mine%place = [5, 2]
    mine%value = [10, 20]
    sum%place = -1
    sum%value = -1
    call lacuna_allreduce(world, mine%value, sum%value, method=lossless, places=mine%place, length=length, &
      output_places=sum%place, found=found)
    call check(found == 2 .and. all(sum%place == [2, 5, -1, -1]), 'places with gaps are copied back')
    call check(all(sum(1:2)%value == ranks * [20, 10]), 'and values')
  end subroutine

  !> The numbers of entries stay, and places and values are read at each start.
  subroutine prepared()
    real, asynchronous :: values(2), sum(20)
    integer, asynchronous :: places(2), where(20)
    integer(c_size_t), asynchronous :: found
    type(lacuna_request) :: request
    integer :: turn

    call lacuna_allreduce(world, values, sum, method=lossless, places=places, length=length, output_places=where, &
      found=found, prepared=request)
    do turn = 1, 3
      places = [turn, 10 * turn]
      values = turn
      call lacuna_start(request)
      call lacuna_wait(request)
      call check(found == 2 .and. all(where(1:2) == places) .and. all(sum(1:2) == ranks * turn), 'a call is repeated')
    end do
    call lacuna_free(request)
  end subroutine

  subroutine refused()
    real :: x(4), y(4)
    integer :: places(4), status
    character(200) :: text

    x = 1
    places = [1, 2, 3, 4]
    call lacuna_allreduce(world, x, y, method=lossless, places=places, status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'length= is missing')
    call lacuna_allreduce(world, x, y, method=lossless, places=places(1:3), length=length, status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, &
      'places has 3 elements, must have 4: one for each entry of 1 of 4 values')
    call lacuna_allreduce(world, x, y, method=lossless, output_places=places(1:2), length=length, status=status, &
      errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'output_places has 2 elements, must have 4')
    call lacuna_allreduce(world, x, y, places=places, length=length, status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'a call with places needs method=')
    call lacuna_allreduce(world, x, method=lossless, places=places, length=length, status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'a call with places is never in place')
    call lacuna_allreduce(world, x, y, method=lossless, places=x, length=length, status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'places must be integers of 32 bits')
    call lacuna_allreduce(world, x, y, method='cast', places=places, output_places=places, length=length, &
      status=status, errmsg=text)
    call check(status /= lacuna_ok .and. index(text, 'entries') > 0, 'a method may take no entries: ' // trim(text))
    call lacuna_allreduce(world, x, y, method=lossless, places=places, length=-1_int64, status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'length is -1')
  end subroutine
end program

!> Errors come back by status= and errmsg=, with a text that says what was given and what is allowed.
program errors_test
  use, intrinsic :: iso_fortran_env, only: int8, real64
  use checks
  use lacuna
  implicit none
  type(lacuna_communicator) :: world, none
  type(lacuna_request) :: request, other
  type(lacuna_report) :: report
  type(lacuna_halo) :: halos(2)
  type(lacuna_neighbour) :: neighbours(2)
  integer :: rank, ranks, status, x(4)
  integer, allocatable :: absent(:)
  character(300) :: text
  character(5) :: short
  logical :: flags(2)

  call lacuna_join(world)
  rank = lacuna_rank(world)
  ranks = lacuna_size(world)
  x = 1
  call arguments()
  call methods()
  call handles()
  call halos_and_messages()
  text = 'unchanged'
  call lacuna_allreduce(world, x, status=status, errmsg=text)
  call check(status == lacuna_ok .and. text == 'unchanged', 'a call that ends well leaves errmsg as it is')
  call check(all(x == ranks), 'refused calls leave the communicator as it was')
  call finish(world)

contains

  subroutine arguments()
    real(real64) :: wide(4)

    call lacuna_allreduce(world, flags, status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'the type of input, with elements of 4 bytes, is none of')
    call lacuna_allreduce(world, 'abc', status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'the type of input, with elements of 3 bytes, is none of')
    call lacuna_allreduce(world, x, wide, status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'the input is of i32, the output of f64')
    call lacuna_allreduce(world, x, x(1:3), status=status, errmsg=text)
    call check(status == lacuna_invalid_argument, 'lengths that differ are refused')
    call lacuna_allreduce(world, x, dtype=lacuna_f64, status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'input have 4 bytes, those of its dtype have 8')
    call lacuna_allreduce(world, x, dtype=99, status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'dtype is 99, must be 0 .. 24')
    call lacuna_allreduce(world, x, op=17, status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'reduction is 17')
    call lacuna_allreduce(world, x, op=lacuna_avg, status=status, errmsg=text)
    call check(status == lacuna_unsupported .or. status == lacuna_invalid_argument, 'integers have no mean')
    call lacuna_allreduce(world, status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'input is missing')
    call lacuna_allgather(world, x, status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'output is missing')
    call lacuna_broadcast(world, x, root=ranks, status=status, errmsg=text)
    call check(status == lacuna_invalid_argument, 'a root beyond the ranks is refused')
    call lacuna_allreduce(world, absent, status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'input is not allocated')
    call of_assumed_size(x)
    call lacuna_allgatherv(world, x, x, [1, 2, 3, 4, 5], status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'counts has 5 elements, must have one for each of')
    call lacuna_allgatherv(world, x, x, spread(-1, 1, ranks), status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'counts has a negative element, -1')
    call lacuna_allgatherv(world, x, x, status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'counts are missing')
    if (ranks > 1) then
      call lacuna_reduce_scatter(world, spread(1, 1, ranks + 1), status=status, errmsg=text)
      call check_refused(status, lacuna_invalid_argument, text, 'does not have a block of equal length for each of')
    end if
    short = ''
    call lacuna_allreduce(world, x, dtype=99, status=status, errmsg=short)
    call check(short == 'dtype', 'a short errmsg has the beginning of the text')
    call lacuna_allreduce(world, x, algorithm='nonsense', status=status, errmsg=text)
    call check(status /= lacuna_ok .and. index(text, 'nonsense') > 0, 'an unknown algorithm is named')
    call lacuna_allreduce(world, x, algorithm=7, status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'algorithm is not a text')
    call lacuna_allreduce(world, x, deadline=-1.0_real64, status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'deadline is -1 seconds')
    call lacuna_allreduce(world, x, priority=9, status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'priority is 9')
  end subroutine

  subroutine of_assumed_size(values)
    integer :: values(*)
    call lacuna_allreduce(world, values, status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'input is an array of assumed size; give a section')
  end subroutine

  subroutine methods()
    call lacuna_allreduce(world, x, method='topkk', status=status, errmsg=text)
    call check(status /= lacuna_ok .and. index(text, 'topk') > 0, 'the text names a method that there is')
    call lacuna_allreduce(world, x, method='topk:density=2', status=status, errmsg=text)
    call check(status == lacuna_invalid_argument .and. index(text, 'density') > 0, 'the text names the option')
    call lacuna_allreduce(world, x, method=3, status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'method must be a text or a lacuna_method')
  end subroutine

  subroutine handles()
    call lacuna_allreduce(none, x, status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'the communicator has not joined a job')
    call lacuna_barrier(none, status=status, errmsg=text)
    call check(status == lacuna_invalid_argument, 'nor has it for a barrier')
    call lacuna_wait(request, status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'the request is of no call')
    call check(.not. lacuna_test(request, status=status), 'a request of no call has not ended')
    call check(status == lacuna_invalid_argument, 'and cannot be tested')
    call lacuna_start(request, status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'the request is of no call')
    call lacuna_allreduce(world, x(1:0), request=request, prepared=other, status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'give request= to start the call, or prepared=')
    call lacuna_allreduce(world, x(1:0), request=request, report=report, status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'report= is for a call that waits')
    call lacuna_allreduce(world, x(1:0), request=request)
    call lacuna_wait(request)
    call lacuna_start(request, status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'only a call that was prepared can be started')
    call lacuna_free(request)
    call lacuna_free(request)
    call lacuna_join(none, rank=0, size=2, store='127.0.0.1:0', key='k', timeout=-1.0_real64, status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'timeout is -1 seconds, must be 0 or more')
    call check(lacuna_rank(none) == -1 .and. lacuna_size(none) == -1, 'no communicator has no rank')
    call check(.not. lacuna_is_member(none) .and. lacuna_is_member(world), 'a rank is a member of a communicator')
  end subroutine

  subroutine halos_and_messages()
    neighbours%rank = rank
    call lacuna_exchange(world, neighbours, halos, status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'halo 1 has a neighbour and has not been set')
    call lacuna_exchange(world, neighbours, halos(1:1), status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'there are 2 neighbours and 1 halos')
    call lacuna_set_halo(halos(1), x, [1.0], status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'send and receive must be of one type')
    call lacuna_set_halo(halos(1), flags, flags, status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'the type of send')
    call lacuna_send(world, x, to=ranks, status=status, errmsg=text)
    call check(status == lacuna_invalid_argument, 'a receiver beyond the ranks is refused')
    call lacuna_send(world, x, to=rank, tag=-1, status=status, errmsg=text)
    call check(status == lacuna_invalid_argument, 'a tag below zero is refused')
    call lacuna_send(world, x, to=rank, request=request)
    call lacuna_receive(world, x(1:2), from=rank, status=status, errmsg=text)
    call check(status == lacuna_mismatch, 'a message that is too long is dropped')
    call lacuna_free(request)
  end subroutine
end program

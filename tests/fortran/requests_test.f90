!> Calls and messages that go on while the program computes.
program requests_test
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use checks
  use lacuna
  implicit none
  integer, parameter :: n = 1000
  type(lacuna_communicator) :: world
  integer :: rank, ranks

  call lacuna_join(world)
  rank = lacuna_rank(world)
  ranks = lacuna_size(world)
  call started()
  call prepared()
  call several()
  call reused()
  call completions()
  call messages()
  call any_sender()
  call timeout()
  call finish(world)

contains

  subroutine started()
    integer, asynchronous :: x(n), y(n)
    type(lacuna_request) :: first, second

    x = rank + 1
    y = 2
    call lacuna_allreduce(world, x, request=first)
    call lacuna_allreduce(world, y, op=lacuna_prod, request=second)
    call lacuna_wait(second)
    call lacuna_wait(first)
    call lacuna_wait(first)
    call check(all(x == total(1)) .and. all(y == 2**ranks), 'two calls go on at a time')
    call check(lacuna_test(first), 'a call that has ended stays so')
    call lacuna_free(first)
    call lacuna_free(second)
    call lacuna_barrier(world, request=first)
    do while (.not. lacuna_test(first))
      if (lacuna_progress(world)) continue
    end do
    call lacuna_free(first)
  end subroutine

  subroutine prepared()
    integer, asynchronous :: x(n), block_counts(4)
    integer, asynchronous :: all_of_it(4 * ranks)
    type(lacuna_request) :: again, blocks
    integer :: turn, other

    block_counts = 0
    call lacuna_allreduce(world, x, op=lacuna_max, prepared=again)
    call lacuna_allgatherv(world, block_counts, all_of_it, spread(4, 1, ranks), prepared=blocks)
    call check(lacuna_test(again), 'a call that was prepared counts as ended')
    do turn = 1, 5
      x = rank * turn
      block_counts = turn + rank
      all_of_it = -1
      call lacuna_start(again)
      call lacuna_start(blocks)
      call lacuna_wait(again)
      call lacuna_wait(blocks)
      call check(all(x == (ranks - 1) * turn), 'a prepared call is made again and again')
      do other = 0, ranks - 1
        call check(all(all_of_it(4 * other + 1:4 * other + 4) == turn + other), 'so is one with tables')
      end do
    end do
    call lacuna_free(again)
    call lacuna_free(blocks)
  end subroutine

  subroutine several()
    integer, asynchronous :: x(n, 6)
    type(lacuna_request) :: requests(6)
    integer :: i, place, status, ended

    do i = 1, 6
      x(:, i) = i * rank
      call lacuna_allreduce(world, x(:, i), request=requests(i))
    end do
    call lacuna_wait_all(requests(1:6:2), place=place)
    call check(place == 0 .and. all(x(:, 3) == 3 * total(0)), 'lacuna_wait_all waits for a section of requests')
    ended = 0
    do
      call lacuna_wait_any(requests, place, status=status)
      if (place == 0) exit
      call check(status == lacuna_ok .and. all(x(:, place) == place * total(0)), 'lacuna_wait_any names an ended one')
      call lacuna_free(requests(place))
      ended = ended + 1
    end do
    call check(ended == 6, 'each request ends once')
    call lacuna_test_any(requests, place)
    call check(place == 0, 'there is none any more')
    x(:, 1) = rank
    call lacuna_allreduce(world, x(:, 1), request=requests(5))
    place = 0
    do while (place == 0)
      call lacuna_test_any(requests, place)
    end do
    call check(place == 5 .and. all(x(:, 1) == total(0)), 'lacuna_test_any counts from 1')
    call lacuna_free(requests(5))
  end subroutine

  !> A request that has ended is ended by the next call that makes it.
  subroutine reused()
    integer, asynchronous :: x(n, 4)
    type(lacuna_request) :: request
    integer :: turn

    x = rank
    do turn = 1, 4
      call lacuna_allreduce(world, x(:, turn), request=request)
      if (mod(turn, 2) == 0) call lacuna_wait(request)
    end do
    call lacuna_free(request)
    call check(all(x == total(0)), 'a request is used again')
  end subroutine

  !> Calls with a token enter a queue when they end.
  subroutine completions()
    integer, asynchronous :: x(n, 3)
    type(lacuna_request) :: requests(3)
    integer(int64) :: token
    integer :: outcome, turn, taken
    logical :: seen(3), armed

    x = rank
    seen = .false.
    taken = 0
    call check(lacuna_event_fd(world) >= 0, 'there is a descriptor to wait for')
    armed = lacuna_arm(world)
    do turn = 1, 3
      call lacuna_allreduce(world, x(:, turn), request=requests(turn), token=int(1000 + turn, int64))
    end do
    do while (taken < 3)
      if (lacuna_next_completion(world, token, outcome)) then
        taken = taken + 1
        call check(outcome == lacuna_ok .and. .not. seen(token - 1000), 'a call has ended')
        seen(token - 1000) = .true.
      else
        armed = lacuna_progress(world)
      end if
    end do
    call check(all(seen) .and. .not. lacuna_next_completion(world, token), 'each call comes once')
    call lacuna_wait_all(requests)
    call check(all(x == total(0)), 'and has its result')
    do turn = 1, 3
      call lacuna_free(requests(turn))
    end do
  end subroutine

  subroutine messages()
    integer, asynchronous :: out(n), in(n)
    type(lacuna_request) :: sent, taken
    integer(int64) :: count, bytes
    integer :: next, former, source

    next = mod(rank + 1, ranks)
    former = mod(rank + ranks - 1, ranks)
    out = rank
    in = -1
    call lacuna_receive(world, in, from=former, tag=3, request=taken)
    call lacuna_send(world, out(1:10), to=next, tag=3, request=sent)
    call lacuna_wait_all([taken, sent])
    call lacuna_received(taken, bytes, source)
    call check(bytes == 40 .and. source == former, 'a receive tells the length and the sender')
    call check(all(in(1:10) == former) .and. all(in(11:) == -1), 'a message has come')
    call lacuna_send(world, out(1:7), to=next, tag=4, request=sent)
    do while (.not. lacuna_probe(world, from=former, tag=4, bytes=bytes))
    end do
    call check(bytes == 28, 'a probe tells the length of a message')
    call lacuna_receive(world, in(1:20:2), from=former, tag=4, count=count)
    call check(count == 7, 'a receive that waits tells the number of elements')
    call lacuna_free(sent)
    call lacuna_free(taken)
    call lacuna_sendrecv(world, out(1:5), next, in, former, count=count, tag=9)
    call check(count == 5 .and. all(in(1:5) == former), 'sendrecv does both')
  end subroutine

  subroutine any_sender()
    integer :: in, source, other
    logical :: seen(0:ranks - 1)

    if (rank > 0) call lacuna_send(world, 10 * rank, to=0, tag=5)
    seen = .false.
    if (rank == 0) then
      do other = 1, ranks - 1
        call lacuna_receive(world, in, tag=5, source=source)
        call check(in == 10 * source .and. .not. seen(source), 'a receive of any rank tells the sender')
        seen(source) = .true.
      end do
    end if
  end subroutine

  subroutine timeout()
    integer, asynchronous :: x(2)
    type(lacuna_request) :: request
    integer :: status

    x = -1
    call lacuna_receive(world, x, from=rank, tag=6, request=request)
    call lacuna_wait(request, timeout=0.01_real64, status=status)
    call check(status == lacuna_timed_out .and. .not. lacuna_test(request), 'a wait ends after its timeout')
    call lacuna_send(world, [4, 2], to=rank, tag=6)
    call lacuna_wait(request)
    call check(all(x == [4, 2]), 'the call has gone on')
    call lacuna_free(request)
  end subroutine

  pure integer function total(what)
    integer, intent(in) :: what
    total = ranks * what + ranks * (ranks - 1) / 2
  end function
end program

!> Methods by text, states with what they remember, reports and measures.
program methods_test
  use, intrinsic :: iso_fortran_env, only: int8, int64, real64
  use checks
  use lacuna
  use lacuna_skip
  implicit none
  integer, parameter :: n = 4096
  type(lacuna_communicator) :: world
  integer :: rank, ranks

  call lacuna_join(world)
  rank = lacuna_rank(world)
  ranks = lacuna_size(world)
  call exact()
  call with_residual()
  call saved()
  call sampled()
  call made_once()
  call segments()
  call important()
  call finish(world)

contains

  !> blocks sends what is not zero, and loses nothing.
  subroutine exact()
    integer :: x(n), y(n)
    type(lacuna_report) :: report
    type(lacuna_request) :: request
    real(real64) :: measured
    integer :: status
    character(200) :: text

    x = 0
    x(rank * 64 + 1:rank * 64 + 64) = rank + 1
    call lacuna_allreduce(world, x, y, method='blocks', report=report)
    call check(sum(y) == 64 * ranks * (ranks + 1) / 2, 'the sum is exact')
    if (ranks > 1) call check(report%sent < report%dense_sent .and. report%sent > 0, 'a report tells what was saved')
    call lacuna_allreduce(world, x, y, method='blocks', request=request)
    call lacuna_wait(request)
    call lacuna_get_report(request, report)
    if (ranks > 1) call check(report%sent < report%dense_sent .and. report%sent > 0, 'that of a request too')
    call lacuna_get_report_measure(request, 'nonsense', measured, status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, "no measure 'nonsense'; there are: ")
    call lacuna_free(request)
  end subroutine

  !> What topk leaves out stays in the state.
  subroutine with_residual()
    real(real64) :: x(n), y(n), residual(n)
    type(lacuna_state) :: state
    type(lacuna_state_values) :: values
    type(lacuna_request) :: request
    real(real64) :: measured
    integer(int64) :: count
    integer :: status
    character(200) :: text

    call lacuna_state_create(state, method='topk:density=0.01', seed=3_int64, key=5_int64)
    x = 0
    x(1:64) = 1
    x(1:8) = 100 + rank
    call lacuna_allreduce(world, x, y, method='topk:density=0.01', state=state, request=request)
    call lacuna_wait(request)
    call lacuna_get_state(state, values)
    call check(values%runs == 1 .and. values%sampler%seed == 3 .and. values%sampler%key == 5, 'a state knows its runs')
    call lacuna_get_state_array(state, 'residual', count=count)
    call check(count == n, 'a state keeps what was left out')
    call lacuna_get_state_array(state, 'residual', residual)
    if (ranks > 1) call check(all(residual(1:8) == 0) .and. any(residual(9:64) == 1), 'and gives it')
    call check(all(y(1:8) == 100 * ranks + ranks * (ranks - 1) / 2), 'the largest elements are sent')
    call lacuna_get_report_measure(request, 'entries_selected', measured, status=status, errmsg=text)
    call check(status == lacuna_ok .and. measured > 0, 'a measure tells how many: ' // trim(text))
    call lacuna_get_state_array(state, 'nonsense', status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, "the state has no array 'nonsense'")
    call lacuna_get_state_array(state, 'residual', residual(1:3), status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'values has 3 elements of dtype 1')
    call lacuna_allreduce(world, x, method='ok_topk', state=state, status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'the state was made for the method topk')
    call lacuna_free(request)
    call lacuna_free(state)
  end subroutine

  !> A restored state goes on to the same bits.
  subroutine saved()
    real :: x(n), first(n), second(n)
    type(lacuna_state) :: state, other
    type(lacuna_state_values) :: values
    integer(int8), allocatable :: bytes(:)
    integer :: i, status
    character(200) :: text

    x = [(real(mod(i * (rank + 3), 101)), i = 1, n)]
    call lacuna_state_create(state, method='topk:density=0.05')
    call lacuna_allreduce(world, x, first, method='topk:density=0.05', state=state)
    call lacuna_state_save(state, bytes)
    call check(size(bytes) > 0, 'a state is saved as bytes')
    call lacuna_allreduce(world, x, first, method='topk:density=0.05', state=state)
    call lacuna_state_create(other, method='topk:density=0.05')
    call lacuna_state_restore(other, bytes)
    call lacuna_get_state(other, values)
    call check(values%runs == 1, 'the restored state has the runs of the saved one')
    call lacuna_allreduce(world, x, second, method='topk:density=0.05', state=other)
    call check(all(first == second), 'and goes on as that would')
    call lacuna_state_save(other, bytes)
    bytes(size(bytes) / 2) = not(bytes(size(bytes) / 2))
    call lacuna_state_restore(other, bytes, status=status, errmsg=text)
    call check(status == lacuna_invalid_argument, 'damaged bytes are refused')
    call lacuna_free(state)
    call lacuna_free(other)
    call lacuna_free(other)
  end subroutine

  !> Equal samplers draw alike.
  subroutine sampled()
    real :: x(n), first(n), second(n)
    type(lacuna_sampler) :: sampler
    type(lacuna_request) :: request
    type(lacuna_gap), allocatable :: gaps(:)
    integer :: status
    character(100) :: text

    call lacuna_gaps(request, 0, gaps, status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'the request is of no call')
    call lacuna_allreduce(world, x(1:0), algorithm='ring', request=request)
    call lacuna_wait(request)
    call check(lacuna_get_algorithm(request) == 'ring', 'a request knows its algorithm')
    call lacuna_gaps(request, 0, gaps)
    call check(size(gaps) == 0, 'a call without a method has no gaps')
    call lacuna_free(request)
    call check(lacuna_get_algorithm(request) == '', 'an empty request has none')
    if (ranks < 3) return
    x = rank + 1
    sampler = lacuna_sampler(seed=1, key=2, draw=7)
    call lacuna_allreduce(world, x, first, method='skip:steps=1,mode=random', sampler=sampler)
    call check(sampler%draw == 8, 'a random call advances the sampler')
    sampler%draw = 7
    call lacuna_allreduce(world, x, second, method='skip:steps=1,mode=random', sampler=sampler)
    call check(all(first == second), 'the same draw leaves out the same')
    call lacuna_allreduce(world, x, first, algorithm='ring')
    call check(any(first /= second), 'which the dense call does not')
    sampler%draw = 7
    call lacuna_allreduce(world, x, second, method='skip:steps=1,mode=random', sampler=sampler, request=request)
    call lacuna_wait(request)
    call lacuna_gaps(request, rank, gaps)
    call check(size(gaps) == ranks .and. sum(gaps%count) == n .and. all(gaps%from >= 0 .and. gaps%from < ranks), &
      'gaps tell which contributions are missing')
    call lacuna_free(request)
  end subroutine

  !> A method that was made serves many calls. A handle is no other structure of its size.
  subroutine made_once()
    type :: stranger
      integer(int64) :: words(2) = 0
    end type
    type(lacuna_method) :: method, other
    integer :: x(n), y(n), status
    character(200) :: text

    x = 0
    x(rank + 1) = rank + 1
    call lacuna_allreduce(world, x, y, method=method, status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'the method has not been made, or has been freed')
    call lacuna_method_create(method, 'topk:density=7', status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'topk: density is 7, must be 0 .. 1')
    call lacuna_method_create(method, 'blocks:block=64')
    call lacuna_allreduce(world, x, y, method=method)
    call lacuna_method_create(method, 'blocks:block=128')
    call lacuna_allreduce(world, x, y, method=method)
    call check(sum(y) == ranks * (ranks + 1) / 2, 'a handle is a method')
    call lacuna_free(method)
    call lacuna_free(method)
    call lacuna_allreduce(world, x, y, method=method, status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'the method has not been made, or has been freed')
    call lacuna_allreduce(world, x, y, method=stranger(), status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'method must be a text or a lacuna_method')
    call lacuna_allreduce(world, x, y, method=[other, other], status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'method must be a text or a lacuna_method')
  end subroutine

  !> A segment that is never skipped is exact.
  subroutine segments()
    type(lacuna_method) :: method
    type(lacuna_skip_segment) :: parts(4)
    type(lacuna_sampler) :: sampler
    integer :: status
    real :: x(n), y(n)
    character(200) :: text

    parts(::2) = [lacuna_skip_segment(0, 1000, lacuna_policy_never), &
      lacuna_skip_segment(1000, n - 1000, lacuna_policy_skip)]
    call lacuna_skip_create(method, 'mode=random,steps=1', parts(::2))
    x = rank + 1
    sampler = lacuna_sampler(seed=1, key=2, draw=7)
    call lacuna_allreduce(world, x, y, method=method, sampler=sampler)
    call check(all(y(1:1000) == ranks * (ranks + 1) / 2), 'a segment is never skipped')
    if (ranks > 2) call check(any(y(1001:) /= ranks * (ranks + 1) / 2), 'the other one is')
    parts(1)%policy = 3
    call lacuna_skip_create(method, 'steps=1', parts(::2), status=status, errmsg=text)
    call check_refused(status, lacuna_invalid_argument, text, 'segments: policy is 3')
    call lacuna_skip_create(method, 'steps=1', parts(3:3))
    call lacuna_allreduce(world, x, y, method=method, status=status, errmsg=text)
    call check(status == lacuna_invalid_argument, 'segments must cover the array: ' // trim(text))
    call lacuna_free(method)
  end subroutine

  !> What is large in the sum is found to be important.
  subroutine important()
    type(lacuna_method) :: method
    type(lacuna_state) :: state
    type(lacuna_segment_importance), allocatable :: importance(:)
    real :: x(n), y(n)
    integer :: turn

    call lacuna_skip_create(method, 'steps=1,small=16', &
      [lacuna_skip_segment(0, n - 512, lacuna_policy_automatic), &
       lacuna_skip_segment(n - 512, 512, lacuna_policy_automatic)])
    call lacuna_state_create(state, method=method)
    call lacuna_skip_get_importance(state, importance)
    call check(size(importance) == 0, 'nothing has been measured')
    do turn = 1, 3
      x = 1
      x(n - 511:) = 100
      call lacuna_allreduce(world, x, y, method=method, state=state)
    end do
    call lacuna_skip_get_importance(state, importance)
    if (ranks > 1) then
      call check(size(importance) == 2, 'both segments have been measured')
      call check(importance(2)%segment == 2 .and. importance(2)%count == 512 .and. importance(2)%measured == 1 .and. &
        importance(2)%share == 1 .and. importance(2)%important == 1, 'the large one is important')
    end if
    call lacuna_free(state)
    call lacuna_free(method)
  end subroutine
end program

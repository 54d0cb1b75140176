!> lacuna from Fortran: ranks add up an array, exactly and as its largest elements.
!>   lacuna launch -n 4 ./example_fortran_allreduce
program allreduce
  use, intrinsic :: iso_fortran_env, only: real32
  use lacuna
  implicit none
  integer, parameter :: n = 100000
  type(lacuna_communicator) :: world
  type(lacuna_state) :: state
  type(lacuna_report) :: report
  real(real32) :: gradient(n), total(n)
  integer :: i, step, status
  character(200) :: text

  call lacuna_join(world)  ! the environment or the launcher tells the rank; without one, a job of one rank
  gradient = [(1.0 / real(i + lacuna_rank(world)), i = 1, n)]

  call lacuna_allreduce(world, gradient, total, op=lacuna_avg)
  if (lacuna_rank(world) == 0) print '(a, es12.5)', 'mean of the first elements: ', total(1)

  ! A method says what the call gives up. A state keeps what was left out, and later calls bring it.
  call lacuna_state_create(state, method='topk:density=0.01')
  do step = 1, 3
    call lacuna_allreduce(world, gradient, total, op=lacuna_avg, method='topk:density=0.01', state=state, report=report)
    if (lacuna_rank(world) == 0) print '(a, i0, a, i0, a, i0)', 'step ', step, ': bytes sent: ', report%sent, &
      ', by the dense call: ', report%dense_sent
  end do
  call lacuna_free(state)

  ! Without status= an error would end the program with this text.
  call lacuna_allreduce(world, gradient, method='topk:density=7', status=status, errmsg=text)
  if (lacuna_rank(world) == 0) print '(4a)', 'refused: ', lacuna_status_text(status), ': ', trim(text)
  call lacuna_free(world)
end program

!> A rank that waits to be killed, and others that go on: with the argument "stop" they do not ask for the status.
program killed
  use lacuna
  implicit none
  type(lacuna_communicator) :: world
  integer :: x(100), status
  character(300) :: text
  character(10) :: how

  call get_command_argument(1, how)
  call lacuna_join(world)
  x = 1
  call lacuna_allreduce(world, x)
  print '(a, i0)', 'ready ', lacuna_rank(world)
  flush (6)
  if (lacuna_rank(world) == 1) call lacuna_receive(world, x, from=1)  ! nobody sends it
  if (how == 'stop') call lacuna_allreduce(world, x)
  call lacuna_allreduce(world, x, status=status, errmsg=text)
  print '(a, i0, 2a)', 'status ', status, ': ', trim(text)
  if (status /= lacuna_peer_failed .or. lacuna_communicator_status(world) /= lacuna_peer_failed) error stop 3
  call lacuna_free(world)
end program

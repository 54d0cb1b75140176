!> An embedding program that knows the module and nothing of what it is made of.
program plain
  use lacuna
  implicit none
  type(lacuna_communicator) :: world
  real :: x(2, 3)

  call lacuna_join(world)
  x = lacuna_rank(world) + 1
  call lacuna_allreduce(world, x(2, :), op=lacuna_max)
  if (any(x(2, :) /= lacuna_size(world)) .or. any(x(1, :) /= lacuna_rank(world) + 1)) error stop 'a wrong maximum'
  print '(3a, i0)', 'lacuna ', lacuna_version(), ': the maximum is ', int(x(2, 1))
  call lacuna_free(world)
end program

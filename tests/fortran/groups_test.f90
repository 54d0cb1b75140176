!> Groups of ranks, ids, counters and texts.
program groups_test
  use, intrinsic :: iso_fortran_env, only: int64
  use checks
  use lacuna
  implicit none
  type(lacuna_communicator) :: world, part, again
  type(lacuna_counters) :: before, after
  type(lacuna_unique_id) :: id
  integer :: rank, ranks, x, i
  character(:), allocatable :: text

  call lacuna_join(world)
  rank = lacuna_rank(world)
  ranks = lacuna_size(world)
  call check(lacuna_local_size(world) == ranks .and. lacuna_local_rank(world) == rank, 'all ranks are on this host')
  call parts()
  call by_id()
  call counted()
  call check(lacuna_communicator_status(world) == lacuna_ok, 'the communicator is well')
  call check(index(lacuna_version(), '.') > 0, 'the library has a version')
  call check(lacuna_status_text(lacuna_timed_out) == 'timed out', 'a status has words')
  call finish(world)

contains

  subroutine parts()
    integer :: status
    character(100) :: text

    call lacuna_split(world, colour=merge(rank / 2, -1, rank > 0), part=part)
    call check((rank > 0) .eqv. lacuna_is_member(part), 'a rank with a negative colour is in no part')
    if (rank > 0) then
      x = rank
      call lacuna_allreduce(part, x)
      call check(x == sum([(i, i = 1, ranks - 1)], mask=[(i / 2 == rank / 2, i = 1, ranks - 1)]), 'a part adds up')
      call lacuna_free(part)
    end if
    call lacuna_split(world, colour=0, key=-rank, part=part)
    call check(lacuna_rank(part) == ranks - 1 - rank, 'the key orders the ranks')
    call lacuna_free(part)
    call check(.not. lacuna_is_member(part), 'a handle that was freed is empty')
    call lacuna_subgroup(world, [(i, i = ranks - 1, 0, -2)], part)
    call check(mod(ranks - 1 - rank, 2) == 0 .eqv. lacuna_is_member(part), 'a group has the ranks of its list')
    if (lacuna_is_member(part)) then
      call check(lacuna_rank(part) == (ranks - 1 - rank) / 2, 'in this order')
      call lacuna_subgroup(part, [(i, i = 0, lacuna_size(part) - 1)], again)
      x = rank
      call lacuna_broadcast(again, x)
      call check(x == ranks - 1, 'a group of a group')
      call lacuna_free(again)
    end if
    call lacuna_free(part)
    call lacuna_subgroup(world, [ranks], part, status=status, errmsg=text)
    call check(status == lacuna_invalid_argument, 'a list with a rank that there is not is refused')
  end subroutine

  !> A second job of the same ranks, which find each other by an id.
  subroutine by_id()
    type(lacuna_communicator) :: second

    if (rank == 0) call lacuna_make_unique_id(id, address='127.0.0.1')
    call lacuna_broadcast(world, id%bytes)
    call lacuna_join(second, rank=rank, size=ranks, id=id)
    call check(lacuna_rank(second) == rank .and. lacuna_size(second) == ranks, 'ranks join by an id')
    x = 1
    call lacuna_allreduce(second, x)
    call check(x == ranks, 'and call each other')
    call lacuna_free(second)
  end subroutine

  subroutine counted()
    integer :: data(1000)

    data = 0
    call lacuna_get_counters(world, before)
    call lacuna_allreduce(world, data)
    call lacuna_get_counters(world, after)
    if (ranks > 1) call check(after%payload_sent >= before%payload_sent + 2000, 'counters count bytes')
    text = lacuna_counters_text(world, lacuna_json)
    call check(text(1:1) == '{' .and. index(text, '}') > 1, 'and are told as text')
  end subroutine
end program

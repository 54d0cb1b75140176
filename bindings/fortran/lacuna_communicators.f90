!> How a program joins its job, and the ranks that call together.
module lacuna_communicators
  use, intrinsic :: iso_c_binding, only: c_double, c_int32_t
  use lacuna_types
  implicit none
  private :: c_double, c_int32_t

  interface
    !> Joins the job. What is not given comes from the environment or the launcher.
    subroutine lacuna_join(communicator, rank, size, store, key, id, progress, timeout, status, errmsg) &
        bind(C, name="lacuna_fortran_join")
      import
      type(lacuna_communicator), intent(inout) :: communicator
      integer(c_int32_t), intent(in), optional :: rank, size, progress
      real(c_double), intent(in), optional :: timeout  !< seconds to wait for the other ranks
      type(*), dimension(..), intent(in), optional :: store, key
      type(lacuna_unique_id), intent(in), optional :: id
      integer(c_int32_t), intent(out), optional :: status
      type(*), dimension(..), optional :: errmsg
    end subroutine

    !> Makes an id, on rank 0, with which the ranks of one job join.
    subroutine lacuna_make_unique_id(id, address, status, errmsg) bind(C, name="lacuna_fortran_make_unique_id")
      import
      type(lacuna_unique_id), intent(out) :: id
      type(*), dimension(..), intent(in), optional :: address
      integer(c_int32_t), intent(out), optional :: status
      type(*), dimension(..), optional :: errmsg
    end subroutine

    !> This process's number, 0 .. size-1; -1 without a communicator.
    pure function lacuna_rank(communicator) result(rank) bind(C, name="lacuna_fortran_rank")
      import
      type(lacuna_communicator), intent(in) :: communicator
      integer(c_int32_t) :: rank
    end function

    !> Number of ranks; -1 without a communicator.
    pure function lacuna_size(communicator) result(ranks) bind(C, name="lacuna_fortran_size")
      import
      type(lacuna_communicator), intent(in) :: communicator
      integer(c_int32_t) :: ranks
    end function

    !> This process's number among the ranks of its host.
    pure function lacuna_local_rank(communicator) result(rank) bind(C, name="lacuna_fortran_local_rank")
      import
      type(lacuna_communicator), intent(in) :: communicator
      integer(c_int32_t) :: rank
    end function

    !> Number of ranks of this process's host.
    pure function lacuna_local_size(communicator) result(ranks) bind(C, name="lacuna_fortran_local_size")
      import
      type(lacuna_communicator), intent(in) :: communicator
      integer(c_int32_t) :: ranks
    end function

    !> lacuna_ok, or the failure that has ended the communicator.
    function lacuna_communicator_status(communicator) result(status) &
        bind(C, name="lacuna_fortran_communicator_status")
      import
      type(lacuna_communicator), intent(in) :: communicator
      integer(c_int32_t) :: status
    end function

    !> Divides the ranks: those that give the same colour are in one part. With a negative colour a rank is in none.
    subroutine lacuna_split(communicator, colour, part, key, status, errmsg) bind(C, name="lacuna_fortran_split")
      import
      type(lacuna_communicator), intent(in) :: communicator
      integer(c_int32_t), intent(in), value :: colour
      type(lacuna_communicator), intent(inout) :: part
      integer(c_int32_t), intent(in), optional :: key
      integer(c_int32_t), intent(out), optional :: status
      type(*), dimension(..), optional :: errmsg
    end subroutine

    !> Fills counters with this rank's traffic with the communicator's ranks.
    subroutine lacuna_get_counters(communicator, counters, status, errmsg) bind(C, name="lacuna_fortran_get_counters")
      import
      type(lacuna_communicator), intent(in) :: communicator
      type(lacuna_counters), intent(inout) :: counters
      integer(c_int32_t), intent(out), optional :: status
      type(*), dimension(..), optional :: errmsg
    end subroutine

    !> Makes one communicator of some ranks, in the order of the list. All ranks give the same list.
    subroutine lacuna_subgroup(communicator, ranks, part, status, errmsg) bind(C, name="lacuna_fortran_subgroup")
      import
      type(lacuna_communicator), intent(in) :: communicator
      integer(c_int32_t), intent(in) :: ranks(:)
      type(lacuna_communicator), intent(inout) :: part
      integer(c_int32_t), intent(out), optional :: status
      type(*), dimension(..), optional :: errmsg
    end subroutine
  end interface

contains

  !> Is this rank one of the communicator's? After lacuna_split() and lacuna_subgroup() it may not be.
  pure function lacuna_is_member(communicator) result(member)
    type(lacuna_communicator), intent(in) :: communicator
    logical :: member

    member = lacuna_rank(communicator) >= 0
  end function
end module

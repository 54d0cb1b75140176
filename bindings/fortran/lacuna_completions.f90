!> For programs with a loop of their own: progress, and calls that have ended.
module lacuna_completions
  use, intrinsic :: iso_c_binding, only: c_bool, c_int32_t, c_int64_t
  use lacuna_types
  implicit none
  private :: c_bool, c_int32_t, c_int64_t

  interface
    !> A descriptor for poll(), which becomes readable when there is something to do; -1 without a communicator. lacuna
    !> owns it.
    function lacuna_event_fd(communicator) result(descriptor) bind(C, name="lacuna_fortran_event_fd")
      import
      type(lacuna_communicator), intent(in) :: communicator
      integer(c_int32_t) :: descriptor
    end function
  end interface

contains

  !> Makes one round of progress, and says whether anything happened.
  function lacuna_progress(communicator, status, errmsg) result(moved)
    type(lacuna_communicator), intent(in) :: communicator
    integer(c_int32_t), intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    logical :: moved
    interface
      function progress(communicator, status, errmsg) bind(C, name="lacuna_fortran_progress")
        import
        type(lacuna_communicator), intent(in) :: communicator
        integer(c_int32_t), intent(out), optional :: status
        type(*), dimension(..), optional :: errmsg
        logical(c_bool) :: progress
      end function
    end interface

    moved = progress(communicator, status, errmsg)
  end function

  !> Says whether the program may sleep until lacuna_event_fd() is readable. It is called before each sleep.
  function lacuna_arm(communicator, status, errmsg) result(armed)
    type(lacuna_communicator), intent(in) :: communicator
    integer(c_int32_t), intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    logical :: armed
    interface
      function arm(communicator, status, errmsg) bind(C, name="lacuna_fortran_arm")
        import
        type(lacuna_communicator), intent(in) :: communicator
        integer(c_int32_t), intent(out), optional :: status
        type(*), dimension(..), optional :: errmsg
        logical(c_bool) :: arm
      end function
    end interface

    armed = arm(communicator, status, errmsg)
  end function

  !> Takes the oldest ended call that had a token=, and says whether there was one. `outcome` becomes the call's status.
  function lacuna_next_completion(communicator, token, outcome, status, errmsg) result(found)
    type(lacuna_communicator), intent(in) :: communicator
    integer(c_int64_t), intent(inout) :: token
    integer(c_int32_t), intent(inout), optional :: outcome
    integer(c_int32_t), intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    logical :: found
    interface
      function next_completion(communicator, token, outcome, status, errmsg) &
          bind(C, name="lacuna_fortran_next_completion")
        import
        type(lacuna_communicator), intent(in) :: communicator
        integer(c_int64_t), intent(inout) :: token
        integer(c_int32_t), intent(inout), optional :: outcome
        integer(c_int32_t), intent(out), optional :: status
        type(*), dimension(..), optional :: errmsg
        logical(c_bool) :: next_completion
      end function
    end interface

    found = next_completion(communicator, token, outcome, status, errmsg)
  end function
end module

!> Calls that go on while the program computes, and what they report.
module lacuna_requests
  use, intrinsic :: iso_c_binding, only: c_bool, c_double, c_int32_t
  use lacuna_types
  implicit none
  private :: c_bool, c_double, c_int32_t

  interface
    !> Starts a call that was prepared, again and again.
    subroutine lacuna_start(request, status, errmsg) bind(C, name="lacuna_fortran_start")
      import
      type(lacuna_request), intent(in) :: request
      integer(c_int32_t), intent(out), optional :: status
      type(*), dimension(..), optional :: errmsg
    end subroutine

    !> Waits for the end of a call, at most for `timeout` seconds. The status is the outcome of the call.
    subroutine lacuna_wait(request, timeout, status, errmsg) bind(C, name="lacuna_fortran_wait")
      import
      type(lacuna_request), intent(in) :: request
      real(c_double), intent(in), optional :: timeout
      integer(c_int32_t), intent(out), optional :: status
      type(*), dimension(..), optional :: errmsg
    end subroutine

    !> Tells what the method of an ended call has saved.
    subroutine lacuna_get_report(request, report, status, errmsg) bind(C, name="lacuna_fortran_get_report")
      import
      type(lacuna_request), intent(in) :: request
      type(lacuna_report), intent(inout) :: report
      integer(c_int32_t), intent(out), optional :: status
      type(*), dimension(..), optional :: errmsg
    end subroutine

    !> Tells one of the method's measures, by its name.
    subroutine lacuna_get_report_measure(request, name, value, status, errmsg) &
        bind(C, name="lacuna_fortran_get_measure")
      import
      type(lacuna_request), intent(in) :: request
      type(*), dimension(..), intent(in) :: name
      real(c_double), intent(out) :: value
      integer(c_int32_t), intent(out), optional :: status
      type(*), dimension(..), optional :: errmsg
    end subroutine

    !> Lists the stretches of a rank's output that lack contributions, because the method has left them out.
    subroutine lacuna_gaps(request, rank, gaps, status, errmsg) bind(C, name="lacuna_fortran_gaps")
      import
      type(lacuna_request), intent(in) :: request
      integer(c_int32_t), intent(in), value :: rank
      type(lacuna_gap), allocatable, intent(inout) :: gaps(:)
      integer(c_int32_t), intent(out), optional :: status
      type(*), dimension(..), optional :: errmsg
    end subroutine

    !> Waits until all requests have ended. `place` becomes the first one that failed or goes on, counted from 1, or 0.
    subroutine lacuna_wait_all(requests, timeout, place, status, errmsg) bind(C, name="lacuna_fortran_wait_all")
      import
      type(lacuna_request), intent(in) :: requests(:)
      real(c_double), intent(in), optional :: timeout
      integer(c_int32_t), intent(out), optional :: place
      integer(c_int32_t), intent(out), optional :: status
      type(*), dimension(..), optional :: errmsg
    end subroutine

    !> Waits until one of the requests has ended. `place` becomes the lowest such one, counted from 1, or 0.
    subroutine lacuna_wait_any(requests, place, timeout, status, errmsg) bind(C, name="lacuna_fortran_wait_any")
      import
      type(lacuna_request), intent(in) :: requests(:)
      integer(c_int32_t), intent(out) :: place
      real(c_double), intent(in), optional :: timeout
      integer(c_int32_t), intent(out), optional :: status
      type(*), dimension(..), optional :: errmsg
    end subroutine

    !> Makes progress. `place` becomes the lowest request that has ended, counted from 1, or 0.
    subroutine lacuna_test_any(requests, place, status, errmsg) bind(C, name="lacuna_fortran_test_any")
      import
      type(lacuna_request), intent(in) :: requests(:)
      integer(c_int32_t), intent(out) :: place
      integer(c_int32_t), intent(out), optional :: status
      type(*), dimension(..), optional :: errmsg
    end subroutine
  end interface

contains

  !> Makes progress, and says whether the call has ended.
  function lacuna_test(request, status, errmsg) result(finished)
    type(lacuna_request), intent(in) :: request
    integer(c_int32_t), intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    logical :: finished
    interface
      function test(request, status, errmsg) bind(C, name="lacuna_fortran_test")
        import
        type(lacuna_request), intent(in) :: request
        integer(c_int32_t), intent(out), optional :: status
        type(*), dimension(..), optional :: errmsg
        logical(c_bool) :: test
      end function
    end interface

    finished = test(request, status, errmsg)
  end function
end module

!> Calls that leave contributions out: which segments of an array may be skipped.
module lacuna_skip
  use, intrinsic :: iso_c_binding, only: c_int32_t
  use lacuna_types
  implicit none
  private :: c_int32_t

  interface
    !> Makes the method skip with segments, which ascend and cover the array of an allreduce. Offsets count from 0. A
    !> former method is ended.
    subroutine lacuna_skip_create(method, options, segments, status, errmsg) &
        bind(C, name="lacuna_fortran_skip_create")
      import
      type(lacuna_method), intent(inout) :: method
      type(*), dimension(..), intent(in), optional :: options
      type(lacuna_skip_segment), intent(in), optional :: segments(:)
      integer(c_int32_t), intent(out), optional :: status
      type(*), dimension(..), optional :: errmsg
    end subroutine

    !> Lists what is known about the segments with lacuna_policy_automatic. `segment` is their place among the segments
    !> of the method, counted from 1.
    subroutine lacuna_skip_get_importance(state, importance, status, errmsg) &
        bind(C, name="lacuna_fortran_skip_get_importance")
      import
      type(lacuna_state), intent(in) :: state
      type(lacuna_segment_importance), allocatable, intent(inout) :: importance(:)
      integer(c_int32_t), intent(out), optional :: status
      type(*), dimension(..), optional :: errmsg
    end subroutine
  end interface
end module

!> What methods remember from call to call.
module lacuna_states
  use, intrinsic :: iso_c_binding, only: c_int8_t, c_int32_t, c_int64_t
  use lacuna_types
  implicit none
  private :: c_int8_t, c_int32_t, c_int64_t

  interface
    !> Makes a state without runs, for calls with a method, or with any if none is given. A former state is ended.
    subroutine lacuna_state_create(state, method, seed, key, status, errmsg) &
        bind(C, name="lacuna_fortran_create_state")
      import
      type(lacuna_state), intent(inout) :: state
      type(*), dimension(..), intent(in), optional :: method
      integer(c_int64_t), intent(in), optional :: seed, key
      integer(c_int32_t), intent(out), optional :: status
      type(*), dimension(..), optional :: errmsg
    end subroutine

    !> Tells the sampler, the number of runs and the number of arrays.
    subroutine lacuna_get_state(state, values, status, errmsg) bind(C, name="lacuna_fortran_get_state")
      import
      type(lacuna_state), intent(in) :: state
      type(lacuna_state_values), intent(inout) :: values
      integer(c_int32_t), intent(out), optional :: status
      type(*), dimension(..), optional :: errmsg
    end subroutine

    !> Copies a named array, such as "residual". `count` becomes its number of elements.
    subroutine lacuna_get_state_array(state, name, values, count, dtype, status, errmsg) &
        bind(C, name="lacuna_fortran_get_state_array")
      import
      type(lacuna_state), intent(in) :: state
      type(*), dimension(..), intent(in) :: name
      type(*), dimension(..), optional :: values
      integer(c_int64_t), intent(out), optional :: count
      integer(c_int32_t), intent(in), optional :: dtype
      integer(c_int32_t), intent(out), optional :: status
      type(*), dimension(..), optional :: errmsg
    end subroutine

    !> Writes the whole state as bytes, for a checkpoint. Each rank saves its own.
    subroutine lacuna_state_save(state, bytes, status, errmsg) bind(C, name="lacuna_fortran_save_state")
      import
      type(lacuna_state), intent(in) :: state
      integer(c_int8_t), allocatable, intent(inout) :: bytes(:)
      integer(c_int32_t), intent(out), optional :: status
      type(*), dimension(..), optional :: errmsg
    end subroutine

    !> Makes a state what it was when it was saved.
    subroutine lacuna_state_restore(state, bytes, status, errmsg) bind(C, name="lacuna_fortran_restore_state")
      import
      type(lacuna_state), intent(in) :: state
      integer(c_int8_t), intent(in) :: bytes(:)
      integer(c_int32_t), intent(out), optional :: status
      type(*), dimension(..), optional :: errmsg
    end subroutine
  end interface
end module

!> What calls may give up.
module lacuna_methods
  use, intrinsic :: iso_c_binding, only: c_int32_t, c_int64_t
  use lacuna_types
  implicit none
  private :: c_int32_t, c_int64_t

  interface
    !> Makes a method of a text such as 'topk:density=0.01', for the method= of calls. A former method is ended.
    subroutine lacuna_method_create(method, text, status, errmsg) bind(C, name="lacuna_fortran_create_method")
      import
      type(lacuna_method), intent(inout) :: method
      type(*), dimension(..), intent(in) :: text
      integer(c_int32_t), intent(out), optional :: status
      type(*), dimension(..), optional :: errmsg
    end subroutine

    !> Tells how many elements an entry has in calls with this method; 0 if they take no lists of entries.
    subroutine lacuna_entry_length(method, elements, status, errmsg) bind(C, name="lacuna_fortran_entry_length")
      import
      type(*), dimension(..), intent(in) :: method
      integer(c_int64_t), intent(out) :: elements
      integer(c_int32_t), intent(out), optional :: status
      type(*), dimension(..), optional :: errmsg
    end subroutine
  end interface
end module

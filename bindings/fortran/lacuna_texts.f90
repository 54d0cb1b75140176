!> Texts of the library, and how a program ends after an error that it does not handle.
module lacuna_texts
  use, intrinsic :: iso_c_binding, only: c_char, c_f_pointer, c_int32_t, c_ptr, c_size_t
  use lacuna_types
  implicit none
  private :: c_char, c_f_pointer, c_int32_t, c_ptr, c_size_t, text_of

contains

  !> Version of the library, for instance "0.1.0".
  function lacuna_version() result(version)
    character(:), allocatable :: version
    interface
      function c_version() bind(C, name="lacuna_version")
        import
        type(c_ptr) :: c_version
      end function
    end interface

    version = text_of(c_version())
  end function

  !> The words for a status, for instance "timed out".
  function lacuna_status_text(status) result(words)
    integer(c_int32_t), intent(in) :: status
    character(:), allocatable :: words
    interface
      function c_status_text(status) bind(C, name="lacuna_status_text")
        import
        integer(c_int32_t), intent(in), value :: status
        type(c_ptr) :: c_status_text
      end function
    end interface

    words = text_of(c_status_text(status))
  end function

  !> All counters of this rank as text, in the format lacuna_json or lacuna_prometheus; empty without a communicator.
  function lacuna_counters_text(communicator, format) result(text)
    type(lacuna_communicator), intent(in) :: communicator
    integer(c_int32_t), intent(in) :: format
    character(:), allocatable :: text
    type(c_ptr) :: made
    interface
      function c_counters_text(communicator, format) bind(C, name="lacuna_fortran_counters_text")
        import
        type(lacuna_communicator), intent(in) :: communicator
        integer(c_int32_t), intent(in), value :: format
        type(c_ptr) :: c_counters_text
      end function
      subroutine c_free(text) bind(C, name="free")
        import
        type(c_ptr), intent(in), value :: text
      end subroutine
    end interface

    made = c_counters_text(communicator, format)
    text = text_of(made)
    call c_free(made)
  end function

  !> The algorithm that carries out the call of a request; empty for a message.
  function lacuna_get_algorithm(request) result(name)
    type(lacuna_request), intent(in) :: request
    character(:), allocatable :: name
    interface
      function c_algorithm(request) bind(C, name="lacuna_fortran_algorithm")
        import
        type(lacuna_request), intent(in) :: request
        type(c_ptr) :: c_algorithm
      end function
    end interface

    name = text_of(c_algorithm(request))
  end function

  function text_of(from) result(text)
    type(c_ptr), intent(in) :: from
    character(:), allocatable :: text
    character(kind=c_char), pointer :: characters(:)
    integer :: i
    interface
      pure function strlen(from) bind(C)
        import
        type(c_ptr), intent(in), value :: from
        integer(c_size_t) :: strlen
      end function
    end interface

    call c_f_pointer(from, characters, [strlen(from)])
    allocate(character(size(characters)) :: text)
    do i = 1, size(characters)
      text(i:i) = characters(i)
    end do
  end function

  subroutine stop_program() bind(C, name="lacuna_fortran_stop")
    error stop 1
  end subroutine
end module

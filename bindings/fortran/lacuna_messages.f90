!> Messages between two ranks.
module lacuna_messages
  use, intrinsic :: iso_c_binding, only: c_bool, c_double, c_int32_t, c_int64_t
  use lacuna_types
  implicit none
  private :: c_bool, c_double, c_int32_t, c_int64_t

  interface
    !> Sends data to a rank.
    subroutine lacuna_send(communicator, data, to, tag, priority, deadline, dtype, token, request, status, errmsg) &
        bind(C, name="lacuna_fortran_send")
      import
      type(lacuna_communicator), intent(in) :: communicator
      type(*), dimension(..), asynchronous, intent(in) :: data
      integer(c_int32_t), intent(in) :: to
      integer(c_int32_t), intent(in), optional :: tag, priority, dtype
      real(c_double), intent(in), optional :: deadline
      integer(c_int64_t), intent(in), optional :: token
      type(lacuna_request), intent(inout), optional :: request
      integer(c_int32_t), intent(out), optional :: status
      type(*), dimension(..), optional :: errmsg
    end subroutine

    !> Takes the next message with this tag, of one rank or of any. A receive that waits tells its length and sender.
    subroutine lacuna_receive(communicator, data, from, tag, count, source, priority, deadline, dtype, token, request, &
        status, errmsg) bind(C, name="lacuna_fortran_receive")
      import
      type(lacuna_communicator), intent(in) :: communicator
      type(*), dimension(..), asynchronous :: data
      integer(c_int32_t), intent(in), optional :: from, tag, priority, dtype
      integer(c_int64_t), intent(out), optional :: count
      integer(c_int32_t), intent(out), optional :: source
      real(c_double), intent(in), optional :: deadline
      integer(c_int64_t), intent(in), optional :: token
      type(lacuna_request), intent(inout), optional :: request
      integer(c_int32_t), intent(out), optional :: status
      type(*), dimension(..), optional :: errmsg
    end subroutine

    !> Sends one message and receives another one, in one call.
    subroutine lacuna_sendrecv(communicator, out, to, in, from, tag, count, priority, deadline, dtype, token, request, &
        status, errmsg) bind(C, name="lacuna_fortran_sendrecv")
      import
      type(lacuna_communicator), intent(in) :: communicator
      type(*), dimension(..), asynchronous, intent(in) :: out
      integer(c_int32_t), intent(in) :: to
      type(*), dimension(..), asynchronous :: in
      integer(c_int32_t), intent(in) :: from
      integer(c_int32_t), intent(in), optional :: tag, priority, dtype
      integer(c_int64_t), intent(out), optional :: count
      real(c_double), intent(in), optional :: deadline
      integer(c_int64_t), intent(in), optional :: token
      type(lacuna_request), intent(inout), optional :: request
      integer(c_int32_t), intent(out), optional :: status
      type(*), dimension(..), optional :: errmsg
    end subroutine

    !> Tells how many bytes the receive of a request has taken, and from which rank.
    subroutine lacuna_received(request, bytes, source, status, errmsg) bind(C, name="lacuna_fortran_received")
      import
      type(lacuna_request), intent(in) :: request
      integer(c_int64_t), intent(out), optional :: bytes
      integer(c_int32_t), intent(out), optional :: source
      integer(c_int32_t), intent(out), optional :: status
      type(*), dimension(..), optional :: errmsg
    end subroutine
  end interface

contains

  !> Makes progress, and says whether a message waits to be received, without taking it.
  function lacuna_probe(communicator, from, tag, bytes, status, errmsg) result(found)
    type(lacuna_communicator), intent(in) :: communicator
    integer(c_int32_t), intent(in) :: from
    integer(c_int32_t), intent(in), optional :: tag
    integer(c_int64_t), intent(out), optional :: bytes
    integer(c_int32_t), intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    logical :: found
    interface
      function probe(communicator, from, tag, bytes, status, errmsg) bind(C, name="lacuna_fortran_probe")
        import
        type(lacuna_communicator), intent(in) :: communicator
        integer(c_int32_t), intent(in) :: from
        integer(c_int32_t), intent(in), optional :: tag
        integer(c_int64_t), intent(out), optional :: bytes
        integer(c_int32_t), intent(out), optional :: status
        type(*), dimension(..), optional :: errmsg
        logical(c_bool) :: probe
      end function
    end interface

    found = probe(communicator, from, tag, bytes, status, errmsg)
  end function
end module

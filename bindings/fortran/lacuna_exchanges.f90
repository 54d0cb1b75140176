!> Exchanges with all neighbours at once, as codes need them that cut a domain into boxes.
module lacuna_exchanges
  use, intrinsic :: iso_c_binding, only: c_double, c_int32_t, c_int64_t
  use lacuna_types
  implicit none
  private :: c_double, c_int32_t, c_int64_t

  interface
    !> Says what is sent to one neighbour, and where its data go. Both are arrays or sections that live until the last
    !> exchange with the halo has ended.
    subroutine lacuna_set_halo(halo, send, receive, dtype, status, errmsg) bind(C, name="lacuna_fortran_set_halo")
      import
      type(lacuna_halo), intent(inout) :: halo
      type(*), dimension(..), asynchronous :: send, receive
      integer(c_int32_t), intent(in), optional :: dtype
      integer(c_int32_t), intent(out), optional :: status
      type(*), dimension(..), optional :: errmsg
    end subroutine

    !> Exchanges halos(i) with neighbours(i). A place whose neighbour is lacuna_nobody is left out.
    subroutine lacuna_exchange(communicator, neighbours, halos, tag, priority, deadline, token, request, prepared, &
        status, errmsg) bind(C, name="lacuna_fortran_exchange")
      import
      type(lacuna_communicator), intent(in) :: communicator
      type(lacuna_neighbour), intent(in) :: neighbours(:)
      type(lacuna_halo), intent(in) :: halos(:)
      integer(c_int32_t), intent(in), optional :: tag, priority
      real(c_double), intent(in), optional :: deadline
      integer(c_int64_t), intent(in), optional :: token
      type(lacuna_request), intent(inout), optional :: request, prepared
      integer(c_int32_t), intent(out), optional :: status
      type(*), dimension(..), optional :: errmsg
    end subroutine
  end interface

contains

  !> Gives the lengths of a grid of so many ranks, which are close to each other and descend.
  subroutine lacuna_balanced_grid(ranks, lengths, status, errmsg)
    integer(c_int32_t), intent(in) :: ranks
    integer(c_int32_t), intent(out) :: lengths(:)
    integer(c_int32_t), intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: made(size(lengths))
    interface
      subroutine balanced_grid(ranks, dimensions, lengths, status, errmsg) &
          bind(C, name="lacuna_fortran_balanced_grid")
        import
        integer(c_int32_t), intent(in), value :: ranks, dimensions
        integer(c_int32_t), intent(inout) :: lengths(*)
        integer(c_int32_t), intent(out), optional :: status
        type(*), dimension(..), optional :: errmsg
      end subroutine
    end interface

    made = 0
    call balanced_grid(ranks, size(lengths, kind=c_int32_t), made, status, errmsg)
    lengths = made
  end subroutine

  !> Gives the neighbours of a rank in a grid, whose last coordinate changes fastest from one rank to the next:
  !> neighbours(2*d-1) stands before it in dimension d, and neighbours(2*d) behind it.
  subroutine lacuna_grid_neighbours(lengths, rank, neighbours, periodic, status, errmsg)
    integer(c_int32_t), intent(in) :: lengths(:)
    integer(c_int32_t), intent(in) :: rank
    type(lacuna_neighbour), intent(out) :: neighbours(2 * size(lengths))
    logical, intent(in), optional :: periodic(size(lengths))
    integer(c_int32_t), intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: closed(size(lengths)), sides(size(lengths))
    interface
      subroutine grid_neighbours(dimensions, lengths, periodic, rank, neighbours, status, errmsg) &
          bind(C, name="lacuna_fortran_grid_neighbours")
        import
        integer(c_int32_t), intent(in), value :: dimensions, rank
        integer(c_int32_t), intent(in) :: lengths(*), periodic(*)
        type(lacuna_neighbour), intent(inout) :: neighbours(*)
        integer(c_int32_t), intent(out), optional :: status
        type(*), dimension(..), optional :: errmsg
      end subroutine
    end interface

    closed = 0
    sides = lengths
    if (present(periodic)) closed = merge(1, 0, periodic)
    call grid_neighbours(size(lengths, kind=c_int32_t), sides, closed, rank, neighbours, status, errmsg)
  end subroutine
end module

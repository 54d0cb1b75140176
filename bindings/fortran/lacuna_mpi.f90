!> Joins a job beside MPI. A program that uses this module also compiles join_mpi.c, with its MPI.
module lacuna_mpi
  use, intrinsic :: iso_c_binding, only: c_int32_t
  use lacuna_types
  implicit none
  private :: c_int32_t

  interface
    !> Joins a job whose ranks are those of a communicator of MPI: an integer, the handle of mpif.h and `use mpi`, or
    !> the type(MPI_Comm) of `use mpi_f08`. Only the joining uses MPI.
    subroutine lacuna_join_mpi(communicator, ranks, status, errmsg) bind(C, name="lacuna_fortran_join_mpi")
      import
      type(lacuna_communicator), intent(inout) :: communicator
      type(*), dimension(..), intent(in) :: ranks
      integer(c_int32_t), intent(out), optional :: status
      type(*), dimension(..), optional :: errmsg
    end subroutine
  end interface
end module

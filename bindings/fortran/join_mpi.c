/*
 * The part of the Fortran module that needs the program's MPI. The program compiles this file with it, as the headers
 * for C and C++ beside MPI.
 */
#include <ISO_Fortran_binding.h>
#include <lacuna/lacuna_mpi.h>

#include "shim.h"

/* `ranks` is an integer, the handle of mpif.h and of `use mpi`, or the type of `use mpi_f08`, which holds one. */
void lacuna_fortran_join_mpi(lacuna_communicator** communicator, const CFI_cdesc_t* ranks, int32_t* status,
                             const CFI_cdesc_t* errmsg) {
  lacuna_status code;
  if (ranks->rank != 0 || ranks->elem_len != sizeof(MPI_Fint)) {
    code = lacuna_fortran_refuse(LACUNA_INVALID_ARGUMENT, "the second argument must be a communicator of MPI");
  } else {
    code = lacuna_join_mpi(MPI_Comm_f2c(*(const MPI_Fint*)ranks->base_addr), NULL, communicator);
  }
  lacuna_fortran_end(code, "lacuna_join_mpi", status, errmsg);
}

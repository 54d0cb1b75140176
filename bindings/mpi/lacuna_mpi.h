#ifndef LACUNA_MPI_H
#define LACUNA_MPI_H

#include <mpi.h>
#include <string.h>

#include "bindings/c/lacuna.h"

/**
 * @file
 * lacuna: how a program joins a job beside MPI, from C. These functions are compiled in the program, so they fit each
 * MPI. They need no other library than the program's MPI and liblacuna_c.
 */

/** The broadcast of lacuna_world_options. `user` is a pointer to an MPI_Comm. */
static inline int32_t lacuna_mpi_broadcast(void* user, void* bytes, size_t size) {
  return MPI_Bcast(bytes, (int)size, MPI_BYTE, 0, *(MPI_Comm*)user) == MPI_SUCCESS ? 0 : 1;
}

/**
 * Joins a job whose ranks are those of an MPI communicator between MPI_Init() and MPI_Finalize(). All its ranks call
 * this function. Only the joining uses MPI, so the communicator of MPI may be freed afterwards. `options` may be null;
 * its members rank, world_size, broadcast and user do not count.
 */
static inline lacuna_status lacuna_join_mpi(MPI_Comm ranks, const lacuna_world_options* options,
                                            lacuna_communicator** communicator) {
  lacuna_world_options all = LACUNA_WORLD_OPTIONS_INIT;
  int rank = -1, size = -1;
  if (options && options->struct_size <= sizeof all) memcpy(&all, options, options->struct_size);
  all.struct_size = options && options->struct_size > sizeof all ? options->struct_size : sizeof all;
  MPI_Comm_rank(ranks, &rank);
  MPI_Comm_size(ranks, &size);
  all.rank = rank;
  all.world_size = size;
  all.broadcast = lacuna_mpi_broadcast;
  all.user = &ranks;
  return lacuna_join(&all, communicator);
}

#endif

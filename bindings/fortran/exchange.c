#include <stdlib.h>
#include <string.h>

#include "layouts.h"
#include "shim.h"

/* What lacuna_set_halo() keeps in the memory of Fortran's lacuna_halo, which is as large. */
typedef struct halo {
  int32_t is_set;
  lacuna_fortran_section send, receive;
} halo;

typedef struct exchange {
  lacuna_communicator* communicator;
  lacuna_neighbour* neighbours;
  lacuna_fortran_request* made;
  size_t count;
  int32_t tag;
} exchange;

_Static_assert(sizeof(halo) <= LACUNA_FORTRAN_HALO_BYTES, "lacuna_halo of write_module.cmake needs more words");

void lacuna_fortran_set_halo(halo* one, const CFI_cdesc_t* send, const CFI_cdesc_t* receive, const int32_t* dtype,
                             int32_t* status, const CFI_cdesc_t* errmsg) {
  lacuna_status code = lacuna_fortran_read_section(send, "send", dtype, &one->send);
  if (code == LACUNA_OK) code = lacuna_fortran_read_section(receive, "receive", dtype, &one->receive);
  if (code == LACUNA_OK && one->send.dtype != one->receive.dtype) {
    code = lacuna_fortran_refuse(LACUNA_INVALID_ARGUMENT, "send and receive must be of one type");
  }
  one->is_set = code == LACUNA_OK;
  lacuna_fortran_end(code, "lacuna_set_halo", status, errmsg);
}

static lacuna_status start(void* context, const lacuna_options* options, lacuna_request** request) {
  const exchange* all = context;
  lacuna_halo* halos = malloc((all->count + 1) * sizeof *halos);
  if (!halos) return lacuna_fortran_refuse(LACUNA_INTERNAL, "out of memory");
  for (size_t i = 0; i < all->count; ++i) {
    const lacuna_buffer send = lacuna_fortran_buffer(&all->made->section[i]);
    const lacuna_buffer receive = lacuna_fortran_buffer(&all->made->section[all->count + i]);
    halos[i] = (lacuna_halo){send.data, send.count, receive.data, receive.count, send.dtype};
  }
  lacuna_status code =
      lacuna_exchange(all->communicator, all->neighbours, halos, all->count, all->tag, options, request);
  free(halos);
  return code;
}

/* Where there is no neighbour, nothing is copied, and the halo need not be set. */
static lacuna_status read_halos(exchange* all, const CFI_cdesc_t* neighbours, const CFI_cdesc_t* halos) {
  all->made = lacuna_fortran_make_request(all->count, all->count);
  all->neighbours = malloc((all->count + 1) * sizeof *all->neighbours);
  if (!all->made || !all->neighbours) return lacuna_fortran_refuse(LACUNA_INTERNAL, "out of memory");
  for (size_t i = 0; i < all->count; ++i) {
    const CFI_index_t place = (CFI_index_t)i;
    const halo* one = (const halo*)((const char*)halos->base_addr + place * halos->dim[0].sm);
    memcpy(&all->neighbours[i], (const char*)neighbours->base_addr + place * neighbours->dim[0].sm,
           sizeof *all->neighbours);
    if (all->neighbours[i].rank == LACUNA_NOBODY) continue;
    if (!one->is_set) {
      return lacuna_fortran_refuse(LACUNA_INVALID_ARGUMENT, "halo %zu has a neighbour and has not been set", i + 1);
    }
    all->made->section[i] = one->send;
    all->made->section[all->count + i] = one->receive;
  }
  return LACUNA_OK;
}

static lacuna_status run(exchange* all, const CFI_cdesc_t* neighbours, const CFI_cdesc_t* halos,
                         const lacuna_fortran_how* how) {
  lacuna_options options = LACUNA_OPTIONS_INIT;
  if (neighbours->dim[0].extent != halos->dim[0].extent) {
    return lacuna_fortran_refuse(LACUNA_INVALID_ARGUMENT, "there are %td neighbours and %td halos; each has one",
                                 (ptrdiff_t)neighbours->dim[0].extent, (ptrdiff_t)halos->dim[0].extent);
  }
  all->count = (size_t)halos->dim[0].extent;
  lacuna_status code = read_halos(all, neighbours, halos);
  if (code == LACUNA_OK) return lacuna_fortran_carry_out(all->made, how, &options, start, all);
  lacuna_fortran_discard(all->made);
  return code;
}

void lacuna_fortran_exchange(lacuna_communicator* const* communicator, const CFI_cdesc_t* neighbours,
                             const CFI_cdesc_t* halos, const int32_t* tag, const int32_t* priority,
                             const double* deadline, const uint64_t* token, lacuna_fortran_request** request,
                             lacuna_fortran_request** prepared, int32_t* status, const CFI_cdesc_t* errmsg) {
  exchange all = {.communicator = *communicator, .tag = tag ? *tag : 0};
  const lacuna_fortran_how how = {
      .priority = priority, .deadline = deadline, .token = token, .request = request, .prepared = prepared};
  const lacuna_status code = run(&all, neighbours, halos, &how);
  free(all.neighbours);
  lacuna_fortran_end(code, "lacuna_exchange", status, errmsg);
}

void lacuna_fortran_balanced_grid(int32_t size, int32_t dimensions, int32_t* lengths, int32_t* status,
                                  const CFI_cdesc_t* errmsg) {
  lacuna_fortran_end(lacuna_balanced_grid(size, dimensions, lengths), "lacuna_balanced_grid", status, errmsg);
}

void lacuna_fortran_grid_neighbours(int32_t dimensions, const int32_t* lengths, const int32_t* periodic, int32_t rank,
                                    lacuna_neighbour* neighbours, int32_t* status, const CFI_cdesc_t* errmsg) {
  lacuna_fortran_end(lacuna_grid_neighbours(lengths, periodic, dimensions, rank, neighbours), "lacuna_grid_neighbours",
                     status, errmsg);
}

#include "shim.h"

bool lacuna_fortran_progress(lacuna_communicator* const* communicator, int32_t* status, const CFI_cdesc_t* errmsg) {
  int32_t moved = 0;
  lacuna_fortran_end(lacuna_progress(*communicator, &moved), "lacuna_progress", status, errmsg);
  return moved != 0;
}

bool lacuna_fortran_next_completion(lacuna_communicator* const* communicator, uint64_t* token, int32_t* outcome,
                                    int32_t* status, const CFI_cdesc_t* errmsg) {
  int32_t found = 0;
  uint64_t taken = 0;
  lacuna_status how = LACUNA_OK;
  lacuna_fortran_end(lacuna_next_completion(*communicator, &found, &taken, &how), "lacuna_next_completion", status,
                     errmsg);
  if (found) *token = taken;
  if (found && outcome) *outcome = how;
  return found != 0;
}

bool lacuna_fortran_arm(lacuna_communicator* const* communicator, int32_t* status, const CFI_cdesc_t* errmsg) {
  int32_t armed = 0;
  lacuna_fortran_end(lacuna_arm(*communicator, &armed), "lacuna_arm", status, errmsg);
  return armed != 0;
}

int32_t lacuna_fortran_event_fd(lacuna_communicator* const* communicator) { return lacuna_event_fd(*communicator); }

#include <stdlib.h>

#include "shim.h"

lacuna_fortran_request* lacuna_fortran_make_request(size_t inputs, size_t outputs) {
  lacuna_fortran_request* made = calloc(1, sizeof *made);
  if (!made) return NULL;
  made->inputs = inputs;
  made->sections = inputs + outputs;
  made->section = calloc(made->sections + 1, sizeof *made->section);
  if (made->section) return made;
  free(made);
  return NULL;
}

lacuna_status lacuna_fortran_make_rooms(lacuna_fortran_request* request, bool* gaps) {
  lacuna_status code = LACUNA_OK;
  *gaps = false;
  for (size_t i = 0; i < request->sections && code == LACUNA_OK; ++i) {
    code = lacuna_fortran_make_room(&request->section[i]);
    *gaps = *gaps || request->section[i].packed;
  }
  return code;
}

/* Outputs are copied too, because a call may leave some of their elements as they are. */
void lacuna_fortran_depart(lacuna_fortran_request* request) {
  for (size_t i = 0; i < request->sections; ++i) {
    lacuna_fortran_pack(&request->section[i]);
    request->moves = request->moves || request->section[i].packed;
  }
}

void lacuna_fortran_arrive(lacuna_fortran_request* request) {
  int32_t finished = 0;
  if (!request || !request->moves) return;
  if (lacuna_test(request->request, &finished) != LACUNA_OK || !finished) return;
  request->moves = false;
  if (lacuna_wait(request->request, 0) != LACUNA_OK) return;
  for (size_t i = request->inputs; i < request->sections; ++i) lacuna_fortran_unpack(&request->section[i]);
}

void lacuna_fortran_discard(lacuna_fortran_request* request) {
  int32_t reclaimed = 1;
  if (!request) return;
  if (request->moves && request->request) {
    lacuna_wait(request->request, -1);
    lacuna_fortran_arrive(request);
    lacuna_reclaimed(request->request, &reclaimed);
  }
  lacuna_request_free(request->request);
  for (size_t i = 0; i < request->sections && reclaimed; ++i) free(request->section[i].packed);
  free(request->section);
  free(request->tables);
  free(request);
}

void lacuna_fortran_read_options(const lacuna_fortran_how* how, lacuna_options* options) {
  if (how->priority) options->priority = *how->priority;
  if (how->deadline) options->deadline = *how->deadline;
  options->notify = how->token != NULL;
  if (how->token) options->token = *how->token;
  options->prepare = how->prepared != NULL;
}

/* Waits for a call that no request of the program tells of. */
static lacuna_status wait_here(lacuna_fortran_request* made, lacuna_report* report) {
  lacuna_status code = lacuna_wait(made->request, -1);
  lacuna_fortran_arrive(made);
  if (code != LACUNA_OK || !report) return code;
  report->struct_size = sizeof *report;
  return lacuna_get_report(made->request, report);
}

static lacuna_status start_or_wait(lacuna_fortran_request* made, const lacuna_fortran_how* how, lacuna_options* options,
                                   lacuna_fortran_starter start, void* context) {
  const bool kept = how->request || how->prepared;
  bool gaps;
  lacuna_fortran_read_options(how, options);
  lacuna_status code = lacuna_fortran_make_rooms(made, &gaps);
  if (code != LACUNA_OK) return code;
  if (!how->prepared) lacuna_fortran_depart(made);
  const bool waits = !kept && !gaps && !how->report;
  code = start(context, options, waits ? NULL : &made->request);
  if (code != LACUNA_OK) made->moves = false;
  return code != LACUNA_OK || waits || kept ? code : wait_here(made, how->report);
}

lacuna_status lacuna_fortran_carry_out(lacuna_fortran_request* made, const lacuna_fortran_how* how,
                                       lacuna_options* options, lacuna_fortran_starter start, void* context) {
  lacuna_fortran_request** kept = how->request ? how->request : how->prepared;
  lacuna_status code = LACUNA_OK;
  if (kept && how->report) {
    code = lacuna_fortran_refuse(LACUNA_INVALID_ARGUMENT,
                                 "report= is for a call that waits; lacuna_get_report() tells that of a request");
  } else if (how->request && how->prepared) {
    code =
        lacuna_fortran_refuse(LACUNA_INVALID_ARGUMENT, "give request= to start the call, or prepared= to prepare it");
  } else {
    if (kept) {
      lacuna_fortran_discard(*kept);
      *kept = NULL;
    }
    code = start_or_wait(made, how, options, start, context);
  }
  if (code == LACUNA_OK && kept) {
    *kept = made;
  } else {
    lacuna_fortran_discard(made);
  }
  return code;
}

static lacuna_status check(lacuna_fortran_request* const* request) {
  if (*request) return LACUNA_OK;
  return lacuna_fortran_refuse(LACUNA_INVALID_ARGUMENT, "the request is of no call");
}

void lacuna_fortran_start(lacuna_fortran_request* const* request, int32_t* status, const CFI_cdesc_t* errmsg) {
  lacuna_status code = check(request);
  if (code == LACUNA_OK) {
    lacuna_fortran_depart(*request);
    code = lacuna_start((*request)->request);
    if (code != LACUNA_OK) (*request)->moves = false;
  }
  lacuna_fortran_end(code, "lacuna_start", status, errmsg);
}

void lacuna_fortran_wait(lacuna_fortran_request* const* request, const double* timeout, int32_t* status,
                         const CFI_cdesc_t* errmsg) {
  lacuna_status code = check(request);
  if (code == LACUNA_OK) {
    code = lacuna_wait((*request)->request, timeout ? *timeout : -1);
    lacuna_fortran_arrive(*request);
  }
  lacuna_fortran_end(code, "lacuna_wait", status, errmsg);
}

bool lacuna_fortran_test(lacuna_fortran_request* const* request, int32_t* status, const CFI_cdesc_t* errmsg) {
  int32_t finished = 0;
  lacuna_status code = check(request);
  if (code == LACUNA_OK) {
    code = lacuna_test((*request)->request, &finished);
    lacuna_fortran_arrive(*request);
  }
  lacuna_fortran_end(code, "lacuna_test", status, errmsg);
  return finished != 0;
}

/* Which of the waits for several requests is meant. */
typedef enum several { ALL, ANY, TEST } several;

static lacuna_fortran_request* at(const CFI_cdesc_t* requests, size_t place) {
  return *(lacuna_fortran_request**)((char*)requests->base_addr + (CFI_index_t)place * requests->dim[0].sm);
}

/* Makes the wait of the C interface, with its array of requests. */
static lacuna_status wait_for(several which, const CFI_cdesc_t* requests, size_t count, double timeout, size_t* place) {
  lacuna_request** all = malloc((count + 1) * sizeof *all);
  if (!all) return lacuna_fortran_refuse(LACUNA_INTERNAL, "out of memory");
  for (size_t i = 0; i < count; ++i) all[i] = at(requests, i) ? at(requests, i)->request : NULL;
  lacuna_status code = which == ALL   ? lacuna_wait_all(all, count, timeout, place)
                       : which == ANY ? lacuna_wait_any(all, count, timeout, place)
                                      : lacuna_test_any(all, count, place);
  for (size_t i = 0; i < count; ++i) lacuna_fortran_arrive(at(requests, i));
  if (code != LACUNA_OK && *place < count && all[*place]) lacuna_wait(all[*place], 0); /* its text is the last one */
  free(all);
  return code;
}

/* Places of Fortran begin with 1; 0 is none. */
static lacuna_status wait_and_tell(several which, const CFI_cdesc_t* requests, const double* timeout, int32_t* place) {
  const size_t count = (size_t)requests->dim[0].extent;
  size_t found = count;
  const lacuna_status code = wait_for(which, requests, count, timeout ? *timeout : -1, &found);
  if (place) *place = found < count ? (int32_t)found + 1 : 0;
  return code;
}

void lacuna_fortran_wait_all(const CFI_cdesc_t* requests, const double* timeout, int32_t* place, int32_t* status,
                             const CFI_cdesc_t* errmsg) {
  lacuna_fortran_end(wait_and_tell(ALL, requests, timeout, place), "lacuna_wait_all", status, errmsg);
}

void lacuna_fortran_wait_any(const CFI_cdesc_t* requests, int32_t* place, const double* timeout, int32_t* status,
                             const CFI_cdesc_t* errmsg) {
  lacuna_fortran_end(wait_and_tell(ANY, requests, timeout, place), "lacuna_wait_any", status, errmsg);
}

void lacuna_fortran_test_any(const CFI_cdesc_t* requests, int32_t* place, int32_t* status, const CFI_cdesc_t* errmsg) {
  lacuna_fortran_end(wait_and_tell(TEST, requests, NULL, place), "lacuna_test_any", status, errmsg);
}

void lacuna_fortran_get_report(lacuna_fortran_request* const* request, lacuna_report* report, int32_t* status,
                               const CFI_cdesc_t* errmsg) {
  lacuna_status code = check(request);
  report->struct_size = sizeof *report;
  if (code == LACUNA_OK) code = lacuna_get_report((*request)->request, report);
  lacuna_fortran_end(code, "lacuna_get_report", status, errmsg);
}

void lacuna_fortran_get_measure(lacuna_fortran_request* const* request, const CFI_cdesc_t* name, double* value,
                                int32_t* status, const CFI_cdesc_t* errmsg) {
  char* text = NULL;
  lacuna_status code = check(request);
  if (code == LACUNA_OK) code = lacuna_fortran_read_text(name, "name", &text);
  if (code == LACUNA_OK) code = lacuna_get_report_measure((*request)->request, text, value);
  free(text);
  lacuna_fortran_end(code, "lacuna_get_report_measure", status, errmsg);
}

/* Empty for a message, and for a request of no call. */
const char* lacuna_fortran_algorithm(lacuna_fortran_request* const* request) {
  const char* name = "";
  if (*request) lacuna_get_algorithm((*request)->request, &name);
  return name;
}

/* Copies the gaps into an allocatable array. */
static lacuna_status copy_gaps(const lacuna_request* request, int32_t rank, CFI_cdesc_t* gaps) {
  size_t count = 0;
  const CFI_index_t lower = 1;
  lacuna_status code = lacuna_gaps(request, rank, NULL, 0, &count);
  if (code != LACUNA_OK && count == 0) return code;
  const CFI_index_t upper = (CFI_index_t)count;
  if (gaps->base_addr) CFI_deallocate(gaps);
  if (CFI_allocate(gaps, &lower, &upper, sizeof(lacuna_gap)) != CFI_SUCCESS) {
    return lacuna_fortran_refuse(LACUNA_INTERNAL, "out of memory");
  }
  return lacuna_gaps(request, rank, gaps->base_addr, count, &count);
}

void lacuna_fortran_gaps(lacuna_fortran_request* const* request, int32_t rank, CFI_cdesc_t* gaps, int32_t* status,
                         const CFI_cdesc_t* errmsg) {
  lacuna_status code = check(request);
  if (code == LACUNA_OK) code = copy_gaps((*request)->request, rank, gaps);
  lacuna_fortran_end(code, "lacuna_gaps", status, errmsg);
}

void lacuna_fortran_free_request(lacuna_fortran_request** request) {
  lacuna_fortran_discard(*request);
  *request = NULL;
}

#include "shim.h"

/* One message, or two in a sendrecv. */
typedef struct message {
  lacuna_communicator* communicator;
  lacuna_fortran_section *out, *in; /* null: there is none */
  int32_t to, from, tag;
} message;

static lacuna_status start(void* context, const lacuna_options* options, lacuna_request** request) {
  const message* all = context;
  lacuna_buffer out = LACUNA_BUFFER_INIT, in = LACUNA_BUFFER_INIT;
  if (all->out) out = lacuna_fortran_buffer(all->out);
  if (all->in) in = lacuna_fortran_buffer(all->in);
  if (!all->in) return lacuna_send(all->communicator, &out, all->to, all->tag, options, request);
  if (!all->out) return lacuna_receive(all->communicator, &in, all->from, all->tag, options, NULL, request);
  return lacuna_sendrecv(all->communicator, &out, all->to, &in, all->from, all->tag, options, NULL, request);
}

static lacuna_status read_message(const CFI_cdesc_t* out, const CFI_cdesc_t* in, const int32_t* dtype, message* all,
                                  lacuna_fortran_request** made) {
  lacuna_status code = LACUNA_OK;
  if (!all->communicator) {
    return lacuna_fortran_refuse(LACUNA_INVALID_ARGUMENT, "the communicator has not joined a job, or has been freed");
  }
  *made = lacuna_fortran_make_request(out ? 1 : 0, in ? 1 : 0);
  if (!*made) return lacuna_fortran_refuse(LACUNA_INTERNAL, "out of memory");
  lacuna_fortran_section* next = (*made)->section;
  if (out) {
    all->out = next++;
    code = lacuna_fortran_read_section(out, in ? "out" : "data", dtype, all->out);
  }
  if (in && code == LACUNA_OK) {
    all->in = next;
    code = lacuna_fortran_read_section(in, out ? "in" : "data", dtype, all->in);
  }
  return code;
}

/* Tells what a receive that has ended well has taken. */
static lacuna_status tell(const message* all, const lacuna_fortran_request* made, int64_t* count, int32_t* source) {
  uint64_t bytes = 0;
  lacuna_status code = lacuna_received_bytes(made->request, &bytes);
  if (count) *count = (int64_t)(bytes / all->in->element);
  return code == LACUNA_OK && source ? lacuna_received_from(made->request, source) : code;
}

/* Makes the message; one that is waited for tells its length and its sender. */
static lacuna_status carry_out(message* all, const CFI_cdesc_t* out, const CFI_cdesc_t* in, lacuna_fortran_how* how,
                               int64_t* count, int32_t* source) {
  lacuna_fortran_request *made = NULL, *here = NULL;
  lacuna_options options = LACUNA_OPTIONS_INIT;
  const bool tells = in && !how->request && (count || source);
  lacuna_status code = read_message(out, in, how->dtype, all, &made);
  if (code != LACUNA_OK) {
    lacuna_fortran_discard(made);
    return code;
  }
  if (tells) how->request = &here;
  code = lacuna_fortran_carry_out(made, how, &options, start, all);
  if (!tells || code != LACUNA_OK) return code;
  code = lacuna_wait(here->request, -1);
  lacuna_fortran_arrive(here);
  if (code == LACUNA_OK) code = tell(all, here, count, source);
  lacuna_fortran_discard(here);
  return code;
}

void lacuna_fortran_send(lacuna_communicator* const* communicator, const CFI_cdesc_t* data, const int32_t* to,
                         const int32_t* tag, const int32_t* priority, const double* deadline, const int32_t* dtype,
                         const uint64_t* token, lacuna_fortran_request** request, int32_t* status,
                         const CFI_cdesc_t* errmsg) {
  message all = {.communicator = *communicator, .to = *to, .tag = tag ? *tag : 0};
  lacuna_fortran_how how = {
      .priority = priority, .deadline = deadline, .dtype = dtype, .token = token, .request = request};
  lacuna_fortran_end(carry_out(&all, data, NULL, &how, NULL, NULL), "lacuna_send", status, errmsg);
}

void lacuna_fortran_receive(lacuna_communicator* const* communicator, const CFI_cdesc_t* data, const int32_t* from,
                            const int32_t* tag, int64_t* count, int32_t* source, const int32_t* priority,
                            const double* deadline, const int32_t* dtype, const uint64_t* token,
                            lacuna_fortran_request** request, int32_t* status, const CFI_cdesc_t* errmsg) {
  message all = {.communicator = *communicator, .from = from ? *from : LACUNA_ANY_RANK, .tag = tag ? *tag : 0};
  lacuna_fortran_how how = {
      .priority = priority, .deadline = deadline, .dtype = dtype, .token = token, .request = request};
  lacuna_fortran_end(carry_out(&all, NULL, data, &how, count, source), "lacuna_receive", status, errmsg);
}

void lacuna_fortran_sendrecv(lacuna_communicator* const* communicator, const CFI_cdesc_t* out, const int32_t* to,
                             const CFI_cdesc_t* in, const int32_t* from, const int32_t* tag, int64_t* count,
                             const int32_t* priority, const double* deadline, const int32_t* dtype,
                             const uint64_t* token, lacuna_fortran_request** request, int32_t* status,
                             const CFI_cdesc_t* errmsg) {
  message all = {.communicator = *communicator, .to = *to, .from = *from, .tag = tag ? *tag : 0};
  lacuna_fortran_how how = {
      .priority = priority, .deadline = deadline, .dtype = dtype, .token = token, .request = request};
  lacuna_fortran_end(carry_out(&all, out, in, &how, count, NULL), "lacuna_sendrecv", status, errmsg);
}

bool lacuna_fortran_probe(lacuna_communicator* const* communicator, const int32_t* from, const int32_t* tag,
                          int64_t* bytes, int32_t* status, const CFI_cdesc_t* errmsg) {
  int32_t found = 0;
  uint64_t length = 0;
  lacuna_fortran_end(lacuna_probe(*communicator, *from, tag ? *tag : 0, &found, &length), "lacuna_probe", status,
                     errmsg);
  if (bytes) *bytes = (int64_t)length;
  return found != 0;
}

void lacuna_fortran_received(lacuna_fortran_request* const* request, int64_t* bytes, int32_t* source, int32_t* status,
                             const CFI_cdesc_t* errmsg) {
  uint64_t length = 0;
  const lacuna_request* of = *request ? (*request)->request : NULL;
  lacuna_status code = lacuna_received_bytes(of, &length);
  if (bytes) *bytes = (int64_t)length;
  if (code == LACUNA_OK && source) code = lacuna_received_from(of, source);
  lacuna_fortran_end(code, "lacuna_received", status, errmsg);
}

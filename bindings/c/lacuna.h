#ifndef LACUNA_H
#define LACUNA_H

/**
 * lacuna: collectives that send only what matters. The C interface (C99), for C and for bindings of other languages.
 *
 * Every function that can fail returns a lacuna_status; the text of the calling thread's last failure is at
 * lacuna_last_error(). Handles are opaque; they belong to the caller and end with their _free function. Structures
 * begin with their size: set it with the _INIT macro, so that a program goes on working with later versions, which may
 * have more members. No exception leaves the library.
 *
 * Thread rule: a communicator may be used from several threads; the calls of one communicator must be started in the
 * same order on all ranks. A request belongs to one thread at a time.
 */

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define LACUNA_EXPORT __attribute__((visibility("default")))
#else
#define LACUNA_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum lacuna_status {
  LACUNA_OK = 0,
  LACUNA_INVALID_ARGUMENT = 1, /* the call can never work as given */
  LACUNA_UNSUPPORTED = 2,      /* well-formed, but not offered */
  LACUNA_MISMATCH = 3,         /* ranks asked for different things */
  LACUNA_TIMED_OUT = 4,        /* a wait or a deadline ran out */
  LACUNA_BUSY = 5,             /* too many calls in flight; nothing was sent */
  LACUNA_PEER_FAILED = 6,      /* a rank died, stopped or left */
  LACUNA_POISONED = 7,         /* an earlier failure ended this communicator */
  LACUNA_TRANSPORT = 8,        /* the network layer reported an error */
  LACUNA_IO = 9,               /* a file could not be read or written */
  LACUNA_INTERNAL = 10         /* a defect of lacuna itself */
} lacuna_status;

typedef enum lacuna_dtype {
  LACUNA_F32 = 0,
  LACUNA_F64 = 1,
  LACUNA_BF16 = 2,
  LACUNA_F16 = 3,
  LACUNA_I32 = 4,
  LACUNA_I64 = 5,
  LACUNA_U8 = 6
} lacuna_dtype;

typedef enum lacuna_reduction {
  LACUNA_SUM = 0,
  LACUNA_AVG = 1, /* floating-point types only */
  LACUNA_MIN = 2,
  LACUNA_MAX = 3,
  LACUNA_PROD = 4
} lacuna_reduction;

typedef enum lacuna_memory_kind { LACUNA_HOST = 0, LACUNA_CUDA = 1, LACUNA_CUDA_MANAGED = 2 } lacuna_memory_kind;
typedef enum lacuna_skip_mode { LACUNA_SKIP_STATIC = 0, LACUNA_SKIP_RANDOM = 1 } lacuna_skip_mode;
typedef enum lacuna_priority { LACUNA_HIGH = 0, LACUNA_NORMAL = 1, LACUNA_LOW = 2 } lacuna_priority;
typedef enum lacuna_progress_mode { LACUNA_CALLER = 0, LACUNA_THREAD = 1 } lacuna_progress_mode;

typedef enum lacuna_counters_format {
  LACUNA_JSON = 0,      /* one object */
  LACUNA_PROMETHEUS = 1 /* Prometheus' text exposition format, version 0.0.4 */
} lacuna_counters_format;

typedef struct lacuna_communicator lacuna_communicator;
typedef struct lacuna_request lacuna_request;

/** How to join the job. rank and world_size of -1, and null texts, mean: from LACUNA_RANK, LACUNA_SIZE ... */
typedef struct lacuna_world_options {
  size_t struct_size;
  int32_t rank;
  int32_t world_size;
  const char* store; /* host:port where rank 0 listens */
  const char* key;
  int32_t progress; /* lacuna_progress_mode, or -1: from LACUNA_PROGRESS */
} lacuna_world_options;
#define LACUNA_WORLD_OPTIONS_INIT \
  { sizeof(lacuna_world_options), -1, -1, NULL, NULL, -1 }

/** Elements in memory that the caller owns and keeps until the call has ended. Only host memory is served today. */
typedef struct lacuna_buffer {
  size_t struct_size;
  void* data;
  size_t count; /* elements, not bytes */
  int32_t dtype;
  int32_t memory; /* lacuna_memory_kind */
  int32_t device;
  void* stream; /* after which a device buffer is ready */
} lacuna_buffer;
#define LACUNA_BUFFER_INIT \
  { sizeof(lacuna_buffer), NULL, 0, LACUNA_F32, LACUNA_HOST, 0, NULL }

/**
 * Blocks of different lengths in one buffer, one for each rank. The tables have as many entries as the communicator has
 * ranks, belong to the caller, and are read when a call starts, not later. Lengths and places are in elements.
 */
typedef struct lacuna_blocks {
  size_t struct_size;
  const size_t* counts;  /* by rank; 0 is allowed */
  const size_t* offsets; /* where each begins, ascending; null: one behind the other */
  /* Of the output of gatherv and alltoallv, null elsewhere. If given, `counts` are what may come at most; how many
   * elements have come from each rank stands here by the call's end, until which this memory must live. */
  size_t* received;
} lacuna_blocks;
#define LACUNA_BLOCKS_INIT \
  { sizeof(lacuna_blocks), NULL, NULL, NULL }

/** Source of random choices; owned by the caller. A random call advances `draw` by one when it starts. */
typedef struct lacuna_sampler {
  uint64_t seed;
  uint64_t key;
  uint64_t draw;
} lacuna_sampler;

/** How a call is carried out. Equal on all ranks but for priority, deadline and notify. A null pointer: all defaults.
 */
typedef struct lacuna_options {
  size_t struct_size;
  const char* algorithm;   /* null: lacuna chooses */
  int32_t skip_steps;      /* skip_ring: reduce-scatter steps left out, 0 .. P-1 */
  int32_t skip_mode;       /* lacuna_skip_mode */
  lacuna_sampler* sampler; /* skip_ring, random; null: the communicator's own */
  int32_t priority;        /* lacuna_priority */
  double deadline;         /* seconds from the start; 0: LACUNA_DEADLINE */
  int32_t notify;          /* not 0: the token enters the completion queue at the end */
  uint64_t token;
  int32_t prepare; /* not 0: make the request and start nothing; see lacuna_start */
} lacuna_options;
#define LACUNA_OPTIONS_INIT \
  { sizeof(lacuna_options), NULL, 0, LACUNA_SKIP_STATIC, NULL, LACUNA_NORMAL, 0.0, 0, 0, 0 }

/** What the transport has counted since the start. Bytes that a receiver fetches count as sent by their sender. */
typedef struct lacuna_counters {
  size_t struct_size;
  uint64_t payload_sent;
  uint64_t header_sent;
  uint64_t messages_sent;
  uint64_t payload_received;
  uint64_t messages_received;
} lacuna_counters;
#define LACUNA_COUNTERS_INIT \
  { sizeof(lacuna_counters), 0, 0, 0, 0, 0 }

/** "0.1.0"; static. */
LACUNA_EXPORT const char* lacuna_version(void);
/** The word for a status; static. */
LACUNA_EXPORT const char* lacuna_status_text(lacuna_status status);
/** What went wrong in the calling thread's last failed call; valid until its next failed call. Never null. */
LACUNA_EXPORT const char* lacuna_last_error(void);

/** Receives the log lines that LACUNA_LOG lets through, from any thread; level 0 is error, 1 warning, 2 info, 3 debug.
 */
typedef void (*lacuna_log_callback)(int32_t level, const char* text, void* user);
/** Sends log lines to a callback instead of standard error; null restores standard error. */
LACUNA_EXPORT void lacuna_set_log_callback(lacuna_log_callback callback, void* user);

/** Joins the job; blocks until all ranks are there, at most LACUNA_BOOTSTRAP_TIMEOUT. Null options: all defaults. */
LACUNA_EXPORT lacuna_status lacuna_join(const lacuna_world_options* options, lacuna_communicator** communicator);
/** Leaves the job. Free its requests first. Null is allowed. */
LACUNA_EXPORT void lacuna_communicator_free(lacuna_communicator* communicator);
LACUNA_EXPORT int32_t lacuna_rank(const lacuna_communicator* communicator);
LACUNA_EXPORT int32_t lacuna_size(const lacuna_communicator* communicator);
/** LACUNA_OK, or why the communicator is poisoned. */
LACUNA_EXPORT lacuna_status lacuna_communicator_status(const lacuna_communicator* communicator);
/**
 * Communicators of some ranks each: those that give the same colour (0 or more) are together, numbered by key and,
 * where keys are equal, by their rank here. Called by all ranks, blocking. With a negative colour *part becomes NULL.
 */
LACUNA_EXPORT lacuna_status lacuna_split(lacuna_communicator* communicator, int32_t colour, int32_t key,
                                         lacuna_communicator** part);
/** One communicator of `count` ranks, in this order. Called by all ranks with the same list; else *part becomes NULL.
 */
LACUNA_EXPORT lacuna_status lacuna_subgroup(lacuna_communicator* communicator, const int32_t* ranks, size_t count,
                                            lacuna_communicator** part);
LACUNA_EXPORT lacuna_status lacuna_get_counters(const lacuna_communicator* communicator, lacuna_counters* counters);
/**
 * All that this rank counts, of its whole job, as text that ends with a zero byte: `format` is a
 * lacuna_counters_format. *length becomes the length of the text without the zero byte; if capacity is not larger, the
 * call fails with LACUNA_INVALID_ARGUMENT and stores nothing else. With capacity 0, text may be null.
 */
LACUNA_EXPORT lacuna_status lacuna_counters_text(const lacuna_communicator* communicator, int32_t format, char* text,
                                                 size_t capacity, size_t* length);

/**
 * The collectives. With `request` null they return at the call's end; else they start it and put a request there; with
 * options.prepare they only make the request, which counts as ended until lacuna_start.
 * Input and output are disjoint, or in place: the same memory, or the smaller one block `rank` of the larger. An error
 * at the start means that nothing was sent. Buffers that only the root has may be null elsewhere; broadcast's is
 * everybody's.
 *   allreduce:      output = reduction of all inputs; counts equal
 *   reduce_scatter: output = block `rank` of the reduction; input has size * output count elements
 *   allgather:      output = all inputs by rank; output has size * input count elements
 *   broadcast:      data = the root's data
 *   reduce:         the root's output = reduction of all inputs; counts equal
 *   gather:         the root's output = all inputs by rank; it has size * input count elements
 *   scatter:        output = block `rank` of the root's input, which has size * output count elements
 *   alltoall:       block i of output = block `rank` of rank i's input; both have size blocks of equal length
 *   scan:           output = reduction of the inputs of ranks 0 .. rank; LACUNA_AVG is refused
 *   exclusive_scan: the same of ranks 0 .. rank-1; rank 0's output stays as it is
 * With blocks of different lengths; their buffers may be longer than needed. In place, alltoallv's tables are equal.
 *   reduce_scatterv, allgatherv: all ranks give the same counts
 *   gatherv, scatterv: the root's blocks are looked at; elsewhere they may be null
 *   alltoallv: what a rank sends to another is as long as the other expects, or at most that where it asked for
 *              `received`
 */
LACUNA_EXPORT lacuna_status lacuna_allreduce(lacuna_communicator* communicator, const lacuna_buffer* input,
                                             const lacuna_buffer* output, lacuna_reduction reduction,
                                             const lacuna_options* options, lacuna_request** request);
LACUNA_EXPORT lacuna_status lacuna_reduce_scatter(lacuna_communicator* communicator, const lacuna_buffer* input,
                                                  const lacuna_buffer* output, lacuna_reduction reduction,
                                                  const lacuna_options* options, lacuna_request** request);
LACUNA_EXPORT lacuna_status lacuna_allgather(lacuna_communicator* communicator, const lacuna_buffer* input,
                                             const lacuna_buffer* output, const lacuna_options* options,
                                             lacuna_request** request);
LACUNA_EXPORT lacuna_status lacuna_broadcast(lacuna_communicator* communicator, const lacuna_buffer* data, int32_t root,
                                             const lacuna_options* options, lacuna_request** request);
LACUNA_EXPORT lacuna_status lacuna_reduce(lacuna_communicator* communicator, const lacuna_buffer* input,
                                          const lacuna_buffer* output, lacuna_reduction reduction, int32_t root,
                                          const lacuna_options* options, lacuna_request** request);
LACUNA_EXPORT lacuna_status lacuna_gather(lacuna_communicator* communicator, const lacuna_buffer* input,
                                          const lacuna_buffer* output, int32_t root, const lacuna_options* options,
                                          lacuna_request** request);
LACUNA_EXPORT lacuna_status lacuna_scatter(lacuna_communicator* communicator, const lacuna_buffer* input,
                                           const lacuna_buffer* output, int32_t root, const lacuna_options* options,
                                           lacuna_request** request);
LACUNA_EXPORT lacuna_status lacuna_alltoall(lacuna_communicator* communicator, const lacuna_buffer* input,
                                            const lacuna_buffer* output, const lacuna_options* options,
                                            lacuna_request** request);
LACUNA_EXPORT lacuna_status lacuna_scan(lacuna_communicator* communicator, const lacuna_buffer* input,
                                        const lacuna_buffer* output, lacuna_reduction reduction,
                                        const lacuna_options* options, lacuna_request** request);
LACUNA_EXPORT lacuna_status lacuna_exclusive_scan(lacuna_communicator* communicator, const lacuna_buffer* input,
                                                  const lacuna_buffer* output, lacuna_reduction reduction,
                                                  const lacuna_options* options, lacuna_request** request);
LACUNA_EXPORT lacuna_status lacuna_reduce_scatterv(lacuna_communicator* communicator, const lacuna_buffer* input,
                                                   const lacuna_blocks* blocks, const lacuna_buffer* output,
                                                   lacuna_reduction reduction, const lacuna_options* options,
                                                   lacuna_request** request);
LACUNA_EXPORT lacuna_status lacuna_allgatherv(lacuna_communicator* communicator, const lacuna_buffer* input,
                                              const lacuna_buffer* output, const lacuna_blocks* blocks,
                                              const lacuna_options* options, lacuna_request** request);
LACUNA_EXPORT lacuna_status lacuna_gatherv(lacuna_communicator* communicator, const lacuna_buffer* input,
                                           const lacuna_buffer* output, const lacuna_blocks* blocks, int32_t root,
                                           const lacuna_options* options, lacuna_request** request);
LACUNA_EXPORT lacuna_status lacuna_scatterv(lacuna_communicator* communicator, const lacuna_buffer* input,
                                            const lacuna_blocks* blocks, const lacuna_buffer* output, int32_t root,
                                            const lacuna_options* options, lacuna_request** request);
LACUNA_EXPORT lacuna_status lacuna_alltoallv(lacuna_communicator* communicator, const lacuna_buffer* input,
                                             const lacuna_blocks* input_blocks, const lacuna_buffer* output,
                                             const lacuna_blocks* output_blocks, const lacuna_options* options,
                                             lacuna_request** request);
LACUNA_EXPORT lacuna_status lacuna_barrier(lacuna_communicator* communicator, const lacuna_options* options,
                                           lacuna_request** request);

/**
 * Messages between two ranks, each of which calls its side only; those of one sender with one tag (0 or more) are
 * received in the order in which they were sent. With `request` null they return at the end, else they start and put a
 * request there. Options count as for collectives, but for algorithm and skip, which are refused; they may differ.
 *   send:    ends when the data may be rewritten, which may be before the receiver has asked for it
 *   receive: takes the next message of this sender and tag, of at most the buffer's count and of its dtype; one that
 *            does not fit ends the receive with LACUNA_MISMATCH and is dropped. *count becomes its elements; it may be
 *            null, and is only written where the call waits for the end (else see lacuna_received_bytes).
 */
LACUNA_EXPORT lacuna_status lacuna_send(lacuna_communicator* communicator, const lacuna_buffer* data, int32_t to,
                                        int32_t tag, const lacuna_options* options, lacuna_request** request);
LACUNA_EXPORT lacuna_status lacuna_receive(lacuna_communicator* communicator, const lacuna_buffer* data, int32_t from,
                                           int32_t tag, const lacuna_options* options, size_t* count,
                                           lacuna_request** request);
/** Makes progress; *found is 1 and *bytes its length if a message of this sender and tag waits to be received. */
LACUNA_EXPORT lacuna_status lacuna_probe(lacuna_communicator* communicator, int32_t from, int32_t tag, int32_t* found,
                                         uint64_t* bytes);
/** *bytes is what a receive that ended well has taken; 0 for anything else. */
LACUNA_EXPORT lacuna_status lacuna_received_bytes(const lacuna_request* request, uint64_t* bytes);

/**
 * Starts a request that a call with options.prepare made, as that call would have been started: in the same order on
 * all ranks, some of which may make the call instead. It can be started again once it has ended; until it is freed, its
 * buffers, and a sampler that it was given, must live. On an error nothing was sent; after LACUNA_BUSY try again.
 */
LACUNA_EXPORT lacuna_status lacuna_start(lacuna_request* request);
/** Makes progress; *finished is 1 once the call has ended, well or not, else 0. */
LACUNA_EXPORT lacuna_status lacuna_test(lacuna_request* request, int32_t* finished);
/** Waits for the end and returns the call's outcome; with timeout >= 0 (seconds) LACUNA_TIMED_OUT if it still runs. */
LACUNA_EXPORT lacuna_status lacuna_wait(lacuna_request* request, double timeout);
/** After a failure: *reclaimed is 1 once the buffers are no longer in use. */
LACUNA_EXPORT lacuna_status lacuna_reclaimed(lacuna_request* request, int32_t* reclaimed);
/** Waits for an unfinished call, at most until its deadline. Null is allowed. */
LACUNA_EXPORT void lacuna_request_free(lacuna_request* request);

/** One round of progress, for programs with a loop of their own; *moved is 1 if anything happened. May be null. */
LACUNA_EXPORT lacuna_status lacuna_progress(lacuna_communicator* communicator, int32_t* moved);
/** A descriptor to poll: readable when progress or a completion waits. Call lacuna_arm before sleeping on it. */
LACUNA_EXPORT int32_t lacuna_event_fd(const lacuna_communicator* communicator);
/** *armed is 0 if something has arrived already: make progress before sleeping. */
LACUNA_EXPORT lacuna_status lacuna_arm(lacuna_communicator* communicator, int32_t* armed);
/** *found is 1 if a call with notify had ended; then its token and outcome are stored. */
LACUNA_EXPORT lacuna_status lacuna_next_completion(lacuna_communicator* communicator, int32_t* found, uint64_t* token,
                                                   lacuna_status* outcome);

#ifdef __cplusplus
}
#endif

#endif /* LACUNA_H */

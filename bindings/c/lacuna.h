#ifndef LACUNA_H
#define LACUNA_H

/**
 * @file
 * lacuna: collectives that send only what matters. The C interface (C99), for C and for bindings of other languages.
 *
 * Every function that can fail returns a lacuna_status; the text of the calling thread's last failure is at
 * lacuna_last_error(). Pointers that are not said to be optional must not be null: LACUNA_INVALID_ARGUMENT. Unless said
 * otherwise, a call that fails leaves its results as they were, but for the data of buffers. No exception leaves the
 * library.
 *
 * Handles are opaque; they belong to the caller and end with their _free function. Structures belong to the caller and
 * are read, or filled, during the call only. All but lacuna_sampler and the elements of lists begin with their size:
 * set it with the _INIT macro, so that a program goes on working with later libraries, whose structures may have more
 * members. What may change in version 1 stands in docs/c_api.md. A method whose options are more
 * than text has a header of its own beside this one, which includes it.
 *
 * Who may use what at a time:
 *
 * | Object | Threads |
 * |---|---|
 * | lacuna_communicator | several, in any function. They start its collectives in one order, equal on all ranks |
 * | lacuna_request | one at a time; different requests: several |
 * | completions | several; each completion goes to one of them |
 * | lacuna_world_options, lacuna_buffer, lacuna_blocks, lacuna_options | several: the library only reads them |
 * | lacuna_counters and other results | the thread whose call fills them |
 * | lacuna_method | several |
 * | lacuna_state | one call at a time: a call changes it when it starts, and until it has ended |
 * | lacuna_sampler | one call at a time: a random call changes it when it starts |
 * | memory of buffers, `received` of lacuna_blocks | the call's, see lacuna_reclaimed(); all may read the input |
 * | lacuna_last_error() | each thread has its own |
 * | log callback | any sets it; it runs on any, several at a time, lacuna's own too |
 * | lacuna_version(), lacuna_status_text() | several |
 * | the _free functions | one, once, when no other is in a call with this handle; different handles: several |
 *
 * All handles belong to the process that joined. In a child that it makes by fork() calls with them fail with
 * LACUNA_INVALID_ARGUMENT, and what the child frees, or leaves to exit(), changes nothing for the parent.
 */

#include <stddef.h>
#include <stdint.h>

/** Version of this interface, as in the library's name (liblacuna_c.so.1) and in its symbols' node (LACUNA_1). */
#define LACUNA_API_VERSION 1

/** Marks what the library exports. */
#if defined(__GNUC__)
#define LACUNA_EXPORT __attribute__((visibility("default")))
#else
#define LACUNA_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** The outcome of a call. */
typedef enum lacuna_status {
  LACUNA_OK = 0,               /**< done, or started */
  LACUNA_INVALID_ARGUMENT = 1, /**< the call can never work as given */
  LACUNA_UNSUPPORTED = 2,      /**< well-formed, but not offered */
  LACUNA_MISMATCH = 3,         /**< ranks asked for different things */
  LACUNA_TIMED_OUT = 4,        /**< a wait or a deadline ran out */
  LACUNA_BUSY = 5,             /**< too many calls in flight; nothing was sent */
  LACUNA_PEER_FAILED = 6,      /**< a rank died, stopped or left */
  LACUNA_POISONED = 7,         /**< an earlier failure ended this communicator */
  LACUNA_TRANSPORT = 8,        /**< the network layer reported an error */
  LACUNA_IO = 9,               /**< a file could not be read or written */
  LACUNA_INTERNAL = 10         /**< a defect of lacuna itself, or no memory */
} lacuna_status;

/** Type of a buffer's elements. */
typedef enum lacuna_dtype {
  LACUNA_F32 = 0,  /**< IEEE 754, 4 bytes */
  LACUNA_F64 = 1,  /**< IEEE 754, 8 bytes */
  LACUNA_BF16 = 2, /**< the upper 2 bytes of an f32 */
  LACUNA_F16 = 3,  /**< IEEE 754, 2 bytes */
  LACUNA_I32 = 4,  /**< signed, 4 bytes */
  LACUNA_I64 = 5,  /**< signed, 8 bytes */
  LACUNA_U8 = 6    /**< unsigned, 1 byte */
} lacuna_dtype;

/** How elements of several ranks become one. */
typedef enum lacuna_reduction {
  LACUNA_SUM = 0, /**< their sum */
  LACUNA_AVG = 1, /**< their mean; floating-point types only */
  LACUNA_MIN = 2, /**< the least */
  LACUNA_MAX = 3, /**< the largest */
  LACUNA_PROD = 4 /**< their product */
} lacuna_reduction;

/** Where a buffer lies. Only host memory is served today; the others are refused with LACUNA_UNSUPPORTED. */
typedef enum lacuna_memory_kind {
  LACUNA_HOST = 0,        /**< ordinary memory */
  LACUNA_CUDA = 1,        /**< memory of a CUDA device */
  LACUNA_CUDA_MANAGED = 2 /**< CUDA's managed memory */
} lacuna_memory_kind;

/** A call of a higher class overtakes the others at every step and on the wire. */
typedef enum lacuna_priority {
  LACUNA_HIGH = 0,   /**< before all others */
  LACUNA_NORMAL = 1, /**< the default */
  LACUNA_LOW = 2     /**< after all others */
} lacuna_priority;

/** Who makes progress. */
typedef enum lacuna_progress_mode {
  LACUNA_CALLER = 0, /**< the threads that call lacuna, while they do */
  LACUNA_THREAD = 1  /**< a thread of lacuna's own */
} lacuna_progress_mode;

/** Form of lacuna_counters_text(). */
typedef enum lacuna_counters_format {
  LACUNA_JSON = 0,      /**< one object */
  LACUNA_PROMETHEUS = 1 /**< Prometheus' text exposition format, version 0.0.4 */
} lacuna_counters_format;

/** A rank's place among ranks that call together: the job, or a part of it. Ends with lacuna_communicator_free(). */
typedef struct lacuna_communicator lacuna_communicator;
/** A call in flight, prepared, or ended. Ends with lacuna_request_free(). */
typedef struct lacuna_request lacuna_request;
/** What a call gives up, and how: a method with its options. Ends with lacuna_method_free(). */
typedef struct lacuna_method lacuna_method;
/** What a method keeps of one tensor from call to call. Ends with lacuna_state_free(). */
typedef struct lacuna_state lacuna_state;

/**
 * How to join the job. What is left as LACUNA_WORLD_OPTIONS_INIT sets it comes from the environment; with nothing set
 * anywhere the job has one rank, unless a launcher (mpirun, srun, torchrun ...) announces several: then joining fails.
 * A world_size of 1 needs no rank.
 */
typedef struct lacuna_world_options {
  size_t struct_size; /**< sizeof(lacuna_world_options) */
  int32_t rank;       /**< this process's number, 0 .. world_size-1; -1: LACUNA_RANK */
  int32_t world_size; /**< number of ranks; -1: LACUNA_SIZE */
  const char* store;  /**< host:port where rank 0 listens; null: LACUNA_STORE */
  const char* key;    /**< secret that admits a process to the job; null: LACUNA_KEY */
  int32_t progress;   /**< a lacuna_progress_mode; -1: LACUNA_PROGRESS */
} lacuna_world_options;
/** All from the environment. */
#define LACUNA_WORLD_OPTIONS_INIT \
  { sizeof(lacuna_world_options), -1, -1, NULL, NULL, -1 }

/**
 * Elements in memory that the caller owns and keeps until the call has ended; the structure itself is read when the
 * call starts. Any alignment will do.
 */
typedef struct lacuna_buffer {
  size_t struct_size; /**< sizeof(lacuna_buffer) */
  void* data;         /**< the first element; may be null if there are none */
  size_t count;       /**< elements, not bytes */
  int32_t dtype;      /**< a lacuna_dtype */
  int32_t memory;     /**< a lacuna_memory_kind */
  int32_t device;     /**< number of the device; unused for host memory */
  void* stream;       /**< stream after which a device buffer is ready; unused for host memory */
  /**
   * Null: the buffer holds all elements. Else it holds the values of these elements only, and the others are 0: for
   * allreduce, reduce_scatter and allgather with a method that takes such. `count` is how many there are; of an output,
   * how many there may be. Of an input they may stand in any order, and those of one element add up; each rank has as
   * many as it likes. Of an output they ascend, and all ranks ask for it or none does.
   */
  uint32_t* places;
  size_t length;   /**< with places: of all elements */
  size_t* entries; /**< of an output with places: how many there are, once the call has ended */
} lacuna_buffer;
/** No elements, of f32 in host memory. */
#define LACUNA_BUFFER_INIT \
  { sizeof(lacuna_buffer), NULL, 0, LACUNA_F32, LACUNA_HOST, 0, NULL, NULL, 0, NULL }

/**
 * Blocks of different lengths in one buffer, one for each rank. The tables have as many entries as the communicator has
 * ranks and belong to the caller; counts and offsets are read when a call starts, not later. All are in elements.
 */
typedef struct lacuna_blocks {
  size_t struct_size;    /**< sizeof(lacuna_blocks) */
  const size_t* counts;  /**< length of each block; 0 is allowed */
  const size_t* offsets; /**< where each begins, ascending; null: one behind the other */
  /**
   * For the output of gatherv and alltoallv, null elsewhere. If given, counts are what may come at most; how many
   * elements have come from each rank stands here by the call's end, until which this memory must live.
   */
  size_t* received;
} lacuna_blocks;
/** No tables; at least counts must be set. */
#define LACUNA_BLOCKS_INIT \
  { sizeof(lacuna_blocks), NULL, NULL, NULL }

/**
 * Source of random choices: a plain value that the caller owns. All ranks hold equal ones; save and restore the three
 * numbers and the choices repeat. It has no struct_size and never changes.
 */
typedef struct lacuna_sampler {
  uint64_t seed; /**< equal numbers give equal choices */
  uint64_t key;  /**< the caller's, the number of a tensor, say */
  uint64_t draw; /**< a random call advances it by one when it starts */
} lacuna_sampler;

/** How a call is carried out. Equal on all ranks but for priority, deadline, notify, token and prepare. */
typedef struct lacuna_options {
  size_t struct_size;          /**< sizeof(lacuna_options) */
  const char* algorithm;       /**< its name, read when the call starts; null: lacuna chooses */
  const lacuna_method* method; /**< what is given up; null: nothing. Read when the call starts */
  lacuna_state* state; /**< of this tensor, if the method needs one; lives until the call, or what was prepared, ends */
  lacuna_sampler* sampler; /**< of random choices; null: that of the state, or the communicator's own, which is the
                              same in jobs made alike and another one for each communicator of a job */
  int32_t priority;        /**< a lacuna_priority */
  double deadline;         /**< seconds from the start, rounded up to milliseconds; 0: LACUNA_DEADLINE */
  int32_t notify;          /**< not 0: token enters the completion queue at the call's end */
  uint64_t token;          /**< what lacuna_next_completion() gives back */
  int32_t prepare;         /**< not 0: make the request and start nothing; see lacuna_start() */
} lacuna_options;
/** All defaults; a null pointer to options means the same. */
#define LACUNA_OPTIONS_INIT \
  { sizeof(lacuna_options), NULL, NULL, NULL, NULL, LACUNA_NORMAL, 0.0, 0, 0, 0 }

/** What the transport has counted since the start. Bytes that a receiver fetches count as sent by their sender. */
typedef struct lacuna_counters {
  size_t struct_size;         /**< sizeof(lacuna_counters) */
  uint64_t payload_sent;      /**< bytes of data */
  uint64_t header_sent;       /**< bytes of lacuna's headers, without what the network below adds */
  uint64_t messages_sent;     /**< messages of the transport, several to a call */
  uint64_t payload_received;  /**< bytes of data */
  uint64_t messages_received; /**< messages of the transport */
} lacuna_counters;
/** Zeros. */
#define LACUNA_COUNTERS_INIT \
  { sizeof(lacuna_counters), 0, 0, 0, 0, 0 }

/**
 * @defgroup texts Texts and log
 * From any thread.
 * @{
 */
/** Version of the library, "0.1.0" say. @return static text */
LACUNA_EXPORT const char* lacuna_version(void);
/** The word for a status, "timed out" say. @return static text, for any number */
LACUNA_EXPORT const char* lacuna_status_text(lacuna_status status);
/**
 * What went wrong in the calling thread's last failed call.
 * @return never null, empty before the first failure; valid until this thread's next failed call
 */
LACUNA_EXPORT const char* lacuna_last_error(void);
/**
 * Receives a log line. Runs on the thread that logs, while that holds no lock of lacuna; what lacuna's own threads log
 * it gets on a thread that does nothing else. So it may wait for a lock that another thread holds while that calls
 * lacuna, such as the lock of an interpreter. It must not call lacuna.
 * @param level 0 error, 1 warning, 2 info, 3 debug
 * @param text  the line, led by its subsystem, without a line end; valid during the call
 * @param user  what was given to lacuna_set_log_callback()
 */
typedef void (*lacuna_log_callback)(int32_t level, const char* text, void* user);
/**
 * Sends the log lines of this process that LACUNA_LOG lets through to a callback instead of standard error. That ranks
 * did not agree, where all their calls have ended well, stands on standard error as well: nothing else tells it.
 * @param callback null: standard error again. A line under way may reach the former one for a moment longer
 * @param user     handed to the callback
 */
LACUNA_EXPORT void lacuna_set_log_callback(lacuna_log_callback callback, void* user);
/** @} */

/**
 * @defgroup communicators Communicators
 * From any thread; each thread may use each communicator.
 * @{
 */
/**
 * Joins the job; blocks until all ranks are there, at most LACUNA_BOOTSTRAP_TIMEOUT.
 * @param options      null: all from the environment
 * @param communicator becomes the communicator of all ranks, for lacuna_communicator_free()
 */
LACUNA_EXPORT lacuna_status lacuna_join(const lacuna_world_options* options, lacuna_communicator** communicator);
/**
 * Ends a handle; with the last of the job's communicators and requests the rank leaves the job, which the others see.
 * Requests may be freed before or after. Null is allowed.
 */
LACUNA_EXPORT void lacuna_communicator_free(lacuna_communicator* communicator);
/** This process's number, 0 .. size-1. @return -1 if communicator is null */
LACUNA_EXPORT int32_t lacuna_rank(const lacuna_communicator* communicator);
/** Number of ranks. @return -1 if communicator is null */
LACUNA_EXPORT int32_t lacuna_size(const lacuna_communicator* communicator);
/** LACUNA_OK, or why the communicator is poisoned: after its first failure each call returns that. */
LACUNA_EXPORT lacuna_status lacuna_communicator_status(const lacuna_communicator* communicator);
/**
 * Makes communicators of some ranks each: those that give the same colour are together. Called by all ranks, blocking.
 * The parts progress and fail independently of each other; a rank that dies or stops poisons all communicators of the
 * job.
 * @param communicator whose ranks are divided
 * @param colour       0 or more; negative: this rank takes no part
 * @param key          orders the ranks of a part; where keys are equal, their rank here does
 * @param part         becomes this rank's part, for lacuna_communicator_free(), or null
 */
LACUNA_EXPORT lacuna_status lacuna_split(lacuna_communicator* communicator, int32_t colour, int32_t key,
                                         lacuna_communicator** part);
/**
 * Makes one communicator of some ranks. Called by all ranks with the same list, blocking. With an empty list no rank
 * gets a communicator.
 * @param communicator whose ranks these are
 * @param ranks        the list, in the new order
 * @param count        its length
 * @param part         becomes the new communicator, for lacuna_communicator_free(); null on ranks that are not listed
 */
LACUNA_EXPORT lacuna_status lacuna_subgroup(lacuna_communicator* communicator, const int32_t* ranks, size_t count,
                                            lacuna_communicator** part);
/** Fills counters, whose struct_size must be set, with this rank's traffic with the communicator's ranks. */
LACUNA_EXPORT lacuna_status lacuna_get_counters(const lacuna_communicator* communicator, lacuna_counters* counters);
/**
 * All that this rank counts, of its whole job, as text that ends with a zero byte.
 * @param communicator any one of the job
 * @param format       a lacuna_counters_format
 * @param text         where it goes; with capacity 0 it may be null
 * @param capacity     bytes of text
 * @param length       becomes the text's length without the zero byte, also where capacity is not larger: then the call
 *                     fails with LACUNA_INVALID_ARGUMENT and text stays as it is
 */
LACUNA_EXPORT lacuna_status lacuna_counters_text(const lacuna_communicator* communicator, int32_t format, char* text,
                                                 size_t capacity, size_t* length);
/** @} */

/**
 * @defgroup collectives Collectives
 * Calls that all ranks of a communicator make, in the same order, with equal arguments but for pointers (and what
 * lacuna_options names). From several threads only where these agree on that order.
 *
 * With `request` null they return at the call's end, with its outcome. Else they start it and put a request there, for
 * lacuna_request_free(); with options.prepare they only make the request, which counts as ended until lacuna_start().
 * `options` may be null.
 *
 * Input and output are disjoint, or in place: the same memory, or the smaller one block `rank` of the larger. Both have
 * the same dtype. Buffers and blocks that only the root has may be null elsewhere. The v forms have blocks of different
 * lengths; their buffers may be longer than needed.
 *
 * An error at the start means that nothing was sent and the communicator is as before. One at the end poisons the
 * communicator on all its ranks (once rank 0 of the job has left: on the rank that found it), and no other one:
 * LACUNA_MISMATCH where ranks asked for different things, LACUNA_TIMED_OUT at the deadline, LACUNA_TRANSPORT where a
 * connection broke, LACUNA_PEER_FAILED where a rank has left, LACUNA_INVALID_ARGUMENT where the data of one rank were
 * refused while the call ran (the text names the rank; with one rank only the call ends, and the communicator lives
 * on). LACUNA_PEER_FAILED of a rank that died or stopped ends all communicators of the job.
 *
 * A call that waits for a rank, directly or through others, has been agreed on with it, and so have all before it. One
 * that waits for nobody (the root's broadcast, a reduce on a rank that only sends, the first ranks of a scan) may end
 * with LACUNA_OK although others asked for something else: the next call that hears of them returns LACUNA_MISMATCH.
 * Where none follows, an error on the log names the call and both sides when the ranks leave: rank 0 compares with all
 * that have left before it or leave with it, the others with rank 0. What nobody can see: that members of a
 * communicator without the job's rank 0 differed, if one of them leaves after that rank; a lacuna_barrier() there
 * before the end makes sure.
 *
 * A blocking call that fails returns when nothing touches its buffers any more. Where that can't be known within some
 * seconds, since a rank does not answer or a network card may still write, lacuna_last_error() says that they are still
 * in use: then they must live to the end of the process.
 * @{
 */
/** output = reduction of all inputs; both have the same count, on all ranks. */
LACUNA_EXPORT lacuna_status lacuna_allreduce(lacuna_communicator* communicator, const lacuna_buffer* input,
                                             const lacuna_buffer* output, lacuna_reduction reduction,
                                             const lacuna_options* options, lacuna_request** request);
/** output = block `rank` of the reduction; input has size * output count elements. */
LACUNA_EXPORT lacuna_status lacuna_reduce_scatter(lacuna_communicator* communicator, const lacuna_buffer* input,
                                                  const lacuna_buffer* output, lacuna_reduction reduction,
                                                  const lacuna_options* options, lacuna_request** request);
/** output = all inputs by rank; it has size * input count elements. */
LACUNA_EXPORT lacuna_status lacuna_allgather(lacuna_communicator* communicator, const lacuna_buffer* input,
                                             const lacuna_buffer* output, const lacuna_options* options,
                                             lacuna_request** request);
/** data = the root's data, of equal count on all ranks. */
LACUNA_EXPORT lacuna_status lacuna_broadcast(lacuna_communicator* communicator, const lacuna_buffer* data, int32_t root,
                                             const lacuna_options* options, lacuna_request** request);
/** The root's output = reduction of all inputs; counts are equal. */
LACUNA_EXPORT lacuna_status lacuna_reduce(lacuna_communicator* communicator, const lacuna_buffer* input,
                                          const lacuna_buffer* output, lacuna_reduction reduction, int32_t root,
                                          const lacuna_options* options, lacuna_request** request);
/** The root's output = all inputs by rank; it has size * input count elements. */
LACUNA_EXPORT lacuna_status lacuna_gather(lacuna_communicator* communicator, const lacuna_buffer* input,
                                          const lacuna_buffer* output, int32_t root, const lacuna_options* options,
                                          lacuna_request** request);
/** output = block `rank` of the root's input, which has size * output count elements. */
LACUNA_EXPORT lacuna_status lacuna_scatter(lacuna_communicator* communicator, const lacuna_buffer* input,
                                           const lacuna_buffer* output, int32_t root, const lacuna_options* options,
                                           lacuna_request** request);
/** Block i of output = block `rank` of rank i's input; both have size blocks of equal length. */
LACUNA_EXPORT lacuna_status lacuna_alltoall(lacuna_communicator* communicator, const lacuna_buffer* input,
                                            const lacuna_buffer* output, const lacuna_options* options,
                                            lacuna_request** request);
/** output = reduction of the inputs of ranks 0 .. rank; counts are equal. LACUNA_AVG is refused. */
LACUNA_EXPORT lacuna_status lacuna_scan(lacuna_communicator* communicator, const lacuna_buffer* input,
                                        const lacuna_buffer* output, lacuna_reduction reduction,
                                        const lacuna_options* options, lacuna_request** request);
/** output = reduction of the inputs of ranks 0 .. rank-1; rank 0's stays as it is. LACUNA_AVG is refused. */
LACUNA_EXPORT lacuna_status lacuna_exclusive_scan(lacuna_communicator* communicator, const lacuna_buffer* input,
                                                  const lacuna_buffer* output, lacuna_reduction reduction,
                                                  const lacuna_options* options, lacuna_request** request);
/** output = block `rank` of the reduction; blocks divide the input, with the same counts on all ranks. */
LACUNA_EXPORT lacuna_status lacuna_reduce_scatterv(lacuna_communicator* communicator, const lacuna_buffer* input,
                                                   const lacuna_blocks* blocks, const lacuna_buffer* output,
                                                   lacuna_reduction reduction, const lacuna_options* options,
                                                   lacuna_request** request);
/** output = all inputs by rank; blocks divide the output, with the same counts on all ranks. */
LACUNA_EXPORT lacuna_status lacuna_allgatherv(lacuna_communicator* communicator, const lacuna_buffer* input,
                                              const lacuna_buffer* output, const lacuna_blocks* blocks,
                                              const lacuna_options* options, lacuna_request** request);
/** The root's output = all inputs by rank; blocks, of the root only, divide it. */
LACUNA_EXPORT lacuna_status lacuna_gatherv(lacuna_communicator* communicator, const lacuna_buffer* input,
                                           const lacuna_buffer* output, const lacuna_blocks* blocks, int32_t root,
                                           const lacuna_options* options, lacuna_request** request);
/** output = block `rank` of the root's input; blocks, of the root only, divide that. */
LACUNA_EXPORT lacuna_status lacuna_scatterv(lacuna_communicator* communicator, const lacuna_buffer* input,
                                            const lacuna_blocks* blocks, const lacuna_buffer* output, int32_t root,
                                            const lacuna_options* options, lacuna_request** request);
/**
 * Block i of output = block `rank` of rank i's input. What a rank sends to another is as long as the other expects, or
 * at most that where it asked for `received`. In place, both blocks are equal.
 */
LACUNA_EXPORT lacuna_status lacuna_alltoallv(lacuna_communicator* communicator, const lacuna_buffer* input,
                                             const lacuna_blocks* input_blocks, const lacuna_buffer* output,
                                             const lacuna_blocks* output_blocks, const lacuna_options* options,
                                             lacuna_request** request);
/** Returns, or ends, after all ranks have called it. */
LACUNA_EXPORT lacuna_status lacuna_barrier(lacuna_communicator* communicator, const lacuna_options* options,
                                           lacuna_request** request);
/** @} */

/**
 * @defgroup messages Messages
 * Between two ranks, each of which calls its side only, in any order and from any thread; a rank may send to itself.
 * Those of one sender with one tag are received in the order in which they were sent.
 *
 * With `request` null they return at the end, with the outcome; else they start and put a request there, for
 * lacuna_request_free(). Tags are 0 or more. `options` may be null and may differ between the sides; an algorithm and a
 * method are refused with LACUNA_INVALID_ARGUMENT, prepare with LACUNA_UNSUPPORTED.
 * @{
 */
/** Sends data to rank `to`; ends when data may be rewritten, which may be before the receiver has asked for it. */
LACUNA_EXPORT lacuna_status lacuna_send(lacuna_communicator* communicator, const lacuna_buffer* data, int32_t to,
                                        int32_t tag, const lacuna_options* options, lacuna_request** request);
/**
 * Takes the next message of this sender and tag. One of another dtype, or of more elements than data has, ends the
 * receive with LACUNA_MISMATCH and is dropped; the communicator lives on.
 * @param communicator whose ranks these are
 * @param data         where the message goes; its count is the most that it takes
 * @param from         rank of the sender
 * @param tag          0 or more
 * @param options      may be null
 * @param count        becomes the elements received; may be null. Written only if request is null, else see
 *                     lacuna_received_bytes()
 * @param request      null: wait for the end
 */
LACUNA_EXPORT lacuna_status lacuna_receive(lacuna_communicator* communicator, const lacuna_buffer* data, int32_t from,
                                           int32_t tag, const lacuna_options* options, size_t* count,
                                           lacuna_request** request);
/**
 * Makes progress, and looks for a message without taking it. An error where a receive would be refused.
 * @param communicator whose ranks these are
 * @param from         rank of the sender
 * @param tag          0 or more
 * @param found        becomes 1 if a message of this sender and tag waits to be received, else 0
 * @param bytes        becomes its length; 0 if there is none
 */
LACUNA_EXPORT lacuna_status lacuna_probe(lacuna_communicator* communicator, int32_t from, int32_t tag, int32_t* found,
                                         uint64_t* bytes);
/** *bytes becomes what a receive that ended well has taken; 0 for anything else. */
LACUNA_EXPORT lacuna_status lacuna_received_bytes(const lacuna_request* request, uint64_t* bytes);
/** @} */

/**
 * @defgroup requests Requests
 * A request belongs to one thread at a time; different requests may be used by different threads.
 * @{
 */
/**
 * Starts a request that a call with options.prepare made, as that call would have been started: in the same order on
 * all ranks, some of which may make the call instead. It can be started again once it has ended; until it is freed, its
 * buffers, and a sampler or state that it was given, must live. On an error nothing was sent; after
 * LACUNA_BUSY try again.
 */
LACUNA_EXPORT lacuna_status lacuna_start(lacuna_request* request);
/** Makes progress; *finished becomes 1 once the call has ended, well or not, else 0. lacuna_wait() says how it ended.
 */
LACUNA_EXPORT lacuna_status lacuna_test(lacuna_request* request, int32_t* finished);
/**
 * Waits for the end; may be called again after it.
 * @param request the call
 * @param timeout seconds at most, rounded up to milliseconds; negative: until the call's deadline
 * @return the call's outcome; LACUNA_TIMED_OUT if it still runs after the timeout, or if its deadline has ended it:
 * once lacuna_test() finds it finished, lacuna_wait() tells the outcome
 */
LACUNA_EXPORT lacuna_status lacuna_wait(lacuna_request* request, double timeout);
/**
 * After a failure: *reclaimed becomes 1 once nothing touches the buffers any more, else 0. It may stay 0 to the end of
 * the process, where a network card reaches them, or a rank that did not answer. lacuna_wait() waits some seconds for
 * it.
 */
LACUNA_EXPORT lacuna_status lacuna_reclaimed(lacuna_request* request, int32_t* reclaimed);
/** Ends a handle; waits for an unfinished call, at most until its deadline, as lacuna_wait() does. Null is allowed. */
LACUNA_EXPORT void lacuna_request_free(lacuna_request* request);
/** @} */

/**
 * @defgroup methods Methods
 * What calls give up, and what that remembers. `lacuna list` shows all methods, `lacuna list METHOD` the options of
 * one. A method may be used by several threads and calls at a time; a state by one call at a time.
 * @{
 */
/**
 * Makes a method with options, equal on all ranks.
 * @param name    of the method, as `lacuna list` shows it
 * @param options "steps=2,mode=random", say; null or empty: all defaults
 * @param method  becomes the method, for lacuna_method_free(), also while calls that have it run
 */
LACUNA_EXPORT lacuna_status lacuna_method_create(const char* name, const char* options, lacuna_method** method);
/** Ends a handle. Null is allowed. */
LACUNA_EXPORT void lacuna_method_free(lacuna_method* method);

/**
 * Makes a state without runs, equal on all ranks.
 * @param method it is for, whatever its options; a call with another method refuses the state. Null: any
 * @param seed   of its sampler, from which calls draw that bring none
 * @param key    of its sampler, the number of the tensor, say
 * @param state  becomes the state, for lacuna_state_free()
 */
LACUNA_EXPORT lacuna_status lacuna_state_create(const lacuna_method* method, uint64_t seed, uint64_t key,
                                                lacuna_state** state);
/** Ends a handle that no call uses any more. Null is allowed. */
LACUNA_EXPORT void lacuna_state_free(lacuna_state* state);

/** What a state holds, beside its arrays. */
typedef struct lacuna_state_values {
  size_t struct_size;     /**< sizeof(lacuna_state_values) */
  lacuna_sampler sampler; /**< as it is now */
  uint64_t runs;          /**< calls started with it */
  size_t arrays;          /**< their number */
} lacuna_state_values;
/** Zeros. */
#define LACUNA_STATE_VALUES_INIT \
  { sizeof(lacuna_state_values), {0, 0, 0}, 0, 0 }
/** Fills values, whose struct_size must be set. */
LACUNA_EXPORT lacuna_status lacuna_get_state(const lacuna_state* state, lacuna_state_values* values);

/** A named array of a state: what this rank has not contributed yet ("residual"), say. */
typedef struct lacuna_state_array {
  size_t struct_size; /**< sizeof(lacuna_state_array) */
  const char* name;   /**< the state's own, as long as data */
  const void* data;   /**< the state's own; valid until a call has the state, or lacuna_state_restore() */
  size_t count;       /**< elements */
  int32_t dtype;      /**< a lacuna_dtype */
  int32_t own;        /**< 1: each rank has its own; 0: it is equal on all */
} lacuna_state_array;
/** Zeros. */
#define LACUNA_STATE_ARRAY_INIT \
  { sizeof(lacuna_state_array), NULL, NULL, 0, LACUNA_F32, 0 }
/** Fills array, whose struct_size must be set; index is 0 .. arrays-1 of lacuna_get_state(). */
LACUNA_EXPORT lacuna_status lacuna_get_state_array(const lacuna_state* state, size_t index, lacuna_state_array* array);
/**
 * All of it as bytes, for a checkpoint: each rank saves its own. While a call changes the state it is refused with
 * LACUNA_BUSY; a failed call does so until it has given its buffers back.
 * @param state    which no call is using
 * @param bytes    where they go; with capacity 0 it may be null
 * @param capacity bytes that fit there
 * @param length   becomes the number of bytes, also where capacity is smaller: then the call fails with
 *                 LACUNA_INVALID_ARGUMENT and bytes stay as they are
 */
LACUNA_EXPORT lacuna_status lacuna_state_save(const lacuna_state* state, void* bytes, size_t capacity, size_t* length);
/**
 * Makes a state what it was when it was saved. What is damaged, or of another kind, is refused with
 * LACUNA_INVALID_ARGUMENT; while a call changes the state it is refused with LACUNA_BUSY, as lacuna_state_save() is.
 * After an error the state is as it was.
 * @param state  which no call is using
 * @param bytes  what lacuna_state_save() gave
 * @param length their number
 */
LACUNA_EXPORT lacuna_status lacuna_state_restore(lacuna_state* state, const void* bytes, size_t length);

/** What the method of a call has done, beside the dense call: that of the same algorithm and the same data without it.
 */
typedef struct lacuna_report {
  size_t struct_size;           /**< sizeof(lacuna_report) */
  int32_t rounds;               /**< messages that wait for each other */
  int32_t dense_rounds;         /**< of the dense call */
  uint64_t sent;                /**< payload of this rank, bytes */
  uint64_t dense_sent;          /**< of the dense call */
  uint64_t received;            /**< payload of this rank, bytes */
  uint64_t dense_received;      /**< of the dense call */
  uint64_t contributions;       /**< terms, over all elements that are reduced, of all ranks */
  uint64_t dense_contributions; /**< of the dense call */
  uint64_t lacking;             /**< elements that other ranks have and this one does not get */
  uint64_t selected;            /**< elements that kernels of this rank have selected to be sent; 0: it has none */
  uint64_t contributed;         /**< of these, what has reached the result */
  uint64_t kept;                /**< elements that they have left for a later call */
} lacuna_report;
/** Zeros. */
#define LACUNA_REPORT_INIT \
  { sizeof(lacuna_report), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
/** Fills report, whose struct_size must be set: zeros for a request that has not ended well or gave nothing up. */
LACUNA_EXPORT lacuna_status lacuna_get_report(const lacuna_request* request, lacuna_report* report);
/** A number that the method adds to reports, by its name; 0 where lacuna_get_report() gives zeros. */
LACUNA_EXPORT lacuna_status lacuna_get_report_number(const lacuna_request* request, const char* name, double* value);

/** A stretch of an output that lacks a rank's contribution. It has no struct_size and never changes. */
typedef struct lacuna_gap {
  size_t offset; /**< its first element in the output */
  size_t count;  /**< elements */
  int32_t from;  /**< whose contribution is missing; of an allgather, whose block */
} lacuna_gap;
/**
 * What one rank's output lacks, of a collective whose method leaves something out; nothing without a method. Each rank
 * knows that of all ranks, without a message. For checks, reports and sharded data parallelism, not for each step of a
 * large job: the time grows with the cube of the number of ranks.
 * @param request  of a collective that has been started; its last start is told of
 * @param rank     whose output
 * @param gaps     where they go, ascending by `from`, then by offset; with capacity 0 it may be null
 * @param capacity gaps that fit there
 * @param count    becomes the number of gaps, also where capacity is smaller: then the call fails with
 *                 LACUNA_INVALID_ARGUMENT and gaps stay as they are
 */
LACUNA_EXPORT lacuna_status lacuna_gaps(const lacuna_request* request, int32_t rank, lacuna_gap* gaps, size_t capacity,
                                        size_t* count);
/** @} */

/**
 * @defgroup progress Progress and completions
 * For programs with a loop of their own; of all communicators of the job, from any thread.
 * @{
 */
/** One round of progress, which also keeps deadlines; *moved becomes 1 if anything happened, else 0. moved may be null.
 */
LACUNA_EXPORT lacuna_status lacuna_progress(lacuna_communicator* communicator, int32_t* moved);
/**
 * A descriptor to poll. After lacuna_arm() has set *armed to 1 it becomes readable when lacuna_progress() has something
 * to do: also when a deadline passes, and when another thread starts a call or has moved anything; with LACUNA_THREAD
 * when a call has ended. It is readable as long as a completion waits. A loop of the program's repeats:
 * lacuna_arm(), and if that has set *armed to 1 a sleep until the descriptor is readable; lacuna_progress() until
 * nothing moves; lacuna_next_completion() until there is none, or lacuna_test().
 * @return the descriptor, which stays the library's: don't read or close it; -1 if communicator is null
 */
LACUNA_EXPORT int32_t lacuna_event_fd(const lacuna_communicator* communicator);
/** Before each sleep: *armed becomes 1 if the descriptor may be slept on, 0 if there is something to do already, or
 * a call has ended since the last time. */
LACUNA_EXPORT lacuna_status lacuna_arm(lacuna_communicator* communicator, int32_t* armed);
/**
 * Takes the next ended call that had asked for it by options.notify, oldest first.
 * @param communicator any one of the job
 * @param found        becomes 1 if there was one, else 0, and the others are left as they are
 * @param token        becomes the call's options.token
 * @param outcome      becomes the call's outcome; lacuna_wait() gives its text too, and lacuna_reclaimed() says after a
 *                     failure whose the buffers are
 */
LACUNA_EXPORT lacuna_status lacuna_next_completion(lacuna_communicator* communicator, int32_t* found, uint64_t* token,
                                                   lacuna_status* outcome);
/** @} */

#ifdef __cplusplus
}
#endif

#endif /* LACUNA_H */

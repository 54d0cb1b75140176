#ifndef LACUNA_H
#define LACUNA_H

/**
 * @file
 * lacuna: collectives that send only what matters. The C interface (C99), for C and for bindings of other languages.
 *
 * Every function that can fail returns a lacuna_status. lacuna_last_error() has the text of the calling thread's last
 * failure. A pointer must not be null unless its description says so; else the call fails with
 * LACUNA_INVALID_ARGUMENT. Unless a description says otherwise, a call that fails leaves its results as they were,
 * except for the data of buffers. No exception leaves the library.
 *
 * Handles are opaque. They belong to the caller and end with their _free function. Structures belong to the caller, and
 * the library reads or fills them during the call only. All structures of this header but lacuna_sampler, and those of
 * which lists are made (lacuna_gap, lacuna_neighbour, lacuna_halo), begin with their size. Set it with the _INIT macro,
 * so that a program also works with later libraries, whose structures may have more members. docs/c_api.md says what
 * may change. A method whose options are more than text has a header of its own beside this one, which includes it.
 *
 * Which threads may use an object at the same time:
 *
 * - lacuna_communicator: several, in any function. They start its collectives in one order, which is equal on all
 * ranks.
 * - lacuna_request: one at a time. Several threads may use different requests.
 * - completions: several. Each completion goes to one of them.
 * - lacuna_world_options, lacuna_call and its structures, lacuna_options: several, because the library only reads them.
 * - lacuna_counters and other results: the thread whose call fills them.
 * - lacuna_method: several.
 * - lacuna_state: one call at a time. A call changes it from its start to its end.
 * - lacuna_sampler: one call at a time. A random call changes it when it starts.
 * - memory of buffers, `received` and `places`: only the call; see lacuna_reclaimed(). All may read the input.
 * - lacuna_last_error(): each thread has its own.
 * - log callback: any thread sets it. It runs on any thread, also lacuna's own, and on several at a time.
 * - lacuna_version(), lacuna_status_text(), lacuna_alloc(), lacuna_free(): several.
 * - the _free functions: one, once, when no other is in a call with this handle. Several may free different handles.
 *
 * All handles belong to the process that joined. In a child that it makes by fork(), calls with them fail with
 * LACUNA_INVALID_ARGUMENT. Whatever the child frees, or leaves to exit(), changes nothing for the parent.
 */

#include <stddef.h>
#include <stdint.h>

/**
 * Version of this interface, as in the library's name (liblacuna_c.so.0) and its symbols' version (LACUNA_0). It is 0
 * until the first release is published. Until then anything may change, so compile a program against the library that
 * it runs with. docs/c_api.md says what version 1 will promise.
 */
#define LACUNA_API_VERSION 0

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
  LACUNA_UNSUPPORTED = 2,      /**< the call is well-formed, but not supported */
  LACUNA_MISMATCH = 3,         /**< ranks asked for different things */
  LACUNA_TIMED_OUT = 4,        /**< a wait or a deadline ran out */
  LACUNA_BUSY = 5, /**< too many calls are in flight, or one still uses the state or the buffers; nothing was sent */
  LACUNA_PEER_FAILED = 6, /**< a rank died, stopped or left */
  LACUNA_POISONED = 7,    /**< an earlier failure ended this communicator */
  LACUNA_TRANSPORT = 8,   /**< the network layer reported an error */
  LACUNA_IO = 9,          /**< a file could not be read or written */
  LACUNA_INTERNAL = 10    /**< a defect of lacuna itself, or the system lacks memory, threads or descriptors */
} lacuna_status;

/** Type of a buffer's elements. */
typedef enum lacuna_dtype {
  LACUNA_F32 = 0,  /**< IEEE 754, 4 bytes */
  LACUNA_F64 = 1,  /**< IEEE 754, 8 bytes */
  LACUNA_BF16 = 2, /**< the upper 2 bytes of an f32 */
  LACUNA_F16 = 3,  /**< IEEE 754, 2 bytes */
  LACUNA_I32 = 4,  /**< signed, 4 bytes */
  LACUNA_I64 = 5,  /**< signed, 8 bytes */
  LACUNA_U8 = 6,   /**< unsigned, 1 byte */
  LACUNA_I8 = 7,   /**< signed, 1 byte */
  LACUNA_I16 = 8,  /**< signed, 2 bytes */
  LACUNA_U16 = 9,  /**< unsigned, 2 bytes */
  LACUNA_U32 = 10, /**< unsigned, 4 bytes */
  LACUNA_U64 = 11, /**< unsigned, 8 bytes */
  LACUNA_C64 = 12, /**< complex: two f32, the real part first, such as float complex; LACUNA_SUM and LACUNA_PROD only */
  LACUNA_C128 = 13,        /**< complex: two f64; LACUNA_SUM and LACUNA_PROD only */
  LACUNA_LOCATED_F32 = 14, /**< lacuna_located_f32; LACUNA_MIN and LACUNA_MAX only, as MPI_MINLOC and MPI_MAXLOC */
  LACUNA_LOCATED_F64 = 15, /**< lacuna_located_f64 */
  LACUNA_LOCATED_I32 = 16, /**< lacuna_located_i32 */
  LACUNA_LOCATED_I64 = 17, /**< lacuna_located_i64 */
  LACUNA_BYTES_1 = 18,  /**< 1 byte of the program's own; LACUNA_OWN only. So are the following, with 2 to 64 bytes */
  LACUNA_BYTES_2 = 19,  /**< 2 bytes */
  LACUNA_BYTES_4 = 20,  /**< 4 bytes */
  LACUNA_BYTES_8 = 21,  /**< 8 bytes */
  LACUNA_BYTES_16 = 22, /**< 16 bytes */
  LACUNA_BYTES_32 = 23, /**< 32 bytes */
  LACUNA_BYTES_64 = 24  /**< 64 bytes */
} lacuna_dtype;

/**
 * A number and where it was found, for LACUNA_MIN and LACUNA_MAX. The result is the least or the largest number
 * together with its index. Of equal numbers the one with the lowest index wins. A NaN wins over all numbers, -0 is less
 * than +0, and of several NaNs the one with the lowest index wins. The bytes between a number of 4 bytes and the index
 * mean nothing.
 */
typedef struct lacuna_located_f32 {
  float value;   /**< what is compared */
  int64_t index; /**< any number that the program likes, such as a rank or a place */
} lacuna_located_f32;
/** The same with an f64. */
typedef struct lacuna_located_f64 {
  double value;  /**< what is compared */
  int64_t index; /**< see lacuna_located_f32 */
} lacuna_located_f64;
/** The same with an i32. */
typedef struct lacuna_located_i32 {
  int32_t value; /**< what is compared */
  int64_t index; /**< see lacuna_located_f32 */
} lacuna_located_i32;
/** The same with an i64. */
typedef struct lacuna_located_i64 {
  int64_t value; /**< what is compared */
  int64_t index; /**< see lacuna_located_f32 */
} lacuna_located_i64;

/** An element of LACUNA_BF16: the upper half of a float. */
typedef struct lacuna_bf16 {
  uint16_t bits; /**< sign, 8 bits of exponent, 7 of fraction */
} lacuna_bf16;
/** An element of LACUNA_F16: IEEE 754 binary16. */
typedef struct lacuna_f16 {
  uint16_t bits; /**< sign, 5 bits of exponent, 10 of fraction */
} lacuna_f16;

/** How the elements of several ranks are combined. */
typedef enum lacuna_reduction {
  LACUNA_SUM = 0,  /**< their sum */
  LACUNA_AVG = 1,  /**< their mean; floating-point types only. It is in range where their sum is not */
  LACUNA_MIN = 2,  /**< the least */
  LACUNA_MAX = 3,  /**< the largest */
  LACUNA_PROD = 4, /**< their product */
  LACUNA_OWN = 5   /**< what a function of the program makes of them: lacuna_call.own */
} lacuna_reduction;

/**
 * A reduction of the program's own, for elements of LACUNA_BYTES_1 .. LACUNA_BYTES_64: for i in 0 .. count-1, inout[i]
 * becomes the reduction of inout[i] and in[i]. The arrays are disjoint, aligned to 64 bytes, and belong to the library.
 * It must be associative and commutative, because the algorithm chooses the order.
 *
 * It runs inside of calls of the library, on the thread that makes progress: a thread of the program that waits or
 * starts a call, or the library's own (LACUNA_THREAD). Several threads may run it at the same time. It must not call
 * the library, throw, jump out or wait for another rank. It should be quick, because messages of this rank may stand
 * still meanwhile. It can't fail: a program that needs errors keeps them in its elements.
 * @param context that of lacuna_own_reduction
 * @param in      elements that are reduced into those of `inout`
 * @param inout   elements, each of which becomes a result
 * @param count   elements of each array
 */
typedef void (*lacuna_own_function)(void* context, const void* in, void* inout, size_t count);

/** A reduction of the program's own; see lacuna_own_function. */
typedef struct lacuna_own_reduction {
  size_t struct_size;           /**< sizeof(lacuna_own_reduction) */
  lacuna_own_function function; /**< must not be null */
  void* context;                /**< what it gets; may differ between ranks, and must live until the call has ended */
  uint64_t id;                  /**< says which reduction it is: all ranks give the same number, else LACUNA_MISMATCH */
} lacuna_own_reduction;
/** No function. */
#define LACUNA_OWN_REDUCTION_INIT \
  { sizeof(lacuna_own_reduction), NULL, NULL, 0 }

/** What the ranks do together. lacuna_list_collectives() says what each of them needs. */
typedef enum lacuna_collective {
  LACUNA_ALLREDUCE = 0,        /**< output = reduction of all inputs, with equal bits on all ranks */
  LACUNA_REDUCE_SCATTER = 1,   /**< output = block `rank` of the reduction of all inputs */
  LACUNA_ALLGATHER = 2,        /**< output = all inputs in the order of ranks */
  LACUNA_BROADCAST = 3,        /**< output = the root's input */
  LACUNA_BARRIER = 4,          /**< it ends after all ranks have called it, and has no buffers */
  LACUNA_REDUCE = 5,           /**< the root's output = reduction of all inputs */
  LACUNA_GATHER = 6,           /**< the root's output = all inputs in the order of ranks */
  LACUNA_SCATTER = 7,          /**< output = block `rank` of the root's input */
  LACUNA_ALLTOALL = 8,         /**< block i of output = block `rank` of rank i's input */
  LACUNA_SCAN = 9,             /**< output = reduction of the inputs of ranks 0 .. rank; LACUNA_AVG is refused */
  LACUNA_EXCLUSIVE_SCAN = 10,  /**< output = reduction of the inputs of ranks 0 .. rank-1; rank 0's stays as it is */
  LACUNA_REDUCE_SCATTERV = 11, /**< reduce_scatter with blocks of different lengths, equal on all ranks */
  LACUNA_ALLGATHERV = 12,      /**< allgather with blocks of different lengths, equal on all ranks */
  LACUNA_GATHERV = 13,         /**< gather with blocks of different lengths; only the root gives them */
  LACUNA_SCATTERV = 14,        /**< scatter with blocks of different lengths; only the root gives them */
  LACUNA_ALLTOALLV = 15        /**< alltoall with blocks of different lengths */
} lacuna_collective;

/** Where a buffer lies. Data on a device are reduced there. They need liblacuna_cuda.so beside the library, and a
 * device. A call without these is refused with LACUNA_UNSUPPORTED. All buffers of a process lie on one device. */
typedef enum lacuna_memory_kind {
  LACUNA_MEMORY_HOST = 0,         /**< ordinary memory */
  LACUNA_MEMORY_CUDA = 1,         /**< memory of a CUDA device */
  LACUNA_MEMORY_CUDA_MANAGED = 2, /**< CUDA's managed memory, which is served as memory of the device */
  LACUNA_MEMORY_CUDA_HOST = 3     /**< pinned memory of the host, which is served as ordinary memory */
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

/** The ranks that call together: those of the job, or some of them. Ends with lacuna_communicator_free(). */
typedef struct lacuna_communicator lacuna_communicator;
/** A call in flight, prepared, or ended. Ends with lacuna_request_free(). */
typedef struct lacuna_request lacuna_request;
/** A method with its options: it says what a call gives up. Ends with lacuna_method_free(). */
typedef struct lacuna_method lacuna_method;
/** What a method remembers of one tensor from call to call. Ends with lacuna_state_free(). */
typedef struct lacuna_state lacuna_state;

/**
 * Brings the ranks of one job together. Rank 0 makes it by lacuna_make_unique_id(), and the program gives it to all
 * ranks. Whoever reads it can join the job.
 */
typedef struct lacuna_unique_id {
  unsigned char bytes[128]; /**< what the ranks share; only lacuna reads it */
} lacuna_unique_id;

/**
 * Gives `size` bytes of rank 0 to all ranks: rank 0 reads them, and all others overwrite them. Each rank calls it once,
 * in lacuna_join(), even if it can't join. Returns 0 if that has worked. `user` is that of the options.
 */
typedef int32_t (*lacuna_broadcast_function)(void* user, void* bytes, size_t size);

/**
 * An allgather that the program brings, in the shape that UCC takes it (ucc_oob_coll_t): functions made for UCC serve
 * here as they are. 0 means done, a positive status means in progress, and a negative one means failed.
 */
typedef struct lacuna_oob {
  /** Starts to gather `size` bytes of each rank, in the order of ranks. */
  int32_t (*allgather)(void* source, void* destination, size_t size, void* coll_info, void** request);
  int32_t (*req_test)(void* request); /**< says how far the request is */
  int32_t (*req_free)(void* request); /**< ends the request */
  void* coll_info;                    /**< what `allgather` gets */
  uint32_t n_oob_eps;                 /**< number of ranks */
  uint32_t oob_ep;                    /**< this process's rank */
} lacuna_oob;

/**
 * Says whether the program no longer wants to join: not 0 ends lacuna_join() with LACUNA_TIMED_OUT. The thread that
 * joins calls it about 20 times a second while it waits for other ranks, for instance to hear of Ctrl-C.
 */
typedef int32_t (*lacuna_interrupted_function)(void* user);

/**
 * How to join the job. Members that LACUNA_WORLD_OPTIONS_INIT has set come from the environment. If the environment
 * does not set them either, the launcher does (mpirun, torchrun ...), or the job has one rank. If a launcher announces
 * several ranks but no way by which they find each other, joining fails. A world_size of 1 needs no rank.
 *
 * With one of `broadcast`, `oob` and `id` the ranks need no store and no key. Beside `broadcast` and `oob` rank 0
 * listens at a free port; a store such as "10.0.0.1:0" says at which of its addresses.
 */
typedef struct lacuna_world_options {
  size_t struct_size;                  /**< sizeof(lacuna_world_options) */
  int32_t rank;                        /**< this process's number, 0 .. world_size-1; -1: LACUNA_RANK */
  int32_t world_size;                  /**< number of ranks; -1: LACUNA_SIZE */
  const char* store;                   /**< host:port where rank 0 listens; null: LACUNA_STORE */
  const char* key;                     /**< secret that admits a process to the job; null: LACUNA_KEY */
  int32_t progress;                    /**< a lacuna_progress_mode; -1: LACUNA_PROGRESS */
  lacuna_broadcast_function broadcast; /**< null: none; rank and world_size must be given with it */
  void* user;                          /**< what `broadcast` gets */
  const lacuna_oob* oob;               /**< null: none; it tells rank and world_size */
  const lacuna_unique_id* id;          /**< null: none; rank and world_size must be given with it */
  double timeout; /**< seconds to wait for the other ranks, rounded up to milliseconds; 0: LACUNA_BOOTSTRAP_TIMEOUT */
  lacuna_interrupted_function interrupted; /**< null: none */
  void* interrupted_user;                  /**< what `interrupted` gets */
} lacuna_world_options;
/** Every member comes from the environment. */
#define LACUNA_WORLD_OPTIONS_INIT \
  { sizeof(lacuna_world_options), -1, -1, NULL, NULL, -1, NULL, NULL, NULL, NULL, 0.0, NULL, NULL }

/**
 * Elements in memory that the caller owns. The memory must live until the call has ended. The library reads the
 * structure itself when the call starts. Any alignment is allowed.
 */
typedef struct lacuna_buffer {
  size_t struct_size; /**< sizeof(lacuna_buffer) */
  void* data;         /**< the first element; may be null if there are none */
  size_t count;       /**< elements, not bytes */
  int32_t dtype;      /**< a lacuna_dtype */
  int32_t memory;     /**< a lacuna_memory_kind */
  int32_t device;     /**< number of the device; unused for host memory */
  void* stream;       /**< stream after which a device buffer is ready; unused for host memory */
} lacuna_buffer;
/** A buffer of f32 in host memory without elements. */
#define LACUNA_BUFFER_INIT \
  { sizeof(lacuna_buffer), NULL, 0, LACUNA_F32, LACUNA_MEMORY_HOST, 0, NULL }

/**
 * Blocks of different lengths in one buffer, one for each rank. Each table has a number for each rank of the
 * communicator and belongs to the caller. The library reads counts and offsets when a call starts, and not later. All
 * numbers are in elements.
 */
typedef struct lacuna_blocks {
  size_t struct_size;    /**< sizeof(lacuna_blocks) */
  const size_t* counts;  /**< length of each block; 0 is allowed */
  const size_t* offsets; /**< where each block begins, ascending; null: without spaces between them */
  /**
   * For the output of gatherv and alltoallv; null elsewhere. If it is not null, counts are the most elements that may
   * come. When the call ends, this table has the number of elements that came from each rank. It must live until then.
   */
  size_t* received;
} lacuna_blocks;
/** No tables. At least counts must be set. */
#define LACUNA_BLOCKS_INIT \
  { sizeof(lacuna_blocks), NULL, NULL, NULL }

/**
 * Says that a buffer does not hold all elements but a list of entries. The method says how many elements an entry has:
 * one, or m. The values i*m .. i*m+m-1 of the buffer are those of the elements places[i]*m .. places[i]*m+m-1, and all
 * other elements are 0. The count of the buffer is then m times the number of entries, or, for an output, of those that
 * there is room for. This is for allreduce, reduce_scatter and allgather with a method that takes entries, and never in
 * place. Each rank gives as many entries as it likes. Either all ranks ask for entries as output, or none does.
 */
typedef struct lacuna_entries {
  size_t struct_size; /**< sizeof(lacuna_entries) */
  /**
   * A place for each entry; may be null if there are none. For an input they have any order, and entries of the same
   * place add up. For an output they are written, ascending, each once. They lie in the memory of the buffer, and must
   * live until the call has ended.
   */
  uint32_t* places;
  size_t length; /**< the number of all elements */
  size_t* found; /**< for an output: becomes the number of entries when the call ends; null for an input */
} lacuna_entries;
/** No entries of no elements. */
#define LACUNA_ENTRIES_INIT \
  { sizeof(lacuna_entries), NULL, 0, NULL }

/**
 * One call of a collective, for lacuna_execute(). What a rank or a collective does not have is not looked at and may be
 * null: buffers and blocks that only the root has, the reduction of a collective that does not reduce, the root of one
 * without a root.
 */
typedef struct lacuna_call {
  size_t struct_size;                   /**< sizeof(lacuna_call) */
  int32_t collective;                   /**< a lacuna_collective */
  int32_t reduction;                    /**< a lacuna_reduction */
  int32_t root;                         /**< 0 .. size-1 */
  const lacuna_buffer* input;           /**< what the rank gives */
  const lacuna_buffer* output;          /**< where its result goes; the input itself for a call in place */
  const lacuna_blocks* input_blocks;    /**< of a v form whose input has blocks */
  const lacuna_blocks* output_blocks;   /**< of a v form whose output has blocks */
  const lacuna_entries* input_entries;  /**< null: the input holds all elements */
  const lacuna_entries* output_entries; /**< null: the output holds all elements */
  const lacuna_own_reduction* own;      /**< of LACUNA_OWN, read when the call starts; else it is not looked at */
} lacuna_call;
/** A barrier. Else at least collective, input and output must be set. */
#define LACUNA_CALL_INIT \
  { sizeof(lacuna_call), LACUNA_BARRIER, LACUNA_SUM, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL }

/**
 * Source of random choices, a plain value that the caller owns. All ranks must hold equal ones. A program that saves
 * and restores the three numbers repeats the choices. This structure has no struct_size and never gets new members.
 */
typedef struct lacuna_sampler {
  uint64_t seed; /**< equal seeds give equal choices */
  uint64_t key;  /**< chosen by the caller, for instance the number of a tensor */
  uint64_t draw; /**< a random call advances it by one when it starts */
} lacuna_sampler;

/** How a call is carried out. All members but priority, deadline, notify, token and prepare are equal on all ranks. */
typedef struct lacuna_options {
  size_t struct_size;          /**< sizeof(lacuna_options) */
  const char* algorithm;       /**< name of the algorithm, read when the call starts; null: lacuna chooses */
  const lacuna_method* method; /**< what the call gives up, read when it starts; null: nothing */
  lacuna_state* state;     /**< of this tensor, if the method needs one; must live until the call has ended, or until
                              the prepared request has been freed */
  lacuna_sampler* sampler; /**< source of random choices; null: that of the state, or else that of the communicator,
                              which is equal in equal jobs and differs between the communicators of a job */
  int32_t priority;        /**< a lacuna_priority */
  double deadline; /**< seconds from the start, rounded up to milliseconds; 0: LACUNA_DEADLINE; INFINITY: never */
  int32_t notify;  /**< not 0: token enters the completion queue when the call ends */
  uint64_t token;  /**< what lacuna_next_completion() returns */
  int32_t prepare; /**< not 0: the call makes the request and starts nothing; see lacuna_start() */
} lacuna_options;
/** Every member has its default. A null pointer to options means the same. */
#define LACUNA_OPTIONS_INIT \
  { sizeof(lacuna_options), NULL, NULL, NULL, NULL, LACUNA_NORMAL, 0.0, 0, 0, 0 }

/** What the transport has counted since the start. Bytes that a receiver fetches count as sent by the sender. */
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
 * Any thread may call these functions.
 * @{
 */
/** Version of the library, for instance "0.1.0". @return static text */
LACUNA_EXPORT const char* lacuna_version(void);
/** The words for a status, for instance "timed out". @return static text, for any number */
LACUNA_EXPORT const char* lacuna_status_text(lacuna_status status);
/**
 * What went wrong in the calling thread's last failed call.
 * @return never null; empty before the first failure; valid until this thread's next failed call
 */
LACUNA_EXPORT const char* lacuna_last_error(void);
/**
 * Makes a text the calling thread's last error, for libraries that extend this interface.
 * @param status what to return; with LACUNA_OK the last error stays
 * @param text   what went wrong
 * @return status
 */
LACUNA_EXPORT lacuna_status lacuna_fail(lacuna_status status, const char* text);
/**
 * Receives a log line. It runs on the thread that logs, which holds no lock of lacuna then. Lines of lacuna's own
 * threads come on a thread that does nothing else. So the callback may wait for a lock that another thread holds while
 * that thread calls lacuna, such as the lock of an interpreter. It must not call lacuna.
 * @param level 0 error, 1 warning, 2 info, 3 debug
 * @param text  the line, which begins with its subsystem and has no line end; valid during the call
 * @param user  what was given to lacuna_set_log_callback()
 */
typedef void (*lacuna_log_callback)(int32_t level, const char* text, void* user);
/**
 * Sends the log lines of this process that LACUNA_LOG lets through to a callback instead of standard error. One kind of
 * line goes to standard error as well: that ranks did not agree although all their calls have ended well. Nothing else
 * reports this.
 * @param callback null: standard error again. For a moment longer a line may still reach the former callback
 * @param user     passed to the callback
 */
LACUNA_EXPORT void lacuna_set_log_callback(lacuna_log_callback callback, void* user);
/** @} */

/**
 * @defgroup memory Memory that other ranks can map
 * Any thread may call these functions.
 * @{
 */
/**
 * Memory that the other ranks of this host can map into their processes. From LACUNA_MAPPED bytes on they read messages
 * there, where they lie, so that inside a host no message of this memory is copied on its way. Any buffer of any call
 * may lie in it, and nothing else changes: the other buffer of a call may be ordinary, and so may those of other ranks.
 * Where the system gives no such memory, and beyond LACUNA_MAPPABLE bytes, the memory is ordinary. After fork() both
 * processes see the same pages, other than with ordinary memory.
 * @param bytes  how many, 0 too
 * @param memory becomes the address, a multiple of 64; what it holds is undefined; the caller's until lacuna_free()
 * @return LACUNA_INTERNAL if there is no memory
 */
LACUNA_EXPORT lacuna_status lacuna_alloc(size_t bytes, void** memory);
/**
 * Gives back what lacuna_alloc() has returned, once no call uses it any more. 256 MiB of such pages are kept for the
 * next time, and the others go back to the system. Null is allowed.
 */
LACUNA_EXPORT void lacuna_free(void* memory);
/** @} */

/**
 * @defgroup elements Elements of 16 bits
 * Any thread may call these functions.
 * @{
 */
/** Rounds to the nearest bf16, and ties to even. What is too large becomes infinity, and NaNs become quiet. */
LACUNA_EXPORT lacuna_bf16 lacuna_to_bf16(float value);
/** Rounds to the nearest f16, and ties to even. What is too large becomes infinity, and NaNs become quiet. */
LACUNA_EXPORT lacuna_f16 lacuna_to_f16(float value);
/** The float of the same value. */
LACUNA_EXPORT float lacuna_from_bf16(lacuna_bf16 value);
/** The float of the same value. */
LACUNA_EXPORT float lacuna_from_f16(lacuna_f16 value);
/** @} */

/**
 * @defgroup communicators Communicators
 * Any thread may call these functions, with any communicator.
 * @{
 */
/**
 * Makes an id for one job whose rank 0 is this process. From now on rank 0 listens, at a free port of `address`, such
 * as "10.0.0.1" or "[fd00::1]", or of all addresses of this host if that is null.
 */
LACUNA_EXPORT lacuna_status lacuna_make_unique_id(const char* address, lacuna_unique_id* id);

/**
 * Joins the job. Blocks until all ranks have joined, at most for options.timeout.
 * @param options      null: everything comes from the environment
 * @param communicator becomes the communicator of all ranks, for lacuna_communicator_free()
 */
LACUNA_EXPORT lacuna_status lacuna_join(const lacuna_world_options* options, lacuna_communicator** communicator);
/**
 * Ends a handle. When the last of the job's communicators and requests is freed, the rank leaves the job, and the
 * other ranks learn of it. Requests may be freed before or after. Null is allowed.
 */
LACUNA_EXPORT void lacuna_communicator_free(lacuna_communicator* communicator);
/** This process's number, 0 .. size-1. @return -1 if communicator is null */
LACUNA_EXPORT int32_t lacuna_rank(const lacuna_communicator* communicator);
/** Number of ranks. @return -1 if communicator is null */
LACUNA_EXPORT int32_t lacuna_size(const lacuna_communicator* communicator);
/**
 * This process's number among the ranks of the communicator on its host. Programs choose a device or cores by it.
 * @return -1 if communicator is null
 */
LACUNA_EXPORT int32_t lacuna_local_rank(const lacuna_communicator* communicator);
/** Number of ranks of the communicator on this process's host. @return -1 if communicator is null */
LACUNA_EXPORT int32_t lacuna_local_size(const lacuna_communicator* communicator);
/** LACUNA_OK, or the failure that has poisoned the communicator. Every later call returns that failure. */
LACUNA_EXPORT lacuna_status lacuna_communicator_status(const lacuna_communicator* communicator);
/**
 * Divides the ranks into communicators: ranks that give the same colour are in the same one. All ranks call this
 * function; it blocks. The communicators progress and fail independently of each other. But a rank that dies or stops
 * poisons all communicators of the job.
 * @param communicator whose ranks are divided
 * @param colour       0 or more; negative: this rank takes no part
 * @param key          orders the ranks of a new communicator; ranks with equal keys keep their order
 * @param part         becomes this rank's new communicator, for lacuna_communicator_free(), or null
 */
LACUNA_EXPORT lacuna_status lacuna_split(lacuna_communicator* communicator, int32_t colour, int32_t key,
                                         lacuna_communicator** part);
/**
 * Makes one communicator of some ranks. All ranks call this function with the same list; it blocks. With an empty list
 * no rank gets a communicator.
 * @param communicator whose ranks these are
 * @param ranks        the list, in the new order
 * @param count        its length
 * @param part         becomes the new communicator, for lacuna_communicator_free(); null on ranks that are not listed
 */
LACUNA_EXPORT lacuna_status lacuna_subgroup(lacuna_communicator* communicator, const int32_t* ranks, size_t count,
                                            lacuna_communicator** part);
/** Fills counters with this rank's traffic with the communicator's ranks. Its struct_size must be set. */
LACUNA_EXPORT lacuna_status lacuna_get_counters(const lacuna_communicator* communicator, lacuna_counters* counters);
/**
 * Writes all counters of this rank, for its whole job, as text that ends with a zero byte.
 * @param communicator any communicator of the job
 * @param format       a lacuna_counters_format
 * @param text         where the text goes; with capacity 0 it may be null
 * @param capacity     bytes of text
 * @param length       becomes the text's length without the zero byte, also if capacity is not larger than that. Then
 *                     the call fails with LACUNA_INVALID_ARGUMENT, and text stays as it is
 */
LACUNA_EXPORT lacuna_status lacuna_counters_text(const lacuna_communicator* communicator, int32_t format, char* text,
                                                 size_t capacity, size_t* length);
/** @} */

/**
 * @defgroup collectives Collectives
 * All ranks of a communicator make these calls, in the same order, with equal arguments except for pointers and for the
 * members that lacuna_options names. Several threads may make them only if they agree on that order.
 *
 * Each collective has a function of its own, which returns when the call has ended. lacuna_execute() makes the same
 * calls from a description: with options, as requests, and with more forms of buffers. Some ranks may use the one and
 * others the other.
 *
 * `count` is the number of elements of the smaller buffer: all data of an allreduce, one block of a collective whose
 * input or output has a block for each rank. The v forms have blocks of different lengths. Their `counts` have a length
 * for each rank. Their `offsets` say where each block begins, ascending; null means without spaces between them. All
 * numbers are in elements. Buffers, counts and offsets that only the root has may be null on other ranks.
 *
 * Input and output are disjoint or in place. In place means that they are the same memory: `output == input`. If one of
 * them is larger, because it has a block for each rank, then the smaller one is block `rank` of the larger:
 * `output == input + rank * count` for a reduce_scatter, `input == output + rank * count` for an allgather.
 *
 * If a call fails at its start, nothing was sent, and the communicator is as before. If it fails later, the error
 * poisons the communicator on all its ranks, and no other communicator. (Once rank 0 of the job has left, the error
 * poisons the communicator only on the rank that found it.) The errors are:
 *
 * - LACUNA_MISMATCH: ranks asked for different things.
 * - LACUNA_TIMED_OUT: the deadline has passed.
 * - LACUNA_TRANSPORT: a connection broke.
 * - LACUNA_PEER_FAILED: a rank has left. If a rank died or stopped, all communicators of the job end.
 * - LACUNA_INVALID_ARGUMENT: the data of one rank were refused while the call ran. The text names the rank. On a
 *   communicator of one rank only the call ends.
 *
 * A call that waits for a rank, directly or through others, has been agreed on with it, and so have all calls before.
 * Some calls wait for nobody: the root's broadcast, a reduce on a rank that only sends, the first ranks of a scan. Such
 * a call may end with LACUNA_OK although others asked for something else. Then the next call that hears of them returns
 * LACUNA_MISMATCH. If no call follows, an error on the log names the call and both sides when the ranks leave. For that
 * rank 0 compares itself with all ranks that have left before it or leave with it, and the others compare themselves
 * with rank 0. One case remains unseen: members of a communicator without the job's rank 0 differ, and one of them
 * leaves after that rank. A lacuna_barrier() on that communicator before the end prevents this.
 *
 * A blocking call that fails returns when nothing touches its buffers any more. Sometimes this cannot be known within
 * some seconds, because a rank does not answer or a network card may still write. Then lacuna_last_error() says that
 * the buffers are still in use, and they must live until the process ends.
 * @{
 */
/** output = reduction of all inputs, with equal bits on all ranks. Both have `count` elements, on all ranks. */
LACUNA_EXPORT lacuna_status lacuna_allreduce(lacuna_communicator* communicator, const void* input, void* output,
                                             size_t count, lacuna_dtype dtype, lacuna_reduction reduction);
/** output = block `rank` of the reduction of all inputs. output has `count` elements, input size * `count`. */
LACUNA_EXPORT lacuna_status lacuna_reduce_scatter(lacuna_communicator* communicator, const void* input, void* output,
                                                  size_t count, lacuna_dtype dtype, lacuna_reduction reduction);
/** output = all inputs in the order of ranks. input has `count` elements, output size * `count`. */
LACUNA_EXPORT lacuna_status lacuna_allgather(lacuna_communicator* communicator, const void* input, void* output,
                                             size_t count, lacuna_dtype dtype);
/** data = the root's data. */
LACUNA_EXPORT lacuna_status lacuna_broadcast(lacuna_communicator* communicator, void* data, size_t count,
                                             lacuna_dtype dtype, int32_t root);
/** The root's output = reduction of all inputs. */
LACUNA_EXPORT lacuna_status lacuna_reduce(lacuna_communicator* communicator, const void* input, void* output,
                                          size_t count, lacuna_dtype dtype, lacuna_reduction reduction, int32_t root);
/** The root's output = all inputs in the order of ranks. input has `count` elements, output size * `count`. */
LACUNA_EXPORT lacuna_status lacuna_gather(lacuna_communicator* communicator, const void* input, void* output,
                                          size_t count, lacuna_dtype dtype, int32_t root);
/** output = block `rank` of the root's input. output has `count` elements, input size * `count`. */
LACUNA_EXPORT lacuna_status lacuna_scatter(lacuna_communicator* communicator, const void* input, void* output,
                                           size_t count, lacuna_dtype dtype, int32_t root);
/** Block i of output = block `rank` of rank i's input. Each block has `count` elements. */
LACUNA_EXPORT lacuna_status lacuna_alltoall(lacuna_communicator* communicator, const void* input, void* output,
                                            size_t count, lacuna_dtype dtype);
/** output = reduction of the inputs of ranks 0 .. rank. LACUNA_AVG is refused. */
LACUNA_EXPORT lacuna_status lacuna_scan(lacuna_communicator* communicator, const void* input, void* output,
                                        size_t count, lacuna_dtype dtype, lacuna_reduction reduction);
/** output = reduction of the inputs of ranks 0 .. rank-1. Rank 0's output stays as it is. LACUNA_AVG is refused. */
LACUNA_EXPORT lacuna_status lacuna_exclusive_scan(lacuna_communicator* communicator, const void* input, void* output,
                                                  size_t count, lacuna_dtype dtype, lacuna_reduction reduction);
/** output = block `rank` of the reduction of all inputs. counts and offsets divide the input. The counts are equal on
 * all ranks, and output has counts[rank] elements. */
LACUNA_EXPORT lacuna_status lacuna_reduce_scatterv(lacuna_communicator* communicator, const void* input,
                                                   const size_t* counts, const size_t* offsets, void* output,
                                                   lacuna_dtype dtype, lacuna_reduction reduction);
/** output = all inputs in the order of ranks. counts and offsets divide the output. The counts are equal on all ranks,
 * and input has counts[rank] elements. */
LACUNA_EXPORT lacuna_status lacuna_allgatherv(lacuna_communicator* communicator, const void* input, void* output,
                                              const size_t* counts, const size_t* offsets, lacuna_dtype dtype);
/** The root's output = all inputs in the order of ranks. input has `count` elements. Only the root gives counts and
 * offsets, which divide its output. */
LACUNA_EXPORT lacuna_status lacuna_gatherv(lacuna_communicator* communicator, const void* input, size_t count,
                                           void* output, const size_t* counts, const size_t* offsets,
                                           lacuna_dtype dtype, int32_t root);
/** output = block `rank` of the root's input. output has `count` elements. Only the root gives counts and offsets,
 * which divide its input. */
LACUNA_EXPORT lacuna_status lacuna_scatterv(lacuna_communicator* communicator, const void* input, const size_t* counts,
                                            const size_t* offsets, void* output, size_t count, lacuna_dtype dtype,
                                            int32_t root);
/**
 * Block i of output = block `rank` of rank i's input. What a rank sends to another is as long as the other one expects.
 * In place, the counts and offsets of both sides are equal.
 */
LACUNA_EXPORT lacuna_status lacuna_alltoallv(lacuna_communicator* communicator, const void* input,
                                             const size_t* input_counts, const size_t* input_offsets, void* output,
                                             const size_t* output_counts, const size_t* output_offsets,
                                             lacuna_dtype dtype);
/** Ends after all ranks have called it. */
LACUNA_EXPORT lacuna_status lacuna_barrier(lacuna_communicator* communicator);

/**
 * Makes a call from its description. Input and output have the same dtype and lie in one kind of memory. Their counts
 * fit together as in the function of the collective. The buffers of v forms may be longer than needed.
 * @param communicator whose ranks make the call
 * @param call         what is asked for
 * @param options      how it is carried out; may be null
 * @param request      null: the function returns when the call has ended, with the outcome of the call. Else it starts
 *                     the call and puts a request there, for lacuna_request_free(). By default nothing moves then while
 *                     the caller works, but only inside lacuna_test(), lacuna_wait() and other functions; with
 *                     LACUNA_PROGRESS=thread a thread moves the messages. With options.prepare it only makes the
 *                     request, which counts as ended until lacuna_start()
 */
LACUNA_EXPORT lacuna_status lacuna_execute(lacuna_communicator* communicator, const lacuna_call* call,
                                           const lacuna_options* options, lacuna_request** request);
/** @} */

/**
 * @defgroup messages Messages
 * A message goes from one rank to another, or to itself. Each rank calls only its own side, in any order and from any
 * thread. Messages of one sender with one tag are received in the order in which they were sent.
 *
 * If `request` is null, the function returns when the message has ended, with the outcome. Else it starts the message
 * and puts a request there, for lacuna_request_free(). By default nothing moves then while the caller works, but only
 * inside lacuna_test(), lacuna_wait() and other functions; with LACUNA_PROGRESS=thread a thread moves the messages.
 * Tags are 0 or more. `options` may be null and may differ between the sides. An algorithm and a method are refused
 * with LACUNA_INVALID_ARGUMENT, prepare with LACUNA_UNSUPPORTED.
 * @{
 */
/** The sender of a receive that takes the message of any rank. */
#define LACUNA_ANY_RANK (-2)
/** The rank of a place without a neighbour. */
#define LACUNA_NOBODY (-1)
/** Sends data to rank `to`. It ends when data may be changed, which may be before the receiver has asked for it. */
LACUNA_EXPORT lacuna_status lacuna_send(lacuna_communicator* communicator, const lacuna_buffer* data, int32_t to,
                                        int32_t tag, const lacuna_options* options, lacuna_request** request);
/**
 * Takes the next message of this sender and tag. A message of another dtype, or with more elements than data has, ends
 * the receive with LACUNA_MISMATCH and is dropped. The communicator can still be used.
 * @param communicator whose ranks these are
 * @param data         where the message goes; its count is the most elements that it can take
 * @param from         rank of the sender, or LACUNA_ANY_RANK
 * @param tag          0 or more
 * @param options      may be null
 * @param count        becomes the number of elements received; may be null. It is written only if request is null;
 *                     else see lacuna_received_bytes()
 * @param request      null: wait for the end
 */
LACUNA_EXPORT lacuna_status lacuna_receive(lacuna_communicator* communicator, const lacuna_buffer* data, int32_t from,
                                           int32_t tag, const lacuna_options* options, size_t* count,
                                           lacuna_request** request);
/**
 * Makes progress, and looks for a message without taking it. Fails where a receive would be refused.
 * @param communicator whose ranks these are
 * @param from         rank of the sender
 * @param tag          0 or more
 * @param found        becomes 1 if a message of this sender and tag waits to be received, else 0
 * @param bytes        becomes its length; 0 if there is none
 */
LACUNA_EXPORT lacuna_status lacuna_probe(lacuna_communicator* communicator, int32_t from, int32_t tag, int32_t* found,
                                         uint64_t* bytes);
/** *bytes becomes the bytes that a receive has taken if it ended well, and 0 for any other request. */
LACUNA_EXPORT lacuna_status lacuna_received_bytes(const lacuna_request* request, uint64_t* bytes);
/**
 * *from becomes the rank whose message a receive has taken if it ended well, and LACUNA_ANY_RANK for any other request.
 */
LACUNA_EXPORT lacuna_status lacuna_received_from(const lacuna_request* request, int32_t* from);
/**
 * Takes the next message of this tag from any rank, and waits for it. To start such a receive, give LACUNA_ANY_RANK to
 * lacuna_receive(). A message meets the receive that was started first among those that take its tag from its sender
 * or from any rank. Messages of one sender still come in the order in which they were sent.
 * @param communicator whose ranks these are
 * @param data         where the message goes; its count is the most elements that it can take
 * @param tag          0 or more
 * @param options      may be null
 * @param from         becomes the rank of the sender
 * @param count        becomes the number of elements received; may be null
 */
LACUNA_EXPORT lacuna_status lacuna_receive_any(lacuna_communicator* communicator, const lacuna_buffer* data,
                                               int32_t tag, const lacuna_options* options, int32_t* from,
                                               size_t* count);
/**
 * Sends one message and receives another one, in one call. Ranks that all do this at once do not wait for each other in
 * a circle. The buffers must not overlap.
 * @param communicator whose ranks these are
 * @param out          what is sent
 * @param to           rank of the receiver
 * @param in           where the message goes; its count is the most elements that it can take
 * @param from         rank of the sender, or LACUNA_ANY_RANK. It may be equal to `to`, and both may be this rank
 * @param tag          of both messages, 0 or more
 * @param options      of both messages; may be null
 * @param count        becomes the number of elements received; may be null. It is written only if request is null;
 *                     else see lacuna_received_bytes()
 * @param request      null: wait for the end of both. Else it becomes the request of both
 */
LACUNA_EXPORT lacuna_status lacuna_sendrecv(lacuna_communicator* communicator, const lacuna_buffer* out, int32_t to,
                                            const lacuna_buffer* in, int32_t from, int32_t tag,
                                            const lacuna_options* options, size_t* count, lacuna_request** request);
/** @} */

/**
 * @defgroup exchanges Neighbour exchanges
 * A rank sends one message to each of its neighbours and receives one from each, as codes do that cut a domain into
 * boxes. Only the neighbours wait for each other.
 * @{
 */
/**
 * A rank with which this rank exchanges data. Two ranks may be neighbours several times, and a rank may be its own
 * neighbour. What a rank sends in direction d arrives where its neighbour receives from direction d. So each message
 * to a rank, and each from a rank, has another direction, 0 .. 32767. lacuna_grid_neighbours() fills this.
 */
typedef struct lacuna_neighbour {
  int32_t rank;              /**< LACUNA_NOBODY: nothing is exchanged at this place */
  int32_t send_direction;    /**< of what is sent to it */
  int32_t receive_direction; /**< its send_direction for what it sends */
} lacuna_neighbour;
/** What is exchanged with one neighbour. */
typedef struct lacuna_halo {
  const void* send;     /**< goes to the neighbour */
  size_t send_count;    /**< elements */
  void* receive;        /**< is filled by the neighbour; must overlap no other buffer of the exchange */
  size_t receive_count; /**< elements; exactly as many as the neighbour sends */
  int32_t dtype;        /**< a lacuna_dtype */
} lacuna_halo;
/**
 * Exchanges halos[i] with neighbours[i]. The halos lie in host memory. If a message is longer or shorter than its
 * receiver expects, or has another dtype, the exchange fails with LACUNA_MISMATCH, and so does the communicator on all
 * ranks: here at once, elsewhere as soon as they hear of it. Empty halos are exchanged too. Exchanges with one tag meet
 * in the order in which they were started.
 * @param communicator whose ranks these are
 * @param neighbours   with whom; only read during this call
 * @param halos        what; only read during this call
 * @param count        how many neighbours and halos there are
 * @param tag          0 .. 65535. Tags of exchanges and of messages are different ones
 * @param options      may be null and may differ between ranks. An algorithm and a method are refused
 * @param request      null: wait for the end. Else it becomes the request. With options.prepare it is one that counts
 * as ended until lacuna_start()
 */
LACUNA_EXPORT lacuna_status lacuna_exchange(lacuna_communicator* communicator, const lacuna_neighbour* neighbours,
                                            const lacuna_halo* halos, size_t count, int32_t tag,
                                            const lacuna_options* options, lacuna_request** request);
/** A kind of memory, for lacuna_exchange_in(). */
typedef struct lacuna_memory {
  size_t struct_size; /**< sizeof(lacuna_memory) */
  int32_t kind;       /**< a lacuna_memory_kind */
  int32_t device;     /**< number of the device; unused for host memory */
  void* stream;       /**< stream after which what lies on a device is ready; unused for host memory */
} lacuna_memory;
/** Host memory. */
#define LACUNA_MEMORY_INIT \
  { sizeof(lacuna_memory), LACUNA_MEMORY_HOST, 0, NULL }
/** lacuna_exchange() of halos that all lie in this memory; null: in host memory. */
LACUNA_EXPORT lacuna_status lacuna_exchange_in(lacuna_communicator* communicator, const lacuna_memory* memory,
                                               const lacuna_neighbour* neighbours, const lacuna_halo* halos,
                                               size_t count, int32_t tag, const lacuna_options* options,
                                               lacuna_request** request);
/**
 * Fills lengths[0 .. dimensions-1] with the lengths of a grid of `size` ranks. They are close to each other, and
 * descend.
 */
LACUNA_EXPORT lacuna_status lacuna_balanced_grid(int32_t size, int32_t dimensions, int32_t* lengths);
/**
 * Fills neighbours[0 .. 2*dimensions-1] with those of a rank in a grid, whose last coordinate changes fastest from one
 * rank to the next. neighbours[2*d] is the rank before this one in dimension d, and neighbours[2*d+1] the one behind
 * it.
 * @param lengths    ranks along each dimension
 * @param periodic   not 0 for dimensions whose last rank stands next to the first; null: none
 * @param dimensions how many there are
 * @param rank       whose neighbours these are
 * @param neighbours what is filled; beyond a border the rank is LACUNA_NOBODY
 */
LACUNA_EXPORT lacuna_status lacuna_grid_neighbours(const int32_t* lengths, const int32_t* periodic, int32_t dimensions,
                                                   int32_t rank, lacuna_neighbour* neighbours);
/** @} */

/**
 * @defgroup requests Requests
 * A request belongs to one thread at a time; different requests may be used by different threads.
 * @{
 */
/**
 * Starts a request that a call with options.prepare has made. The rules of that call hold: all ranks start it in the
 * same order, and some of them may make the call itself instead. The request can be started again once it has ended.
 * Its buffers, and its sampler or state, must live until it is freed. If this function fails, nothing was sent. After
 * LACUNA_BUSY, try again. By default nothing moves while the caller works; with LACUNA_PROGRESS=thread a thread moves
 * the messages.
 */
LACUNA_EXPORT lacuna_status lacuna_start(lacuna_request* request);
/** Makes progress. *finished becomes 1 once the call has ended, well or not, else 0. lacuna_wait() returns its outcome.
 */
LACUNA_EXPORT lacuna_status lacuna_test(lacuna_request* request, int32_t* finished);
/**
 * Waits for the end of a call. It may be called again after the end.
 * @param request the call
 * @param timeout seconds at most, rounded up to microseconds; negative: until the call's deadline
 * @return the call's outcome. LACUNA_TIMED_OUT means that the call still ran after the timeout, or that its deadline
 * has ended it. lacuna_test() tells whether it still runs. If not, lacuna_wait() returns the outcome, which may be good
 */
LACUNA_EXPORT lacuna_status lacuna_wait(lacuna_request* request, double timeout);
/**
 * Waits until all of these requests have ended, well or not, also some that have ended before. Null stands for a
 * request that has ended well. All belong to this rank.
 * @param requests array of `count` requests
 * @param count    how many there are
 * @param timeout  seconds at most, rounded up to microseconds; negative: until the deadlines of the requests
 * @param index    becomes the first place whose request failed. If the timeout has passed, it becomes the first place
 *                 whose request goes on, which lacuna_test() tells. If all have ended well, it becomes `count`
 * @return LACUNA_OK, or the outcome of the request at *index. lacuna_wait() of the others returns theirs
 */
LACUNA_EXPORT lacuna_status lacuna_wait_all(lacuna_request* const* requests, size_t count, double timeout,
                                            size_t* index);
/**
 * Waits until one of these requests has ended. A program frees that one, and puts null in its place, before it waits
 * for the next.
 * @param requests array of `count` requests; null is no request. All belong to this rank
 * @param count    how many there are
 * @param timeout  seconds at most, rounded up to microseconds; negative: until the deadline of a request
 * @param index    becomes the lowest place whose request has ended; `count` if the timeout has passed or all are null
 * @return the outcome of that request; LACUNA_OK if all are null; LACUNA_TIMED_OUT if the timeout has passed
 */
LACUNA_EXPORT lacuna_status lacuna_wait_any(lacuna_request* const* requests, size_t count, double timeout,
                                            size_t* index);
/** Makes progress. If a request has ended, it does as lacuna_wait_any(). Else *index becomes `count`, with LACUNA_OK.
 */
LACUNA_EXPORT lacuna_status lacuna_test_any(lacuna_request* const* requests, size_t count, size_t* index);
/**
 * Makes a stream of the program, a cudaStream_t, wait for the end of a call: work that enters the stream after this
 * function begins once the call has ended, also if it fails, which lacuna_wait() tells. The host does not wait. It
 * needs LACUNA_PROGRESS=thread, and a call before whose data lay on a device. An error changes nothing.
 * @param request the call
 * @param stream  the stream; null is the default stream
 */
LACUNA_EXPORT lacuna_status lacuna_hold_stream(lacuna_request* request, void* stream);
/**
 * Says after a failure whether the buffers are free: *reclaimed becomes 1 once nothing touches them any more, else 0.
 * It may stay 0 until the process ends, if a network card, or a rank that did not answer, can reach them. lacuna_wait()
 * waits some seconds for it.
 */
LACUNA_EXPORT lacuna_status lacuna_reclaimed(lacuna_request* request, int32_t* reclaimed);
/** Ends a handle. Waits for an unfinished call as lacuna_wait() does, at most until its deadline. Null is allowed. */
LACUNA_EXPORT void lacuna_request_free(lacuna_request* request);
/** @} */

/**
 * @defgroup methods Methods
 * A method says what calls give up, and a state holds what the method remembers. `lacuna list` shows all methods, and
 * `lacuna list METHOD` the options of one. Several threads and calls may use a method at a time, but only one call a
 * state.
 * @{
 */
/**
 * Makes a method with options. These must be equal on all ranks.
 * @param name    of the method, as `lacuna list` shows it
 * @param options for instance "steps=2,mode=random"; null or empty: all defaults
 * @param method  becomes the method, for lacuna_method_free(), which is allowed while calls that use it run
 */
LACUNA_EXPORT lacuna_status lacuna_method_create(const char* name, const char* options, lacuna_method** method);
/**
 * Says how many elements an entry of a lacuna_entries has in calls with this method.
 * @param method   with its options
 * @param elements becomes their number, or 0 if calls with this method take no entries
 */
LACUNA_EXPORT lacuna_status lacuna_entry_length(const lacuna_method* method, size_t* elements);
/** Ends a handle. Null is allowed. */
LACUNA_EXPORT void lacuna_method_free(lacuna_method* method);

/**
 * Makes a state without runs. The arguments must be equal on all ranks.
 * @param method that the state is for, with any options. A call with another method refuses the state. Null: any method
 * @param seed   of the state's sampler, which serves calls that have no sampler of their own
 * @param key    of the state's sampler, for instance the number of the tensor
 * @param state  becomes the state, for lacuna_state_free()
 */
LACUNA_EXPORT lacuna_status lacuna_state_create(const lacuna_method* method, uint64_t seed, uint64_t key,
                                                lacuna_state** state);
/** Ends a handle that no call uses any more. Null is allowed. */
LACUNA_EXPORT void lacuna_state_free(lacuna_state* state);

/**
 * Says which states belong to the tensors of one model. A method may compare what they hold, for instance the
 * importance of segments. All ranks give the same list. It is not saved with the state.
 * @param state  not in use by a call
 * @param states all of the model, this one too; copied. They must live as long as calls with `state`
 * @param count  their number; 0: the state belongs to no model
 */
LACUNA_EXPORT lacuna_status lacuna_state_set_model(lacuna_state* state, lacuna_state* const* states, size_t count);

/** What a state holds beside its arrays. */
typedef struct lacuna_state_values {
  size_t struct_size;     /**< sizeof(lacuna_state_values) */
  lacuna_sampler sampler; /**< as it is now */
  uint64_t runs;          /**< calls started with it */
  size_t arrays;          /**< their number */
} lacuna_state_values;
/** Zeros. */
#define LACUNA_STATE_VALUES_INIT \
  { sizeof(lacuna_state_values), {0, 0, 0}, 0, 0 }
/** Fills values. Its struct_size must be set. */
LACUNA_EXPORT lacuna_status lacuna_get_state(const lacuna_state* state, lacuna_state_values* values);

/** A named array of a state. For instance "residual" holds what this rank has not contributed yet. */
typedef struct lacuna_state_array {
  size_t struct_size; /**< sizeof(lacuna_state_array) */
  const char* name;   /**< belongs to the state; valid as long as data */
  const void* data;   /**< belongs to the state; valid until a call uses the state, or lacuna_state_restore(); the host
                           may read it if `memory` is LACUNA_MEMORY_HOST */
  size_t count;       /**< elements */
  int32_t dtype;      /**< a lacuna_dtype */
  int32_t own;        /**< 1: each rank has its own; 0: it is equal on all */
  int32_t memory;     /**< a lacuna_memory_kind: that of the buffers with which the state was used */
} lacuna_state_array;
/** Zeros. */
#define LACUNA_STATE_ARRAY_INIT \
  { sizeof(lacuna_state_array), NULL, NULL, 0, LACUNA_F32, 0, LACUNA_MEMORY_HOST }
/** Fills array. Its struct_size must be set. index is 0 .. arrays-1 of lacuna_get_state(). */
LACUNA_EXPORT lacuna_status lacuna_get_state_array(const lacuna_state* state, size_t index, lacuna_state_array* array);
/**
 * Copies the elements of an array to memory of the host, also from a device.
 * @param state    not in use by a call
 * @param index    0 .. arrays-1 of lacuna_get_state()
 * @param elements room for all elements of the array
 * @param bytes    of that room; it must be exactly what the array needs
 */
LACUNA_EXPORT lacuna_status lacuna_copy_state_array(const lacuna_state* state, size_t index, void* elements,
                                                    size_t bytes);
/**
 * Writes the whole state as bytes, for a checkpoint. Each rank saves its own. While a call changes the state, this
 * function fails with LACUNA_BUSY. After a failure a call changes the state until its buffers are free.
 * @param state    not in use by a call
 * @param bytes    where the bytes go; with capacity 0 it may be null
 * @param capacity bytes that fit there
 * @param length   becomes the number of bytes, also if capacity is smaller. Then the call fails with
 *                 LACUNA_INVALID_ARGUMENT, and bytes stay as they are
 */
LACUNA_EXPORT lacuna_status lacuna_state_save(const lacuna_state* state, void* bytes, size_t capacity, size_t* length);
/**
 * Makes a state what it was when it was saved. Bytes that are damaged, or of another kind, are refused with
 * LACUNA_INVALID_ARGUMENT. While a call changes the state, this function fails with LACUNA_BUSY, as
 * lacuna_state_save() does. If it fails, the state is as it was.
 * @param state  not in use by a call
 * @param bytes  written by lacuna_state_save()
 * @param length number of bytes
 */
LACUNA_EXPORT lacuna_status lacuna_state_restore(lacuna_state* state, const void* bytes, size_t length);

/** What the method of a call has done, compared with the dense call: the same algorithm and data without the method.
 */
typedef struct lacuna_report {
  size_t struct_size;           /**< sizeof(lacuna_report) */
  int32_t rounds;               /**< messages on the longest chain that wait for each other */
  int32_t dense_rounds;         /**< rounds of the dense call */
  uint64_t sent;                /**< payload of this rank, bytes */
  uint64_t dense_sent;          /**< payload of this rank in the dense call, bytes */
  uint64_t received;            /**< payload of this rank, bytes */
  uint64_t dense_received;      /**< payload of this rank in the dense call, bytes */
  uint64_t contributions;       /**< terms of all ranks in all elements that are reduced */
  uint64_t dense_contributions; /**< terms of the dense call */
  uint64_t lacking;             /**< elements that other ranks have and this one does not get */
} lacuna_report;
/** Zeros. */
#define LACUNA_REPORT_INIT \
  { sizeof(lacuna_report), 0, 0, 0, 0, 0, 0, 0, 0, 0 }
/** Fills report, with zeros for a request that has not ended well or gave nothing up. Its struct_size must be set. */
LACUNA_EXPORT lacuna_status lacuna_get_report(const lacuna_request* request, lacuna_report* report);
/** Gives the value of one of the method's measures in a report, by its name. It is 0 where lacuna_get_report() gives
 * zeros. */
LACUNA_EXPORT lacuna_status lacuna_get_report_measure(const lacuna_request* request, const char* name, double* value);

/**
 * Tells which algorithm carries out a call.
 * @param request of a collective
 * @param name    becomes its name, as lacuna_list_algorithms() lists it; empty for a message. It lives until the
 * process ends
 */
LACUNA_EXPORT lacuna_status lacuna_get_algorithm(const lacuna_request* request, const char** name);

/** A stretch of an output that lacks a rank's contribution. The structure has no struct_size and gets no new members.
 */
typedef struct lacuna_gap {
  size_t offset; /**< its first element in the output */
  size_t count;  /**< elements */
  int32_t from;  /**< the rank whose contribution is missing; in an allgather, whose block */
} lacuna_gap;
/**
 * Lists what one rank's output lacks after a collective whose method leaves something out. Without a method the list is
 * empty. Each rank knows the lists of all ranks without a message. Use it for checks, reports and sharded data
 * parallelism, but not for each step of a large job: the time grows with the cube of the number of ranks.
 * @param request  of a collective that has been started; the list is that of its last start
 * @param rank     whose output
 * @param gaps     where the gaps go, ascending by `from`, then by offset; with capacity 0 it may be null
 * @param capacity gaps that fit there
 * @param count    becomes the number of gaps, also if capacity is smaller. Then the call fails with
 *                 LACUNA_INVALID_ARGUMENT, and gaps stay as they are
 */
LACUNA_EXPORT lacuna_status lacuna_gaps(const lacuna_request* request, int32_t rank, lacuna_gap* gaps, size_t capacity,
                                        size_t* count);
/** @} */

/**
 * @defgroup lists Lists
 * What this library has, for bindings of other languages and for programs that show it. Each function gives one row of
 * a list. *count becomes the length of the list, and may be null. The row may be null too, for the length alone; else
 * its struct_size must be set and index is 0 .. count-1. All texts live until the process ends. Any thread may call
 * these functions. They need no communicator.
 * @{
 */
/** A type of elements. */
typedef struct lacuna_dtype_row {
  size_t struct_size; /**< sizeof(lacuna_dtype_row) */
  const char* name;   /**< for instance "f32" */
  int32_t dtype;      /**< a lacuna_dtype, which is also the index of this row */
  size_t size;        /**< bytes of an element */
} lacuna_dtype_row;
/** Zeros. */
#define LACUNA_DTYPE_ROW_INIT \
  { sizeof(lacuna_dtype_row), NULL, 0, 0 }
/** Lists the types of elements. */
LACUNA_EXPORT lacuna_status lacuna_list_dtypes(size_t index, lacuna_dtype_row* row, size_t* count);

/** What a buffer of a collective has. */
typedef enum lacuna_holds {
  LACUNA_HOLDS_NOTHING = 0, /**< there is no such buffer */
  LACUNA_HOLDS_DATA = 1,    /**< `count` elements */
  LACUNA_HOLDS_BLOCKS = 2   /**< a block for each rank */
} lacuna_holds;

/** How long the blocks of a collective are. */
typedef enum lacuna_lengths {
  LACUNA_LENGTHS_EQUAL = 0,  /**< all blocks have `count` elements */
  LACUNA_LENGTHS_AGREED = 1, /**< as a lacuna_blocks says, which is equal on all ranks */
  LACUNA_LENGTHS_OWN = 2     /**< as the lacuna_blocks of the rank with the buffer says */
} lacuna_lengths;

/** A collective, and what its call needs. */
typedef struct lacuna_collective_row {
  size_t struct_size;     /**< sizeof(lacuna_collective_row) */
  const char* name;       /**< for instance "reduce_scatter"; it then has the function lacuna_reduce_scatter() */
  int32_t collective;     /**< a lacuna_collective */
  int32_t input;          /**< a lacuna_holds */
  int32_t output;         /**< a lacuna_holds */
  int32_t input_at_root;  /**< 1: only the root has an input; 0: all ranks have one, if there is one */
  int32_t output_at_root; /**< 1: only the root has an output; 0: all ranks have one, if there is one */
  int32_t reduces;        /**< 1: the call has a reduction; else 0 */
  int32_t averages;       /**< 1: this reduction may be LACUNA_AVG; else 0 */
  int32_t lengths;        /**< a lacuna_lengths */
} lacuna_collective_row;
/** Zeros. */
#define LACUNA_COLLECTIVE_ROW_INIT \
  { sizeof(lacuna_collective_row), NULL, 0, 0, 0, 0, 0, 0, 0, 0 }
/** Lists the collectives. */
LACUNA_EXPORT lacuna_status lacuna_list_collectives(size_t index, lacuna_collective_row* row, size_t* count);

/** An algorithm of a collective, as options.algorithm names it. */
typedef struct lacuna_algorithm_row {
  size_t struct_size;  /**< sizeof(lacuna_algorithm_row) */
  const char* name;    /**< for instance "ring"; serving a method, an algorithm has a name of its own */
  int32_t collective;  /**< a lacuna_collective */
  const char* method;  /**< the method that it serves under this name; null: it is dense */
  const char* summary; /**< one line */
} lacuna_algorithm_row;
/** Zeros. */
#define LACUNA_ALGORITHM_ROW_INIT \
  { sizeof(lacuna_algorithm_row), NULL, 0, NULL, NULL }
/** Lists the algorithms of lacuna without a method, then those of each method. */
LACUNA_EXPORT lacuna_status lacuna_list_algorithms(size_t index, lacuna_algorithm_row* row, size_t* count);

/** A method. */
typedef struct lacuna_method_row {
  size_t struct_size;    /**< sizeof(lacuna_method_row) */
  const char* name;      /**< for lacuna_method_create() and for the lists of options and measures */
  const char* summary;   /**< one line */
  int32_t takes_entries; /**< 1: its calls may have a lacuna_entries; else 0 */
} lacuna_method_row;
/** Zeros. */
#define LACUNA_METHOD_ROW_INIT \
  { sizeof(lacuna_method_row), NULL, NULL, 0 }
/** Lists the methods. */
LACUNA_EXPORT lacuna_status lacuna_list_methods(size_t index, lacuna_method_row* row, size_t* count);

/** How text gives the value of an option. */
typedef enum lacuna_option_type {
  LACUNA_FLAG = 0,    /**< 0 or 1 */
  LACUNA_INTEGER = 1, /**< a whole number from least to most */
  LACUNA_NUMBER = 2,  /**< a number from least to most */
  LACUNA_CHOICE = 3,  /**< one of the choices */
  LACUNA_PAIRS = 4    /**< RUN:VALUE/RUN:VALUE/..., each number from least to most, the runs ascending */
} lacuna_option_type;

/** An option of a method. */
typedef struct lacuna_option_row {
  size_t struct_size;  /**< sizeof(lacuna_option_row) */
  const char* name;    /**< for instance "density" */
  int32_t type;        /**< a lacuna_option_type */
  const char* initial; /**< the value that it has by default, as text */
  double least;        /**< the least number that is allowed */
  double most;         /**< the largest number that is allowed */
  const char* choices; /**< the names of a choice, with commas between them; empty: it is no choice */
  const char* allowed; /**< what is allowed, in words, as errors say it */
  const char* help;    /**< one line */
} lacuna_option_row;
/** Zeros. */
#define LACUNA_OPTION_ROW_INIT \
  { sizeof(lacuna_option_row), NULL, 0, NULL, 0.0, 0.0, NULL, NULL, NULL }
/** Lists the options of a method. */
LACUNA_EXPORT lacuna_status lacuna_list_options(const char* method, size_t index, lacuna_option_row* row,
                                                size_t* count);

/** How several values of a measure become one. */
typedef enum lacuna_adds_up {
  LACUNA_ADDS_UP_SUM = 0,     /**< their sum */
  LACUNA_ADDS_UP_LARGEST = 1, /**< the largest */
  LACUNA_ADDS_UP_LAST = 2,    /**< the last */
  LACUNA_ADDS_UP_MEAN = 3     /**< their mean */
} lacuna_adds_up;

/** A measure of a method's reports. */
typedef struct lacuna_measure_row {
  size_t struct_size; /**< sizeof(lacuna_measure_row) */
  const char* name;   /**< for lacuna_get_report_measure() */
  const char* unit;   /**< for instance "seconds" */
  int32_t adds_up;    /**< a lacuna_adds_up */
  int32_t
      equal_on_ranks; /**< 1: the plan of a call tells it, alike on all ranks; 0: the kernels of each rank count it */
  const char* help;   /**< one line */
} lacuna_measure_row;
/** Zeros. */
#define LACUNA_MEASURE_ROW_INIT \
  { sizeof(lacuna_measure_row), NULL, NULL, 0, 0, NULL }
/** Lists the measures of a method. */
LACUNA_EXPORT lacuna_status lacuna_list_measures(const char* method, size_t index, lacuna_measure_row* row,
                                                 size_t* count);
/** @} */

/**
 * @defgroup progress Progress and completions
 * These functions are for programs with a loop of their own. They serve all communicators of the job, and any thread
 * may call them.
 * @{
 */
/** Makes one round of progress and checks deadlines. *moved becomes 1 if anything happened, else 0. moved may be null.
 */
LACUNA_EXPORT lacuna_status lacuna_progress(lacuna_communicator* communicator, int32_t* moved);
/**
 * Returns a descriptor to poll. After lacuna_arm() has set *armed to 1, it becomes readable when lacuna_progress() has
 * something to do. This includes a deadline that passes, a call that is started, and movement during a wait, in any
 * thread. With LACUNA_THREAD it becomes readable when a call has ended. It stays readable as long as a completion
 * waits. A loop of the program repeats these steps:
 *
 * 1. It calls lacuna_arm(). If that sets *armed to 1, it sleeps until the descriptor is readable.
 * 2. It calls lacuna_progress() until nothing moves.
 * 3. It calls lacuna_next_completion() until there is none, or lacuna_test().
 *
 * @return the descriptor, or -1 if communicator is null. It belongs to the library: do not read or close it
 */
LACUNA_EXPORT int32_t lacuna_event_fd(const lacuna_communicator* communicator);
/** To be called before each sleep. *armed becomes 1 if the program may sleep on the descriptor. It becomes 0 if there
 * is something to do already, or if a call has ended since the last time. */
LACUNA_EXPORT lacuna_status lacuna_arm(lacuna_communicator* communicator, int32_t* armed);
/**
 * Takes the next ended call that had asked for this by options.notify, the oldest first.
 * @param communicator any communicator of the job
 * @param found        becomes 1 if there was one; else it becomes 0, and token and outcome stay as they are
 * @param token        becomes the call's options.token
 * @param outcome      becomes the call's outcome. lacuna_wait() also gives its text, and lacuna_reclaimed() says after
 * a failure whether the buffers are free
 */
LACUNA_EXPORT lacuna_status lacuna_next_completion(lacuna_communicator* communicator, int32_t* found, uint64_t* token,
                                                   lacuna_status* outcome);
/** @} */

#ifdef __cplusplus
}
#endif

#endif /* LACUNA_H */

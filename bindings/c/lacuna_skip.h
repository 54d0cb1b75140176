#ifndef LACUNA_SKIP_H
#define LACUNA_SKIP_H

/**
 * @file
 * lacuna: calls that leave contributions out (SkipReduce). Part of lacuna.h, which includes it and whose rules hold
 * here.
 *
 * | Object | Threads |
 * |---|---|
 * | lacuna_skip and the lists that it points to | several: the library only reads them, when a call starts |
 * | lacuna_skip_state | one call at a time: a call changes it when it starts, and with feedback or an audit until it
 * has ended | | lacuna_skip_importance | several; saved and restored while no call that has it runs |
 */

#include "lacuna.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What stands for the contributions that are left out. */
typedef enum lacuna_skip_scale {
  LACUNA_SKIP_ZERO_FILL = 0,    /**< zeros: LACUNA_AVG divides by the number of ranks all the same */
  LACUNA_SKIP_RENORMALISED = 1, /**< the mean of the others: avg divides by their number, sum is scaled up; under
                                     drawn turns of hosts that differ in size, by their number on average */
  LACUNA_SKIP_FACTOR = 2        /**< zeros; sum and avg are the sum of the others times lacuna_skip.factor */
} lacuna_skip_scale;

/** How a segment is treated. */
typedef enum lacuna_skip_policy {
  LACUNA_POLICY_SKIP = 0,     /**< as the call says */
  LACUNA_POLICY_NEVER = 1,    /**< dense */
  LACUNA_POLICY_AUTOMATIC = 2 /**< dense where it is important, as lacuna_skip.importance measures */
} lacuna_skip_policy;

/** What skipping keeps of one tensor from call to call. Ends with lacuna_skip_state_free(). */
typedef struct lacuna_skip_state lacuna_skip_state;
/** Finds segments that are too important to be skipped. Ends with lacuna_skip_importance_free(). */
typedef struct lacuna_skip_importance lacuna_skip_importance;

/** From run `from_run` of a state on, S is `steps`. It has no struct_size and never changes. */
typedef struct lacuna_skip_stage {
  uint64_t from_run; /**< counted from 0 */
  int32_t steps;     /**< S, as in lacuna_options.skip_steps */
} lacuna_skip_stage;

/** A stretch of the data of an allreduce. It has no struct_size and never changes. */
typedef struct lacuna_skip_segment {
  size_t offset;  /**< its first element */
  size_t count;   /**< elements */
  int32_t policy; /**< a lacuna_skip_policy */
  uint64_t key;   /**< automatic: under which its importance is measured, a parameter's number, say */
} lacuna_skip_segment;

/** What a call leaves out, beyond lacuna_options. For LACUNA_SUM and LACUNA_AVG. Equal on all ranks. */
struct lacuna_skip {
  size_t struct_size;   /**< sizeof(lacuna_skip) */
  double ratio;         /**< instead of skip_steps: the largest S that leaves out at most this share, 0 .. 1 */
  double factor;        /**< of LACUNA_SKIP_FACTOR */
  int32_t scale;        /**< a lacuna_skip_scale */
  int32_t feedback;     /**< not 0: a rank adds next time what it leaves out; floating point, zeros and a state */
  int32_t incomplete;   /**< not 0: also leave out what only some ranks then lack; an allgather that skips needs it */
  int32_t gather_steps; /**< incomplete, allreduce skip_ring: steps of its second half left out; results then differ */
  int32_t keep;         /**< not 0: what an allgather lacks stays as it is in the output; else it becomes zeros */
  int32_t reversed;     /**< not 0: a reduce_scatter leaves out what the like allgather would lack */
  uint64_t warm_up;     /**< the first runs of the state are dense */
  const lacuna_skip_stage* schedule;   /**< by run, ascending; before its first one S is skip_steps. Needs a state */
  size_t stages;                       /**< their number */
  const lacuna_skip_segment* segments; /**< of an allreduce; they ascend and cover its data. None: one, skipped */
  size_t segment_count;                /**< their number */
  size_t small;                        /**< segments of fewer bytes are dense, and travel together */
  lacuna_skip_state* state;            /**< may be null; lives until the end of the call, or of what was prepared */
  lacuna_skip_importance* importance;  /**< for LACUNA_POLICY_AUTOMATIC; lives as long */
  uint64_t audit;       /**< every so many runs of the state also tell the true error of the result, of an allreduce of
                             floating point, which stays as it is; see lacuna_skip_state_values. 0: never */
  size_t audit_samples; /**< elements that an audit also reduces densely */
};
/** No more than lacuna_options says. */
#define LACUNA_SKIP_INIT                                                                                           \
  {                                                                                                                \
    sizeof(lacuna_skip), 0.0, 1.0, LACUNA_SKIP_ZERO_FILL, 0, 0, 0, 0, 0, 0, NULL, 0, NULL, 0, 4096, NULL, NULL, 0, \
        1024                                                                                                       \
  }

/**
 * @defgroup skip_state What skipping keeps
 * Of one tensor: its sampler, which a call that has none of its own draws from; the number of runs; and with feedback
 * the residual, what this rank has not contributed yet. Equal on all ranks but for the residual.
 * @{
 */
/** What a state holds. */
typedef struct lacuna_skip_state_values {
  size_t struct_size;     /**< sizeof(lacuna_skip_state_values) */
  lacuna_sampler sampler; /**< as it is now */
  uint64_t runs;          /**< calls started with it */
  const void* residual;   /**< the state's own, like the input; valid until a call or lacuna_skip_state_restore() */
  size_t residual_bytes;  /**< its length; 0 before anything was left out with feedback */
  uint64_t audit_run;     /**< the run that was audited last, the first is 1; 0: there was none. Not saved */
  double audit_error;     /**< L2 norm of its result's distance to the dense one, over that of the dense one */
  double audit_cosine;    /**< of the angle between the two */
} lacuna_skip_state_values;
/** Zeros. */
#define LACUNA_SKIP_STATE_VALUES_INIT \
  { sizeof(lacuna_skip_state_values), {0, 0, 0}, 0, NULL, 0, 0, 0.0, 0.0 }

/**
 * Makes a state without runs and residual.
 * @param seed  of its sampler; equal on all ranks
 * @param key   of its sampler, the number of the tensor, say; equal on all ranks
 * @param state becomes the state, for lacuna_skip_state_free()
 */
LACUNA_EXPORT lacuna_status lacuna_skip_state_create(uint64_t seed, uint64_t key, lacuna_skip_state** state);
/** Ends a handle that no call uses any more. Null is allowed. */
LACUNA_EXPORT void lacuna_skip_state_free(lacuna_skip_state* state);
/** Fills values, whose struct_size must be set. */
LACUNA_EXPORT lacuna_status lacuna_get_skip_state(const lacuna_skip_state* state, lacuna_skip_state_values* values);
/**
 * All of it as bytes, for a checkpoint: each rank saves its own.
 * @param state    which no call is using
 * @param bytes    where they go; with capacity 0 it may be null
 * @param capacity bytes that fit there
 * @param length   becomes the number of bytes, also where capacity is smaller: then the call fails with
 *                 LACUNA_INVALID_ARGUMENT and bytes stay as they are
 */
LACUNA_EXPORT lacuna_status lacuna_skip_state_save(const lacuna_skip_state* state, void* bytes, size_t capacity,
                                                   size_t* length);
/**
 * Makes a state what it was when it was saved. What is damaged, or of another kind, is refused with
 * LACUNA_INVALID_ARGUMENT, and the state stays as it is.
 * @param state  which no call is using
 * @param bytes  what lacuna_skip_state_save() gave
 * @param length their number
 */
LACUNA_EXPORT lacuna_status lacuna_skip_state_restore(lacuna_skip_state* state, const void* bytes, size_t length);
/** @} */

/**
 * @defgroup skip_importance Importance of segments
 * One object serves all calls of a model; all ranks make equal ones. Every `every` runs of a segment its call is dense
 * there, and its result is measured, which is equal on all ranks. Important, and from then on dense, is what has more
 * than `threshold` of its elements among the largest quarter of all elements measured.
 * @{
 */
/** How importance is measured. */
typedef struct lacuna_skip_importance_options {
  size_t struct_size; /**< sizeof(lacuna_skip_importance_options) */
  uint64_t every;     /**< runs of a segment from one measurement to the next, the first included; 1 or more */
  double threshold;   /**< 0 .. 1; over all segments the mean is 0.25 */
  size_t samples;     /**< elements of a segment that are looked at, evenly spread; 1 or more */
} lacuna_skip_importance_options;
/** All defaults; a null pointer to options means the same. */
#define LACUNA_SKIP_IMPORTANCE_OPTIONS_INIT \
  { sizeof(lacuna_skip_importance_options), 100, 0.5, 4096 }

/** What is known of a segment. */
typedef struct lacuna_segment_importance {
  size_t struct_size; /**< sizeof(lacuna_segment_importance) */
  uint64_t key;       /**< of the segment */
  uint64_t runs;      /**< started so far */
  uint64_t count;     /**< elements, when it was last measured */
  double share;       /**< of them among the largest quarter, then */
  int32_t important;  /**< 1: it is dense, else 0 */
  int32_t measured;   /**< 1: share and important are known, else 0 */
} lacuna_segment_importance;
/** Zeros. */
#define LACUNA_SEGMENT_IMPORTANCE_INIT \
  { sizeof(lacuna_segment_importance), 0, 0, 0, 0.0, 0, 0 }

/**
 * Makes an object that has measured nothing yet.
 * @param options    null: all defaults; equal on all ranks
 * @param importance becomes the object, for lacuna_skip_importance_free()
 */
LACUNA_EXPORT lacuna_status lacuna_skip_importance_create(const lacuna_skip_importance_options* options,
                                                          lacuna_skip_importance** importance);
/** Ends a handle that no call uses any more. Null is allowed. */
LACUNA_EXPORT void lacuna_skip_importance_free(lacuna_skip_importance* importance);
/** *count becomes the number of segments that it has seen. */
LACUNA_EXPORT lacuna_status lacuna_skip_importance_segments(const lacuna_skip_importance* importance, size_t* count);
/**
 * Fills segment, whose struct_size must be set.
 * @param importance that has seen it
 * @param index      0 .. segments-1, ascending by key
 * @param segment    becomes what is known of it
 */
LACUNA_EXPORT lacuna_status lacuna_skip_importance_segment(const lacuna_skip_importance* importance, size_t index,
                                                           lacuna_segment_importance* segment);
/** All of it as bytes, equal on all ranks; as lacuna_skip_state_save(). */
LACUNA_EXPORT lacuna_status lacuna_skip_importance_save(const lacuna_skip_importance* importance, void* bytes,
                                                        size_t capacity, size_t* length);
/** Makes it what it was when it was saved, with equal options; as lacuna_skip_state_restore(). */
LACUNA_EXPORT lacuna_status lacuna_skip_importance_restore(lacuna_skip_importance* importance, const void* bytes,
                                                           size_t length);
/** @} */

/**
 * @defgroup skip_mask What was left out
 * @{
 */
/** A stretch of an output that lacks a rank's contribution. It has no struct_size and never changes. */
typedef struct lacuna_skip_gap {
  size_t offset; /**< its first element in the output */
  size_t count;  /**< elements */
  int32_t from;  /**< whose contribution is missing; of an allgather, whose block */
} lacuna_skip_gap;

/** What a call has left out, beside the dense call: that of the same algorithm and the same data with S = 0. */
typedef struct lacuna_skip_report {
  size_t struct_size;           /**< sizeof(lacuna_skip_report) */
  int32_t steps;                /**< S */
  int32_t gather_steps;         /**< left out of the second half */
  int32_t rounds;               /**< messages that wait for each other */
  int32_t dense_rounds;         /**< of the dense call */
  uint64_t sent;                /**< payload of this rank, bytes */
  uint64_t dense_sent;          /**< of the dense call */
  uint64_t received;            /**< payload of this rank, bytes */
  uint64_t dense_received;      /**< of the dense call */
  uint64_t contributions;       /**< terms, over all elements that are reduced, of all ranks */
  uint64_t dense_contributions; /**< of the dense call */
  uint64_t lacking;             /**< elements that other ranks have and this one does not get */
} lacuna_skip_report;
/** Zeros. */
#define LACUNA_SKIP_REPORT_INIT \
  { sizeof(lacuna_skip_report), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/** Fills report, whose struct_size must be set: zeros for a request that has not ended well or was to skip nothing. */
LACUNA_EXPORT lacuna_status lacuna_get_skip_report(const lacuna_request* request, lacuna_skip_report* report);

/**
 * The mask of a collective that leaves something out: what one rank's output lacks; nothing where nothing is skipped.
 * Each rank knows that of all ranks, without a message. For checks, reports and sharded data parallelism, not for each
 * step of a large job: the time grows with the cube of the number of ranks.
 * @param request  of a collective that has been started; its last start is told of
 * @param rank     whose output
 * @param gaps     where they go, ascending by `from`, then by offset; with capacity 0 it may be null
 * @param capacity gaps that fit there
 * @param count    becomes the number of gaps, also where capacity is smaller: then the call fails with
 *                 LACUNA_INVALID_ARGUMENT and gaps stay as they are
 */
LACUNA_EXPORT lacuna_status lacuna_skip_mask(const lacuna_request* request, int32_t rank, lacuna_skip_gap* gaps,
                                             size_t capacity, size_t* count);
/** @} */

#ifdef __cplusplus
}
#endif

#endif /* LACUNA_SKIP_H */

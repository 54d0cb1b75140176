#ifndef LACUNA_SKIP_H
#define LACUNA_SKIP_H

/**
 * @file
 * lacuna: calls that leave contributions out (SkipReduce). This header has what the text of lacuna_method_create()
 * cannot express: segments of a tensor, and which of them are too important to be skipped. The rules of lacuna.h hold
 * here.
 */

#include "lacuna.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How a segment is treated. */
typedef enum lacuna_skip_policy {
  LACUNA_POLICY_SKIP = 0,     /**< it is skipped as the options say */
  LACUNA_POLICY_NEVER = 1,    /**< it is dense */
  LACUNA_POLICY_AUTOMATIC = 2 /**< it is dense if it is important */
} lacuna_skip_policy;

/** A stretch of the data of an allreduce. The structure has no struct_size and gets no new members. */
typedef struct lacuna_skip_segment {
  size_t offset;  /**< its first element */
  size_t count;   /**< elements */
  int32_t policy; /**< a lacuna_skip_policy */
} lacuna_skip_segment;

/**
 * Makes the method "skip" with segments.
 * @param options       as those of lacuna_method_create()
 * @param segments      of an allreduce; they ascend and cover its data, and are copied
 * @param segment_count number of segments; 0: all data are one segment, which is skipped
 * @param method        becomes the method, for lacuna_method_free()
 */
LACUNA_EXPORT lacuna_status lacuna_skip_create(const char* options, const lacuna_skip_segment* segments,
                                               size_t segment_count, lacuna_method** method);

/**
 * What is known about the importance of a segment whose policy is LACUNA_POLICY_AUTOMATIC. The state of its calls keeps
 * it. In every `importance_every`-th run of the state such a segment is dense, and its result, which is equal on all
 * ranks, is measured. A segment is important, and dense from then on, if more than `importance_threshold` of its
 * elements are among the largest quarter of all elements measured, in all states of the model
 * (lacuna_state_set_model()). `lacuna list skip` explains these options.
 */
typedef struct lacuna_segment_importance {
  size_t struct_size; /**< sizeof(lacuna_segment_importance) */
  size_t segment;     /**< its index in the segments of the method */
  uint64_t count;     /**< elements, when it was last measured */
  double share;       /**< share of them that was among the largest quarter */
  int32_t important;  /**< 1 if it is dense, else 0 */
  int32_t measured;   /**< 1 if share and important are known, else 0 */
} lacuna_segment_importance;
/** Zeros. */
#define LACUNA_SEGMENT_IMPORTANCE_INIT \
  { sizeof(lacuna_segment_importance), 0, 0, 0.0, 0, 0 }
/**
 * Lists the segments that were measured.
 * @param state      of calls with the method; no call is changing it
 * @param index      0 .. *count-1
 * @param importance is filled; its struct_size must be set. Null: only the count is asked for
 * @param count      becomes the number of segments that were measured; may be null
 */
LACUNA_EXPORT lacuna_status lacuna_skip_get_importance(const lacuna_state* state, size_t index,
                                                       lacuna_segment_importance* importance, size_t* count);

#ifdef __cplusplus
}
#endif

#endif /* LACUNA_SKIP_H */

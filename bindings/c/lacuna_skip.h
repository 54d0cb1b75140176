#ifndef LACUNA_SKIP_H
#define LACUNA_SKIP_H

/**
 * @file
 * lacuna: calls that leave contributions out (SkipReduce), as far as it is more than the text of
 * lacuna_method_create(): segments of a tensor, and which of them are too important to be skipped. The rules of
 * lacuna.h hold here.
 *
 * | Object | Threads |
 * |---|---|
 * | lacuna_skip_importance | several; saved and restored while no call that has it runs |
 */

#include "lacuna.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How a segment is treated. */
typedef enum lacuna_skip_policy {
  LACUNA_POLICY_SKIP = 0,     /**< as the options say */
  LACUNA_POLICY_NEVER = 1,    /**< dense */
  LACUNA_POLICY_AUTOMATIC = 2 /**< dense where it is important */
} lacuna_skip_policy;

/** Finds segments that are too important to be skipped. Ends with lacuna_skip_importance_free(). */
typedef struct lacuna_skip_importance lacuna_skip_importance;

/** A stretch of the data of an allreduce. It has no struct_size and never changes. */
typedef struct lacuna_skip_segment {
  size_t offset;  /**< its first element */
  size_t count;   /**< elements */
  int32_t policy; /**< a lacuna_skip_policy */
  uint64_t key;   /**< automatic: under which its importance is measured, a parameter's number, say */
} lacuna_skip_segment;

/**
 * Makes the method "skip" with segments.
 * @param options       as of lacuna_method_create()
 * @param segments      of an allreduce, copied; they ascend and cover its data
 * @param segment_count their number; 0: one, skipped
 * @param importance    for LACUNA_POLICY_AUTOMATIC, else null; lives until the last call with the method has ended
 * @param method        becomes the method, for lacuna_method_free()
 */
LACUNA_EXPORT lacuna_status lacuna_skip_create(const char* options, const lacuna_skip_segment* segments,
                                               size_t segment_count, lacuna_skip_importance* importance,
                                               lacuna_method** method);

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
/** All of it as bytes, equal on all ranks; as lacuna_state_save(). */
LACUNA_EXPORT lacuna_status lacuna_skip_importance_save(const lacuna_skip_importance* importance, void* bytes,
                                                        size_t capacity, size_t* length);
/** Makes it what it was when it was saved, with equal options; as lacuna_state_restore(). */
LACUNA_EXPORT lacuna_status lacuna_skip_importance_restore(lacuna_skip_importance* importance, const void* bytes,
                                                           size_t length);
/** @} */

#ifdef __cplusplus
}
#endif

#endif /* LACUNA_SKIP_H */

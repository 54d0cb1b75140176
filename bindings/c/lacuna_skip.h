#ifndef LACUNA_SKIP_H
#define LACUNA_SKIP_H

/**
 * @file
 * lacuna: calls that leave contributions out (SkipReduce). This header has what the text of lacuna_method_create()
 * cannot express: segments of a tensor, and which of them are too important to be skipped. The rules of lacuna.h hold
 * here.
 *
 * | Object | Threads |
 * |---|---|
 * | lacuna_skip_importance | several; it is saved and restored while no call that uses it runs |
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

/** Finds segments that are too important to be skipped. Ends with lacuna_skip_importance_free(). */
typedef struct lacuna_skip_importance lacuna_skip_importance;

/** A stretch of the data of an allreduce. The structure has no struct_size and gets no new members. */
typedef struct lacuna_skip_segment {
  size_t offset;  /**< its first element */
  size_t count;   /**< elements */
  int32_t policy; /**< a lacuna_skip_policy */
  uint64_t key;   /**< automatic: identifies it in measurements, for instance the number of a parameter */
} lacuna_skip_segment;

/**
 * Makes the method "skip" with segments.
 * @param options       as those of lacuna_method_create()
 * @param segments      of an allreduce; they ascend and cover its data, and are copied
 * @param segment_count number of segments; 0: all data are one segment, which is skipped
 * @param importance    for LACUNA_POLICY_AUTOMATIC, else null; must live until the last call with the method has ended
 * @param method        becomes the method, for lacuna_method_free()
 */
LACUNA_EXPORT lacuna_status lacuna_skip_create(const char* options, const lacuna_skip_segment* segments,
                                               size_t segment_count, lacuna_skip_importance* importance,
                                               lacuna_method** method);

/**
 * @defgroup skip_importance Importance of segments
 * One object serves all calls of a model. All ranks make equal objects. In every `every`-th run of a segment the call
 * is dense there, and its result, which is equal on all ranks, is measured. A segment is important, and dense from then
 * on, if more than `threshold` of its elements are among the largest quarter of all elements measured.
 * @{
 */
/** How importance is measured. */
typedef struct lacuna_skip_importance_options {
  size_t struct_size; /**< sizeof(lacuna_skip_importance_options) */
  uint64_t every;     /**< runs of a segment from one measurement to the next; the first run measures; 1 or more */
  double threshold;   /**< 0 .. 1; over all segments the mean is 0.25 */
  size_t samples;     /**< elements of a segment that are looked at, evenly spread; 1 or more */
} lacuna_skip_importance_options;
/** Every member has its default. A null pointer to options means the same. */
#define LACUNA_SKIP_IMPORTANCE_OPTIONS_INIT \
  { sizeof(lacuna_skip_importance_options), 100, 0.5, 4096 }

/** What is known about a segment. */
typedef struct lacuna_segment_importance {
  size_t struct_size; /**< sizeof(lacuna_segment_importance) */
  uint64_t key;       /**< of the segment */
  uint64_t runs;      /**< started so far */
  uint64_t count;     /**< elements, when it was last measured */
  double share;       /**< share of them that was among the largest quarter */
  int32_t important;  /**< 1 if it is dense, else 0 */
  int32_t measured;   /**< 1 if share and important are known, else 0 */
} lacuna_segment_importance;
/** Zeros. */
#define LACUNA_SEGMENT_IMPORTANCE_INIT \
  { sizeof(lacuna_segment_importance), 0, 0, 0, 0.0, 0, 0 }

/**
 * Makes an object that has measured nothing yet.
 * @param options    equal on all ranks; null: all defaults
 * @param importance becomes the object, for lacuna_skip_importance_free()
 */
LACUNA_EXPORT lacuna_status lacuna_skip_importance_create(const lacuna_skip_importance_options* options,
                                                          lacuna_skip_importance** importance);
/** Ends a handle that no call uses any more. Null is allowed. */
LACUNA_EXPORT void lacuna_skip_importance_free(lacuna_skip_importance* importance);
/** *count becomes the number of segments that the object has seen. */
LACUNA_EXPORT lacuna_status lacuna_skip_importance_segments(const lacuna_skip_importance* importance, size_t* count);
/**
 * Tells what is known about a segment.
 * @param importance has seen the segment
 * @param index      0 .. segments-1, ascending by key
 * @param segment    is filled; its struct_size must be set
 */
LACUNA_EXPORT lacuna_status lacuna_skip_importance_segment(const lacuna_skip_importance* importance, size_t index,
                                                           lacuna_segment_importance* segment);
/** Writes the whole object as bytes, as lacuna_state_save() does. The bytes are equal on all ranks. */
LACUNA_EXPORT lacuna_status lacuna_skip_importance_save(const lacuna_skip_importance* importance, void* bytes,
                                                        size_t capacity, size_t* length);
/** Makes an object with equal options what it was when it was saved, as lacuna_state_restore() does. */
LACUNA_EXPORT lacuna_status lacuna_skip_importance_restore(lacuna_skip_importance* importance, const void* bytes,
                                                           size_t length);
/** @} */

#ifdef __cplusplus
}
#endif

#endif /* LACUNA_SKIP_H */

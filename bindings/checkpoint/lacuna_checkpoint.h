#ifndef LACUNA_CHECKPOINT_H
#define LACUNA_CHECKPOINT_H

/**
 * @file
 * Checkpoints of all ranks of a communicator: the C form of checkpoint.hpp, in liblacuna_checkpoint.
 * docs/checkpoints.md has a whole example. lacuna_last_error() has the text of a failure. Only one thread of a rank
 * calls these functions at a time.
 */

#include "bindings/c/lacuna.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One array of a program's state. Its name is not empty, has no '/', and is unique among the items of a rank. */
typedef struct lacuna_checkpoint_item {
  const char* name;
  int32_t dtype; /**< a lacuna_dtype that is an integer or floating-point number; save others as bytes, LACUNA_U8 */
  void* data;    /**< may be null if `count` is 0 */
  size_t count;  /**< elements */
} lacuna_checkpoint_item;

/**
 * Writes a set of the files of all ranks, and removes the sets before the last two. All ranks call it, each with its
 * own items, and all get the same outcome. A kill at any moment leaves the set before it or this one.
 * @param communicator the ranks
 * @param directory    a folder that is there and that all ranks see
 * @param step         the number of the set, from 0, equal on all ranks
 * @param items        array of `count` items, which are only read; may be null if `count` is 0
 * @param count        how many there are
 */
LACUNA_EXPORT lacuna_status lacuna_checkpoint_save(lacuna_communicator* communicator, const char* directory,
                                                   int64_t step, const lacuna_checkpoint_item* items, size_t count);
/**
 * Fills the items from the newest set that is undamaged. All ranks call it, as many as have written the set, and all
 * get the same outcome. The items must have the names, dtypes and counts of those in the set, in any order.
 * @param communicator the ranks
 * @param directory    a folder that all ranks see
 * @param items        array of `count` items; may be null if `count` is 0
 * @param count        how many there are
 * @param step         becomes the number of the set; -1 if there is none, and then no item changes
 */
LACUNA_EXPORT lacuna_status lacuna_checkpoint_restore(lacuna_communicator* communicator, const char* directory,
                                                      const lacuna_checkpoint_item* items, size_t count, int64_t* step);

#ifdef __cplusplus
}
#endif

#endif

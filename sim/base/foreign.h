/* base/foreign.h - words of other systems, and what is meant by them here.
 *
 * Newcomers say what they know: hidden_size, bf16, tensor_parallel, psum.  No distance between
 * letters leads from those to d_model, bfloat16, tp, all-reduce; a table does.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_FOREIGN_H
#define BASE_FOREIGN_H

#include <stdbool.h>

/* Whether `word`, as another system says it, means what is called `ours` here.  Only the last part
 * of a dotted name counts (model.hidden_size, hidden_size and d_model mean model.d_model); of names
 * with slashes all before it must be the same (mlp/up/weight: mlp/up/kernel).  Case and the
 * difference of '-' and '_' count nothing.  Words that are the same mean the same. */
bool foreign_means(const char *word, const char *ours);

#endif /* BASE_FOREIGN_H */

/* base/foreign.h - other systems' words for the names used here.
 *
 * Newcomers use the names they know: hidden_size, bf16, tensor_parallel, psum.  No edit distance
 * leads from those to d_model, bfloat16, tp, all-reduce; a table does.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_FOREIGN_H
#define BASE_FOREIGN_H

#include <stdbool.h>

/* Whether `word`, a term of another system, means the name `ours`.  Only the last component of a
 * dotted name counts (model.hidden_size, hidden_size and d_model mean model.d_model); in a name
 * with slashes all components before the last must be equal (mlp/up/weight: mlp/up/kernel).  Case
 * is ignored, and '-' equals '_'.  Equal words match. */
bool foreign_means(const char *word, const char *ours);

#endif /* BASE_FOREIGN_H */

/* op_codes.h - kernels of engines that serve, which read and write codes of few bits.
 *
 * A program makes numbers of codes in ops of their own, and codes of numbers.  Engines do both
 * inside of the kernel that reads or writes: a product reads the codes of its weights, attention
 * those of its keys and values, and what writes rows into a cache rounds them.
 *
 * Thread class: not thread safe.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COST_OP_CODES_H
#define COST_OP_CODES_H

#include "cost/op_seconds.h"

/* Set the real traffic of quantizing kernels, and zero time for the ops that they replace, in the
 * chains of `seconds`. */
void op_codes_find(struct op_seconds *seconds);

#endif /* COST_OP_CODES_H */

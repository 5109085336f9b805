/* beside.h - in the backward phase, issue repeated gathers early, beside products that do not need
 * them.
 *
 * A weight's gradient reads its product's gathered input and the gradient of the result.  The
 * input's gradient also reads the gradient of the result, but needs no gather: the gather runs
 * beside it if it is issued once the gradient of the result is there, as in Megatron-LM
 * (Korthikanti and others, arXiv 2205.05198, section 4.2.2).  If several products read one input
 * (q, k and v, which Megatron computes as one product), all gradients of the input come before
 * those of the weights.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_BESIDE_H
#define PARTITION_BESIDE_H

#include "base/pool.h"
#include "program/program.h"

/* Move each gather of program_gathers_again() directly behind the last op that makes another
 * operand of the gather's first reader.  Among the ops up to its last reader, move those that
 * depend on the gather behind the others.  Ops stay in their part of the step.  Needs lifetimes,
 * and invalidates them. */
void beside_products(struct program *program, struct pool *pool);

#endif /* PARTITION_BESIDE_H */

/* beside.h - what the backward phase gathers again comes beside the products that do not need it.
 *
 * The gradient of a weight reads the gathered input of its product, and the gradient of the result.
 * The gradient of the input, which reads the latter too, needs no gather: the gather runs beside
 * it, as in Megatron-LM (Korthikanti and others, arXiv 2205.05198, section 4.2.2), if it is issued
 * when the gradient of the result is there.  Where several products read one input (of q, k and v,
 * which Megatron has as one), the gradients of the input are all done before those of the weights.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_BESIDE_H
#define PARTITION_BESIDE_H

#include "program/program.h"

/* Move each gather of program_gathers_again() to right behind the op that makes the last other
 * operand of its first reader, and what waits for the gather behind what does not, up to its last
 * reader; all in their part of the step.  Lifetimes are set before, and are to be set anew.
 * SHD_ENOMEM. */
SHD_MUST_CHECK int beside_products(struct program *program, struct shd_error *err);

#endif /* PARTITION_BESIDE_H */

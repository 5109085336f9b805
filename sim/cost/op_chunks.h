/* op_chunks.h - the time of ops on logits that are computed for chunks of tokens, one after the other.
 *
 * Each chunk is a kernel of its own: a product of fewer rows, which reads the head's kernel once
 * more, or adds to the head's gradient once more.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COST_OP_CHUNKS_H
#define COST_OP_CHUNKS_H

#include "hardware/hardware.h"
#include "program/program.h"

/* Seconds of a kernel of an op, for all chunks together if it reads or writes logits in chunks. */
double op_chunks_seconds(const struct hardware *hardware, const struct hardware_work *work,
                         const struct program *program, const struct program_op *op);

#endif /* COST_OP_CHUNKS_H */

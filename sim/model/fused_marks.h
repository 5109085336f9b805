/* fused_marks.h - values that only exist inside the fused kernels of a step's software.
 *
 * A fused cross-entropy reads the logits in the type of the computation and leaves their gradients
 * in the same type: its float32 copies are in registers.  A fused activation keeps the operands of
 * its elementwise ops, and not what lies between them.  Such values are computed again in the
 * backward phase, and take no memory of the device.  Neither do experts' results, if the software
 * multiplies activations by the gates; they are not computed again, which would send them again.
 *
 * Thread class: as graph.h, which is changed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MODEL_FUSED_MARKS_H
#define MODEL_FUSED_MARKS_H

#include "graph/graph.h"
#include "scenario/scenario.h"

/* Mark the nodes of a loss from `first` on, which have a value for each word of the vocabulary. */
void model_mark_loss(struct graph *graph, uint32_t first, uint32_t vocab);

/* Of a graph that has its backward phase, mark as `inside` what the scenario's fused kernels make
 * and read themselves, and what its loss makes in chunks.  Returns whether there are any such
 * values. */
bool model_mark_fused(struct graph *graph, const struct scenario *scenario);

#endif /* MODEL_FUSED_MARKS_H */

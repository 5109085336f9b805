/* model/mtp.h - what a module that predicts further tokens has before its block: DeepSeek-V3, arXiv
 * 2412.19437, section 2.2.
 *
 * Module k joins, for each token i, the hidden state of the model or of the module before with the
 * embedding of token i + k; its block follows, and a norm and the model's head, which predict token
 * i + k + 1.  Embedding and head are the model's; norms, product and block are the module's own, as
 * in the published weights (enorm, hnorm, eh_proj, shared_head.norm).
 *
 * Thread class: as graph.h, which is extended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MODEL_MTP_H
#define MODEL_MTP_H

#include <stdbool.h>

#include "graph/graph.h"
#include "model/weights.h"
#include "scenario/scenario.h"

/* Values of modules are called so, with the module's number, from 0.  They are layers for
 * recomputation, but follow the last layer of a pipeline, wherever that is. */
#define MTP_LAYERS "mtp/layers/"

/* Join hidden[batch, seq, embed] with embedded[batch, seq, embed] in the module `name`: a norm of
 * each, and the product of both, side by side, with one kernel [2 embed, embed]. */
uint32_t mtp_join(struct graph *graph, const struct scenario *scenario, const char *name,
                  uint32_t hidden, uint32_t embedded, const struct weights_dims *dims);

#endif /* MODEL_MTP_H */

/* train.h - a language model in training, for questions that name its tensors and its layout.
 *
 * The model: h = wte[ids]; each layer h += attn(rms(h) * g1), h += mlp(rms(h) * g2); the loss is
 * the mean cross-entropy of (rms(h) * gf) @ head, or @ wte^T where the two are tied.  All of it is
 * in float64: in some models float32's roundings grow to 10^-3 of a gradient in six steps, in which
 * an error of ours could hide.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef QUERY_TRAIN_H
#define QUERY_TRAIN_H

#include <jansson.h>

#include <shd/mesh.h>
#include <shd/sharding.h>

#include "graph/graph.h"
#include "program/program.h"

#define TRAIN_STEPS_MAX 4096
#define TRAIN_LAYERS_MAX 64

/* Zeroed it holds nothing; free what it holds with train_fini() at any time. */
struct train {
    struct graph *graph; /* of a step: forward, backward, update */
    uint32_t steps;
    struct shd_mesh *mesh;
    struct shd_sharding *shardings;    /* by node */
    const struct shd_sharding **nodes; /* by node: what is asked for; NULL: nothing is */
    uint32_t *stored; /* by node: the axes over which ZeRO alone shards it; bit a for axis a */
    struct timetable *timetable;       /* of a pipeline; NULL: there is none ... */
    struct program_stages stages;      /* ... else on its axis */
};

/* Read config, tensors, tokens, optimizer and layout.  SHD_EUNSUPPORTED for what is not built. */
SHD_MUST_CHECK int train_init(struct train *out, const json_t *in, struct shd_error *err);
void train_fini(struct train *train);

#endif /* QUERY_TRAIN_H */

/* train.h - training a language model, for questions that name its tensors and its layout.
 *
 * The model: h = wte[ids]; each layer h += attn(rms(h) * g1), h += mlp(rms(h) * g2); the loss is
 * the mean cross-entropy of (rms(h) * gf) @ head, or @ wte^T if the two are tied.  Everything is in
 * float64: in some models rounding in float32 grows to 10^-3 of a gradient in six steps, which
 * could hide an error of ours.
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

/* Zero-initialised it is empty; train_fini() may be called at any time. */
struct train {
    struct graph *graph; /* of a step: forward, backward, update */
    uint32_t steps;
    struct shd_mesh *mesh;
    struct shd_sharding *shardings;    /* by node */
    const struct shd_sharding **nodes; /* by node: requested sharding; NULL: no request */
    uint32_t *stored; /* by node: axes that only ZeRO shards it over; bit a for axis a */
    struct timetable *timetable;       /* of a pipeline; NULL: none ... */
    struct program_stages stages;      /* ... else on its axis */
};

/* Read config, tensors, tokens, optimizer and layout.  SHD_EUNSUPPORTED for unsupported options. */
SHD_MUST_CHECK int train_init(struct train *out, const json_t *in, struct shd_error *err);
void train_fini(struct train *train);

#endif /* QUERY_TRAIN_H */

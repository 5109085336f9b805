/* train.h - training a language model, for questions that name its tensors and its layout: a
 * scenario of the same model, whose parameters and tokens have the question's values.
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

#include "base/text.h"
#include "trial/variant.h"

/* Zero-initialised it is empty; train_fini() may be called at any time. */
struct train {
    uint32_t steps;
    bool gated;
    struct variant variant; /* laid out */
};

/* Read config, tensors, tokens, optimizer and layout.  SHD_EUNSUPPORTED for unsupported options. */
SHD_MUST_CHECK int train_init(struct train *out, const json_t *in, struct shd_error *err);
void train_fini(struct train *train);

/* The question's name of a parameter: "layers.0.wq". */
void train_name(struct text *out, const struct train *train, const char *param);

#endif /* QUERY_TRAIN_H */

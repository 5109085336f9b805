/* serving.h - what a step of serving is judged by: how long a token takes, tokens a second, and the
 * cache of keys and values.
 *
 * The cache's bytes are those of its arrays, with the tokens that the step adds, on every device
 * that holds them: a key head on two devices is twice in the total and in the bytes of a token.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_SERVING_H
#define REPORT_SERVING_H

#include "report/modelled.h"
#include "report/result.h"

struct serving {
    uint128 cache_bytes_most, cache_bytes; /* of the device with the most, and of all */
    uint128 token_bytes;                   /* of all devices, for one token of one sequence */
    /* Of the modelled step of a result that serves; else not set. */
    double token_s; /* of a decode; of a prefill the step's */
    double tokens_per_s, device_tokens_per_s;
    double mbu; /* bytes that kernels move, as a fraction of what the memory could in the step */
    struct modelled_bound bound;
};

void serving_of(struct serving *out, const struct result *result);

/* The first section of a report. */
void serving_text(const struct result *result, struct text *out);

#endif /* REPORT_SERVING_H */

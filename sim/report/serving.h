/* serving.h - figures of a serving step: the time of a token (TPOT), tokens a second, and the KV
 * cache.
 *
 * The cache's bytes are those of its arrays, including the step's new tokens, on every device.  A
 * key head on two devices counts twice in the total and in the bytes of a token.
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
    /* Of the modelled step of a serving result; else not set. */
    double token_s; /* of a decode; for a prefill the whole step */
    double tokens_per_s, device_tokens_per_s;
    double mbu; /* memory bandwidth utilization: bytes moved by kernels / (bandwidth x step) */
    struct modelled_bound bound;
};

void serving_of(struct serving *out, const struct result *result);

/* The first section of a report. */
void serving_text(const struct result *result, struct text *out);

#endif /* REPORT_SERVING_H */

/* Fuzzes traces of requests with libFuzzer: any bytes are read or refused with a message, and what
 * was read keeps to its bounds and can be served.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "serving/engine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
    if (!holds)
        abort();
}

static int64_t step_ns(const struct serving_costs *costs, const struct serving_work *work)
{
    (void)costs;
    return 1000 + (int64_t)work->prefill_tokens + work->ndecodes;
}

static int64_t transfer_ns(const struct serving_costs *costs, uint64_t tokens)
{
    (void)costs;
    return (int64_t)tokens;
}

static void check(const struct request_trace *t)
{
    for (uint32_t i = 0; i < t->nrequests; i++) {
        const struct trace_request *q = &t->requests[i];

        require(q->prompt > 0 && q->output > 0 && q->arrival_ns >= 0);
        require(i == 0 || q->arrival_ns >= t->requests[i - 1].arrival_ns);
        require(q->block + (uint64_t)q->nblocks <= t->nblocks);
    }
    for (uint32_t i = 0; i < t->nblocks; i++)
        require(t->blocks[i] < t->nids);
}

/* Requests of few tokens, for others take long. */
static void serve(const struct request_trace *t)
{
    const struct serving_costs costs = {step_ns, transfer_ns};
    struct serving_outcome outcome;

    for (size_t i = 0; serving_policies[i]; i++) {
        struct serving_setup setup = {.trace = t,
                                      .policy = serving_policies[i],
                                      .limits = {4, 512, 1},
                                      .nreplicas = 2,
                                      .nprefill = 1,
                                      .costs = &costs,
                                      .cache_tokens = 4096,
                                      .prefill_cache_tokens = 4096};

        require(serving_run(&outcome, &setup, NULL) == SHD_OK);
        require(outcome.nserved + outcome.nrefused == t->nrequests);
        serving_outcome_fini(&outcome);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct request_trace trace;
    struct diag errors = DIAG_INIT;
    char *text = malloc(size + (size == 0)); /* a sanitizer notices reading past the end */

    require(text != NULL);
    memcpy(text, data, size);
    if (trace_parse(&trace, "fuzz", text, size, 0, &errors) == SHD_OK) {
        check(&trace);
        serve(&trace);
        trace_fini(&trace);
    } else {
        require(errors.nerrors > 0 || errors.no_memory);
    }
    diag_fini(&errors);
    free(text);
    return 0;
}

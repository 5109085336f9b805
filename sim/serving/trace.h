/* trace.h - requests to a model that is served: when each arrives, the tokens of its prompt, and
 * the tokens that are made for it.
 *
 * A trace is read from a file, or drawn at random.  Files are CSV with a line of headings, or JSON
 * lines; columns and keys are found by the names that published traces use for them
 * (trace_fields.h).  Keys `hash_ids` number the blocks of a prompt: a number stands for the tokens
 * of its block and of all before it, so that prompts with equal leading numbers share a prefix.
 *
 * Thread class: owned by one thread; several may read a finished trace.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SERVING_TRACE_H
#define SERVING_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shd/error.h>

#include "base/diag.h"

#define TRACE_REQUESTS_MAX (UINT32_C(1) << 24)
#define TRACE_TOKENS_MAX (UINT32_C(1) << 24)           /* of a prompt, and of an output */
#define TRACE_SPAN_MAX_NS INT64_C(1000000000000000000) /* from the first arrival to the last */
#define TRACE_BYTES_MAX (size_t)(1 << 30)              /* of a file */

struct trace_request {
    int64_t arrival_ns;      /* after the first request */
    uint32_t prompt, output; /* tokens, at least 1 */
    uint32_t block, nblocks; /* of the prompt: where its numbers begin in `blocks` of the trace */
};

/* How the unit of the times of arrival became known. */
enum trace_unit_source {
    TRACE_UNIT_NONE, /* the times are dates, or drawn */
    TRACE_UNIT_NAMED,
    TRACE_UNIT_ASKED,
    TRACE_UNIT_SINCE_1970,
    TRACE_UNIT_FRACTIONS,
    TRACE_UNIT_FORMAT,
    TRACE_UNIT_RATE /* the format's would come to a rate that no service sees */
};

struct trace_unit {
    int64_t ns;
    enum trace_unit_source source;
    int64_t unlikely_ns; /* the unit of the format or of fractions, whose rate no service sees; 0:
                            that rate is likely, or nothing was judged */
};

struct request_trace {
    struct trace_request *requests; /* by arrival */
    uint32_t nrequests;
    uint32_t *blocks; /* numbers of blocks, from 0 to nids - 1 */
    uint32_t nblocks, nids;
    uint32_t
        block_tokens; /* tokens of a block; the last of a prompt may have fewer; 0: no blocks */
    uint32_t nempty;  /* requests left out, because nothing was asked or nothing was made */
    struct trace_unit unit;
    char *skipped;  /* names of the file's other fields, with ", " between them; NULL: none */
    bool has_media; /* a skipped field counts images, audio or videos */
};

void trace_fini(struct request_trace *trace);

/* Read the text of a file; errors go to `diag` with their places.  On failure *out is empty.
 * `unit_ns` is the unit of times that are numbers; 0: as their name or the numbers themselves say
 * (trace_times.h). */
SHD_MUST_CHECK int trace_parse(struct request_trace *out, const char *path, const char *text,
                               size_t length, int64_t unit_ns, struct diag *diag);

/* Keep the first `n` requests. */
void trace_limit(struct request_trace *trace, uint32_t n);

/* Stretch or shrink the time between arrivals, so that `rate` requests arrive a second on average;
 * INFINITY: all at once.  SHD_EINVAL (they arrive at once), SHD_ERANGE (the last would arrive too
 * late). */
SHD_MUST_CHECK int trace_scale(struct request_trace *trace, double rate, struct shd_error *err);

/* Numbers of tokens: all the same, or lognormal with this mean and standard deviation. */
struct trace_lengths {
    double mean, deviation; /* 0: all the same */
};

/* Parse "512", or "lognormal:512,300" with mean and standard deviation.  SHD_EINVAL, SHD_ERANGE. */
SHD_MUST_CHECK int trace_parse_lengths(struct trace_lengths *out, const char *text,
                                       struct shd_error *err);

/* A trace drawn at random: a Poisson process of `rate` requests a second, whose first request
 * arrives at 0.  Arrivals, prompts and outputs are drawn independently, so that a change of one
 * leaves the others as they are. */
struct trace_synthetic {
    uint32_t nrequests;
    double rate; /* INFINITY: all at once */
    struct trace_lengths prompt, output;
    uint64_t seed;
};

/* SHD_ENOMEM, SHD_ERANGE (the last would arrive too late). */
SHD_MUST_CHECK int trace_draw(struct request_trace *out, const struct trace_synthetic *synthetic,
                              struct shd_error *err);

#endif /* SERVING_TRACE_H */

/* search/serving.h - the layouts of a serving step on a number of devices: every mesh of the
 * scenario's axes.  For each mesh the batch is doubled while it fits and tokens are fast enough,
 * then bisected between the last such batch and the next.
 *
 * The layouts are few, and all are planned, as the scenario with other values.  Prompts of a layout
 * are priced by a prefill of one sequence per group of devices, on the same mesh.
 *
 * Thread class: owned by one thread; a search runs threads of its own, and its result does not
 * depend on how many.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_SERVING_H
#define SEARCH_SERVING_H

#include "search/attempt.h"
#include "search/refusals.h"

/* The work of the devices: decode; prefill, whose step makes the first token; or both, with
 * prefills of new requests mixed into the decode of running ones. */
enum serving_use { SERVING_DECODE, SERVING_PREFILL, SERVING_BOTH, SERVING_NUSES };

struct serving_wants {
    int64_t devices;       /* 0: the mesh's number */
    double ttft_s, tpot_s; /* limits on TTFT and on TPOT, in seconds; 0: none */
    enum serving_use use;
    int64_t answer; /* SERVING_BOTH: tokens of an answer, at least 2 */
    /* Earlier searches of the same trial and devices for one kind of step, whose plans are reused;
     * NULL: none. */
    const struct serving_search *decodes, *prefills;
    const struct subject_filter *filter; /* meshes that it refuses are not planned; NULL: none */
    int nthreads;                                 /* at least 1 */
    const int *stop;                              /* ends the search when set */
    void (*progress)(void *arg, size_t nplanned); /* called by one thread at a time */
    void *arg;
};

struct serving_layout {
    char *mesh;            /* "dp=2, tp=4" */
    int64_t batch, groups; /* of devices that share sequences */
    double token_s, tokens_per_s, device_tokens_per_s;
    double attention_s; /* of token_s, in attention */
    /* Of a decode step mixed with the prefill of one prompt per group, which makes the prompt's
     * first token; negative: not asked for, or prompts do not fit. */
    double prompt_s;
    double mean_s;       /* mean time of a token, mixed-in prefills included; else token_s */
    double memory_bytes; /* of a device, with the runtime's own memory */
    uint128 cache_bytes; /* of a device */
    const char *bound;   /* "memory" */
    bool within;         /* fits, and keeps both limits */
    bool
        best_of_user; /* on the Pareto front of token time and tokens a second, within the limits */
};

struct serving_search {
    const struct trial *trial; /* not owned */
    struct serving_wants wants;
    struct serving_layout
        *layouts; /* layouts that fit, the most tokens a second per device first */
    size_t nlayouts, nwithin;
    size_t nmeshes, nrefused; /* all meshes, and meshes that the model cannot be sharded over ... */
    size_t nunsaid;           /* ... or that the filter's system cannot express: so many of these */
    struct refusals refusals; /* reasons of the refused meshes */
    int64_t batch_max;        /* largest batch that is tried, in sequences */
    size_t nlarge;            /* meshes on which batch_max sequences fit, and more might */
    size_t nplans;            /* steps planned, including prefills and steps that do not fit */
    bool over;                /* not stopped */
};

/* Search for a trial, which must be a decode on a cluster, else SHD_EINVAL.  SHD_ENOMEM.  End with
 * serving_search_fini() either way. */
SHD_MUST_CHECK int serving_search_run(struct serving_search *out, const struct trial *trial,
                                      const struct serving_wants *wants, struct shd_error *err);
void serving_search_fini(struct serving_search *search);

#endif /* SEARCH_SERVING_H */

/* search/serving.h - the layouts of a step of serving on a number of devices: every mesh of the
 * scenario's axes, and with each every batch by doublings while it fits, and then halves to where
 * it no longer does or tokens take too long.
 *
 * They are few, and all are planned, as the scenario with other values.  Of a layout's prompts: a
 * prefill of one sequence for each group of devices that shares them, on the same mesh.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_SERVING_H
#define SEARCH_SERVING_H

#include "search/refusals.h"
#include "trial/trial.h"

/* What devices do: a decode; the prefill, whose step is the first token; or both, so that prompts of
 * those that are answered are taken in beside tokens. */
enum serving_use { SERVING_DECODE, SERVING_PREFILL, SERVING_BOTH, SERVING_NUSES };

struct serving_wants {
    int64_t devices;       /* 0: the mesh's number */
    double ttft_s, tpot_s; /* most seconds to the first token, and of each other one; 0: any */
    enum serving_use use;
    int64_t answer;        /* for both steps: tokens of an answer, from 2 */
    /* Searches of the same trial and devices for one step, whose plans are not made again; NULL:
     * none are known. */
    const struct serving_search *decodes, *prefills;
    const int *stop;       /* ends the search when set */
    void (*progress)(void *arg, size_t nplanned);
    void *arg;
};

struct serving_layout {
    char *mesh; /* "dp=2, tp=4" */
    int64_t batch, groups; /* of devices that share sequences */
    double token_s, tokens_per_s, device_tokens_per_s;
    double attention_s; /* the part of token_s in attention */
    /* Of a step that takes a prompt of each group in beside the tokens, which makes its first
     * token; negative: not asked for, or prompts do not fit. */
    double prompt_s;
    double mean_s;       /* of a token, with the prompts that are taken in beside; else token_s */
    double memory_bytes; /* of a device, the runtime's own included */
    uint128 cache_bytes; /* of a device */
    const char *bound;   /* "memory" */
    bool within;         /* fits, and keeps to both times */
    bool best_of_user;   /* none within the limits has as short a token and more tokens a second */
};

struct serving_search {
    const struct trial *trial; /* not owned */
    struct serving_wants wants;
    struct serving_layout *layouts; /* those that fit: the most tokens a second and device first */
    size_t nlayouts, nwithin;
    size_t nmeshes, nrefused; /* meshes in all, and meshes on which the model cannot be laid out */
    struct refusals refusals; /* why the latter cannot */
    int64_t batch_max;        /* the most sequences that are tried */
    size_t nlarge;            /* meshes on which batch_max fit, so that more may */
    size_t nplans;            /* steps planned, those that do not fit and prefills included */
    bool over;                /* not stopped */
};

/* Search for a trial of a decode on a cluster.  SHD_EINVAL: it is none; SHD_ENOMEM.  End with
 * serving_search_fini() either way. */
SHD_MUST_CHECK int serving_search_run(struct serving_search *out, const struct trial *trial,
                                      const struct serving_wants *wants, struct shd_error *err);
void serving_search_fini(struct serving_search *search);

#endif /* SEARCH_SERVING_H */

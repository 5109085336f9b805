/* search/serving_apart.h - prefill and decode on devices of their own: how many replicas of which
 * layout for each, so that together they make the most tokens.
 *
 * A request is a prompt of batch.seq tokens and an answer of decode.tokens, of which the prefill
 * makes the first.  x replicas of a prefill that takes in p prompts a second each and y of a decode
 * that makes d tokens a second each answer min(x p, y d / (tokens - 1)) requests a second; x and y
 * are as many as `devices` have room for.  Queues are not modelled ("shardsim serve" puts requests
 * through them).  A kept prompt travels behind its prefill: a decode's device receives what it
 * holds of it from a device of the prefill.
 *
 * For comparison, the same devices with both steps on each: some decode steps are then mixed with the
 * prefill of a prompt, one for each request that is answered.
 *
 * Replicas have 1, 2, 4, .. devices; their layouts are those of search/serving.h.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_SERVING_APART_H
#define SEARCH_SERVING_APART_H

#include "search/serving.h"

/* Replicas of one layout. */
struct serving_pool {
    int64_t devices, replicas; /* devices of a replica */
    struct serving_layout layout;
};

struct serving_split {
    struct serving_pool prefill, decode; /* both steps on the same devices: no prefill replicas */
    double first_s; /* TTFT: the prefill, and the transfer of the KV cache ... */
    double sent_s;  /* ... of which the transfer takes this */
    double token_s; /* TPOT: of each further token, on average */
    double requests_per_s, tokens_per_s, device_tokens_per_s;
};

struct serving_apart {
    const struct trial *trial; /* not owned */
    struct serving_wants wants;
    int64_t tokens;                  /* of an answer */
    struct serving_search *searches; /* for each replica size: of decodes, then of prefills */
    size_t nsearches, nplans;
    struct serving_split *splits; /* within the limits, the best for each decode: the most tokens
                                     first */
    size_t nsplits;
    struct serving_split together; /* the best; no decode replicas: none is within the limits */
    bool over;                     /* not stopped */
};

/* Search for a trial, which must be a decode on a cluster with answers of several tokens, else
 * SHD_EINVAL.  SHD_ENOMEM.  End with serving_apart_fini() either way. */
SHD_MUST_CHECK int serving_apart_run(struct serving_apart *out, const struct trial *trial,
                                     const struct serving_wants *wants, struct shd_error *err);
void serving_apart_fini(struct serving_apart *apart);

/* Print the result: as text of at most `ntop` rows for a terminal of `columns` columns; and as an
 * object of schema shardsim.search-serving-apart/1. */
void serving_apart_text(struct text *out, const struct serving_apart *apart, size_t ntop,
                        size_t columns);
void serving_apart_json(struct text *out, const struct serving_apart *apart);

#endif /* SEARCH_SERVING_APART_H */

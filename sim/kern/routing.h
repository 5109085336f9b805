/* routing.h - the routing of tokens to experts and their slots, as a workload.
 *
 * A routing is the actual or assumed decision of a router for one group of tokens: each token names
 * `choices` different experts; each expert takes its tokens into slots 0..capacity-1 in queue
 * order, and drops later ones.  All groups of an array are alike.  The same data fills an input of
 * ids (struct kern_source), by which devices then actually route, and provides a plan's counts.
 *
 * Thread class: immutable once made; pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef KERN_ROUTING_H
#define KERN_ROUTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kern/copies.h"

#define KERN_ROUTING_BLOCK 1024 /* tokens */

struct kern_routing {
    int64_t tokens; /* in a group: its rows of the batch, each with its sequence */
    uint32_t choices, experts;
    int64_t capacity;      /* slots of an expert for a group */
    bool slot_major;       /* queue order: all first choices, then all second ones; else by token */
    const int32_t *ids;    /* [tokens][choices]: experts; -1: no choice */
    const int32_t *slots;  /* [tokens][choices]; -1: dropped, or no choice */
    const int32_t *counts; /* [experts]: tokens kept */
    const int32_t *kept;   /* [tokens / KERN_ROUTING_BLOCK][experts]: of each whole block of tokens;
                              NULL: not counted */
    const uint32_t *shares; /* [experts]: the probability that a token names an expert, in units of
                               1 / UINT32_MAX; NULL: known by `counts` only */
    const struct kern_copies *copies; /* `experts` and ids are places of copies; NULL: experts */
    bool absent;           /* some tokens choose no expert: ragged sources */
    bool assumed;    /* a router decides at run time; this is the plan's assumption */
    uint32_t rotate; /* experts by which ids advance in each step, from `first` on, mod experts */
    uint32_t first;  /* advance in step 0; the last step has `ids` unchanged */
};

enum kern_routing_kind {
    KERN_ROUTING_UNIFORM,    /* all experts equally */
    KERN_ROUTING_ZIPF,       /* expert e in proportion to (e + 1)^-skew */
    KERN_ROUTING_HOT_EXPERT, /* expert `hot` gets `share` of the choices, the others the rest */
    KERN_ROUTING_HOT_RANK,   /* the experts of rank `hot` of `ranks` together get `share` */
    KERN_ROUTING_RAGGED,     /* of `ranks` equal blocks of tokens the first has all tokens, the
                                following fewer, the last 1/ranks; missing tokens choose no
                                expert */
    KERN_ROUTING_EMPTY,      /* expert `hot` gets nothing */
    KERN_ROUTING_NKINDS
};

/* A distribution, and the queues.  No expert can get more than 1 / choices of all choices: then
 * every token chooses it, and the excess of its share goes to the others.  Tokens are drawn evenly
 * (draws do not clump), so that shares are met within a few tokens. */
struct kern_routing_spec {
    enum kern_routing_kind kind;
    int64_t tokens;
    uint32_t choices, experts; /* choices <= experts; with an empty expert below it */
    uint32_t groups, kept; /* of experts: a token chooses from `kept` of `groups` only; 0 or equal:
                              from all.  For KERN_ROUTING_UNIFORM, others ignore it */
    int64_t capacity; /* 0: no drops, as many slots as the fullest expert takes; with `roomy` as
                         many as there are tokens, as a token chooses an expert once */
    bool slot_major, assumed;
    bool roomy;             /* every token may choose every expert */
    uint32_t rotate, steps; /* as in struct kern_routing, and the number of steps; 0: one */
    double skew;            /* at least 0 */
    double share;           /* 0..1 */
    uint32_t hot, ranks;    /* ranks divides experts; for ragged sources, tokens */
    uint32_t seed;
};

/* Number of int32 that a routing needs, which its caller allocates. 0: more than INT32_MAX choices,
 * which cannot be counted. */
size_t kern_routing_room(const struct kern_routing_spec *spec);

/* Draw ids, then assign slots.  `room` must live as long as *out.  False: no memory. */
bool kern_routing_make(struct kern_routing *out, const struct kern_routing_spec *spec,
                       int32_t *room);

/* A routing made as specified, which is kept for those who ask for the same: making one takes
 * longer than planning a layer with it.  Its room must not be 0.  End with kern_routing_release().
 * NULL: no memory.  Any thread may call both.  A process
 * keeps up to 640 MiB of routings without a holder until its end. */
const struct kern_routing *kern_routing_hold(const struct kern_routing_spec *spec);
void kern_routing_release(const struct kern_routing *routing);

/* The specified share of all choices that each expert has, in units of 2^-32 of a token's choice.
 * False: no memory. */
bool kern_routing_shares(uint64_t *out, const struct kern_routing_spec *spec);

/* The expected number of experts first..first+n-1 that at least one token of `groups` groups names:
 * of each 1 - (1 - p)^tokens, since tokens choose independently of each other, whatever few tokens
 * of the routing happen to name. */
double kern_routing_named(const struct kern_routing *routing, int64_t first, int64_t n,
                          int64_t groups);

/* Number of int32 that a routing to copies needs. */
size_t kern_routing_copies_room(const struct kern_routing *routing, uint32_t places);

/* The same choices, of the places of copies.  `routing` has ids of experts and was made as `spec`
 * says, of which a copy's queue has the capacity; where a hot expert moves, a copy has as many
 * slots as there are tokens, for in other steps others have copies too few.  `room` and `copies`
 * must live as long as *out. */
void kern_routing_to_copies(struct kern_routing *out, const struct kern_routing *routing,
                            const struct kern_routing_spec *spec, const struct kern_copies *copies,
                            int32_t *room);

/* The id at an index of an array of groups of [tokens][choices] in a step. */
int32_t kern_routing_id(const struct kern_routing *routing, uint64_t index, uint32_t step);

/* Assign the slots of one group: ids[tokens][choices] -> slots of the same shape, and the counts
 * that each expert keeps.  Ids that are no expert get no slot. */
void kern_route(const int32_t *ids, int64_t tokens, int64_t choices, int64_t experts,
                int64_t capacity, bool slot_major, int32_t *slots, int32_t *counts);

#endif /* KERN_ROUTING_H */

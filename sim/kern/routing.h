/* routing.h - which token goes to which experts, in which place of their queues: as a workload.
 *
 * A routing is what a router decided, or is taken to decide, for one group of tokens: each token
 * names `choices` different experts; each expert takes its tokens into slots 0..capacity-1 in the
 * order of the queue, and drops those that come later.  All groups of an array are alike.  The
 * same data makes an input of ids (struct kern_source), which devices then really route by, and
 * what a plan counts.
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

struct kern_routing {
    int64_t tokens; /* of a group: its rows of the batch, each with its sequence */
    uint32_t choices, experts;
    int64_t capacity;      /* slots that an expert has for a group */
    bool slot_major;       /* the queue: all first choices, then all second ones; else by token */
    const int32_t *ids;    /* [tokens][choices]: experts; -1: no choice */
    const int32_t *slots;  /* [tokens][choices]; -1: dropped, or no choice */
    const int32_t *counts; /* [experts]: tokens kept */
    bool absent;           /* some tokens choose no expert: ragged sources */
    bool assumed;    /* a router decides when it runs; this is what a plan takes it to decide */
    uint32_t rotate; /* experts by which each step moves on: from `first` on, mod experts */
    uint32_t first;  /* by which step 0 has moved on; the last step has `ids` as they are */
};

enum kern_routing_kind {
    KERN_ROUTING_UNIFORM,    /* every expert alike */
    KERN_ROUTING_ZIPF,       /* expert e in proportion to (e + 1)^-skew */
    KERN_ROUTING_HOT_EXPERT, /* expert `hot` gets `share` of the choices, the others the rest */
    KERN_ROUTING_HOT_RANK,   /* so do the experts of rank `hot` of `ranks` together */
    KERN_ROUTING_RAGGED,     /* of `ranks` equal blocks of tokens the first has all, the next less,
                                the last 1/ranks of its tokens; the others choose no expert */
    KERN_ROUTING_EMPTY,      /* expert `hot` gets nothing */
    KERN_ROUTING_NKINDS
};

/* A distribution, and the queues.  No expert can get more than 1 / choices of all choices: then
 * every token chooses it, and what its share has beyond that goes to the others.  Tokens are drawn
 * evenly (no two draws clump), so that shares are met within a few tokens. */
struct kern_routing_spec {
    enum kern_routing_kind kind;
    int64_t tokens;
    uint32_t choices, experts; /* choices <= experts; with an empty expert below it */
    int64_t capacity; /* 0: all come in: as many slots as the fullest expert takes; of assumed ones
                         as many as there are tokens, for a token chooses an expert once */
    bool slot_major, assumed;
    uint32_t rotate, steps; /* as above, and how many steps there are; 0: one */
    double skew;            /* at least 0 */
    double share;           /* 0..1 */
    uint32_t hot, ranks;    /* ranks divides experts, of ragged sources tokens */
    uint32_t seed;
};

/* Numbers that a routing keeps: its caller brings room for them.  0: there are more than INT32_MAX
 * choices, which cannot be counted. */
size_t kern_routing_room(const struct kern_routing_spec *spec);

/* Draw ids, then give out slots.  `room` lives as long as *out.  False: no memory. */
bool kern_routing_make(struct kern_routing *out, const struct kern_routing_spec *spec,
                       int32_t *room);

/* The id at a place of an array of groups of [tokens][choices] in some step. */
int32_t kern_routing_id(const struct kern_routing *routing, uint64_t index, uint32_t step);

/* Give out the slots of one group: ids[tokens][choices] -> slots of the same shape, and counts:
 * how many each of the experts keeps.  What is no expert has no slot. */
void kern_route(const int32_t *ids, int64_t tokens, int64_t choices, int64_t experts,
                int64_t capacity, bool slot_major, int32_t *slots, int32_t *counts);

#endif /* KERN_ROUTING_H */

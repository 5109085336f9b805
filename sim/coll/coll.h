/* coll.h - a collective algorithm is a schedule: who pulls which elements from whom in step s.
 *
 * A schedule is pure data about `n` members; it names no device and moves nothing.  The runtime
 * executes it with a thread per member (a barrier between steps); tests walk it in one thread.
 * Beside each schedule stand the bytes that its moves come to, in closed form, so that a plan of a
 * million members need not walk it; a test holds the two together for every row of the table.
 * A run does default algorithms in another way (run/fused.h), and counts what it copies there.
 *
 * Every member has an operand (IN) and a result (OUT), each a run of elements numbered from 0; some
 * algorithms also pass elements on through a transport buffer (TMP), which is no device memory.  In
 * a step each member makes its moves in order: it reads `count` elements of `peer`'s buffer and
 * stores or combines them into a buffer of its own.  A move whose peer is the member itself is
 * local and receives no bytes.  Within one step no member reads what another one writes.
 *
 *   kind              IN                 OUT of member m
 *   all-reduce        count              count, the reduction of all INs
 *   all-gather        count              n*count: IN of 0, of 1, ...
 *   reduce-scatter    count              chunk m of the reduction
 *   all-to-all        count, chunk p is  chunk m of member 0's IN, of 1's, ... (equal chunks)
 *                     for member p
 *   permute           count              IN of source[m]; zeros when that is COLL_NOBODY
 *   broadcast         count at root      count
 *   gather            count              n*count at root, else nothing
 *   scatter           count at root      chunk m
 *   reduce            count              count at root, else nothing
 *   send-recv         count at member 0  count at member 1 (two members)
 *   barrier           nothing            nothing
 *
 * Chunks: `count` elements are cut into n chunks; the first count mod n have one element more.
 * (All-to-all gives member m then n times the length of chunk m.)
 *
 * In place: IN and OUT may be the same memory in all-reduce, broadcast and reduce; IN may be chunk
 * m of OUT in all-gather and gather, and OUT chunk m of IN in reduce-scatter and scatter.  This
 * holds for a reader that finishes a run of moves to the same elements (a copy, then combines)
 * aside before it stores them.  All-to-all and permute need separate memory.
 *
 * Thread class: immutable tables and pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLL_COLL_H
#define COLL_COLL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/nearest.h"
#include "base/uint128.h"

enum coll_kind {
    COLL_ALL_REDUCE,
    COLL_ALL_GATHER,
    COLL_REDUCE_SCATTER,
    COLL_ALL_TO_ALL,
    COLL_PERMUTE,
    COLL_BROADCAST,
    COLL_GATHER,
    COLL_SCATTER,
    COLL_REDUCE,
    COLL_SEND_RECV,
    COLL_BARRIER,
    COLL_NKINDS
};

/* In place of a member number: none. */
#define COLL_NOBODY UINT32_MAX

/* A call, as seen by all members. */
struct coll_shape {
    uint32_t nmembers;
    uint64_t count;         /* elements of the operand, see the table above */
    uint32_t root;          /* member; broadcast, gather, scatter, reduce */
    const uint32_t *source; /* permute: the member that each member reads, or COLL_NOBODY */
};

enum coll_buf { COLL_IN, COLL_OUT, COLL_TMP };
enum coll_act { COLL_COPY, COLL_COMBINE, COLL_ZERO };

struct coll_move {
    uint32_t peer;     /* member whose buffer is read; the member itself for COLL_ZERO */
    enum coll_buf src; /* which of the peer's buffers */
    enum coll_buf dst; /* which of the own buffers; not COLL_IN */
    enum coll_act act; /* store into, combine with, or clear the destination */
    uint64_t src_at;   /* first element read */
    uint64_t dst_at;   /* first element written */
    uint64_t count;    /* elements; 0 is allowed and moves nothing */
};

enum coll_limit {
    COLL_ANY,  /* any number of members */
    COLL_POW2, /* a power of two */
    COLL_PAIR  /* exactly two */
};

struct coll_algo {
    enum coll_kind kind;
    const char *name; /* as written in scenario files: "direct", "ring" */
    const char *desc; /* one line for --help and the manual */
    enum coll_limit limits;
    bool reduces; /* OUT depends on the reduction operator */
    uint32_t (*nsteps)(const struct coll_shape *shape);
    uint32_t (*nmoves)(const struct coll_shape *shape, uint32_t member, uint32_t step);
    void (*move)(const struct coll_shape *shape, uint32_t member, uint32_t step, uint32_t i,
                 struct coll_move *out);
    uint64_t (*tmp_count)(const struct coll_shape *shape); /* elements of TMP; NULL: none */
    /* Sums of all moves in closed form: elements that a member receives from others, and that
     * others receive from the member, over all steps. */
    uint64_t (*received)(const struct coll_shape *shape, uint32_t member);
    uint64_t (*sent)(const struct coll_shape *shape, uint32_t member);
    /* The first member after this one for which `received` or `sent` may differ; nmembers: none. */
    uint32_t (*alike)(const struct coll_shape *shape, uint32_t member);
};

/* All algorithms, NULL-terminated; the first of a kind is its default. */
extern const struct coll_algo *const coll_algos[];

/* The algorithm of a kind by name; NULL name: the default.  NULL if unknown. */
const struct coll_algo *coll_find(enum coll_kind kind, const char *name);

/* The algorithms of a kind, "direct, ring, tree", and all kinds, for a message. */
#define COLL_NAMES_MAX 160
const char *coll_names(enum coll_kind kind, char buf[COLL_NAMES_MAX]);
const char *coll_kind_names(char buf[COLL_NAMES_MAX]);

/* "; did you mean 'all-reduce'?" or "", for a name that no kind has, and one that no algorithm of
 * the kind has. */
struct nearest_text coll_kind_hint(const char *name);
struct nearest_text coll_algo_hint(enum coll_kind kind, const char *name);

/* Whether an algorithm serves groups of n members. */
bool coll_serves(const struct coll_algo *algo, uint32_t nmembers);

/* Name of a kind, "all-reduce"; and the kind of a name (-1: unknown). */
const char *coll_kind_name(enum coll_kind kind);
int coll_kind_parse(const char *name);

/* Elements of the operand of `member`, and of its result. */
uint64_t coll_in_count(enum coll_kind kind, const struct coll_shape *shape, uint32_t member);
uint64_t coll_out_count(enum coll_kind kind, const struct coll_shape *shape, uint32_t member);

/* First element and number of elements of chunk `i` of `count` elements cut in `n`. */
uint64_t coll_chunk_at(uint64_t count, uint32_t n, uint32_t i);
uint64_t coll_chunk_count(uint64_t count, uint32_t n, uint32_t i);

/* Number of the chunk of `count` elements cut into `n` that contains element `at`, and in *left the
 * elements from there to the chunk's end; COLL_NOBODY and 0 past the last. */
uint32_t coll_chunk_of(uint64_t count, uint32_t n, uint64_t at, uint64_t *left);

/* Origin of element `at` of `member`'s OUT, by the table above: element `at` of the IN of `source`,
 * or of the reduction of all INs (COLL_ALL), or none (COLL_NOBODY: a zero).  The next `count`
 * elements come from consecutive places; 0: OUT has no such element. */
#define COLL_ALL (UINT32_MAX - 1) /* in place of a member number: all members */
struct coll_origin {
    uint32_t source;
    uint64_t at, count;
};
struct coll_origin coll_origin(enum coll_kind kind, const struct coll_shape *shape, uint32_t member,
                               uint64_t at);

/* Elements that all members receive from others, over all steps. */
uint128 coll_received_by_all(const struct coll_algo *algo, const struct coll_shape *shape);

/* Closed forms for `received` and `sent` that several schedules share.  From or to each other
 * member: its whole operand, or the member's own chunk of it. */
uint64_t coll_operand_from_each(const struct coll_shape *shape, uint32_t member);
uint64_t coll_own_chunk_from_each(const struct coll_shape *shape, uint32_t member);
/* All chunks of one operand but the member's own. */
uint64_t coll_chunks_of_others(const struct coll_shape *shape, uint32_t member);
/* One operand at every member but the root; an operand of every other member at the root only. */
uint64_t coll_operand_unless_root(const struct coll_shape *shape, uint32_t member);
uint64_t coll_operands_at_root(const struct coll_shape *shape, uint32_t member);

/* For `alike`: no two members differ; each may differ from the next; only the root differs. */
uint32_t coll_alike_all(const struct coll_shape *shape, uint32_t member);
uint32_t coll_alike_none(const struct coll_shape *shape, uint32_t member);
uint32_t coll_alike_root(const struct coll_shape *shape, uint32_t member);
/* Members differ by the length of their own chunk; by the lengths of the chunks from `reach` before
 * their own to `reach` behind it, cyclically; each from the next, unless all chunks are equal. */
uint32_t coll_alike_own_chunk(const struct coll_shape *shape, uint32_t member);
uint32_t coll_alike_chunks(const struct coll_shape *shape, uint32_t member, uint32_t reach);
uint32_t coll_alike_equal_chunks(const struct coll_shape *shape, uint32_t member);

/* Bytes that each of n devices must receive, or send over a link of a ring, per byte of the array:
 * the factor between algorithm bandwidth and "bus bandwidth", as in nccl-tests. */
double coll_bus_factor(enum coll_kind kind, double n);

#endif /* COLL_COLL_H */

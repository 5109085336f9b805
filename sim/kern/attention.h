/* attention.h - scaled dot-product attention without the matrix of scores, forward and backward.
 *
 * Per query s and head h: o = sum over t of softmax(scale * q.k[t]) v[t], over the keys t that the
 * query may see.  Blocks of scores live in the workspace only, whose size does not grow with the
 * square of the sequence (running maximum and sum: Milakov and Gimelshein 2018; tiled forward and
 * backward: Dao et al. 2022).  lse = log of the sum of exp(scores), kept for the backward kernel.
 *
 * Arrays are row-major:  q, dq     [batch][queries][heads][head_dim]
 *                        o, do     [batch][queries][heads][value_dim]
 *                        k, dk     [batch][keys][kv_heads][head_dim]
 *                        v, dv     [batch][keys][kv_heads][value_dim]
 *                        lse       [batch][queries][heads], float32 for 16-bit types, else dtype
 *                        spans     [batch][queries][2], int32, without batch if no documents
 *                        positions [keys], int32
 *                        sinks     [heads]
 *
 * What a query sees is all, or what is causal as the arrays lie, or with a sight (sight.h) what the
 * arrays say: the keys whose position is in the query's span.  The sight itself tells plans what
 * these arrays will hold, which the kernel that runs does not look at.
 *
 * An attention may go on from the o and lse of one to other keys (Liu et al. 2023, ring attention):
 * its results are those to all keys together.  o is of the type of lse between the two.
 *
 * A sink is a score of each head that all its queries have more, of a key whose value is 0: it
 * counts in lse, by which the backward kernel has what it needs of it; its own gradient is not this
 * kernel's.
 *
 * Queries and keys may be cut into `blocks`, of which queries see the keys in the same place only.
 *
 * Keys and values may lie in pages (pages.h): k and v are then [pools][slots][kv_heads][..], and
 * an additional operand behind the positions is table[batch][entries], int32.
 *
 * Counted as 2 flops a multiply-add of the products, two forward and five backward, for the pairs
 * of query and key of the tiles that are worked on: the tiles (and within them the groups of 32
 * queries at both ends) that see nothing are passed over.  Dense flops are those of all pairs of a
 * block, masked or not.  exp and the like do not count.
 *
 * Workspace: forward, tiles of at most 16 threads; backward, of at most 4 threads, each with dk and
 * dv of one key head.  More threads than that find no work.
 *
 * Heads and queries may be a device's part of all; query head h of the whole reads key head
 * h / repeat of the whole.  dk and dv are the sums over the device's own queries and heads.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef KERN_ATTENTION_H
#define KERN_ATTENTION_H

#include <stdbool.h>
#include <stdint.h>

#include <shd/dtype.h>

#include "kern/pages.h"
#include "kern/sight.h"

/* Offsets: the device's first query, head and key head in the whole, and, if documents differ
 * between rows of the batch, its first row. */
enum kern_attention_offset {
    KERN_ATTENTION_QUERY0,
    KERN_ATTENTION_HEAD0,
    KERN_ATTENTION_KV_HEAD0,
    KERN_ATTENTION_BATCH0,
    KERN_ATTENTION_NOFFSETS
};

struct kern_attention {
    enum shd_dtype dtype; /* f32, f64, bf16, f16 */
    int64_t batch, queries, keys, heads, kv_heads, head_dim, value_dim; /* local sizes */
    int64_t repeat; /* query heads for each key head, in the whole */
    double scale;   /* of the scores */
    double cap;     /* scores are cap * tanh(score / cap); 0: as they are */
    bool sinks;     /* forward: the last operand is one more score of each head */
    bool causal;    /* query s sees only keys t <= s, both counted in the whole */
    bool goes_on;   /* forward: continues from o and lse so far, two additional operands */
    bool more;      /* forward: another attention continues from the results */
    int64_t blocks; /* blocks of queries and keys on the device; at least 1, and 1 if causal */
    int64_t shift;  /* with a sight: blocks by which the keys were moved on in the sequence */
    enum shd_dtype code; /* forward: k and v are codes of this type, numbers as they are; 0: they
                            are of `dtype` */
    bool one;       /* values are the keys themselves, as latent vectors are, and are read once */
    const struct kern_pages *pages; /* in which keys and values lie; NULL: in order; not owned */
    const struct kern_sight *sight; /* of the whole sequence; NULL: none; not owned */
};

/* The number of the forward kernel's operand with the sinks. */
static inline uint32_t kern_attention_sinks(const struct kern_attention *a)
{
    return 3 + (a->sight ? 2 : 0) + (a->pages ? 1 : 0) + (a->goes_on ? 2 : 0);
}

/* The local key t of a local row of the batch, as a row of k and v without heads; `table` has the
 * row's pages, and is NULL without any. */
static inline int64_t kern_attention_key(const struct kern_attention *a, const int32_t *table,
                                         int64_t b, int64_t t)
{
    const struct kern_pages *p = a->pages;
    int64_t part, count;

    if (!p)
        return b * a->keys + t;
    part = t / p->tokens;
    count = kern_pages_count(p);
    return (b / p->rows * a->blocks + part) * count * p->page +
           table[b * (a->keys / p->page) + t / p->page] * p->page + t % p->page;
}

/* Type of keys and values. */
static inline enum shd_dtype kern_attention_kept(const struct kern_attention *a)
{
    return a->code ? a->code : a->dtype;
}

/* Type of sums, and of the statistics kept of them. */
static inline enum shd_dtype kern_attention_sums(enum shd_dtype dtype)
{
    return dtype == SHD_F64 ? SHD_F64 : SHD_F32;
}

#endif /* KERN_ATTENTION_H */

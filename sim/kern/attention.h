/* attention.h - scaled dot-product attention without the matrix of scores, forward and backward.
 *
 * Per query s and head h: o = sum over t of softmax(scale * q.k[t]) v[t], over the keys t that the
 * query may see.  Blocks of scores live in the workspace only, whose size does not grow with the
 * square of the sequence (running maximum and sum: Milakov and Gimelshein 2018; tiled forward and
 * backward: Dao et al. 2022).  lse = log of the sum of exp(scores), kept for the backward kernel.
 *
 * Arrays are row-major:  q, o, do, dq [batch][queries][heads][head_dim]
 *                        k, v, dk, dv [batch][keys][kv_heads][head_dim]
 *                        lse          [batch][queries][heads], float32 for 16-bit types, else dtype
 * Counted as 4 flops, and 10 backward, per query, key and element of a head, for the pairs of query
 * and key of the tiles that are worked on: causal attention passes over the tiles (and within them
 * the groups of 32 queries) that see nothing.  Dense flops are those of all pairs, masked or not.
 * exp and the like do not count.
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

/* offsets: first query, first head, first key head of the device in the whole. */
enum kern_attention_offset {
    KERN_ATTENTION_QUERY0,
    KERN_ATTENTION_HEAD0,
    KERN_ATTENTION_KV_HEAD0,
    KERN_ATTENTION_NOFFSETS
};

struct kern_attention {
    enum shd_dtype dtype;                                    /* f32, f64, bf16, f16 */
    int64_t batch, queries, keys, heads, kv_heads, head_dim; /* local */
    int64_t repeat; /* query heads to a key head, in the whole */
    double scale;   /* of the scores */
    bool causal;    /* query s sees the keys t <= s only; both counted in the whole */
};

#endif /* KERN_ATTENTION_H */

/* kern/linear_chunk.h - a chunk of tokens of one head in linear attention: loads, stores, and
 * products with decay.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef KERN_LINEAR_CHUNK_H
#define KERN_LINEAR_CHUNK_H

#include <stddef.h>
#include <stdint.h>

#include "kern/kernel.h"

/* One head of one row of the batch. */
struct linear_item {
    const struct kern_linear_attention *a;
    const struct kern_args *args;
    const struct kern_linear_off *off; /* NULL: none */
    int64_t b, h;
    uint64_t flops; /* counted where they are done */
};

/* Tokens [first, first + n) of an item.  G[n][width of g] is the sum of g since the chunk's start;
 * of a head without decay all 0. */
struct linear_chunk {
    struct linear_item *item;
    int64_t first, n, nkeys, nvalues;
    bool by_channel;
    double *q, *k;    /* [n][nkeys] */
    double *v;        /* [n][nvalues]; v, then w */
    double *g, *beta; /* [n][1 or nkeys], [n] */
    double *row;      /* [nkeys] */
};

/* Doubles that a chunk takes, of `room`, and set its arrays up there. */
size_t linear_chunk_room(const struct kern_linear_attention *a);
struct linear_chunk linear_chunk_in(struct linear_item *item, double *room);

/* Doubles that a vector takes, with what loads may write behind it. */
size_t linear_room(int64_t n);

/* Load q, k, v, g, beta of the tokens of chunk number c. */
void linear_load_chunk(struct linear_chunk *c, int64_t number);

/* Load and store `n` numbers of a head's operand or result: of token t, or of the state. */
void linear_load(const struct linear_item *item, int operand, int64_t t, double *out);
void linear_store(const struct linear_item *item, uint32_t result, int like, int64_t t,
                  const double *in);

/* The state before the first token. */
void linear_load_start(const struct linear_item *item, double *state);

/* Sum of x y exp(G_i - G_j). */
double linear_pair(struct linear_chunk *c, const double *x, int64_t i, const double *y, int64_t j);

/* out += by * y exp(G_i - G_j). */
void linear_spread(struct linear_chunk *c, double by, const double *y, int64_t i, int64_t j,
                   double *out);

/* c->row = x exp(G_i), or x exp(G_end - G_i). */
void linear_since_start(struct linear_chunk *c, const double *x, int64_t i);
void linear_until_end(struct linear_chunk *c, const double *x, int64_t i);

/* out += state^T x, out += state y, state += x y^T, of x[nkeys], y[nvalues]. */
void linear_read(struct linear_chunk *c, const double *state, const double *x, double *out);
void linear_read_keys(struct linear_chunk *c, const double *state, const double *y, double *out);
void linear_write(struct linear_chunk *c, double *state, const double *x, const double *y);

/* state *= exp(G_end), by channel. */
void linear_decay(struct linear_chunk *c, double *state);

/* out += by * x, of nvalues; and x . y, of nvalues. */
void linear_add(struct linear_chunk *c, double by, const double *x, double *out);
double linear_dot(struct linear_chunk *c, const double *x, const double *y);

/* The forward pass of the tokens' updates: c->v becomes w, and `state` that at the chunk's end. u_j
 * is w_j times linear_step(c, j). */
void linear_find_updates(struct linear_chunk *c, const double *state);
void linear_update_state(struct linear_chunk *c, double *state);

static inline double linear_step(const struct linear_chunk *c, int64_t j)
{
    return c->item->a->delta ? c->beta[j] : 1;
}

/* Run fn on all items, on at most `most` threads, each with `doubles` of the workspace. */
typedef void (*linear_item_fn)(struct linear_item *item, double *room);
uint64_t linear_run_items(const struct linear_item *like, linear_item_fn fn, int64_t most,
                          size_t doubles);
uint64_t linear_workspace(const struct kern_linear_attention *a, int64_t most, size_t doubles);

/* Flops of an item's chunks: for each token `each`, and for each pair of a token with one before it,
 * or with itself (`same`). */
uint64_t linear_flops(const struct kern_linear_attention *a, uint64_t each, uint64_t before,
                      uint64_t same);

uint64_t linear_bytes(const struct kern_linear_attention *a, bool backward);

void kern_linear_cut(const union kern_desc *desc, bool backward, struct kern_cut *out);
void kern_linear_part(union kern_desc *desc, const struct kern_cut *cut, int64_t first,
                      int64_t count, int64_t *offsets);

#endif /* KERN_LINEAR_CHUNK_H */

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

/* A run, in which each number that is loaded may be off: error rules compare such runs with the
 * run that is not.  Numbers in the same place of two heads are off by the same sign. */
struct linear_off {
    const double *const *variances; /* by operand number; NULL: exact */
    double unit;                    /* relative, in any case */
    uint64_t seed;
};

/* One head of one row of the batch. */
struct linear_item {
    const struct kern_linear_attention *a;
    const struct kern_args *args;
    const struct linear_off *off; /* NULL: none */
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

/* The forward or the backward pass: what it does with an item, on at most `parts` threads, each with
 * `doubles` of the workspace. */
struct linear_pass {
    void (*run_item)(struct linear_item *item, double *room);
    size_t (*doubles)(const struct kern_linear_attention *a);
    int64_t parts;
    bool backward;
};

/* Run all items; `off` NULL: as they are. */
uint64_t linear_run(const struct linear_pass *pass, const struct kern_linear_attention *a,
                    const struct kern_args *args, const struct linear_off *off);
uint64_t linear_workspace(const struct linear_pass *pass, const struct kern_linear_attention *a);

/* The error rule of a pass. */
bool linear_error(const struct linear_pass *pass, const struct kern_linear_attention *a,
                  struct kern_error *e);

/* Flops of an item's chunks: for each token `each`, and for each pair of a token with one before it,
 * or with itself (`same`). */
uint64_t linear_flops(const struct kern_linear_attention *a, uint64_t each, uint64_t before,
                      uint64_t same);

uint64_t linear_bytes(const struct linear_pass *pass, const struct kern_linear_attention *a);

void linear_cut(const struct linear_pass *pass, const struct kern_linear_attention *a,
                struct kern_cut *out);
void linear_part(union kern_desc *desc, const struct kern_cut *cut, int64_t first,
                      int64_t count, int64_t *offsets);

#endif /* KERN_LINEAR_CHUNK_H */

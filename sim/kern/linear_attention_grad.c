/* Linear attention backward: per head, the states at the starts of all chunks and all w again, then
 * the chunks from the last on.
 *
 * With u_i = beta_i w_i, of which the step beta is 1 but by the delta rule, and dr_i = -du_i
 * beta_i (0 but by the delta rule), in a chunk whose end has the gradient dS1:
 *
 *   du_j = dS1^T (exp(G_end - G_j) k_j) + sum over i >= j of (q_i . exp(G_i - G_j) k_j) do_i
 *                                       + sum over i > j of (k_i . exp(G_i - G_j) k_j) dr_i
 *   dq_i = exp(G_i) S0 do_i + sum over j <= i of (do_i . u_j) exp(G_i - G_j) k_j
 *   dk   = the same of dr_i for i as the later token, and as the earlier one
 *          sum over i of exp(G_i - G_j) ((do_i . u_j) q_i + (dr_i . u_j) k_i)
 *          + exp(G_end - G_j) dS1 u_j
 *   dS0  = exp(G_end) dS1 + sum over i of exp(G_i) (q_i do_i^T + k_i dr_i^T)
 *
 * G_i has the factor exp(G_i) wherever q_i and k_i as the later token are, and exp(-G_j) wherever
 * k_j is the earlier one: dG_i = q_i dq_i + k_i dk_i (later) - k_i dk_i (earlier), and of the end
 * what exp(G_end) is a factor of.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/kernel.h"

#include <math.h>
#include <string.h>

#include "kern/cut.h"
#include "kern/linear_chunk.h"
#include "kern/nest.h"

#define PARTS_MAX 4 /* fewer than forward: a part is large */

/* What the backward pass of a head has beside the chunk. */
struct grads {
    struct linear_chunk c;
    double *states; /* [chunks][nkeys][nvalues], at their starts */
    double *w;      /* [seq][nvalues] */
    double *end;    /* [nkeys][nvalues]: the gradient of the chunk's end, then of its start */
    double *start;  /* [nkeys][nvalues] */
    double *o;      /* [n][nvalues]: do */
    double *u;      /* [n][nvalues]: du, then dv */
    double *r;      /* [n][nvalues]: dr */
    double *used;   /* [n][nvalues]: u */
    double *later;  /* [n][nkeys]: dq */
    double *key;    /* [n][nkeys]: dk as the later token ... */
    double *early;  /* [n][nkeys]: ... and as the earlier */
    double *g;      /* [n][1 or nkeys]: dG, then dg */
    double *beta;   /* [n] */
};

static int64_t nchunks(const struct kern_linear_attention *a)
{
    return a->seq / a->chunk + (a->seq % a->chunk > 0);
}

static int64_t state_size(const struct kern_linear_attention *a)
{
    return a->key_dim * a->value_dim;
}

/* Divide the room, or count it with `room` NULL. */
static size_t divide(struct grads *out, const struct kern_linear_attention *a, double *room)
{
    int64_t n = a->chunk < a->seq ? a->chunk : a->seq;
    int64_t keys = n * a->key_dim, values = n * a->value_dim;
    double **const arrays[] = {&out->states, &out->w, &out->end,  &out->start, &out->o,
                               &out->u,      &out->r, &out->used, &out->later, &out->key,
                               &out->early,  &out->g, &out->beta};
    const int64_t sizes[] = {nchunks(a) * state_size(a),
                             a->seq * a->value_dim,
                             state_size(a),
                             state_size(a),
                             values,
                             values,
                             values,
                             values,
                             keys,
                             keys,
                             keys,
                             n * kern_linear_width(a, KERN_LINEAR_DECAY),
                             n};
    size_t used = linear_chunk_room(a);

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        *arrays[i] = room ? room + used : NULL;
        used += linear_room(sizes[i]);
    }
    return used;
}

static size_t doubles(const struct kern_linear_attention *a)
{
    struct grads none;

    return divide(&none, a, NULL);
}

/* ---- again forward ---- */

static void find_states(struct grads *x)
{
    const struct kern_linear_attention *a = x->c.item->a;
    size_t size = (size_t)state_size(a);

    linear_load_start(x->c.item, x->start);
    for (int64_t number = 0; number < nchunks(a); number++) {
        memcpy(x->states + (size_t)number * size, x->start, size * sizeof *x->start);
        linear_load_chunk(&x->c, number);
        linear_find_updates(&x->c, x->start);
        memcpy(x->w + x->c.first * x->c.nvalues, x->c.v,
               (size_t)(x->c.n * x->c.nvalues) * sizeof *x->w);
        if (number + 1 < nchunks(a))
            linear_update_state(&x->c, x->start);
    }
}

/* ---- a chunk ---- */

static void load_grads(struct grads *x, int64_t number)
{
    struct linear_chunk *c = &x->c;
    size_t n, keys;

    linear_load_chunk(c, number);
    n = (size_t)c->n;
    keys = n * (size_t)c->nkeys;
    memcpy(c->v, x->w + c->first * c->nvalues, n * (size_t)c->nvalues * sizeof *c->v);
    for (int64_t i = 0; i < c->n; i++) {
        linear_load(c->item, KERN_LINEAR_DO, c->first + i, x->o + i * c->nvalues);
        for (int64_t y = 0; y < c->nvalues; y++)
            x->used[i * c->nvalues + y] = linear_step(c, i) * c->v[i * c->nvalues + y];
    }
    memset(x->u, 0, n * (size_t)c->nvalues * sizeof *x->u);
    memset(x->r, 0, n * (size_t)c->nvalues * sizeof *x->r);
    memset(x->later, 0, keys * sizeof *x->later);
    memset(x->key, 0, keys * sizeof *x->key);
    memset(x->early, 0, keys * sizeof *x->early);
}

/* du, dr, dv and dbeta, from the last token on. */
static void find_update_grads(struct grads *x)
{
    struct linear_chunk *c = &x->c;
    bool delta = c->item->a->delta;

    for (int64_t j = c->n - 1; j >= 0; j--) {
        const double *k = c->k + j * c->nkeys;
        double *u = x->u + j * c->nvalues;

        linear_until_end(c, k, j);
        linear_read(c, x->end, c->row, u);
        for (int64_t i = j; i < c->n; i++) {
            linear_add(c, linear_pair(c, c->q + i * c->nkeys, i, k, j), x->o + i * c->nvalues, u);
            if (delta && i > j)
                linear_add(c, linear_pair(c, c->k + i * c->nkeys, i, k, j), x->r + i * c->nvalues,
                           u);
        }
        if (!delta)
            continue;
        x->beta[j] = 0;
        for (int64_t y = 0; y < c->nvalues; y++) {
            x->beta[j] += u[y] * c->v[j * c->nvalues + y];
            u[y] *= c->beta[j];
            x->r[j * c->nvalues + y] = -u[y];
        }
    }
}

/* What token i reads of the state and of the tokens before it by `read`, with the gradient `grad`
 * of what it gets: adds to the gradients of its own row and of the keys before; `own`: of its own
 * key, too. */
static void find_read_grads(struct grads *x, const double *read, const double *grad, int64_t i,
                            bool own, double *out)
{
    struct linear_chunk *c = &x->c;

    memset(c->row, 0, (size_t)c->nkeys * sizeof *c->row);
    linear_read_keys(c, x->start, grad, c->row);
    for (int64_t z = 0; z < c->nkeys; z++)
        out[z] = c->row[z] * exp(c->g[c->by_channel ? i * c->nkeys + z : i]);
    for (int64_t j = 0; j < i + own; j++) {
        double by = linear_dot(c, grad, x->used + j * c->nvalues);

        linear_spread(c, by, c->k + j * c->nkeys, i, j, out);
        linear_spread(c, by, read, i, j, x->early + j * c->nkeys);
    }
}

/* Of the gradient of the end to those of the keys, and of exp(G_end). */
static void find_end_grads(struct grads *x)
{
    struct linear_chunk *c = &x->c;
    const double *last = c->g + (c->n - 1) * (c->by_channel ? c->nkeys : 1);
    double *g = x->g + (c->n - 1) * (c->by_channel ? c->nkeys : 1);

    for (int64_t j = 0; j < c->n; j++) {
        const double *k = c->k + j * c->nkeys;

        memset(c->row, 0, (size_t)c->nkeys * sizeof *c->row);
        linear_read_keys(c, x->end, x->used + j * c->nvalues, c->row);
        linear_until_end(c, c->row, j);
        for (int64_t z = 0; z < c->nkeys; z++) {
            x->early[j * c->nkeys + z] += c->row[z];
            g[c->by_channel ? z : 0] += k[z] * c->row[z];
        }
    }
    for (int64_t z = 0; z < c->nkeys && c->item->a->decays; z++)
        g[c->by_channel ? z : 0] +=
            exp(last[c->by_channel ? z : 0]) *
            linear_dot(c, x->start + z * c->nvalues, x->end + z * c->nvalues);
}

/* dg, a sum over the tokens from each on, of dG. */
static void find_decay_grads(struct grads *x)
{
    struct linear_chunk *c = &x->c;
    int64_t width = c->by_channel ? c->nkeys : 1;

    for (int64_t i = c->n - 1; i >= 0; i--) {
        for (int64_t z = 0; z < c->nkeys; z++) {
            int64_t at = i * c->nkeys + z;

            x->g[i * width + (c->by_channel ? z : 0)] +=
                c->q[at] * x->later[at] + c->k[at] * (x->key[at] - x->early[at]);
        }
        for (int64_t z = 0; z < width && i + 1 < c->n; z++)
            x->g[i * width + z] += x->g[(i + 1) * width + z];
    }
}

/* The gradient of the chunk's start, in place of that of its end. */
static void find_start_grads(struct grads *x)
{
    struct linear_chunk *c = &x->c;

    linear_decay(c, x->end);
    for (int64_t i = 0; i < c->n; i++) {
        linear_since_start(c, c->q + i * c->nkeys, i);
        linear_write(c, x->end, c->row, x->o + i * c->nvalues);
        if (!c->item->a->delta)
            continue;
        linear_since_start(c, c->k + i * c->nkeys, i);
        linear_write(c, x->end, c->row, x->r + i * c->nvalues);
    }
}

static void store_grads(const struct grads *x)
{
    const struct linear_chunk *c = &x->c;
    const struct kern_linear_attention *a = c->item->a;

    for (int64_t i = 0; i < c->n; i++) {
        double *key = x->key + i * c->nkeys;

        for (int64_t z = 0; z < c->nkeys; z++)
            key[z] += x->early[i * c->nkeys + z];
        linear_store(c->item, 0, KERN_LINEAR_Q, c->first + i, x->later + i * c->nkeys);
        linear_store(c->item, 1, KERN_LINEAR_K, c->first + i, key);
        linear_store(c->item, 2, KERN_LINEAR_V, c->first + i, x->u + i * c->nvalues);
        if (a->decays)
            linear_store(c->item, 3, KERN_LINEAR_DECAY, c->first + i,
                         x->g + i * kern_linear_width(a, KERN_LINEAR_DECAY));
        if (a->delta)
            linear_store(c->item, kern_linear_number(a, KERN_LINEAR_BETA), KERN_LINEAR_BETA,
                         c->first + i, x->beta + i);
    }
}

static void chunk_grads(struct grads *x, int64_t number)
{
    struct linear_chunk *c = &x->c;
    const struct kern_linear_attention *a = c->item->a;
    size_t size = (size_t)state_size(a);

    load_grads(x, number);
    memcpy(x->start, x->states + (size_t)number * size, size * sizeof *x->start);
    memset(x->g, 0, (size_t)(c->n * kern_linear_width(a, KERN_LINEAR_DECAY)) * sizeof *x->g);
    find_update_grads(x);
    for (int64_t i = 0; i < c->n; i++) {
        find_read_grads(x, c->q + i * c->nkeys, x->o + i * c->nvalues, i, true,
                        x->later + i * c->nkeys);
        if (a->delta)
            find_read_grads(x, c->k + i * c->nkeys, x->r + i * c->nvalues, i, false,
                            x->key + i * c->nkeys);
    }
    find_end_grads(x);
    find_decay_grads(x);
    find_start_grads(x);
    store_grads(x);
}

static void run_item(struct linear_item *item, double *room)
{
    const struct kern_linear_attention *a = item->a;
    struct grads x = {.c = linear_chunk_in(item, room)};

    divide(&x, a, room);
    find_states(&x);
    if (a->ends)
        linear_load(item, KERN_LINEAR_DEND, 0, x.end);
    else
        memset(x.end, 0, (size_t)state_size(a) * sizeof *x.end);
    for (int64_t number = nchunks(a) - 1; number >= 0; number--)
        chunk_grads(&x, number);
    if (a->starts)
        linear_store(item, kern_linear_number(a, KERN_LINEAR_STATE), KERN_LINEAR_STATE, 0, x.end);
}

static const struct linear_pass backward = {
    .run_item = run_item, .doubles = doubles, .parts = PARTS_MAX, .backward = true};

static uint64_t run(const union kern_desc *desc, const struct kern_args *args)
{
    return linear_run(&backward, &desc->linear_attention, args, NULL);
}

/* The states and w: those of all chunks but the last one's end. */
static uint64_t again(const struct kern_linear_attention *a)
{
    uint64_t keys = (uint64_t)a->key_dim, values = (uint64_t)a->value_dim;
    uint64_t state = kern_sat_mul(2, kern_sat_mul(keys, values));
    struct kern_linear_attention before = *a;

    before.seq = a->seq > 0 ? (a->seq - 1) / a->chunk * a->chunk : 0;
    return kern_sat_add(
        linear_flops(&before, state, 0, 0),
        a->delta ? linear_flops(a, state, kern_sat_mul(2, kern_sat_add(keys, values)), 0) : 0);
}

/* A token has four products with a state, by the delta rule six; a pair three of keys and two of
 * values.  The gradient of a chunk's decay is a product of two states. */
static uint64_t all_flops(const struct kern_linear_attention *a)
{
    uint64_t keys = (uint64_t)a->key_dim, values = (uint64_t)a->value_dim;
    uint64_t state = kern_sat_mul(2, kern_sat_mul(keys, values));
    uint64_t pair = kern_sat_add(kern_sat_mul(6, keys), kern_sat_mul(4, values));
    struct kern_linear_attention chunks = *a;
    uint64_t sum =
        linear_flops(a, kern_sat_mul(a->delta ? 6 : 4, state), a->delta ? pair : 0, pair);

    chunks.seq = a->seq > 0 ? nchunks(a) : 0;
    if (a->decays)
        sum = kern_sat_add(sum, linear_flops(&chunks, state, 0, 0));
    return kern_sat_add(sum, again(a));
}

static uint64_t flops(const union kern_desc *desc, const int64_t *offsets)
{
    (void)offsets;
    return all_flops(&desc->linear_attention);
}

static uint64_t again_flops(const union kern_desc *desc)
{
    return again(&desc->linear_attention);
}

static uint64_t bytes(const union kern_desc *desc, const int64_t *offsets)
{
    (void)offsets;
    return linear_bytes(&backward, &desc->linear_attention);
}

static uint64_t workspace_bytes(const union kern_desc *desc)
{
    return linear_workspace(&backward, &desc->linear_attention);
}

static bool error(const union kern_desc *desc, struct kern_error *e)
{
    return linear_error(&backward, &desc->linear_attention, e);
}

static void cut(const union kern_desc *desc, int64_t wanted, struct kern_cut *out)
{
    (void)wanted;
    linear_cut(&backward, &desc->linear_attention, out);
}

const struct kern_kernel kern_kernel_linear_attention_grad = {.name = "linear_attention_grad",
                                                              .run = run,
                                                              .flops = flops,
                                                              .bytes = bytes,
                                                              .again_flops = again_flops,
                                                              .workspace_bytes = workspace_bytes,
                                                              .error = error,
                                                              .cut = cut,
                                                              .part = linear_part};

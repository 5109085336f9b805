/* Linear attention forward: per head, chunk after chunk.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/kernel.h"

#include <string.h>

#include "kern/cut.h"
#include "kern/linear_chunk.h"
#include "kern/nest.h"

#define PARTS_MAX 16

static size_t doubles(const struct kern_linear_attention *a)
{
    return linear_chunk_room(a) + linear_room(a->key_dim * a->value_dim) +
           linear_room(a->value_dim);
}

/* o of token i. */
static void find_result(struct linear_chunk *c, const double *state, int64_t i, double *o)
{
    const double *q = c->q + i * c->nkeys;

    memset(o, 0, (size_t)c->nvalues * sizeof *o);
    linear_since_start(c, q, i);
    linear_read(c, state, c->row, o);
    for (int64_t j = 0; j <= i; j++)
        linear_add(c, linear_step(c, j) * linear_pair(c, q, i, c->k + j * c->nkeys, j),
                   c->v + j * c->nvalues, o);
}

static void run_item(struct linear_item *item, double *room)
{
    const struct kern_linear_attention *a = item->a;
    struct linear_chunk c = linear_chunk_in(item, room);
    double *state = room + linear_chunk_room(a);
    double *o = state + linear_room(a->key_dim * a->value_dim);

    linear_load_start(item, state);
    for (int64_t number = 0; number * a->chunk < a->seq; number++) {
        linear_load_chunk(&c, number);
        linear_find_updates(&c, state);
        for (int64_t i = 0; i < c.n; i++) {
            find_result(&c, state, i, o);
            linear_store(item, 0, KERN_LINEAR_V, c.first + i, o);
        }
        linear_update_state(&c, state);
    }
    if (a->ends)
        linear_store(item, 1, KERN_LINEAR_STATE, 0, state);
}

static const struct linear_pass forward = {
    .run_item = run_item, .doubles = doubles, .parts = PARTS_MAX, .backward = false};

static uint64_t run(const union kern_desc *desc, const struct kern_args *args)
{
    return linear_run(&forward, &desc->linear_attention, args, NULL);
}

/* A token reads the state (by the delta rule twice) and adds to it; pairs of tokens have a product
 * of keys and one of values each. */
static uint64_t flops(const union kern_desc *desc, const int64_t *offsets)
{
    const struct kern_linear_attention *a = &desc->linear_attention;
    uint64_t keys = (uint64_t)a->key_dim, values = (uint64_t)a->value_dim;
    uint64_t pair = kern_sat_mul(2, kern_sat_add(keys, values));

    (void)offsets;
    return linear_flops(a, kern_sat_mul(a->delta ? 6 : 4, kern_sat_mul(keys, values)),
                        a->delta ? pair : 0, pair);
}

static uint64_t bytes(const union kern_desc *desc, const int64_t *offsets)
{
    (void)offsets;
    return linear_bytes(&forward, &desc->linear_attention);
}

static uint64_t workspace_bytes(const union kern_desc *desc)
{
    return linear_workspace(&forward, &desc->linear_attention);
}

static bool error(const union kern_desc *desc, struct kern_error *e)
{
    return linear_error(&forward, &desc->linear_attention, e);
}

static void cut(const union kern_desc *desc, int64_t wanted, struct kern_cut *out)
{
    (void)wanted;
    linear_cut(&forward, &desc->linear_attention, out);
}

const struct kern_kernel kern_kernel_linear_attention = {.name = "linear_attention",
                                                         .run = run,
                                                         .flops = flops,
                                                         .bytes = bytes,
                                                         .workspace_bytes = workspace_bytes,
                                                         .error = error,
                                                         .cut = cut,
                                                         .part = linear_part};

/* Choice of one class a token, and its gradient.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/kernel.h"

#include <string.h>

#include "kern/convert.h"
#include "kern/cut.h"
#include "kern/error.h"
#include "kern/nest.h"

#define TOKENS 64    /* tokens in one task */
#define CLASSES 4096 /* classes summed at a time, on the stack */

struct pick_run {
    const struct kern_pick *pick;
    const char *in; /* x, or gradient of the result */
    const int32_t *ids;
    char *out;
    int64_t class0;
};

/* Bytes from the start of x to the element for output `at`; negative if another device has it.
 */
static int64_t find_elem(const struct pick_run *run, int64_t at)
{
    const struct kern_pick *p = run->pick;
    int64_t place = at / p->choices, token = place / p->inner, i = place % p->inner;
    int64_t class = run->ids[at] - run->class0;

    if (class < 0 || class >= p->classes)
        return -1;
    return ((token * p->classes + class) * p->inner + i) * (int64_t)kern_size(p->dtype);
}

static int64_t last(const struct kern_pick *p, int64_t id)
{
    return p->tokens - id * TOKENS < TOKENS ? p->tokens : (id + 1) * TOKENS;
}

static uint64_t choose(void *arg, int64_t id)
{
    const struct pick_run *run = arg;
    const struct kern_pick *p = run->pick;
    size_t size = kern_size(p->dtype);
    int64_t each = p->inner * p->choices, end = last(p, id) * each;

    for (int64_t at = id * TOKENS * each; at < end; at++) {
        char *out = run->out + (size_t)at * size;
        int64_t from = find_elem(run, at);

        if (from >= 0)
            memcpy(out, run->in + from, size);
        else
            memset(out, 0, size);
    }
    return 0;
}

/* Add to an element, mostly a zero: a token rarely names a class twice. */
static void add(const struct kern_pick *p, void *to, const void *from)
{
    const void *parts[] = {from};

    if (p->choices == 1)
        memcpy(to, from, kern_size(p->dtype));
    else
        kern_combine(p->dtype, SHD_SUM, to, parts, 1, 1);
}

static void spread_in_place(const struct pick_run *run, int64_t first, int64_t end)
{
    const struct kern_pick *p = run->pick;
    size_t size = kern_size(p->dtype), token_bytes = (size_t)(p->classes * p->inner) * size;
    int64_t each = p->inner * p->choices;

    memset(run->out + (size_t)first * token_bytes, 0, (size_t)(end - first) * token_bytes);
    for (int64_t at = first * each; at < end * each; at++) {
        int64_t to = find_elem(run, at);

        if (to >= 0)
            add(p, run->out + to, run->in + (size_t)at * size);
    }
}

/* The sums of `n` classes from `class` on at one place, [tokens][inner]: 16-bit sums are rounded
 * once. */
static void sum_classes(const struct pick_run *run, int64_t place, int64_t class, int64_t n)
{
    const struct kern_pick *p = run->pick;
    int64_t size = (int64_t)kern_size(p->dtype);
    int64_t to = (place / p->inner * p->classes + class) * p->inner + place % p->inner;
    float sums[CLASSES], more;

    memset(sums, 0, (size_t)n * sizeof *sums);
    for (int64_t at = place * p->choices; at < (place + 1) * p->choices; at++) {
        int64_t named = run->ids[at] - run->class0 - class;

        if (named < 0 || named >= n)
            continue;
        kern_load_f32(p->dtype, run->in + at * size, 1, 1, &more);
        sums[named] += more;
    }
    kern_store_f32(p->dtype, run->out + to * size, p->inner, (size_t)n, sums);
}

static uint64_t spread(void *arg, int64_t id)
{
    const struct pick_run *run = arg;
    const struct kern_pick *p = run->pick;
    int64_t first = id * TOKENS, end = last(p, id);

    if (p->choices == 1 || kern_size(p->dtype) > 2) {
        spread_in_place(run, first, end);
        return 0;
    }
    for (int64_t place = first * p->inner; place < end * p->inner; place++)
        for (int64_t c = 0; c < p->classes; c += CLASSES)
            sum_classes(run, place, c, p->classes - c < CLASSES ? p->classes - c : CLASSES);
    return 0;
}

static uint64_t run_tasks(const union kern_desc *desc, const struct kern_args *args, bool backward)
{
    const struct kern_pick *p = &desc->pick;
    struct pick_run run = {.pick = p,
                           .in = args->in[backward ? 1 : 0],
                           .ids = args->in[backward ? 0 : 1],
                           .out = args->out[0],
                           .class0 = args->offsets[0]};

    if (p->inner == 0)
        return 0;
    return kern_parallel(backward ? spread : choose, &run, (p->tokens + TOKENS - 1) / TOKENS,
                         args->nthreads);
}

static uint64_t run_pick(const union kern_desc *desc, const struct kern_args *args)
{
    return run_tasks(desc, args, false);
}

static uint64_t run_pick_grad(const union kern_desc *desc, const struct kern_args *args)
{
    return run_tasks(desc, args, true);
}

/* ids, and `narrays` arrays of [tokens][inner][choices]. */
static uint64_t chosen_bytes(const struct kern_pick *p, uint64_t narrays)
{
    const int64_t extent[] = {p->tokens, p->inner, p->choices};

    return kern_sat_mul(kern_elements(3, extent, 7),
                        narrays * kern_size(p->dtype) + sizeof(int32_t));
}

static uint64_t bytes(const union kern_desc *desc, const int64_t *offsets)
{
    (void)offsets;
    return chosen_bytes(&desc->pick, 2);
}

static uint64_t grad_bytes(const union kern_desc *desc, const int64_t *offsets)
{
    const struct kern_pick *p = &desc->pick;
    const int64_t extent[] = {p->tokens, p->classes, p->inner};

    (void)offsets;
    return kern_sat_add(chosen_bytes(p, 1),
                        kern_sat_mul(kern_elements(3, extent, 7), kern_size(p->dtype)));
}

static bool error(const union kern_desc *desc, struct kern_error *e)
{
    return kern_error_moved(&kern_kernel_pick, desc, e, 0, 2);
}

static bool grad_error(const union kern_desc *desc, struct kern_error *e)
{
    const struct kern_pick *p = &desc->pick;

    if (p->choices == 1)
        return kern_error_moved(&kern_kernel_pick_grad, desc, e, 1, 2);
    return kern_error_added(&kern_kernel_pick_grad, desc, e, 1,
                            (uint64_t)(p->tokens * p->inner * p->choices),
                            (uint64_t)(p->tokens * p->classes * p->inner), (double)p->choices,
                            kern_compute_roundoff(e->type));
}

/* Cut tokens. */
static void cut_tokens(const struct kern_pick *p, struct kern_cut *out, struct kern_cut_array *all,
                       struct kern_cut_array *ids, struct kern_cut_array *chosen)
{
    out->rows = p->classes * p->inner * p->choices > 0 ? p->tokens : 0;
    *all = (struct kern_cut_array){1, 1, p->classes * p->inner};
    *ids = *chosen = (struct kern_cut_array){1, 1, p->inner * p->choices};
}

static void cut(const union kern_desc *desc, int64_t wanted, struct kern_cut *out)
{
    (void)wanted;
    cut_tokens(&desc->pick, out, &out->in[0], &out->in[1], &out->out[0]);
}

static void grad_cut(const union kern_desc *desc, int64_t wanted, struct kern_cut *out)
{
    (void)wanted;
    cut_tokens(&desc->pick, out, &out->out[0], &out->in[0], &out->in[1]);
}

static void part(union kern_desc *desc, const struct kern_cut *cut, int64_t first, int64_t count,
                 int64_t *offsets)
{
    (void)cut, (void)first, (void)offsets;
    desc->pick.tokens = count;
}

const struct kern_kernel kern_kernel_pick = {
    .name = "pick", .run = run_pick, .bytes = bytes, .error = error, .cut = cut, .part = part};

const struct kern_kernel kern_kernel_pick_grad = {.name = "pick_grad",
                                                  .run = run_pick_grad,
                                                  .bytes = grad_bytes,
                                                  .error = grad_error,
                                                  .cut = grad_cut,
                                                  .part = part};

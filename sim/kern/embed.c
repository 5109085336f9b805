/* Look-up of rows by id, and its gradient.
 *
 * The gradient first lists each row's tokens in the workspace; then each row is summed in registers
 * and stored once: 16-bit sums are rounded once, and rows can be computed in any order.
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

#define ROWS 64   /* rows or tokens in one task */
#define WIDTH 256 /* elements of a row summed at a time, in registers and on the stack */
#define NONE (-1) /* in place of a token: end of the list */

struct embed_run {
    const struct kern_embed *embed;
    const char *in; /* table, or gradient of the result */
    const int32_t *ids;
    char *out;
    int64_t row0;
    int64_t *first; /* [rows]: the first token of each row */
    int64_t *next;  /* [tokens]: the next token of the same row */
};

static uint64_t look_up(void *arg, int64_t id)
{
    const struct embed_run *run = arg;
    const struct kern_embed *e = run->embed;
    size_t row_bytes = (size_t)e->width * kern_size(e->dtype);
    int64_t end = e->tokens - id * ROWS < ROWS ? e->tokens : (id + 1) * ROWS;

    for (int64_t t = id * ROWS; t < end; t++) {
        int64_t row = run->ids[t] - run->row0;
        char *out = run->out + (size_t)t * row_bytes;

        if (row >= 0 && row < e->rows)
            memcpy(out, run->in + (size_t)row * row_bytes, row_bytes);
        else
            memset(out, 0, row_bytes);
    }
    return 0;
}

static uint64_t run_embed(const union kern_desc *desc, const struct kern_args *args)
{
    struct embed_run run = {.embed = &desc->embed,
                            .in = args->in[0],
                            .ids = args->in[1],
                            .out = args->out[0],
                            .row0 = args->offsets[0]};

    if (desc->embed.width == 0)
        return 0;
    return kern_parallel(look_up, &run, (desc->embed.tokens + ROWS - 1) / ROWS, args->nthreads);
}

static uint64_t row_bytes(const struct kern_embed *e, int64_t rows)
{
    const int64_t extent[] = {rows, e->width};

    return kern_sat_mul(kern_elements(2, extent, 3), kern_size(e->dtype));
}

static uint64_t id_bytes(const struct kern_embed *e)
{
    return kern_sat_mul(kern_elements(1, &e->tokens, 1), sizeof(int32_t));
}

static uint64_t bytes(const union kern_desc *desc, const int64_t *offsets)
{
    const struct kern_embed *e = &desc->embed;

    (void)offsets;
    return kern_sat_add(kern_sat_mul(2, row_bytes(e, e->tokens)), id_bytes(e));
}

static bool error(const union kern_desc *desc, struct kern_error *e)
{
    return kern_error_moved(&kern_kernel_embed, desc, e, 0, 2);
}

/* Cut tokens. */
static void cut_tokens(const union kern_desc *desc, int64_t wanted, struct kern_cut *out)
{
    (void)wanted;
    out->rows = desc->embed.width > 0 ? desc->embed.tokens : 0;
    out->in[1] = (struct kern_cut_array){1, 1, 1};
    out->out[0] = (struct kern_cut_array){1, 1, desc->embed.width};
}

static void part_of_tokens(union kern_desc *desc, const struct kern_cut *cut, int64_t first,
                           int64_t count, int64_t *offsets)
{
    (void)cut, (void)first, (void)offsets;
    desc->embed.tokens = count;
}

const struct kern_kernel kern_kernel_embed = {.name = "embed",
                                              .run = run_embed,
                                              .bytes = bytes,
                                              .error = error,
                                              .cut = cut_tokens,
                                              .part = part_of_tokens};

/* List tokens from the last to the first, so that each list ends up in the order of tokens.
 * Returns how many belong to rows of other devices. */
static uint64_t list_tokens(const struct embed_run *run)
{
    const struct kern_embed *e = run->embed;
    uint64_t nforeign = 0;

    for (int64_t row = 0; row < e->rows; row++)
        run->first[row] = NONE;
    for (int64_t t = e->tokens; t-- > 0;) {
        int64_t row = run->ids[t] - run->row0;

        if (row < 0 || row >= e->rows) {
            nforeign++;
            continue;
        }
        run->next[t] = run->first[row];
        run->first[row] = t;
    }
    return nforeign;
}

#define SUM_ROW(name, T, load, store)                                                    \
    static uint64_t name(const struct embed_run *run, int64_t row, int64_t at, size_t n) \
    {                                                                                    \
        const struct kern_embed *e = run->embed;                                         \
        uint64_t flops = 0;                                                              \
        int64_t size = (int64_t)kern_size(e->dtype);                                     \
        T sum[WIDTH], more[WIDTH];                                                       \
                                                                                         \
        memset(sum, 0, n * sizeof *sum);                                                 \
        for (int64_t t = run->first[row]; t != NONE; t = run->next[t]) {                 \
            load(e->dtype, run->in + (t * e->width + at) * size, 1, n, more);            \
            for (size_t i = 0; i < n; i++)                                               \
                sum[i] += more[i];                                                       \
            flops += n;                                                                  \
        }                                                                                \
        store(e->dtype, run->out + (row * e->width + at) * size, 1, n, sum);             \
        return flops;                                                                    \
    }

SUM_ROW(sum_row_f32, float, kern_load_f32, kern_store_f32)
SUM_ROW(sum_row_f64, double, kern_load_f64, kern_store_f64)

static uint64_t add_up(void *arg, int64_t id)
{
    const struct embed_run *run = arg;
    const struct kern_embed *e = run->embed;
    int64_t end = e->rows - id * ROWS < ROWS ? e->rows : (id + 1) * ROWS;
    uint64_t flops = 0;

    for (int64_t row = id * ROWS; row < end; row++) {
        for (int64_t at = 0; at < e->width; at += WIDTH) {
            size_t n = (size_t)(e->width - at < WIDTH ? e->width - at : WIDTH);

            if (e->dtype == SHD_F64)
                flops += sum_row_f64(run, row, at, n);
            else
                flops += sum_row_f32(run, row, at, n);
        }
    }
    return flops;
}

static uint64_t run_embed_grad(const union kern_desc *desc, const struct kern_args *args)
{
    const struct kern_embed *e = &desc->embed;
    struct embed_run run = {.embed = e,
                            .in = args->in[1],
                            .ids = args->in[0],
                            .out = args->out[0],
                            .row0 = args->offsets[0],
                            .first = args->workspace,
                            .next = (int64_t *)args->workspace + e->rows};
    uint64_t flops = list_tokens(&run) * (uint64_t)e->width;

    return flops + kern_parallel(add_up, &run, (e->rows + ROWS - 1) / ROWS, args->nthreads);
}

static uint64_t grad_flops(const union kern_desc *desc, const int64_t *offsets)
{
    const int64_t extent[] = {desc->embed.tokens, desc->embed.width};

    (void)offsets;
    return kern_elements(2, extent, 3);
}

static uint64_t grad_bytes(const union kern_desc *desc, const int64_t *offsets)
{
    const struct kern_embed *e = &desc->embed;

    (void)offsets;
    return kern_sat_add(kern_sat_add(row_bytes(e, e->tokens), row_bytes(e, e->rows)), id_bytes(e));
}

static uint64_t grad_workspace_bytes(const union kern_desc *desc)
{
    const struct kern_embed *e = &desc->embed;

    return kern_sat_mul(
        kern_sat_add(kern_elements(1, &e->rows, 1), kern_elements(1, &e->tokens, 1)),
        sizeof(int64_t));
}

static bool grad_error(const union kern_desc *desc, struct kern_error *e)
{
    const struct kern_embed *d = &desc->embed;

    return kern_error_added(&kern_kernel_embed_grad, desc, e, 1, (uint64_t)(d->tokens * d->width),
                            (uint64_t)(d->rows * d->width), (double)d->tokens,
                            kern_compute_roundoff(e->type));
}

/* Cut rows of the table; each part goes through all tokens. */
static void cut_rows(const union kern_desc *desc, int64_t wanted, struct kern_cut *out)
{
    (void)wanted;
    out->rows = desc->embed.width > 0 ? desc->embed.rows : 0;
    out->out[0] = (struct kern_cut_array){1, 1, desc->embed.width};
}

static void part_of_rows(union kern_desc *desc, const struct kern_cut *cut, int64_t first,
                         int64_t count, int64_t *offsets)
{
    (void)cut;
    desc->embed.rows = count;
    offsets[0] = first;
}

const struct kern_kernel kern_kernel_embed_grad = {
    .name = "embed_grad",
    .run = run_embed_grad,
    .flops = grad_flops,
    .bytes = grad_bytes,
    .workspace_bytes = grad_workspace_bytes,
    .error = grad_error,
    .cut = cut_rows,
    .part = part_of_rows,
};

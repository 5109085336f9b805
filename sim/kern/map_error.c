/* The error of an elementwise expression, instruction by instruction.
 *
 * A function of one operand is examined in the range of the operand's error: the largest change of
 * its value, on either side, is the error of the result.  So kinks, steps, poles and saturation
 * need no rules of their own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>

#include "kern/error.h"
#include "kern/map_fn.h"
#include "kern/nest.h"

#define BLOCK 64 /* elements; the registers of a block take 24 KiB of the stack */
#define NREGS (KERN_MAP_INPUTS_MAX + KERN_MAP_INSTRS_MAX)
#define TASK_BLOCKS 64 /* blocks in one task */

/* Relative error of the float32 functions that are not correctly rounded, in roundoffs: below 4e-7
 * by math32.h, which is 7 roundoffs. float64 uses libm, which is better. */
#define CURVED_ROUNDOFFS 8

struct regs {
    double value[NREGS][BLOCK];
    double off[NREGS][BLOCK]; /* error of the value: SPREAD standard deviations */
};

struct map_error {
    const struct kern_map *map;
    const struct kern_error *error;
    int squared;           /* the operand of a final conversion; -1: none */
    double mean_square;    /* of that operand */
    struct kern_nest nest; /* array 0 is the result, 1 + i is input i */
    int64_t count;
};

static bool is_exact(enum kern_fn fn)
{
    return kern_fns[fn].rounding == KERN_EXACT;
}

/* A choice that may go the other way is off by all or nothing, and several in one sum may be off at
 * once: each counts double, so that the mean square of up to four is not less than their sum. */
#define CHOICE 2

/* The size that the function's own roundings are relative to. */
static double local_size(const struct kern_instr *instr, double x, double value)
{
    double size = fabs(value);

    switch (kern_fns[instr->fn].rounding) {
    case KERN_EXACT:
        return 0;
    case KERN_CURVED:
        return CURVED_ROUNDOFFS * size;
    case KERN_CURVED_INSIDE:
        return CURVED_ROUNDOFFS * (1 + fabs(x)) * size;
    case KERN_CURVED_SUM:
        return CURVED_ROUNDOFFS * (1 + size);
    default: /* KERN_ROUNDED */
        break;
    }
    if (instr->fn == KERN_SCALE)
        return 2 * size; /* the scalar is rounded too */
    if (instr->fn == KERN_ADD_SCALAR)
        return size + fabs(instr->scalar);
    return instr->fn == KERN_FILL && (double)(float)value == value ? 0 : size;
}

/* The largest change of a function of one operand, within the operand's error. */
static void unary(enum kern_fn fn, size_t n, const double *x, const double *off, double scalar,
                  const double *value, double *out)
{
    double moved[BLOCK], up[BLOCK], down[BLOCK];

    for (size_t i = 0; i < n; i++)
        moved[i] = x[i] + off[i];
    kern_fn_f64(fn, n, moved, moved, scalar, up);
    for (size_t i = 0; i < n; i++)
        moved[i] = x[i] - off[i];
    kern_fn_f64(fn, n, moved, moved, scalar, down);
    for (size_t i = 0; i < n; i++) {
        out[i] = fmax(fabs(up[i] - value[i]), fabs(down[i] - value[i]));
        if (isnan(up[i]) || isnan(down[i]) || (isinf(off[i]) && fn != KERN_STEP))
            out[i] = INFINITY; /* the result of an unknown operand may be NaN */
        if (off[i] == 0)
            out[i] = 0;
        if (fn == KERN_STEP)
            out[i] *= CHOICE;
    }
}

/* First-order bounds: the operands may be equal or correlated. */
static double binary(enum kern_fn fn, double a, double da, double b, double db, double value)
{
    a = fabs(a);
    switch (fn) {
    case KERN_ADD:
    case KERN_SUB:
        return da + db;
    case KERN_MUL:
        return a * db + fabs(b) * da + da * db;
    case KERN_DIV:
        if (da == 0 && a == 0)
            return 0;
        return fabs(b) > db ? (da + fabs(value) * db) / (fabs(b) - db) : INFINITY;
    case KERN_GATE:
        if (db == 0 && b == 0)
            return 0;
        return fabs(b) > db ? da : CHOICE * (a + da);
    default:
        return fmax(da, db);
    }
}

/* If either operand may be the larger, the result may be off by more than both: see
 * reduce_error.c. */
static double chosen(double a, double da, double b, double db, double value)
{
    if (fabs(a - b) > da + db)
        return a == value ? da : db;
    return 2 * fmax(da, db);
}

/* Equal values with equal errors are an element and the extreme chosen from several, if no other
 * could have been chosen. */
static double equal(double a, double da, double b, double db)
{
    if (a == b)
        return da == db ? 0 : CHOICE;
    return fabs(a - b) <= da + db ? CHOICE : 0;
}

/* An intermediate result may be stored, where the expression is cut in two. */
static double with_rounding(const struct kern_instr *instr, const struct kern_error *e, bool last,
                            double x, double value, double off)
{
    double lost = kern_compute_roundoff(e->type) * local_size(instr, x, value);

    if (!isfinite(value)) /* exact, unless the operand's error decides it */
        return isinf(off) ? INFINITY : 0;
    if (!last && !is_exact(instr->fn))
        lost += kern_store_loss(e->type, value);
    off = hypot(off, KERN_ERROR_SPREAD * lost);
    return fabs(value) + off <= kern_largest(e->type) ? off : INFINITY;
}

/* The operand of a final conversion, which devices may each apply to a part. */
int kern_map_squared(const union kern_desc *desc, double parts)
{
    const struct kern_map *map = &desc->map;
    const struct kern_instr *last = &map->instrs[map->ninstrs - 1];

    return last->fn == KERN_CONVERT && parts > 1 ? last->src[0] : -1;
}

static double mean_square_of(const struct kern_map *map, const double *const *inputs, int operand)
{
    uint64_t n = 1;

    for (uint32_t d = 0; d < map->ndims; d++)
        n *= map->in_stride[operand][d] != 0 ? (uint64_t)map->extent[d] : 1;
    return kern_mean_square(inputs[operand], n);
}

/* The converted operand may be a sum of which each device has and rounds a part.  Parts may be
 * larger than the sum: as large as the array's elements on average. */
static double with_parts(const struct map_error *m, double value, double off)
{
    double parts = m->error->parts, store = kern_store_roundoff(m->error->type);
    double least = kern_store_loss(m->error->type, 0);
    double variance = parts * (store * store * (value * value + m->mean_square) + least * least);

    return hypot(off, KERN_ERROR_SPREAD * sqrt(variance));
}

static void apply(const struct kern_instr *instr, size_t n, struct regs *r, uint32_t to, bool last,
                  const struct kern_error *e)
{
    uint32_t s = instr->src[0], t = kern_fns[instr->fn].noperands == 2 ? instr->src[1] : s;
    const double *a = r->value[s], *b = r->value[t], *da = r->off[s], *db = r->off[t];
    double *value = r->value[to], *off = r->off[to];

    if (kern_fns[instr->fn].noperands < 1)
        a = b = r->value[to == 0]; /* not read; it only must not be the output register */
    kern_fn_f64(instr->fn, n, a, b, instr->scalar, value);
    if (kern_fns[instr->fn].noperands == 1)
        unary(instr->fn, n, a, da, instr->scalar, value, off);
    for (size_t i = 0; i < n; i++) {
        if (kern_fns[instr->fn].noperands == 0)
            off[i] = 0;
        else if (instr->fn == KERN_EQUAL)
            off[i] = equal(a[i], da[i], b[i], db[i]);
        else if (instr->fn == KERN_MAX || instr->fn == KERN_MIN)
            off[i] = chosen(a[i], da[i], b[i], db[i], value[i]);
        else if (kern_fns[instr->fn].noperands == 2)
            off[i] = binary(instr->fn, a[i], da[i], b[i], db[i], value[i]);
        off[i] = with_rounding(instr, e, last, a[i], value[i], off[i]);
    }
}

static void load_run(const struct map_error *m, const struct kern_walk *walk, size_t at, size_t n,
                     struct regs *regs)
{
    for (uint32_t i = 0; i < m->map->ninputs; i++) {
        int64_t stride = m->nest.ndims ? m->nest.stride[1 + i][m->nest.ndims - 1] : 1;
        const double *values = (const double *)m->error->args->in[i] + walk->offset[1 + i];
        const double *v = m->error->variances[i];

        for (size_t j = 0; j < n; j++)
            regs->value[i][at + j] = values[(int64_t)j * stride];
        for (size_t j = 0; j < n; j++)
            regs->off[i][at + j] =
                v ? KERN_ERROR_SPREAD * sqrt(v[walk->offset[1 + i] + (int64_t)j * stride]) : 0;
    }
}

static void run_block(const struct map_error *m, struct kern_walk *walk, size_t n,
                      struct regs *regs)
{
    struct kern_walk start = *walk;
    const struct kern_map *map = m->map;
    uint32_t result = map->ninputs + map->ninstrs - 1;
    const double *off = regs->off[result];
    size_t length;

    for (size_t at = 0; at < n; at += length) {
        int64_t left = kern_walk_run(walk);

        length = (size_t)left < n - at ? (size_t)left : n - at;
        load_run(m, walk, at, length, regs);
        kern_walk_advance(walk, (int64_t)length);
    }
    for (uint32_t i = 0; i < map->ninstrs; i++)
        apply(&map->instrs[i], n, regs, map->ninputs + i, i + 1 == map->ninstrs, m->error);
    for (size_t j = 0; j < n && m->squared >= 0; j++)
        regs->off[result][j] = with_parts(m, regs->value[result][j], regs->off[result][j]);
    for (size_t at = 0; at < n; at += length) {
        int64_t left = kern_walk_run(&start);
        int64_t stride = m->nest.ndims ? m->nest.stride[0][m->nest.ndims - 1] : 1;

        length = (size_t)left < n - at ? (size_t)left : n - at;
        for (size_t j = 0; j < length; j++) {
            double deviation = off[at + j] / KERN_ERROR_SPREAD;

            m->error->out[0][start.offset[0] + (int64_t)j * stride] =
                isinf(deviation) ? KERN_ERROR_UNKNOWN : deviation * deviation;
        }
        kern_walk_advance(&start, (int64_t)length);
    }
}

static uint64_t task(void *arg, int64_t id)
{
    const struct map_error *m = arg;
    int64_t at = id * BLOCK * TASK_BLOCKS, end = at + BLOCK * TASK_BLOCKS;
    struct kern_walk walk;
    struct regs regs;

    end = end < m->count ? end : m->count;
    kern_walk_init(&walk, &m->nest, at);
    for (; at < end; at += BLOCK)
        run_block(m, &walk, (size_t)(end - at < BLOCK ? end - at : BLOCK), &regs);
    return 0; /* not flops of the step */
}

bool kern_map_error(const union kern_desc *desc, struct kern_error *e)
{
    const struct kern_map *map = &desc->map;
    struct map_error m = {.map = map, .error = e};

    e->kept = true;
    for (uint32_t i = 0; i < map->ninstrs; i++)
        e->kept &= is_exact(map->instrs[i].fn);
    if (kern_elements(map->ndims, map->extent, UINT32_MAX) == 0)
        return true;
    m.squared = kern_map_squared(desc, e->parts);
    if (m.squared >= 0)
        m.mean_square = e->square
                            ? *e->square
                            : mean_square_of(map, (const double *const *)e->args->in, m.squared);
    m.nest.narrays = 1 + map->ninputs;
    for (uint32_t d = 0; d < map->ndims; d++) {
        int64_t strides[1 + KERN_MAP_INPUTS_MAX] = {map->out_stride[d]};

        for (uint32_t i = 0; i < map->ninputs; i++)
            strides[1 + i] = map->in_stride[i][d];
        kern_nest_add(&m.nest, map->extent[d], strides);
    }
    kern_nest_simplify(&m.nest, 0);
    m.count = kern_nest_count(&m.nest);
    kern_parallel(task, &m, (m.count + BLOCK * TASK_BLOCKS - 1) / (BLOCK * TASK_BLOCKS),
                  e->args->nthreads);
    return true;
}

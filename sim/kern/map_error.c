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

#include "kern/convert.h"
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

/* Whether a result loses nothing when it is stored. */
static bool is_exact(const struct kern_instr *instr, enum shd_dtype type)
{
    if (instr->fn == KERN_FILL)
        return kern_is_whole(type) || kern_round(type, instr->scalar) == instr->scalar;
    return kern_fns[instr->fn].rounding == KERN_EXACT;
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

/* What is known of a condition, which is true where its value is not 0. */
static bool surely_true(double x, double off)
{
    return fabs(x) > off;
}

static bool surely_false(double x, double off)
{
    return x == 0 && off == 0;
}

static void evaluate(const struct map_error *m, const struct kern_instr *instr, size_t n,
                     const double *const *in, double *out)
{
    if (m->map->dtype == SHD_I32)
        kern_fn_i32(instr->fn, n, in, instr->scalar, out);
    else
        kern_fn_f64(instr->fn, n, in, instr->scalar, out);
}

/* Functions whose largest change is not that at an end of the operand's range, or that jump. */
static double changed(const struct map_error *m, enum kern_fn fn, double x, double off,
                      double change)
{
    switch (fn) {
    case KERN_CONVERT:
        return m->map->dtype == SHD_I32 ? CHOICE * change : change;
    case KERN_STEP:
    case KERN_SIGN:
    case KERN_FLOOR:
    case KERN_CEIL:
    case KERN_ROUND:
        return CHOICE * change;
    case KERN_SIN:
        return fmin(2, off * (fabs(cos(x)) + off / 2));
    case KERN_COS:
        return fmin(2, off * (fabs(sin(x)) + off / 2));
    case KERN_NOT:
        return surely_true(x, off) ? 0 : CHOICE;
    case KERN_TAN: /* over a pole it may be anything */
        return fabs(cos(x)) > off ? change : INFINITY;
    case KERN_BIT_NOT:
        return INFINITY;
    default:
        return change;
    }
}

/* The largest change of a function of one operand, within the operand's error. */
static void unary(const struct map_error *m, const struct kern_instr *instr, size_t n,
                  const double *x, const double *off, const double *value, double *out)
{
    double moved[BLOCK], up[BLOCK], down[BLOCK];
    const double *const in[KERN_OPERANDS_MAX] = {moved, moved, moved};
    enum kern_fn fn = instr->fn;
    bool bounded = fn == KERN_STEP || fn == KERN_NOT; /* and never NaN */

    for (size_t i = 0; i < n; i++)
        moved[i] = x[i] + off[i];
    evaluate(m, instr, n, in, up);
    for (size_t i = 0; i < n; i++)
        moved[i] = x[i] - off[i];
    evaluate(m, instr, n, in, down);
    for (size_t i = 0; i < n; i++) {
        out[i] = fmax(fabs(up[i] - value[i]), fabs(down[i] - value[i]));
        if (isnan(up[i]) || isnan(down[i]) || (isinf(off[i]) && !bounded))
            out[i] = INFINITY; /* the result of an unknown operand may be NaN */
        else
            out[i] = changed(m, fn, x[i], off[i], out[i]);
        if (off[i] == 0)
            out[i] = 0;
    }
}

/* The largest change of a^b is at a corner, unless a may be of either sign: then only a whole b
 * that is known, and not negative, leaves it finite. */
static double powered(double a, double da, double b, double db, double value)
{
    double most = 0;

    if (da == 0 && db == 0)
        return 0;
    if (fabs(a) <= da && (db > 0 || b < 0 || b != floor(b)))
        return INFINITY;
    if (a < 0 && db > 0)
        return INFINITY;
    for (int corner = 0; corner < 4; corner++)
        most =
            fmax(most, fabs(pow(a + (corner & 1 ? da : -da), b + (corner & 2 ? db : -db)) - value));
    return fabs(a) <= da ? fmax(most, fabs(value)) : most;
}

/* A remainder follows its operands while the quotient keeps its whole part, else it may be any. */
static double remaining(double a, double da, double b, double db)
{
    double q = a / b, dq;

    if (da == 0 && db == 0)
        return 0;
    if (fabs(b) <= db || isinf(da) || isinf(db))
        return INFINITY;
    dq = (da + fabs(q) * db) / (fabs(b) - db);
    if (trunc(q - dq) == trunc(q + dq))
        return da + fabs(trunc(q)) * db;
    return CHOICE * (fabs(b) + db);
}

/* An angle: of a point that is away from the origin and from where angles jump. */
static double turned(double a, double da, double b, double db)
{
    double near = hypot(a, b) - da - db;

    if (da == 0 && db == 0)
        return 0;
    if (near <= 0 || (b < db && fabs(a) <= da))
        return isfinite(da + db) ? CHOICE * 2 * acos(-1) : INFINITY;
    return (da + db) / near;
}

/* A surely false operand decides `and`, a surely true operand decides `or`. */
static double joined(enum kern_fn fn, double a, double da, double b, double db)
{
    bool decided = fn == KERN_AND  ? surely_false(a, da) || surely_false(b, db)
                   : fn == KERN_OR ? surely_true(a, da) || surely_true(b, db)
                                   : false;
    bool known =
        (surely_true(a, da) || surely_false(a, da)) && (surely_true(b, db) || surely_false(b, db));

    return decided || known ? 0 : CHOICE;
}

/* A selection whose condition is open may be either operand. */
static double selected(const double *v, const double *d)
{
    if (surely_true(v[2], d[2]))
        return d[0];
    if (surely_false(v[2], d[2]))
        return d[1];
    return CHOICE * ((v[0] == v[1] ? 0 : fabs(v[0] - v[1])) + d[0] + d[1]);
}

/* If either operand may be the larger, the result may be off by more than both: see
 * reduce_error.c. */
static double chosen(double a, double da, double b, double db, double value)
{
    if (fabs(a - b) > da + db)
        return a == value ? da : db;
    return 2 * fmax(da, db);
}

/* A comparison is open where either operand may be the larger.  Equal values with equal finite
 * errors are an element and the extreme chosen from several, if no other could have been chosen. */
static double compared(double a, double da, double b, double db)
{
    if (a == b)
        return da == db && isfinite(da) ? 0 : CHOICE;
    return fabs(a - b) <= da + db ? CHOICE : 0;
}

static double divided(double a, double da, double b, double db, double value)
{
    if (da == 0 && a == 0)
        return 0;
    return fabs(b) > db ? (da + fabs(value) * db) / (fabs(b) - db) : INFINITY;
}

static double gated(double a, double da, double b, double db)
{
    if (surely_false(b, db))
        return 0;
    return surely_true(b, db) ? da : CHOICE * (fabs(a) + da);
}

/* First-order bounds: the operands may be equal or correlated. */
static double binary(enum kern_fn fn, double a, double da, double b, double db, double value)
{
    switch (fn) {
    case KERN_ADD:
    case KERN_SUB:
        return da + db;
    case KERN_MUL:
        return fabs(a) * db + fabs(b) * da + da * db;
    case KERN_DIV:
        return divided(a, da, b, db, value);
    case KERN_GATE:
        return gated(a, da, b, db);
    case KERN_EQUAL:
    case KERN_NOT_EQUAL:
    case KERN_LESS:
    case KERN_LESS_EQUAL:
        return compared(a, da, b, db);
    case KERN_AND:
    case KERN_OR:
    case KERN_XOR:
        return joined(fn, a, da, b, db);
    case KERN_ATAN2:
        return turned(a, da, b, db);
    case KERN_BIT_AND:
    case KERN_BIT_OR:
    case KERN_BIT_XOR:
    case KERN_SHIFT_LEFT:
    case KERN_SHIFT_RIGHT:
        return da == 0 && db == 0 ? 0 : INFINITY;
    case KERN_POW:
        return powered(a, da, b, db, value);
    case KERN_REM:
        return remaining(a, da, b, db);
    default: /* KERN_MAX, KERN_MIN */
        return chosen(a, da, b, db, value);
    }
}

/* An intermediate result may be stored, where the expression is cut in two. */
static double with_rounding(const struct kern_instr *instr, const struct kern_error *e, bool last,
                            double x, double value, double off)
{
    double lost = kern_compute_roundoff(e->type) * local_size(instr, x, value);

    if (!isfinite(value)) /* exact, unless the operand's error decides it */
        return isinf(off) ? INFINITY : 0;
    if (!last && !is_exact(instr, e->type))
        lost += kern_store_loss(e->type, value);
    off = hypot(off, KERN_ERROR_SPREAD * lost);
    return fabs(value) + off <= kern_largest(e->type) ? off : INFINITY;
}

/* The operand of a final conversion, which devices may each apply to a part. */
int kern_map_squared(const union kern_desc *desc, double parts)
{
    const struct kern_map *map = &desc->map;
    const struct kern_instr *last = &map->instrs[map->ninstrs - 1];
    bool whole = kern_is_whole(map->dtype) ||
                 (last->src[0] < map->ninputs && kern_is_whole(map->in_dtype[last->src[0]]));

    return last->fn == KERN_CONVERT && parts > 1 && !whole ? last->src[0] : -1;
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

/* The error that an operand's error causes in element i of a result. */
static double caused(const struct kern_instr *instr, const double *const *in,
                     const double *const *off, size_t i, double value)
{
    if (kern_fns[instr->fn].noperands == 2)
        return binary(instr->fn, in[0][i], off[0][i], in[1][i], off[1][i], value);
    return selected((const double[]){in[0][i], in[1][i], in[2][i]},
                    (const double[]){off[0][i], off[1][i], off[2][i]});
}

static void apply(const struct kern_instr *instr, size_t n, struct regs *r, uint32_t to, bool last,
                  const struct map_error *m)
{
    const double *in[KERN_OPERANDS_MAX], *da[KERN_OPERANDS_MAX];
    uint32_t noperands = kern_fns[instr->fn].noperands;
    double *value = r->value[to], *off = r->off[to];

    for (uint32_t k = 0; k < KERN_OPERANDS_MAX; k++) {
        /* What is not read only must not be the output register. */
        uint32_t from = k < noperands ? instr->src[k] : to == 0;

        in[k] = r->value[from];
        da[k] = r->off[from];
    }
    evaluate(m, instr, n, in, value);
    if (noperands == 1)
        unary(m, instr, n, in[0], da[0], value, off);
    for (size_t i = 0; i < n; i++) {
        if (noperands == 0)
            off[i] = 0;
        else if (noperands > 1)
            off[i] = caused(instr, in, da, i, value[i]);
        off[i] = with_rounding(instr, m->error, last, in[0][i], value[i], off[i]);
    }
}

static void load_run(const struct map_error *m, const struct kern_walk *walk, size_t at, size_t n,
                     struct regs *regs)
{
    for (uint32_t i = 0; i < m->map->ninputs; i++) {
        int64_t stride = m->nest.ndims ? m->nest.stride[1 + i][m->nest.ndims - 1] : 1;
        enum shd_dtype type = kern_is_whole(m->map->in_dtype[i]) ? m->map->in_dtype[i] : SHD_F64;
        const char *values = m->error->args->in[i];
        const double *v = m->error->variances[i];

        kern_load_f64(type, values + walk->offset[1 + i] * (int64_t)kern_size(type), stride, n,
                      regs->value[i] + at);
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
        apply(&map->instrs[i], n, regs, map->ninputs + i, i + 1 == map->ninstrs, m);
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
        e->kept &= is_exact(&map->instrs[i], e->type);
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

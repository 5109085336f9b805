/* The error of attention, forward and backward.
 *
 * Weights of a row sum to 1: what is summed with them is averaged, and its error too, taken to be
 * of one sign, as a row's errors share what is wrong with its query and its sums.  Products, and
 * the sums over queries in the gradients of keys and values, are as in einsum_error.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "kern/error.h"
#include "kern/nest.h"

/* Sums that go side by side, as many doubles as a vector of AVX2 holds. */
#define LANES 4
/* Relative error of exp, below 4e-7 (math32.h) or 7 roundoffs of float32, with the rounding of its
 * argument's parts. */
#define EXP_ROUNDOFFS 8

struct attention_error {
    const struct kern_attention *a;
    const struct kern_error *e;
    const double *zeros; /* variances of an operand that is exact: one row */
    atomic_bool failed;  /* there was no memory */
};

/* A row of head_dim elements with its variances. */
struct row {
    const double *x, *v;
};

static struct row row_at(const struct attention_error *run, uint32_t operand, int64_t at)
{
    const double *v = run->e->variances[operand];

    return (struct row){(const double *)run->e->args->in[operand] + at, v ? v + at : run->zeros};
}

/* The product of two rows, and what it may be off as a standard deviation. */
static double product(size_t n, struct row a, struct row b, double compute, double *deviation)
{
    double sum[LANES] = {0}, squares[LANES] = {0}, off[LANES] = {0}, variance;
    size_t i = 0;

    for (; i + LANES <= n; i += LANES) {
        for (size_t j = 0; j < LANES; j++) {
            double x = a.x[i + j], y = b.x[i + j], xx = x * x, yy = y * y;

            sum[j] += x * y;
            squares[j] += xx * yy;
            off[j] += xx * b.v[i + j] + a.v[i + j] * (yy + b.v[i + j]);
        }
    }
    for (; i < n; i++) {
        double x = a.x[i], y = b.x[i];

        sum[0] += x * y;
        squares[0] += x * x * y * y;
        off[0] += x * x * b.v[i] + a.v[i] * (y * y + b.v[i]);
    }
    sum[0] += sum[1] + sum[2] + sum[3];
    squares[0] += squares[1] + squares[2] + squares[3];
    off[0] += off[1] + off[2] + off[3];
    variance = (double)n * compute * compute * (sqrt((double)n) * squares[0] + sum[0] * sum[0]);
    variance += off[0] * kern_agreement(squares[0], sum[0]);
    *deviation = sqrt(variance);
    return sum[0];
}

/* Relative deviation of exp of what has a deviation. */
static double exp_deviation(double deviation, double compute)
{
    return expm1(KERN_ERROR_SPREAD * deviation) / KERN_ERROR_SPREAD + EXP_ROUNDOFFS * compute;
}

/* Keys that a local query sees. */
static int64_t nvisible(const struct attention_error *run, int64_t s)
{
    int64_t n = run->e->args->offsets[KERN_ATTENTION_QUERY0] + s + 1;

    return run->a->causal && n < run->a->keys ? n : run->a->keys;
}

/* The local key head of a local head. */
static int64_t kv_head(const struct attention_error *run, int64_t h)
{
    const int64_t *offsets = run->e->args->offsets;

    return (offsets[KERN_ATTENTION_HEAD0] + h) / run->a->repeat - offsets[KERN_ATTENTION_KV_HEAD0];
}

static int64_t q_at(const struct kern_attention *a, int64_t b, int64_t s, int64_t h)
{
    return ((b * a->queries + s) * a->heads + h) * a->head_dim;
}

static int64_t kv_at(const struct kern_attention *a, int64_t b, int64_t t, int64_t g)
{
    return ((b * a->keys + t) * a->kv_heads + g) * a->head_dim;
}

/* ---- forward ---- */

/* One query of one head; `off` has room for two rows. */
static void query_error(const struct attention_error *run, int64_t b, int64_t s, int64_t h,
                        double *off)
{
    const struct kern_attention *a = run->a;
    const struct kern_error *e = run->e;
    int64_t at = q_at(a, b, s, h), n = nvisible(run, s), g = kv_head(run, h);
    size_t d = (size_t)a->head_dim;
    const double *o = (const double *)e->args->out[0] + at;
    double lse = ((const double *)e->args->out[1])[at / a->head_dim], lse_off = 0;
    double *squares = off + d;
    double sums = (EXP_ROUNDOFFS + sqrt((double)n)) * kern_compute_roundoff(e->type);
    struct row q = row_at(run, 0, at);

    memset(off, 0, 2 * d * sizeof *off);
    for (int64_t t = 0; t < n; t++) {
        struct row v = row_at(run, 2, kv_at(a, b, t, g));
        double deviation, weight, relative;
        double score = product(d, q, row_at(run, 1, kv_at(a, b, t, g)),
                               kern_compute_roundoff(e->type), &deviation);

        weight = exp(a->scale * score - lse);
        relative = exp_deviation(fabs(a->scale) * deviation, kern_compute_roundoff(e->type));
        lse_off += weight * relative;
        for (size_t i = 0; i < d; i++)
        {
            double change = relative * (v.x[i] - o[i]), part = weight * v.x[i];

            off[i] += weight * weight * (change * change + v.v[i]) + sums * sums * part * part;
            squares[i] += part * part;
        }
    }
    for (size_t i = 0; i < d; i++)
        e->out[0][at + (int64_t)i] = off[i] * kern_agreement(squares[i], o[i]);
    lse_off += sums + kern_compute_roundoff(e->type) * fabs(lse);
    e->out[1][at / a->head_dim] = lse_off * lse_off;
}

static uint64_t head_task(void *arg, int64_t id)
{
    struct attention_error *run = arg;
    double *off = malloc((2 * (size_t)run->a->head_dim + 1) * sizeof *off);

    if (!off) {
        atomic_store(&run->failed, true);
        return 0;
    }
    for (int64_t s = 0; s < run->a->queries; s++)
        query_error(run, id / run->a->heads, s, id % run->a->heads, off);
    free(off);
    return 0; /* no flops of the step */
}

/* ---- backward ---- */

enum { Q, K, V, O, LSE, DO }; /* operands */

/* Sums over queries for the keys of one head: [keys][head_dim] each. */
struct key_sums {
    double *dk, *dk_squares, *dv, *dv_squares;
    double *dq, *dq_squares; /* [head_dim] */
    double *dq_shared;       /* what all terms of a row have a part in: the sum of g * o is off */
};

static void query_grad_error(const struct attention_error *run, int64_t b, int64_t s, int64_t h,
                             struct key_sums *sums)
{
    const struct kern_attention *a = run->a;
    const struct kern_error *e = run->e;
    int64_t at = q_at(a, b, s, h), n = nvisible(run, s), g = kv_head(run, h);
    size_t d = (size_t)a->head_dim;
    const double *lse_v = e->variances[LSE], *dq = (const double *)e->args->out[0] + at;
    double compute = kern_compute_roundoff(e->type), scale = a->scale, delta_off;
    double lse = ((const double *)e->args->in[LSE])[at / a->head_dim];
    double lse_off = lse_v ? sqrt(lse_v[at / a->head_dim]) : 0;
    struct row q = row_at(run, Q, at), grad = row_at(run, DO, at);
    double delta = product(d, grad, row_at(run, O, at), compute, &delta_off);

    memset(sums->dq, 0, 3 * d * sizeof *sums->dq);
    for (int64_t t = 0; t < n; t++) {
        struct row k = row_at(run, K, kv_at(a, b, t, g));
        double off, dp_off, ds, ds_off, p, p_off, own;
        double score = product(d, q, k, compute, &off);
        double dp = product(d, grad, row_at(run, V, kv_at(a, b, t, g)), compute, &dp_off);
        double *dk = sums->dk + (size_t)t * d, *dk_squares = sums->dk_squares + (size_t)t * d;
        double *dv = sums->dv + (size_t)t * d, *dv_squares = sums->dv_squares + (size_t)t * d;

        p = exp(scale * score - lse);
        p_off = p * exp_deviation(fabs(scale) * off + lse_off, compute);
        ds = p * (dp - delta);
        dp_off += compute * (fabs(dp) + fabs(delta));
        own = p * dp_off + p_off * (fabs(dp - delta) + dp_off);
        ds_off = own + (p + p_off) * delta_off;
        for (size_t i = 0; i < d; i++) {
            double qq = q.x[i] * q.x[i], gg = grad.x[i] * grad.x[i], kk = k.x[i] * k.x[i];

            sums->dq[i] += own * own * (kk + k.v[i]) + ds * ds * k.v[i];
            sums->dq_squares[i] += ds * ds * kk;
            sums->dq_shared[i] += (p + p_off) * k.x[i];
            dk[i] += ds * ds * q.v[i] + ds_off * ds_off * (qq + q.v[i]);
            dk_squares[i] += ds * ds * qq;
            dv[i] += p * p * grad.v[i] + p_off * p_off * (gg + grad.v[i]);
            dv_squares[i] += p * p * gg;
        }
    }
    for (size_t i = 0; i < d; i++) {
        double squares = scale * scale * sums->dq_squares[i];
        double shared = scale * delta_off * sums->dq_shared[i], lost = lse_off * dq[i];

        e->out[0][at + (int64_t)i] =
            scale * scale * sums->dq[i] * kern_agreement(squares, dq[i]) + shared * shared +
            lost * lost + kern_sum_variance(e, compute, (double)n, squares, dq[i]);
    }
}

static void store_sums(const struct attention_error *run, int64_t b, int64_t g,
                       const struct key_sums *sums)
{
    const struct kern_attention *a = run->a;
    const struct kern_error *e = run->e;
    double n = (double)(a->queries * a->repeat), scale2 = a->scale * a->scale;

    for (int64_t t = 0; t < a->keys; t++) {
        for (int64_t i = 0; i < a->head_dim; i++) {
            int64_t to = kv_at(a, b, t, g) + i, from = t * a->head_dim + i;
            double dk = ((const double *)e->args->out[1])[to],
                   dk2 = scale2 * sums->dk_squares[from];
            double dv = ((const double *)e->args->out[2])[to], dv2 = sums->dv_squares[from];

            e->out[1][to] = scale2 * sums->dk[from] * kern_agreement(dk2, dk) +
                            kern_sum_variance(e, kern_compute_roundoff(e->type), n, dk2, dk);
            e->out[2][to] = sums->dv[from] * kern_agreement(dv2, dv) +
                            kern_sum_variance(e, kern_compute_roundoff(e->type), n, dv2, dv);
        }
    }
}

static uint64_t key_head_task(void *arg, int64_t id)
{
    struct attention_error *run = arg;
    const struct kern_attention *a = run->a;
    int64_t b = id / a->kv_heads, g = id % a->kv_heads;
    size_t n = (size_t)(a->keys * a->head_dim), d = (size_t)a->head_dim;
    double *room = calloc(4 * n + 3 * d + 1, sizeof *room);
    struct key_sums sums = {room,         room + n,         room + 2 * n,        room + 3 * n,
                            room + 4 * n, room + 4 * n + d, room + 4 * n + 2 * d};

    if (!room) {
        atomic_store(&run->failed, true);
        return 0;
    }
    for (int64_t h = 0; h < a->heads; h++)
        for (int64_t s = 0; s < a->queries && kv_head(run, h) == g; s++)
            query_grad_error(run, b, s, h, &sums);
    store_sums(run, b, g, &sums);
    free(room);
    return 0; /* no flops of the step */
}

/* ---- both ---- */

static bool all_finite(const double *x, uint64_t n)
{
    for (uint64_t i = 0; x && i < n; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

/* Elements of an operand, and of the gradient of one. */
static uint64_t count_of(const struct kern_attention *a, int operand)
{
    uint64_t rows = (uint64_t)(a->batch * a->queries * a->heads);

    if (operand == LSE)
        return rows;
    if (operand == K || operand == V)
        return (uint64_t)(a->batch * a->keys * a->kv_heads * a->head_dim);
    return rows * (uint64_t)a->head_dim;
}

/* What is infinite, or not known, is multiplied by the zeros of what a query does not see: how far
 * that goes depends on tiles, and so on the sharding. */
static bool is_known(const struct kern_attention *a, const struct kern_error *e, bool backward)
{
    for (int k = 0; k < (backward ? 6 : 3); k++)
        if (!all_finite(e->args->in[k], count_of(a, k)) ||
            !all_finite(e->variances[k], count_of(a, k)))
            return false;
    return true;
}

/* The operand that each result is shaped like, forward and backward. */
static const int results_like[2][3] = {{Q, LSE, LSE}, {Q, K, V}};

static void leave_open(const struct kern_attention *a, const struct kern_error *e, bool backward)
{
    for (int k = 0; k < (backward ? 3 : 2); k++)
        for (uint64_t i = 0; i < count_of(a, results_like[backward][k]); i++)
            e->out[k][i] = KERN_ERROR_UNKNOWN;
}

/* Where scores are so large that a rounding of one may be all of a row, nothing is known. */
static void leave_unknown_open(const struct kern_attention *a, const struct kern_error *e,
                               bool backward)
{
    for (int k = 0; k < (backward ? 3 : 2); k++)
        for (uint64_t i = 0; i < count_of(a, results_like[backward][k]); i++)
            if (isnan(e->out[k][i]))
                e->out[k][i] = KERN_ERROR_UNKNOWN;
}

static bool run_all(const union kern_desc *desc, const struct kern_error *e, kern_task_fn task,
                    int64_t ntasks, bool backward)
{
    struct attention_error run = {.a = &desc->attention, .e = e};
    double *zeros = calloc((size_t)run.a->head_dim + 1, sizeof *zeros);

    if (!zeros)
        return false;
    if (!is_known(run.a, e, backward)) {
        leave_open(run.a, e, backward);
        free(zeros);
        return true;
    }
    run.zeros = zeros;
    atomic_init(&run.failed, false);
    kern_parallel(task, &run, ntasks, e->args->nthreads);
    leave_unknown_open(run.a, e, backward);
    free(zeros);
    return !atomic_load(&run.failed);
}

bool kern_attention_error(const union kern_desc *desc, struct kern_error *e)
{
    return run_all(desc, e, head_task, desc->attention.batch * desc->attention.heads,
                   false);
}

bool kern_attention_grad_error(const union kern_desc *desc, struct kern_error *e)
{
    return run_all(desc, e, key_head_task, desc->attention.batch * desc->attention.kv_heads,
                   true);
}

/* The error of attention, forward and backward.
 *
 * A row's weights sum to 1: values that they sum are averaged, and so are their errors, which are
 * assumed to have one sign, as a row's errors share those of its query and its sums.  Products, and
 * the sums over queries in the gradients of keys and values, are treated as in einsum_error.c.
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

/* Parallel sums, as many doubles as an AVX2 vector holds. */
#define LANES 4
/* Relative error of exp, below 4e-7 (math32.h) or 7 roundoffs of float32, plus the rounding of its
 * argument's parts. */
#define EXP_ROUNDOFFS 8

enum { Q, K, V, O, LSE, DO }; /* operands; the first three are shared by forward and backward */

struct attention_error {
    const struct kern_attention *a;
    const struct kern_error *e;
    const int32_t *spans, *positions; /* NULL: no sight */
    const int32_t *table;             /* NULL: no pages */
    const double *zeros; /* a row of zero variances, for exact operands */
    atomic_bool failed;  /* out of memory */
};

/* A row of head_dim or value_dim elements, and their variances. */
struct row {
    const double *x, *v;
};

static struct row row_at(const struct attention_error *run, uint32_t operand, int64_t at)
{
    const double *v = run->e->variances[operand];

    return (struct row){(const double *)run->e->args->in[operand] + at, v ? v + at : run->zeros};
}

/* The product of two rows, and the standard deviation of its error. */
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

/* The relative deviation of exp(x) when x has a deviation. */
static double exp_deviation(double deviation, double compute)
{
    return expm1(KERN_ERROR_SPREAD * deviation) / KERN_ERROR_SPREAD + EXP_ROUNDOFFS * compute;
}

/* A score times the scale, capped if the attention does so; the deviation of `product` becomes that
 * of the score, whose slope by what is capped is at most 1. */
struct score {
    double value, deviation;
    double slope, slope_off; /* by what is capped, and the deviation of that */
};

static struct score score_of(const struct kern_attention *a, double product, double deviation,
                             double compute)
{
    struct score s = {a->scale * product, fabs(a->scale) * deviation, 1, 0};
    double part;

    if (!(a->cap > 0))
        return s;
    part = tanh(s.value / a->cap);
    s.value = a->cap * part;
    s.slope = 1 - part * part;
    s.slope_off = 2 * fabs(part) * (s.deviation / a->cap + EXP_ROUNDOFFS * compute) + compute;
    s.deviation += EXP_ROUNDOFFS * compute * fabs(s.value);
    return s;
}

/* The keys that a local query may see: those of its block, limited by causality if there is no
 * sight. */
struct keys {
    int64_t begin, end;
    const int32_t *span; /* NULL: all of them */
};

static struct keys keys_of(const struct attention_error *run, int64_t b, int64_t s)
{
    const struct kern_attention *a = run->a;
    int64_t n = a->keys / a->blocks, begin = s / (a->queries / a->blocks) * n;
    int64_t seen = run->e->args->offsets[KERN_ATTENTION_QUERY0] + s + 1, row = 0;

    if (!a->sight)
        return (struct keys){begin, a->causal && seen < n ? seen : begin + n, NULL};
    row = a->sight->rows > 0 ? b : 0;
    return (struct keys){begin, begin + n, run->spans + 2 * (row * a->queries + s)};
}

static bool sees(const struct attention_error *run, const struct keys *keys, int64_t t)
{
    return !keys->span ||
           (run->positions[t] >= keys->span[0] && run->positions[t] <= keys->span[1]);
}

/* The local key head of a local head. */
static int64_t kv_head(const struct attention_error *run, int64_t h)
{
    const int64_t *offsets = run->e->args->offsets;

    return (offsets[KERN_ATTENTION_HEAD0] + h) / run->a->repeat - offsets[KERN_ATTENTION_KV_HEAD0];
}

/* Rows of [batch][query][head] and [batch][key][kv_head]. */
static int64_t q_row(const struct kern_attention *a, int64_t b, int64_t s, int64_t h)
{
    return (b * a->queries + s) * a->heads + h;
}

static int64_t kv_row(const struct attention_error *run, int64_t b, int64_t t, int64_t g)
{
    return kern_attention_key(run->a, run->table, b, t) * run->a->kv_heads + g;
}

/* ---- forward ---- */

/* Sums for one query: by element of value_dim, and for lse. */
struct query_sums {
    double *off, *squares; /* variances of the terms; their squares */
    double lse_off;        /* relative deviation of the sum of exp */
    double n;              /* number of terms */
};

/* Add a term of the mean: a row of values, with a weight that has a relative deviation. */
static void add_term(const struct attention_error *run, struct query_sums *sums, const double *o,
                     struct row v, double weight, double relative)
{
    sums->lse_off += weight * relative;
    sums->n++;
    for (int64_t i = 0; i < run->a->value_dim; i++) {
        double change = relative * (v.x[i] - o[i]), part = weight * v.x[i];

        sums->off[i] += weight * weight * (change * change + v.v[i]);
        sums->squares[i] += part * part;
    }
}

/* Add the partial result as another term, with the weight exp(lse so far). */
static void add_so_far(const struct attention_error *run, struct query_sums *sums, int64_t row,
                       const double *o, double lse)
{
    int first = (run->spans ? 5 : 3) + (run->table != NULL);
    double before = ((const double *)run->e->args->in[first + 1])[row];
    const double *v = run->e->variances[first + 1];

    if (before == -INFINITY)
        return;
    add_term(run, sums, o, row_at(run, (uint32_t)first, row * run->a->value_dim), exp(before - lse),
             exp_deviation(v ? sqrt(v[row]) : 0, kern_compute_roundoff(run->e->type)));
}

/* Add the head's sink, a term without a value. */
static void add_sink(const struct attention_error *run, struct query_sums *sums, int64_t h,
                     const double *o, double lse)
{
    uint32_t operand = kern_attention_sinks(run->a);
    double sink = ((const double *)run->e->args->in[operand])[h];
    const double *v = run->e->variances[operand];

    add_term(run, sums, o, (struct row){run->zeros, run->zeros}, exp(sink - lse),
             exp_deviation(v ? sqrt(v[h]) : 0, kern_compute_roundoff(run->e->type)));
}

/* Compute the error of one query of one head; `room` holds two rows. */
static void query_error(const struct attention_error *run, int64_t b, int64_t s, int64_t h,
                        double *room)
{
    const struct kern_attention *a = run->a;
    const struct kern_error *e = run->e;
    int64_t at = q_row(a, b, s, h), g = kv_head(run, h);
    size_t d = (size_t)a->head_dim, m = (size_t)a->value_dim;
    const double *o = (const double *)e->args->out[0] + at * a->value_dim;
    double lse = ((const double *)e->args->out[1])[at], compute = kern_compute_roundoff(e->type);
    struct query_sums sums = {room, room + m, 0, 0};
    struct row q = row_at(run, Q, at * a->head_dim);
    struct keys keys = keys_of(run, b, s);
    double rounding;

    if (lse == -INFINITY)
        return; /* no key is seen: both results are exact */
    memset(room, 0, 2 * m * sizeof *room);
    for (int64_t t = keys.begin; t < keys.end; t++) {
        int64_t row = kv_row(run, b, t, g);
        struct score score;
        double deviation, dot;

        if (!sees(run, &keys, t))
            continue;
        dot = product(d, q, row_at(run, K, row * a->head_dim), compute, &deviation);
        score = score_of(a, dot, deviation, compute);
        add_term(run, &sums, o, row_at(run, V, row * a->value_dim), exp(score.value - lse),
                 exp_deviation(score.deviation, compute));
    }
    if (a->goes_on)
        add_so_far(run, &sums, at, o, lse);
    if (a->sinks)
        add_sink(run, &sums, h, o, lse);
    rounding = (EXP_ROUNDOFFS + sqrt(sums.n)) * compute;
    for (size_t i = 0; i < m; i++) {
        double off = sums.off[i] + rounding * rounding * sums.squares[i];

        e->out[0][at * a->value_dim + (int64_t)i] = off * kern_agreement(sums.squares[i], o[i]);
    }
    sums.lse_off += rounding + compute * fabs(lse);
    e->out[1][at] = sums.lse_off * sums.lse_off;
}

static uint64_t head_task(void *arg, int64_t id)
{
    struct attention_error *run = arg;
    double *room = malloc((2 * (size_t)run->a->value_dim + 1) * sizeof *room);

    if (!room) {
        atomic_store(&run->failed, true);
        return 0;
    }
    for (int64_t s = 0; s < run->a->queries; s++)
        query_error(run, id / run->a->heads, s, id % run->a->heads, room);
    free(room);
    return 0; /* no flops of the step */
}

/* ---- backward ---- */

/* Sums over queries for the keys of one head: [keys][head_dim], or [keys][value_dim] for dv. */
struct key_sums {
    double *dk, *dk_squares, *dv, *dv_squares;
    double *dq, *dq_squares; /* [head_dim] */
    double *dq_shared;       /* error shared by all terms of a row: that of the sum of g * o */
};

/* The data of a query that all its terms need. */
struct grad_query {
    struct row q, grad;
    double lse, lse_off, delta, delta_off;
};

/* Add the error terms of a query and one of its keys to the sums. */
static void pair_grad_error(const struct attention_error *run, const struct grad_query *s,
                            int64_t t, struct row k, struct row v, struct key_sums *sums)
{
    size_t d = (size_t)run->a->head_dim, m = (size_t)run->a->value_dim;
    double compute = kern_compute_roundoff(run->e->type);
    double off, dp_off, dot = product(d, s->q, k, compute, &off);
    struct score score = score_of(run->a, dot, off, compute);
    double dp = product(m, s->grad, v, compute, &dp_off), p = exp(score.value - s->lse);
    double p_off = p * exp_deviation(score.deviation + s->lse_off, compute);
    double ds = p * (dp - s->delta) * score.slope, own, shared, ds_off;
    double *dk = sums->dk + (size_t)t * d, *dk_squares = sums->dk_squares + (size_t)t * d;
    double *dv = sums->dv + (size_t)t * m, *dv_squares = sums->dv_squares + (size_t)t * m;

    dp_off += compute * (fabs(dp) + fabs(s->delta));
    own = (p * dp_off + p_off * (fabs(dp - s->delta) + dp_off)) * score.slope +
          p * fabs(dp - s->delta) * score.slope_off;
    shared = (p + p_off) * (score.slope + score.slope_off);
    ds_off = own + shared * s->delta_off;
    for (size_t i = 0; i < d; i++) {
        double qq = s->q.x[i] * s->q.x[i], kk = k.x[i] * k.x[i];

        sums->dq[i] += own * own * (kk + k.v[i]) + ds * ds * k.v[i];
        sums->dq_squares[i] += ds * ds * kk;
        sums->dq_shared[i] += shared * k.x[i];
        dk[i] += ds * ds * s->q.v[i] + ds_off * ds_off * (qq + s->q.v[i]);
        dk_squares[i] += ds * ds * qq;
    }
    for (size_t i = 0; i < m; i++) {
        double gg = s->grad.x[i] * s->grad.x[i];

        dv[i] += p * p * s->grad.v[i] + p_off * p_off * (gg + s->grad.v[i]);
        dv_squares[i] += p * p * gg;
    }
}

static void query_grad_error(const struct attention_error *run, int64_t b, int64_t s, int64_t h,
                             struct key_sums *sums)
{
    const struct kern_attention *a = run->a;
    const struct kern_error *e = run->e;
    int64_t at = q_row(a, b, s, h), g = kv_head(run, h);
    size_t d = (size_t)a->head_dim;
    const double *lse_v = e->variances[LSE];
    const double *dq = (const double *)e->args->out[0] + at * a->head_dim;
    double compute = kern_compute_roundoff(e->type), scale = a->scale, n = 0;
    struct grad_query query = {.q = row_at(run, Q, at * a->head_dim),
                               .grad = row_at(run, DO, at * a->value_dim),
                               .lse = ((const double *)e->args->in[LSE])[at],
                               .lse_off = lse_v ? sqrt(lse_v[at]) : 0};
    struct keys keys = keys_of(run, b, s);

    if (query.lse == -INFINITY)
        return; /* no key is seen */
    query.delta = product((size_t)a->value_dim, query.grad, row_at(run, O, at * a->value_dim),
                          compute, &query.delta_off);
    memset(sums->dq, 0, 3 * d * sizeof *sums->dq);
    for (int64_t t = keys.begin; t < keys.end; t++) {
        int64_t row = kv_row(run, b, t, g);

        if (!sees(run, &keys, t))
            continue;
        n++;
        pair_grad_error(run, &query, t, row_at(run, K, row * a->head_dim),
                        row_at(run, V, row * a->value_dim), sums);
    }
    for (size_t i = 0; i < d; i++) {
        double squares = scale * scale * sums->dq_squares[i];
        double shared = scale * query.delta_off * sums->dq_shared[i];
        double lost = query.lse_off * dq[i];

        e->out[0][at * a->head_dim + (int64_t)i] =
            scale * scale * sums->dq[i] * kern_agreement(squares, dq[i]) + shared * shared +
            lost * lost + kern_sum_variance(e, compute, n, squares, dq[i]);
    }
}

/* Store variances of sums over queries, for one row of dk or dv. */
static void store_row(const struct attention_error *run, int result, int64_t row, size_t width,
                      const double *off, const double *squares, double scale2)
{
    const struct kern_error *e = run->e;
    double n = (double)(run->a->queries / run->a->blocks * run->a->repeat);
    double compute = kern_compute_roundoff(e->type);

    for (size_t i = 0; i < width; i++) {
        int64_t to = row * (int64_t)width + (int64_t)i;
        double value = ((const double *)e->args->out[result])[to], terms = scale2 * squares[i];

        e->out[result][to] = scale2 * off[i] * kern_agreement(terms, value) +
                             kern_sum_variance(e, compute, n, terms, value);
    }
}

static void store_sums(const struct attention_error *run, int64_t b, int64_t g,
                       const struct key_sums *sums)
{
    const struct kern_attention *a = run->a;
    size_t d = (size_t)a->head_dim, m = (size_t)a->value_dim;

    for (int64_t t = 0; t < a->keys; t++) {
        size_t k = (size_t)t * d, v = (size_t)t * m;

        store_row(run, 1, kv_row(run, b, t, g), d, sums->dk + k, sums->dk_squares + k,
                  a->scale * a->scale);
        store_row(run, 2, kv_row(run, b, t, g), m, sums->dv + v, sums->dv_squares + v, 1);
    }
}

static uint64_t key_head_task(void *arg, int64_t id)
{
    struct attention_error *run = arg;
    const struct kern_attention *a = run->a;
    int64_t b = id / a->kv_heads, g = id % a->kv_heads;
    size_t d = (size_t)a->head_dim, nk = (size_t)a->keys * d;
    size_t nv = (size_t)(a->keys * a->value_dim), end = 2 * (nk + nv);
    double *room = calloc(end + 3 * d + 1, sizeof *room);
    struct key_sums sums = {room,       room + nk,      room + 2 * nk,     room + 2 * nk + nv,
                            room + end, room + end + d, room + end + 2 * d};

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

/* Whether an operand, here or in the whole array, is finite. */
static bool is_finite(const struct kern_error *e, int operand, uint64_t n, bool lse)
{
    uint8_t marks = e->marks ? e->marks[operand]
                             : kern_marks(e->args->in[operand], e->variances[operand], n);

    return !(marks & (KERN_MARK_OPEN | KERN_MARK_BROKEN | KERN_MARK_NOT_FINITE)) &&
           (lse || !(marks & KERN_MARK_MINUS_INFINITY));
}

/* Arrays by their shapes. */
enum like { LIKE_Q, LIKE_O, LIKE_K, LIKE_V, LIKE_LSE };

static uint64_t count_of(const struct kern_attention *a, enum like like)
{
    uint64_t queries = (uint64_t)(a->batch * a->queries * a->heads);
    uint64_t keys = (uint64_t)(a->batch * a->keys * a->kv_heads);

    if (a->pages)
        keys = (uint64_t)(a->batch / a->pages->rows * a->blocks * kern_pages_count(a->pages) *
                          a->pages->page * a->kv_heads);

    if (like == LIKE_LSE)
        return queries;
    return (like == LIKE_Q || like == LIKE_O ? queries : keys) *
           (uint64_t)(like == LIKE_Q || like == LIKE_K ? a->head_dim : a->value_dim);
}

/* Shapes of the floating-point operands, and their order: forward (without a sight, o and lse so
 * far follow q, k and v) and backward. */
static const enum like forward_like[] = {LIKE_Q, LIKE_K, LIKE_V, LIKE_O, LIKE_LSE};
static const enum like backward_like[] = {LIKE_Q, LIKE_K, LIKE_V, LIKE_O, LIKE_LSE, LIKE_O};

/* Infinite or unknown values are multiplied by the zero weights of keys that a query does not see.
 * How far that spreads depends on tiles, and so on the sharding. (lse of -infinity means that no
 * key is seen.)
 */
static bool is_known(const struct kern_attention *a, const struct kern_error *e, bool backward)
{
    const enum like *likes = backward ? backward_like : forward_like;
    int n = backward ? 6 : a->goes_on ? 5 : 3;

    for (int k = 0; k < n; k++) {
        int operand = !backward && k > V && a->sight ? k + 2 + (a->pages != NULL) : k;
        uint64_t count = count_of(a, likes[k]);

        if (!is_finite(e, operand, count, likes[k] == LIKE_LSE))
            return false;
    }
    return backward || !a->sinks ||
           is_finite(e, (int)kern_attention_sinks(a), (uint64_t)a->heads, false);
}

/* The shapes of results, forward and backward. */
static const enum like results_like[2][3] = {{LIKE_O, LIKE_LSE, LIKE_LSE},
                                             {LIKE_Q, LIKE_K, LIKE_V}};

static void leave_open(const struct kern_attention *a, const struct kern_error *e, bool backward)
{
    for (int k = 0; k < (backward ? 3 : 2); k++)
        for (uint64_t i = 0; i < count_of(a, results_like[backward][k]); i++)
            e->out[k][i] = KERN_ERROR_UNKNOWN;
}

/* If scores are so large that the rounding of one may outweigh a whole row, nothing is known. */
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
    int64_t width = run.a->head_dim > run.a->value_dim ? run.a->head_dim : run.a->value_dim;
    double *zeros = calloc((size_t)width + 1, sizeof *zeros);

    if (!zeros)
        return false;
    if (!is_known(run.a, e, backward)) {
        leave_open(run.a, e, backward);
        free(zeros);
        return true;
    }
    run.zeros = zeros;
    if (run.a->sight) {
        run.spans = e->args->in[backward ? 6 : 3];
        run.positions = e->args->in[backward ? 7 : 4];
        run.table = run.a->pages ? e->args->in[5] : NULL;
    }
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

/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "kern/linear_chunk.h"

#include <math.h>
#include <string.h>

#include "kern/convert.h"
#include "kern/cut.h"
#include "kern/nest.h"

/* ---- operands ---- */

bool kern_linear_has(const struct kern_linear_attention *a, int operand)
{
    switch (operand) {
    case KERN_LINEAR_DECAY:
        return a->decays;
    case KERN_LINEAR_BETA:
        return a->delta;
    case KERN_LINEAR_STATE:
        return a->starts;
    case KERN_LINEAR_DEND:
        return a->ends;
    default:
        return true;
    }
}

uint32_t kern_linear_number(const struct kern_linear_attention *a, int operand)
{
    uint32_t number = 0;

    for (int k = 0; k < operand; k++)
        number += kern_linear_has(a, k);
    return number;
}

static bool is_state(int operand)
{
    return operand == KERN_LINEAR_STATE || operand == KERN_LINEAR_DEND;
}

int64_t kern_linear_width(const struct kern_linear_attention *a, int operand)
{
    switch (operand) {
    case KERN_LINEAR_Q:
    case KERN_LINEAR_K:
        return a->key_dim;
    case KERN_LINEAR_DECAY:
        return a->by_channel ? a->key_dim : 1;
    case KERN_LINEAR_BETA:
        return 1;
    case KERN_LINEAR_STATE:
    case KERN_LINEAR_DEND:
        return a->key_dim * a->value_dim;
    default:
        return a->value_dim;
    }
}

enum shd_dtype kern_linear_type(const struct kern_linear_attention *a, int operand)
{
    if (operand == KERN_LINEAR_DECAY)
        return a->decay_dtype;
    return is_state(operand) ? kern_attention_sums(a->dtype) : a->dtype;
}

uint64_t kern_linear_elements(const struct kern_linear_attention *a, int operand)
{
    const int64_t extent[] = {a->batch, is_state(operand) ? 1 : a->seq, a->heads};
    const int64_t width[] = {is_state(operand) ? a->key_dim : kern_linear_width(a, operand),
                             is_state(operand) ? a->value_dim : 1};

    return kern_sat_mul(kern_elements(3, extent, 7), kern_elements(2, width, 3));
}

int kern_linear_result(const struct kern_linear_attention *a, bool backward, uint32_t r)
{
    int operand = KERN_LINEAR_Q;

    if (!backward)
        return r ? KERN_LINEAR_STATE : KERN_LINEAR_V;
    while (kern_linear_number(a, operand) < r || !kern_linear_has(a, operand))
        operand++;
    return operand;
}

uint32_t kern_linear_nresults(const struct kern_linear_attention *a, bool backward)
{
    return backward ? kern_linear_number(a, KERN_LINEAR_DO) : 1u + a->ends;
}

/* ---- loads and stores ---- */

size_t linear_room(int64_t n)
{
    return ((size_t)n + KERN_LANES - 1) / KERN_LANES * KERN_LANES + KERN_LANES;
}

/* The place of a token's row, or of a head's state, in an array. */
static int64_t place(const struct linear_item *item, int operand, int64_t t)
{
    const struct kern_linear_attention *a = item->a;
    int64_t row = is_state(operand) ? item->b * a->heads + item->h
                                    : (item->b * a->seq + t) * a->heads + item->h;

    return row * kern_linear_width(a, operand);
}

/* 1 or -1 by the place of a number in its head: splitmix64 (Steele et al. 2014). */
static double sign_of(uint64_t seed, uint64_t x)
{
    x += (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (x ^ x >> 31) & 1 ? 1 : -1;
}

static void move_off(const struct linear_item *item, int operand, int64_t t, double *out)
{
    const struct linear_off *off = item->off;
    const double *variances = off->variances[kern_linear_number(item->a, operand)];
    int64_t n = kern_linear_width(item->a, operand);

    if (variances)
        variances += place(item, operand, t);
    for (int64_t i = 0; i < n; i++)
        out[i] += sign_of(off->seed, (uint64_t)((t * n + i) * KERN_LINEAR_NOPERANDS + operand)) *
                  ((variances ? sqrt(variances[i]) : 0) + off->unit * fabs(out[i]));
}

void linear_load(const struct linear_item *item, int operand, int64_t t, double *out)
{
    enum shd_dtype dtype = kern_linear_type(item->a, operand);
    const char *from = item->args->in[kern_linear_number(item->a, operand)];

    kern_load_f64(dtype, from + (size_t)place(item, operand, t) * kern_size(dtype), 1,
                  (size_t)kern_linear_width(item->a, operand), out);
    if (item->off)
        move_off(item, operand, t, out);
}

void linear_store(const struct linear_item *item, uint32_t result, int like, int64_t t,
                  const double *in)
{
    enum shd_dtype dtype = kern_linear_type(item->a, like);
    char *to = item->args->out[result];

    kern_store_f64(dtype, to + (size_t)place(item, like, t) * kern_size(dtype), 1,
                   (size_t)kern_linear_width(item->a, like), in);
}

void linear_load_start(const struct linear_item *item, double *state)
{
    if (item->a->starts)
        linear_load(item, KERN_LINEAR_STATE, 0, state);
    else
        memset(state, 0, (size_t)kern_linear_width(item->a, KERN_LINEAR_STATE) * sizeof *state);
}

/* ---- a chunk ---- */

static int64_t gates(const struct kern_linear_attention *a)
{
    return kern_linear_width(a, KERN_LINEAR_DECAY);
}

static int64_t chunk_tokens(const struct kern_linear_attention *a)
{
    return a->chunk < a->seq ? a->chunk : a->seq;
}

size_t linear_chunk_room(const struct kern_linear_attention *a)
{
    int64_t n = chunk_tokens(a);

    return 2 * linear_room(n * a->key_dim) + linear_room(n * a->value_dim) +
           linear_room(n * gates(a)) + linear_room(n) + linear_room(a->key_dim);
}

struct linear_chunk linear_chunk_in(struct linear_item *item, double *room)
{
    const struct kern_linear_attention *a = item->a;
    int64_t n = chunk_tokens(a);
    struct linear_chunk c = {
        .item = item, .nkeys = a->key_dim, .nvalues = a->value_dim, .by_channel = a->by_channel};

    c.q = room;
    c.k = c.q + linear_room(n * a->key_dim);
    c.v = c.k + linear_room(n * a->key_dim);
    c.g = c.v + linear_room(n * a->value_dim);
    c.beta = c.g + linear_room(n * gates(a));
    c.row = c.beta + linear_room(n);
    return c;
}

void linear_load_chunk(struct linear_chunk *c, int64_t number)
{
    const struct kern_linear_attention *a = c->item->a;
    int64_t width = gates(a);

    c->first = number * a->chunk;
    c->n = a->seq - c->first < a->chunk ? a->seq - c->first : a->chunk;
    memset(c->g, 0, (size_t)(c->n * width) * sizeof *c->g);
    for (int64_t i = 0; i < c->n; i++) {
        linear_load(c->item, KERN_LINEAR_Q, c->first + i, c->q + i * c->nkeys);
        linear_load(c->item, KERN_LINEAR_K, c->first + i, c->k + i * c->nkeys);
        linear_load(c->item, KERN_LINEAR_V, c->first + i, c->v + i * c->nvalues);
        if (a->decays)
            linear_load(c->item, KERN_LINEAR_DECAY, c->first + i, c->g + i * width);
        if (a->delta)
            linear_load(c->item, KERN_LINEAR_BETA, c->first + i, c->beta + i);
        for (int64_t x = 0; x < width && i > 0; x++)
            c->g[i * width + x] += c->g[(i - 1) * width + x];
    }
}

double linear_pair(struct linear_chunk *c, const double *x, int64_t i, const double *y, int64_t j)
{
    const double *gi = c->g + i * c->nkeys, *gj = c->g + j * c->nkeys;
    double sum = 0;

    c->item->flops += 2 * (uint64_t)c->nkeys;
    if (!c->by_channel) {
        for (int64_t z = 0; z < c->nkeys; z++)
            sum += x[z] * y[z];
        return sum * exp(c->g[i] - c->g[j]);
    }
    for (int64_t z = 0; z < c->nkeys; z++)
        sum += x[z] * y[z] * exp(gi[z] - gj[z]);
    return sum;
}

void linear_spread(struct linear_chunk *c, double by, const double *y, int64_t i, int64_t j,
                   double *out)
{
    const double *gi = c->g + i * c->nkeys, *gj = c->g + j * c->nkeys;

    c->item->flops += 2 * (uint64_t)c->nkeys;
    if (!c->by_channel)
        by *= exp(c->g[i] - c->g[j]);
    for (int64_t z = 0; z < c->nkeys; z++)
        out[z] += by * y[z] * (c->by_channel ? exp(gi[z] - gj[z]) : 1);
}

void linear_since_start(struct linear_chunk *c, const double *x, int64_t i)
{
    double all = c->by_channel ? 1 : exp(c->g[i]);

    for (int64_t z = 0; z < c->nkeys; z++)
        c->row[z] = x[z] * (c->by_channel ? exp(c->g[i * c->nkeys + z]) : all);
}

void linear_until_end(struct linear_chunk *c, const double *x, int64_t i)
{
    const double *end = c->g + (c->n - 1) * (c->by_channel ? c->nkeys : 1);
    double all = c->by_channel ? 1 : exp(*end - c->g[i]);

    for (int64_t z = 0; z < c->nkeys; z++)
        c->row[z] = x[z] * (c->by_channel ? exp(end[z] - c->g[i * c->nkeys + z]) : all);
}

void linear_read(struct linear_chunk *c, const double *state, const double *x, double *out)
{
    for (int64_t z = 0; z < c->nkeys; z++)
        linear_add(c, x[z], state + z * c->nvalues, out);
}

void linear_read_keys(struct linear_chunk *c, const double *state, const double *y, double *out)
{
    for (int64_t z = 0; z < c->nkeys; z++)
        out[z] += linear_dot(c, state + z * c->nvalues, y);
}

void linear_write(struct linear_chunk *c, double *state, const double *x, const double *y)
{
    for (int64_t z = 0; z < c->nkeys; z++)
        linear_add(c, x[z], y, state + z * c->nvalues);
}

void linear_decay(struct linear_chunk *c, double *state)
{
    const double *end = c->g + (c->n - 1) * (c->by_channel ? c->nkeys : 1);

    for (int64_t z = 0; z < c->nkeys; z++) {
        double by = exp(end[c->by_channel ? z : 0]);

        for (int64_t y = 0; y < c->nvalues; y++)
            state[z * c->nvalues + y] *= by;
    }
}

void linear_add(struct linear_chunk *c, double by, const double *x, double *out)
{
    c->item->flops += 2 * (uint64_t)c->nvalues;
    for (int64_t y = 0; y < c->nvalues; y++)
        out[y] += by * x[y];
}

double linear_dot(struct linear_chunk *c, const double *x, const double *y)
{
    double sum = 0;

    c->item->flops += 2 * (uint64_t)c->nvalues;
    for (int64_t z = 0; z < c->nvalues; z++)
        sum += x[z] * y[z];
    return sum;
}

void linear_find_updates(struct linear_chunk *c, const double *state)
{
    for (int64_t i = 0; i < c->n && c->item->a->delta; i++) {
        double *w = c->v + i * c->nvalues;

        for (int64_t y = 0; y < c->nvalues; y++)
            w[y] = -w[y];
        linear_since_start(c, c->k + i * c->nkeys, i);
        linear_read(c, state, c->row, w);
        for (int64_t j = 0; j < i; j++)
            linear_add(c,
                       c->beta[j] * linear_pair(c, c->k + i * c->nkeys, i, c->k + j * c->nkeys, j),
                       c->v + j * c->nvalues, w);
        for (int64_t y = 0; y < c->nvalues; y++)
            w[y] = -w[y];
    }
}

void linear_update_state(struct linear_chunk *c, double *state)
{
    linear_decay(c, state);
    for (int64_t j = 0; j < c->n; j++) {
        linear_until_end(c, c->k + j * c->nkeys, j);
        for (int64_t z = 0; z < c->nkeys; z++)
            c->row[z] *= linear_step(c, j);
        linear_write(c, state, c->row, c->v + j * c->nvalues);
    }
}

/* ---- all items ---- */

struct items {
    struct linear_item like;
    const struct linear_pass *pass;
    int64_t nparts;
    size_t doubles;
};

static uint64_t nitems(const struct kern_linear_attention *a)
{
    return kern_elements(2, (const int64_t[]){a->batch, a->heads}, 3);
}

static int64_t nparts(const struct kern_linear_attention *a, int64_t most)
{
    return nitems(a) < (uint64_t)most ? (int64_t)nitems(a) : most;
}

static uint64_t run_part(void *arg, int64_t part)
{
    const struct items *all = arg;
    struct linear_item item = all->like;
    double *room = (double *)all->like.args->workspace + (size_t)part * all->doubles;

    for (int64_t i = part; i < item.a->batch * item.a->heads; i += all->nparts) {
        item.b = i / item.a->heads;
        item.h = i % item.a->heads;
        all->pass->run_item(&item, room);
    }
    return item.flops;
}

uint64_t linear_run(const struct linear_pass *pass, const struct kern_linear_attention *a,
                    const struct kern_args *args, const struct linear_off *off)
{
    struct items all = {
        {.a = a, .args = args, .off = off}, pass, nparts(a, pass->parts), pass->doubles(a)};

    if (a->seq < 1)
        return 0;
    return kern_parallel(run_part, &all, all.nparts, args->nthreads);
}

uint64_t linear_workspace(const struct linear_pass *pass, const struct kern_linear_attention *a)
{
    return kern_sat_mul(kern_sat_mul((uint64_t)nparts(a, pass->parts), pass->doubles(a)),
                        sizeof(double));
}

uint64_t linear_flops(const struct kern_linear_attention *a, uint64_t each, uint64_t before,
                      uint64_t same)
{
    uint64_t chunk = (uint64_t)a->chunk, seq = a->seq > 0 ? (uint64_t)a->seq : 0;
    uint64_t whole = seq / chunk, rest = seq % chunk;
    uint64_t with_before = whole * (chunk * (chunk - 1) / 2) + (rest ? rest * (rest - 1) / 2 : 0);

    each = kern_sat_mul(kern_sat_add(each, same), seq);
    return kern_sat_mul(nitems(a),
                        kern_sat_add(each, kern_sat_mul(kern_sat_add(before, same), with_before)));
}

uint64_t linear_bytes(const struct linear_pass *pass, const struct kern_linear_attention *a)
{
    bool backward = pass->backward;
    uint64_t bytes = 0;

    for (int k = 0; k < KERN_LINEAR_NOPERANDS; k++)
        if ((k < KERN_LINEAR_DO || backward) && kern_linear_has(a, k))
            bytes = kern_sat_add(
                bytes, kern_sat_mul(kern_linear_elements(a, k), kern_size(kern_linear_type(a, k))));
    for (uint32_t r = 0; r < kern_linear_nresults(a, backward); r++) {
        int like = kern_linear_result(a, backward, r);

        bytes = kern_sat_add(bytes, kern_sat_mul(kern_linear_elements(a, like),
                                                 kern_size(kern_linear_type(a, like))));
    }
    return bytes;
}

/* ---- cut by rows of the batch, or, of a single row, by heads ---- */

static struct kern_cut_array cut_array(const struct kern_linear_attention *a, int operand)
{
    int64_t width = kern_linear_width(a, operand), tokens = is_state(operand) ? 1 : a->seq;

    if (a->batch > 1)
        return (struct kern_cut_array){1, 1, tokens * a->heads * width};
    return (struct kern_cut_array){tokens, 1, width};
}

void linear_cut(const struct linear_pass *pass, const struct kern_linear_attention *a,
                struct kern_cut *out)
{
    bool backward = pass->backward;

    out->dim = a->batch > 1 ? 0 : 1;
    out->rows = a->batch > 1 ? a->batch : a->heads;
    if (a->batch < 1 || a->seq < 1 || a->heads < 1)
        out->rows = 0;
    for (int k = 0; k < KERN_LINEAR_NOPERANDS; k++)
        if ((k < KERN_LINEAR_DO || backward) && kern_linear_has(a, k))
            out->in[kern_linear_number(a, k)] = cut_array(a, k);
    for (uint32_t r = 0; r < kern_linear_nresults(a, backward); r++)
        out->out[r] = cut_array(a, kern_linear_result(a, backward, r));
}

void linear_part(union kern_desc *desc, const struct kern_cut *cut, int64_t first, int64_t count,
                 int64_t *offsets)
{
    (void)first, (void)offsets;
    if (cut->dim == 0)
        desc->linear_attention.batch = count;
    else
        desc->linear_attention.heads = count;
}

/* Tests kern/linear_attention.h against the recurrence, one token after the other: all its forms,
 * types and sizes of chunks; a sequence in two parts, of which the second goes on from the state of
 * the first; and flops against their formula.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "../support/tap.h"

#include <math.h>

#include "kern/kernel.h"
#include "kern_data.h"

#define NCASES 400
#define ARRAY_MAX 8192

static uint64_t seed = 7;

static uint32_t below(uint32_t n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed >> 33) % n;
}

/* One case: the operands by their kinds, and o and the state behind. */
struct trial {
    struct kern_linear_attention a;
    char in[KERN_LINEAR_NOPERANDS][ARRAY_MAX * 8];
    char out[KERN_LINEAR_NOPERANDS][ARRAY_MAX * 8];
};

static void fill(struct trial *t)
{
    for (int k = 0; k < KERN_LINEAR_NOPERANDS; k++)
        for (uint64_t i = 0; i < kern_linear_elements(&t->a, k); i++) {
            double x = (double)below(2048) / 1024 - 1;

            if (k == KERN_LINEAR_DECAY)
                x = -1 - x;
            set_elem(kern_linear_type(&t->a, k), t->in[k], (int64_t)i,
                     k <= KERN_LINEAR_K ? x / 2 : x);
        }
}

static void random_case(struct trial *t)
{
    static const enum shd_dtype types[] = {SHD_F32, SHD_F64, SHD_BF16, SHD_F16};

    t->a = (struct kern_linear_attention){.dtype = types[below(4)],
                                          .batch = 1 + below(3),
                                          .seq = 1 + below(20),
                                          .heads = 1 + below(3),
                                          .key_dim = 1 + below(9),
                                          .value_dim = 1 + below(9),
                                          .chunk = 1 + below(8),
                                          .decays = below(3) > 0,
                                          .delta = below(2),
                                          .starts = below(2),
                                          .ends = below(2)};
    t->a.by_channel = t->a.decays && below(2);
    t->a.decay_dtype = t->a.dtype == SHD_F64 || below(2) ? t->a.dtype : SHD_F32;
    fill(t);
}

static bool run(struct trial *t, const struct kern_kernel *kernel, bool backward)
{
    const union kern_desc desc = {.linear_attention = t->a};
    const int64_t offsets[KERN_OFFSETS_MAX] = {0};
    const void *in[KERN_LINEAR_NOPERANDS];
    void *out[KERN_LINEAR_NOPERANDS];
    struct kern_args args = {in, out, malloc(kernel->workspace_bytes(&desc) + 1), offsets,
                             TEST_THREADS};
    uint64_t flops;

    for (int k = 0; k < KERN_LINEAR_NOPERANDS; k++)
        if (kern_linear_has(&t->a, k))
            in[kern_linear_number(&t->a, k)] = t->in[k];
    for (uint32_t r = 0; r < kern_linear_nresults(&t->a, backward); r++)
        out[r] = t->out[r];
    flops = kernel->run(&desc, &args);
    free(args.workspace);
    return flops == kern_flops(kernel, &desc, offsets);
}

static double elem(const struct trial *t, int k, int64_t row, int64_t i)
{
    return get_elem(kern_linear_type(&t->a, k), t->in[k], row * kern_linear_width(&t->a, k) + i);
}

/* S after a token, and its o. */
static void token(const struct trial *t, int64_t row, double *state, double *o)
{
    const struct kern_linear_attention *a = &t->a;
    int64_t nv = a->value_dim;

    for (int64_t x = 0; x < a->key_dim && a->decays; x++)
        for (int64_t y = 0; y < nv; y++)
            state[x * nv + y] *= exp(elem(t, KERN_LINEAR_DECAY, row, a->by_channel ? x : 0));
    for (int64_t y = 0; y < nv; y++) {
        double v = elem(t, KERN_LINEAR_V, row, y);

        for (int64_t x = 0; x < a->key_dim && a->delta; x++)
            v -= state[x * nv + y] * elem(t, KERN_LINEAR_K, row, x);
        v *= a->delta ? elem(t, KERN_LINEAR_BETA, row, 0) : 1;
        o[y] = 0;
        for (int64_t x = 0; x < a->key_dim; x++) {
            state[x * nv + y] += elem(t, KERN_LINEAR_K, row, x) * v;
            o[y] += elem(t, KERN_LINEAR_Q, row, x) * state[x * nv + y];
        }
    }
}

static bool near(enum shd_dtype dtype, double got, double want)
{
    static const double of[] = {
        [SHD_F32] = 1e-7, [SHD_F64] = 1e-14, [SHD_BF16] = 4e-3, [SHD_F16] = 5e-4};

    return fabs(got - want) <= of[dtype] * fmax(1, fabs(want));
}

static bool agrees_head(const struct trial *t, int64_t b, int64_t h)
{
    const struct kern_linear_attention *a = &t->a;
    double state[81] = {0}, o[9];
    enum shd_dtype sums = kern_linear_type(a, KERN_LINEAR_STATE);
    bool good = true;

    for (int64_t i = 0; i < a->key_dim * a->value_dim && a->starts; i++)
        state[i] = elem(t, KERN_LINEAR_STATE, b * a->heads + h, i);
    for (int64_t s = 0; s < a->seq; s++) {
        int64_t row = (b * a->seq + s) * a->heads + h;

        token(t, row, state, o);
        for (int64_t y = 0; y < a->value_dim; y++)
            good &= near(a->dtype, get_elem(a->dtype, t->out[0], row * a->value_dim + y), o[y]);
    }
    for (int64_t i = 0; i < a->key_dim * a->value_dim && a->ends; i++)
        good &= near(sums,
                     get_elem(sums, t->out[1], (b * a->heads + h) * a->key_dim * a->value_dim + i),
                     state[i]);
    return good;
}

static bool agrees(const struct trial *t)
{
    bool good = true;

    for (int64_t b = 0; b < t->a.batch; b++)
        for (int64_t h = 0; h < t->a.heads; h++)
            good &= agrees_head(t, b, h);
    return good;
}

static double loss(const struct trial *t)
{
    double sum = 0;

    for (uint64_t i = 0; i < kern_linear_elements(&t->a, KERN_LINEAR_V); i++)
        sum += ((const double *)(const void *)t->out[0])[i] *
               ((const double *)(const void *)t->in[KERN_LINEAR_DO])[i];
    for (uint64_t i = 0; i < kern_linear_elements(&t->a, KERN_LINEAR_STATE) && t->a.ends; i++)
        sum += ((const double *)(const void *)t->out[1])[i] *
               ((const double *)(const void *)t->in[KERN_LINEAR_DEND])[i];
    return sum;
}

/* The gradient of an operand's element, against a difference. */
static bool check_element(struct trial *t, struct trial *moved, int k, uint64_t i)
{
    double *x = (double *)(void *)moved->in[k] + i, at = *x, up, down;
    double got = ((const double *)(const void *)t->out[kern_linear_number(&t->a, k)])[i];

    *x = at + 1e-5;
    run(moved, &kern_kernel_linear_attention, false);
    up = loss(moved);
    *x = at - 1e-5;
    run(moved, &kern_kernel_linear_attention, false);
    down = loss(moved);
    *x = at;
    if (fabs(got - (up - down) / 2e-5) <= 1e-7 * fmax(1, fabs(got)))
        return true;
    diag("operand %d, element %u: %.9g, not %.9g", k, (unsigned)i, got, (up - down) / 2e-5);
    return false;
}

static void test_gradients(struct trial *t, struct trial *moved)
{
    bool good = true, counted = true;

    for (int n = 0; n < NCASES / 4; n++) {
        random_case(t);
        t->a.dtype = t->a.decay_dtype = SHD_F64;
        fill(t);
        counted &= run(t, &kern_kernel_linear_attention_grad, true);
        *moved = *t;
        for (int k = 0; k < KERN_LINEAR_DO; k++)
            for (int i = 0; i < 3 && kern_linear_has(&t->a, k); i++)
                good &= check_element(t, moved, k, below((uint32_t)kern_linear_elements(&t->a, k)));
    }
    ok(good, "gradients are those of differences, of the state behind, too");
    ok(counted, "backward: flops counted are those of the formula");
}

static void test_forward(struct trial *t)
{
    bool good = true, counted = true;

    for (int n = 0; n < NCASES; n++) {
        random_case(t);
        counted &= run(t, &kern_kernel_linear_attention, false);
        good &= agrees(t);
    }
    ok(good, "forward is the recurrence");
    ok(counted, "forward: flops counted are those of the formula");
}

/* Flops and bytes of one case, added up by hand: two chunks of 4 and one of 2 tokens. */
static void test_counts(void)
{
    const union kern_desc desc = {.linear_attention = {.dtype = SHD_BF16,
                                                       .decay_dtype = SHD_F32,
                                                       .batch = 2,
                                                       .seq = 10,
                                                       .heads = 3,
                                                       .key_dim = 5,
                                                       .value_dim = 7,
                                                       .chunk = 4,
                                                       .decays = true,
                                                       .delta = true,
                                                       .ends = true}};
    const int64_t none[KERN_OFFSETS_MAX] = {0};
    const struct kern_kernel *forward = &kern_kernel_linear_attention;
    uint64_t before = 6 + 6 + 1, same = 10;

    ok(forward->flops(&desc, none) == 6 * (10 * 3 * 2 * 35 + (2 * before + same) * (2 * 5 + 2 * 7)),
       "flops of two and a half chunks");
    ok(forward->bytes(&desc, none) == 60 * (2 * (5 + 5 + 7 + 7 + 1) + 4) + 6 * 4 * 35,
       "bytes of operands and results");
}

int main(void)
{
    struct trial *t = calloc(1, sizeof *t), *moved = calloc(1, sizeof *moved);

    plan(0);
    if (!t || !moved)
        return 1;
    test_forward(t);
    test_gradients(t, moved);
    test_counts();
    free(t);
    free(moved);
    return done();
}

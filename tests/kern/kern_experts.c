/* Tests kern/experts.h and kern/routing.h, each kernel against a plain loop.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "../support/tap.h"

#include <float.h>
#include <math.h>

#include "kern/kernel.h"
#include "kern_data.h"

#define FLOATS(dtype) DTYPES(dtype) if (dtype != SHD_I32)

static uint64_t run(const struct kern_kernel *kernel, const union kern_desc *desc,
                    const void *const *in, void *const *out, int64_t offset)
{
    const int64_t offsets[KERN_OFFSETS_MAX] = {offset};
    struct kern_args args = {
        .in = in,
        .out = out,
        .workspace = kernel->workspace_bytes ? malloc(kernel->workspace_bytes(desc) + 1) : NULL,
        .offsets = offsets,
        .nthreads = TEST_THREADS,
    };
    uint64_t flops = kernel->run(desc, &args);

    free(args.workspace);
    return flops;
}

/* ---- top k ---- */

/* Whether score a comes before score b: NaNs, then larger ones, then equal and earlier ones. */
static bool before(double a, int64_t i, double b, int64_t j)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && (!isnan(b) || i < j);
    return a > b || (a == b && i < j);
}

/* The number of scores that come before number i. */
static int64_t rank_of(const double *scores, int64_t n, int64_t i)
{
    int64_t rank = 0;

    for (int64_t j = 0; j < n; j++)
        rank += before(scores[j], j, scores[i], i);
    return rank;
}

static double within(double x)
{
    return x > DBL_MAX ? DBL_MAX : x < -DBL_MAX ? -DBL_MAX : x;
}

/* A group with a NaN, or with two infinities, is worth most. */
static double group_worth(const double *scores, int64_t n, bool by_largest)
{
    double two[2] = {-DBL_MAX, -DBL_MAX};

    for (int64_t i = 0; i < n; i++)
        if (rank_of(scores, n, i) < 2)
            two[rank_of(scores, n, i)] = isnan(scores[i]) ? INFINITY : within(scores[i]);
    return within(by_largest || n < 2 ? two[0] : two[0] + two[1]);
}

static bool topk_agrees(const struct kern_topk *k, const void *all, const int32_t *ids)
{
    int64_t each = k->classes / k->groups, nbad = 0;
    double *scores = malloc((size_t)k->classes * sizeof *scores);
    double *worth = malloc(k->groups * sizeof *worth);

    for (int64_t t = 0; t < k->tokens; t++) {
        int64_t seen = 0, kept = 0, place[64];

        for (int64_t e = 0; e < k->classes; e++)
            scores[e] = get_elem(k->dtype, all, t * k->classes + e);
        for (uint32_t g = 0; g < k->groups; g++)
            worth[g] = group_worth(scores + g * each, each, k->by_largest);
        for (int64_t e = 0; e < k->classes; e++)
            if (rank_of(worth, k->groups, e / each) < k->kept)
                place[kept++] = e;
        for (int64_t i = 0; i < kept; i++) {
            int64_t rank = 0;

            for (int64_t j = 0; j < kept; j++)
                rank += k->smallest
                            ? j != i &&
                                  !before(scores[place[j]], -place[j], scores[place[i]], -place[i])
                            : before(scores[place[j]], place[j], scores[place[i]], place[i]);
            if (rank >= k->choices)
                continue;
            seen++;
            nbad += ids[t * k->choices + rank] != place[i];
        }
        nbad += seen != k->choices;
    }
    free(scores);
    free(worth);
    return nbad == 0;
}

/* The scores have few values, so that many are equal. */
static void test_topk(void)
{
    FLOATS(dtype)
    {
        int nbad = 0;

        for (int i = random_count(200); i > 0; i--) {
            uint32_t groups = 1 + random_below(4), kept = 1 + random_below(groups);
            int64_t each = 1 + random_below(12), tokens = random_below(70);
            int64_t choices = 1 + random_below((uint32_t)each * kept);
            union kern_desc d = {.topk = {dtype, tokens, each * groups, choices, groups, kept,
                                          random_below(2), groups == 1 && random_below(2)}};
            int64_t n = tokens * each * groups;
            void *scores = random_array(dtype, n + 1, 1 + (int)random_below(4));
            int32_t *ids = malloc((size_t)(tokens * choices + 1) * sizeof *ids);

            for (int64_t at = 0; at < n && i % 4 == 0; at += 1 + random_below(9))
                set_elem(dtype, scores, at, (double[]){NAN, -INFINITY, INFINITY}[random_below(3)]);
            nbad += run(&kern_kernel_topk, &d, (const void *[]){scores}, (void *[]){ids}, 0) != 0;
            nbad += !topk_agrees(&d.topk, scores, ids);
            free(scores);
            free(ids);
        }
        ok(nbad == 0, "%s: top k, of groups too, ties to the lower number", shd_dtype_name(dtype));
    }
}

/* ---- slots and counts ---- */

/* The slot of a choice is the number of earlier choices of its expert; -1: dropped. */
static int32_t slot_of(const struct kern_slots *s, const int32_t *ids, int64_t at)
{
    int64_t t = at / s->choices, j = at % s->choices, came = 0;

    if (ids[at] < 0 || ids[at] >= s->experts)
        return -1;
    for (int64_t i = 0; i < s->tokens * s->choices; i++) {
        int64_t u = i / s->choices, l = i % s->choices;
        bool earlier = s->slot_major ? l < j || (l == j && u < t) : i < at;

        came += earlier && ids[i] == ids[at];
    }
    return came < s->capacity ? (int32_t)came : -1;
}

static void test_slots(void)
{
    int nbad = 0, ndropped = 0;

    for (int i = random_count(300); i > 0; i--) {
        union kern_desc d = {.slots = {SHD_I32, 1 + random_below(3), random_below(30),
                                       1 + random_below(4), 1 + random_below(9),
                                       1 + random_below(20), random_below(2)}};
        const struct kern_slots *s = &d.slots;
        int64_t each = s->tokens * s->choices, n = s->groups * each;
        int32_t *ids = malloc((size_t)(n + 1) * sizeof *ids);
        int32_t *slots = malloc((size_t)(n + 1) * sizeof *slots);
        int32_t *counts = malloc((size_t)(s->groups * s->experts) * sizeof *counts);

        for (int64_t at = 0; at < n; at++)
            ids[at] = (int32_t)random_below((uint32_t)s->experts + 2) - 1;
        run(&kern_kernel_slots, &d, (const void *[]){ids}, (void *[]){slots, counts}, 0);
        for (int64_t at = 0; at < n; at++) {
            nbad += slots[at] != slot_of(s, ids + at / each * each, at % each);
            ndropped += slots[at] < 0 && ids[at] >= 0 && ids[at] < s->experts;
        }
        for (int64_t c = 0; c < s->groups * s->experts; c++) {
            for (int64_t at = 0; at < each; at++) {
                int64_t place = c / s->experts * each + at;

                counts[c] -= ids[place] == c % s->experts && slots[place] >= 0;
            }
            nbad += counts[c] != 0;
        }
        free(ids);
        free(slots);
        free(counts);
    }
    ok(nbad == 0 && ndropped > 0, "slots: queues of groups by token and by choice, with drops");
}

static void test_count(void)
{
    FLOATS(dtype)
    {
        enum { IDS = 200, CLASSES = 7 };
        union kern_desc d = {.count = {dtype, IDS, CLASSES}};
        void *out = random_array(dtype, CLASSES, 3);
        int32_t ids[IDS];
        int nbad = 0;

        for (int i = 0; i < IDS; i++)
            ids[i] = (int32_t)random_below(13) - 1;
        run(&kern_kernel_count, &d, (const void *[]){ids}, (void *[]){out}, 4);
        for (int c = 0; c < CLASSES; c++) {
            int n = 0;

            for (int i = 0; i < IDS; i++)
                n += ids[i] == c + 4;
            nbad += get_elem(dtype, out, c) != n;
        }
        free(out);
        ok(nbad == 0, "%s: count, of a device with classes 4..10", shd_dtype_name(dtype));
    }
}

/* ---- copies ---- */

struct copied {
    struct kern_copies copies;
    uint64_t loads[300];
    uint32_t devices;
    int32_t room[2000];
};

/* Copies of experts whose loads are those of zipf's law, or random. */
static void make_copies(struct copied *out, uint32_t experts, uint32_t more, uint32_t devices,
                        bool zipf)
{
    out->devices = devices;
    for (uint32_t e = 0; e < experts; e++)
        out->loads[e] = zipf ? (UINT64_C(1) << 32) / (e + 1) : random_below(1000);
    if (kern_copies_room(experts, experts + more) > sizeof out->room / sizeof *out->room ||
        !kern_copies_make(&out->copies, out->loads, experts, experts + more, devices, out->room))
        ok(false, "no memory for copies");
}

static int32_t ncopies(const struct copied *c, uint32_t e)
{
    return c->copies.first[e + 1] - c->copies.first[e];
}

/* Whether each place is of one copy, and no copies were made better of another expert: without its
 * last one an expert would have at least the largest load for each copy. */
static bool are_right(const struct copied *c)
{
    const struct kern_copies *all = &c->copies;
    bool good = all->first[all->experts] == (int32_t)all->places;
    double most = 0;

    for (uint32_t e = 0; e < all->experts; e++)
        most = fmax(most, (double)c->loads[e] / ncopies(c, e));
    for (uint32_t e = 0; e < all->experts && good; e++) {
        good = ncopies(c, e) == 1 || (double)c->loads[e] / (ncopies(c, e) - 1) >= most;
        for (int32_t k = all->first[e]; k < all->first[e + 1]; k++)
            good &= all->place[k] >= 0 && all->place[k] < (int32_t)all->places &&
                    all->expert[all->place[k]] == (int32_t)e;
    }
    return good;
}

/* The largest sum of a device's loads over the mean of devices; and how many copies are on one
 * device with another of their expert that might be elsewhere. */
static double largest_sum(const struct copied *c, int *beside)
{
    uint32_t each = c->copies.places / c->devices;
    const int32_t *expert = c->copies.expert;
    double most = 0, all = 0, sum = 0;

    *beside = 0;
    for (uint32_t i = 0; i < c->copies.places; i++) {
        sum = i % each ? sum : 0;
        sum += (double)c->loads[expert[i]] / ncopies(c, (uint32_t)expert[i]);
        all += (double)c->loads[expert[i]] / ncopies(c, (uint32_t)expert[i]);
        most = fmax(most, sum);
        for (uint32_t j = i - i % each; j < i; j++)
            *beside +=
                expert[i] == expert[j] && ncopies(c, (uint32_t)expert[i]) <= (int32_t)c->devices;
    }
    return most / (all / c->devices);
}

static void test_copies(void)
{
    struct copied c;
    double worst = 0;
    int nbad = 0, nbeside = 0, beside;

    for (int i = random_count(300); i > 0; i--) {
        uint32_t devices = 1 + random_below(6), experts = 1 + random_below(30);
        uint32_t more = devices - 1 - (experts + devices - 1) % devices;

        make_copies(&c, experts, more + devices * random_below(3), devices, i % 3 == 0);
        nbad += !are_right(&c);
    }
    ok(nbad == 0, "copies are of the experts with the largest load for each");
    for (uint32_t devices = 4; devices <= 32; devices *= 2) {
        make_copies(&c, 256, 32, devices, true);
        worst = fmax(worst, largest_sum(&c, &beside));
        nbeside += beside;
        nbad += !are_right(&c);
    }
    ok(nbad == 0 && nbeside == 0 && worst < 1.01,
       "256 experts by zipf's law and 32 copies: no device has two of one, loads within 1 %%");
}

/* The copy that a token takes, counted by going through all before it. */
static int32_t place_of(const struct kern_copies *c, int32_t id, int64_t token)
{
    int32_t at;

    if (id < 0)
        return id;
    at = c->first[id];
    for (int64_t i = 0; i < token + id; i++)
        at = at + 1 < c->first[id + 1] ? at + 1 : c->first[id];
    return c->place[at];
}

static void test_deal(void)
{
    int nbad = 0;

    for (int i = random_count(200); i > 0; i--) {
        struct copied c;
        union kern_desc d;
        int64_t n, offsets[KERN_OFFSETS_MAX] = {random_below(6), random_below(5)};
        int32_t *ids, *places;

        make_copies(&c, 1 + random_below(9), 3 * random_below(4), 1, false);
        d.deal = (struct kern_deal){.dtype = SHD_I32,
                                    .rows = random_below(7),
                                    .seq = random_below(6),
                                    .choices = 1 + random_below(3),
                                    .whole = 5 + random_below(9),
                                    .tokens = 1 + random_below(40),
                                    .copies = &c.copies};
        n = d.deal.rows * d.deal.seq * d.deal.choices;
        ids = malloc((size_t)(n + 1) * sizeof *ids);
        places = malloc((size_t)(n + 1) * sizeof *places);
        for (int64_t at = 0; at < n; at++)
            ids[at] = (int32_t)random_below(c.copies.experts + 1) - 1;
        nbad += kern_kernel_deal.run(&d, &(struct kern_args){.in = (const void *[]){ids},
                                                             .out = (void *[]){places},
                                                             .offsets = offsets,
                                                             .nthreads = TEST_THREADS}) != 0;
        nbad += kern_kernel_deal.bytes(&d, offsets) != (uint64_t)n * 8;
        for (int64_t at = 0; at < n; at++) {
            int64_t row = offsets[0] + at / d.deal.choices / d.deal.seq;
            int64_t seq = offsets[1] + at / d.deal.choices % d.deal.seq;

            nbad += places[at] !=
                    place_of(&c.copies, ids[at], (row * d.deal.whole + seq) % d.deal.tokens);
        }
        free(ids);
        free(places);
    }
    ok(nbad == 0, "deal: tokens take the copies of an expert in turn, by their numbers");
}

/* An array of copies has the numbers of the experts' array, whichever part of it is filled, and by
 * whatever dimensions of as many elements. */
static void test_filled_copies(void)
{
    struct kern_source source = {.seed = 7, .scale = 2};
    float whole[9 * 4], part[3 * 2];
    int nbad = 0;
    struct copied c;

    make_copies(&c, 6, 3, 3, false);
    kern_fill(&source, SHD_F32, 2, (const int64_t[]){6, 4}, (const int64_t[]){0, 0},
              (const int64_t[]){6, 4}, whole);
    source.copies = &c.copies;
    for (int64_t first = 0; first <= 6; first += 3)
        for (int64_t column = 0; column < 4; column += 2) {
            kern_fill(&source, SHD_F32, 2, (const int64_t[]){9, 4},
                      (const int64_t[]){first, column}, (const int64_t[]){3, 2}, part);
            for (int64_t i = 0; i < 6; i++)
                nbad += part[i] != whole[c.copies.expert[first + i / 2] * 4 + column + i % 2];
        }
    for (int64_t first = 0; first < 12; first++) {
        kern_fill(&source, SHD_F32, 1, (const int64_t[]){36}, (const int64_t[]){3 * first},
                  (const int64_t[]){3}, part);
        for (int64_t i = 3 * first; i < 3 * first + 3; i++)
            nbad += part[i - 3 * first] != whole[c.copies.expert[i / 4] * 4 + i % 4];
    }
    ok(nbad == 0, "copies have the numbers of their experts");
}

/* ---- the grouped product ---- */

enum { EXPERT, SLOT, INNER, WIDTH, NDIMS };
static const uint32_t row_in = 1 << EXPERT | 1 << SLOT | 1 << INNER;
static const uint32_t row_out = 1 << EXPERT | 1 << SLOT | 1 << WIDTH;
static const uint32_t weight = 1 << EXPERT | 1 << INNER | 1 << WIDTH;

static const struct {
    const char *name;
    const uint32_t *a, *b, *c;
} products[] = {{"forward", &row_in, &weight, &row_out},
                {"gradient of rows", &row_out, &weight, &row_in},
                {"gradient of weights", &row_out, &row_in, &weight}};

/* Fill the unused slots, whose contents must not matter. */
static void spoil(const struct kern_grouped *p, uint32_t has, const int64_t *stride,
                  const int32_t *counts, void *x, double with)
{
    const struct kern_einsum *e = &p->einsum;
    uint32_t other = has & 1 << INNER ? INNER : WIDTH;

    for (int64_t expert = 0; expert < e->extent[EXPERT] && has >> SLOT & 1; expert++)
        for (int64_t s = 0; s < e->extent[SLOT]; s++)
            for (int64_t i = 0; i < e->extent[other]; i++)
                if (s % p->capacity >= counts[s / p->capacity * e->extent[EXPERT] + expert])
                    set_elem(e->dtype, x,
                             expert * stride[EXPERT] + s * stride[SLOT] + i * stride[other], with);
}

static bool same(const struct kern_einsum *e, const void *got, const void *want)
{
    int64_t nbad = 0, index[NDIMS];

    for (index[0] = 0; index[0] < e->extent[0]; index[0]++)
        for (index[1] = 0; index[1] < e->extent[1]; index[1]++)
            for (index[2] = 0; index[2] < e->extent[2]; index[2]++)
                for (index[3] = 0; index[3] < e->extent[3]; index[3]++) {
                    int64_t at = 0;

                    for (int d = 0; d < NDIMS; d++)
                        at += e->c_has >> d & 1 ? index[d] * e->c_stride[d] : 0;
                    nbad += get_elem(e->dtype, got, at) != get_elem(e->dtype, want, at);
                }
    return nbad == 0;
}

/* Compare with the plain product of whole arrays that have zeros in unused slots.  The elements are
 * small integers, so that the order of sums does not matter. */
static int grouped_differs(enum shd_dtype dtype, int what)
{
    struct kern_routing_spec spec = {.kind =
                                         (enum kern_routing_kind)random_below(KERN_ROUTING_RAGGED),
                                     .tokens = 1 + random_below(12),
                                     .experts = 2 * (1 + random_below(3)),
                                     .choices = 1,
                                     .skew = 1.5,
                                     .share = 0.7,
                                     .ranks = 2,
                                     .seed = random_below(1000)};
    struct kern_routing routing;
    int32_t *room = malloc(kern_routing_room(&spec) * sizeof *room);
    bool made = kern_routing_make(&routing, &spec, room);
    int64_t groups = 1 + random_below(3), experts = 1 + random_below(spec.experts);
    int64_t first = random_below(spec.experts - (uint32_t)experts + 1),
            offsets[] = {first, 0, 0, 0};
    union kern_desc d = {
        .grouped = {.einsum = {.dtype = dtype,
                               .ndims = NDIMS,
                               .extent = {experts, groups * routing.capacity, 1 + random_below(9),
                                          1 + random_below(9)},
                               .a_has = *products[what].a,
                               .b_has = *products[what].b,
                               .c_has = *products[what].c},
                    .expert = EXPERT,
                    .slot = SLOT,
                    .groups = groups,
                    .capacity = routing.capacity,
                    .routing = &routing}};
    struct kern_einsum *e = &d.grouped.einsum;
    int64_t na = random_strides(NDIMS, e->extent, e->a_has, e->a_stride);
    int64_t nb = random_strides(NDIMS, e->extent, e->b_has, e->b_stride), nc = 1;
    void *a = random_array(dtype, na, 2), *b = random_array(dtype, nb, 2), *got, *want;
    int32_t *counts = malloc((size_t)(groups * experts) * sizeof *counts);
    uint64_t flops;
    int differs = !made;

    for (uint32_t dim = NDIMS; dim-- > 0;)
        if (e->c_has >> dim & 1) {
            e->c_stride[dim] = nc;
            nc *= e->extent[dim];
        }
    got = random_array(dtype, nc, 2);
    want = random_array(dtype, nc, 2);
    for (int64_t i = 0; i < groups * experts; i++)
        counts[i] = routing.counts[first + i % experts];
    spoil(&d.grouped, e->a_has, e->a_stride, counts, a, 0);
    spoil(&d.grouped, e->b_has, e->b_stride, counts, b, 0);
    kern_einsum_run(e, a, b, want, NULL, 1);
    spoil(&d.grouped, e->a_has, e->a_stride, counts, a, NAN);
    spoil(&d.grouped, e->b_has, e->b_stride, counts, b, NAN);
    flops = run(&kern_kernel_grouped, &d, (const void *[]){a, b, counts}, (void *[]){got}, first);
    differs += !same(e, got, want);
    differs += flops != kern_kernel_grouped.flops(&d, offsets);
    free(a);
    free(b);
    free(got);
    free(want);
    free(counts);
    free(room);
    return differs;
}

static void test_grouped(void)
{
    FLOATS(dtype)
    for (int what = 0; what < 3; what++) {
        int nbad = 0;

        for (int i = random_count(150); i > 0; i--)
            nbad += grouped_differs(dtype, what) != 0;
        ok(nbad == 0, "%s: grouped matmul, %s: the experts taken, and the planned flops",
           shd_dtype_name(dtype), products[what].name);
    }
}

/* ---- few tokens ---- */

/* Whether a product's bytes are those of the taken rows and of the weights of the experts that
 * tokens are expected to name, for experts from `first` on. */
static bool moves(const struct kern_routing *r, const double *p, int64_t groups, int64_t first,
                  int64_t experts)
{
    enum { N = 6, K = 10 };
    const int64_t offsets[KERN_OFFSETS_MAX] = {first};
    double named = 0, rows = 0;
    bool good = true;

    for (int64_t e = first; e < first + experts; e++) {
        named += 1 - pow(1 - p[e], (double)(r->tokens * groups));
        rows += (double)(r->counts[e] * groups);
    }
    for (int what = 0; what < 3; what++) {
        const union kern_desc d = {
            .grouped = {.einsum = {.dtype = SHD_F32,
                                   .ndims = NDIMS,
                                   .extent = {experts, groups * r->capacity, K, N},
                                   .a_has = *products[what].a,
                                   .b_has = *products[what].b,
                                   .c_has = *products[what].c},
                        .expert = EXPERT,
                        .slot = SLOT,
                        .groups = groups,
                        .capacity = r->capacity,
                        .routing = r}};
        double weights = what == 2 ? (double)experts : named;
        double want = 4 * (rows * (K + N) + weights * K * N);

        good &= fabs((double)kern_kernel_grouped.bytes(&d, offsets) - want) <= 2 + want * 1e-8;
    }
    return good;
}

static void test_named(void)
{
    static const enum kern_routing_kind kinds[] = {KERN_ROUTING_UNIFORM, KERN_ROUTING_ZIPF,
                                                   KERN_ROUTING_HOT_EXPERT, KERN_ROUTING_EMPTY};
    enum { E = 16 };

    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        int nbad = 0;

        for (int64_t tokens = 1; tokens <= 256; tokens *= 4) {
            const struct kern_routing_spec spec = {.kind = kinds[k],
                                                   .tokens = tokens,
                                                   .experts = E,
                                                   .choices = 2,
                                                   .skew = 1,
                                                   .share = 0.25,
                                                   .seed = 3};
            int32_t *room = malloc(kern_routing_room(&spec) * sizeof *room);
            struct kern_routing r;
            double p[E], weights = 0;

            for (int e = 0; e < E; e++)
                weights += 1.0 / (e + 1);
            for (int e = 0; e < E; e++)
                p[e] = kinds[k] == KERN_ROUTING_ZIPF    ? fmin(1, 2 / (e + 1.0) / weights)
                       : kinds[k] == KERN_ROUTING_EMPTY ? 2.0 * (e > 0) / (E - 1)
                       : kinds[k] == KERN_ROUTING_HOT_EXPERT && e == 0 ? 2 * 0.25
                       : kinds[k] == KERN_ROUTING_HOT_EXPERT           ? 2 * 0.75 / (E - 1)
                                                                       : 2.0 / E;
            nbad += !kern_routing_make(&r, &spec, room);
            for (int64_t groups = 1; groups <= 2; groups++)
                nbad += !moves(&r, p, groups, 0, E) + !moves(&r, p, groups, 0, 4) +
                        !moves(&r, p, groups, 12, 4);
            free(room);
        }
        ok(nbad == 0, "routing %zu: a grouped matmul reads the routed rows, and the chosen experts",
           k);
    }
}

/* ---- workloads ---- */

/* Ids of a workload that are no expert, or that a token has twice. */
static int64_t count_faults(const struct kern_routing *r, bool ragged)
{
    int64_t nbad = 0;

    for (int64_t i = 0; i < r->tokens * r->choices; i++) {
        const int32_t *token = r->ids + i / r->choices * r->choices;

        nbad += r->ids[i] >= (int32_t)r->experts || (r->ids[i] < 0 && !ragged);
        for (const int32_t *other = token; other < r->ids + i; other++)
            nbad += *other == r->ids[i] && *other >= 0;
    }
    return nbad;
}

/* The share of choices that fall on experts [first, last). */
static double share_of(const struct kern_routing *r, uint32_t first, uint32_t last)
{
    int64_t n = 0;

    for (uint32_t e = first; e < last; e++)
        n += r->counts[e];
    return (double)n / (double)(r->tokens * r->choices);
}

static double wanted(const struct kern_routing_spec *s)
{
    double sum = 0;

    if (s->kind == KERN_ROUTING_HOT_EXPERT)
        return fmin(s->share, 1.0 / s->choices);
    if (s->kind == KERN_ROUTING_EMPTY)
        return 0;
    for (uint32_t e = 0; e < s->experts; e++)
        sum += s->kind == KERN_ROUTING_ZIPF ? pow(e + 1, -s->skew) : 1;
    return s->kind == KERN_ROUTING_ZIPF ? pow(s->hot + 1, -s->skew) / sum : 1 / sum;
}

static void check_workload(const char *name, struct kern_routing_spec spec)
{
    int32_t *room = malloc(kern_routing_room(&spec) * sizeof *room);
    struct kern_routing r;
    bool rank = spec.kind == KERN_ROUTING_HOT_RANK, ragged = spec.kind == KERN_ROUTING_RAGGED;
    uint32_t each = rank ? spec.experts / spec.ranks : 1, first = spec.hot * each;

    ok(kern_routing_make(&r, &spec, room) && count_faults(&r, ragged) == 0,
       "%s: a token's choices are different experts", name);
    if (!ragged)
        ok(fabs(share_of(&r, first, first + each) - (rank ? spec.share : wanted(&spec))) < 0.002,
           "%s: %.4f of the choices, wanted %.4f", name, share_of(&r, first, first + each),
           rank ? spec.share : wanted(&spec));
    for (int64_t source = 0; source < spec.ranks && ragged; source++) {
        int64_t n = spec.tokens / spec.ranks, there = 0;

        for (int64_t t = source * n; t < (source + 1) * n; t++)
            there += r.ids[t * spec.choices] >= 0;
        ok(there == n * (spec.ranks - source) / spec.ranks, "%s: %d tokens of source %d", name,
           (int)there, (int)source);
    }
    free(room);
}

/* What is asked for again while it is held, or soon after, is the same memory; another seed is
 * another routing. */
static void test_store(void)
{
    struct kern_routing_spec spec = {
        .tokens = 64, .experts = 8, .choices = 2, .ranks = 1, .seed = 3};
    const struct kern_routing *a = kern_routing_hold(&spec), *b = kern_routing_hold(&spec), *c;
    int32_t *room = malloc(kern_routing_room(&spec) * sizeof *room);
    struct kern_routing made;

    ok(a && a == b, "a routing that is held is made once");
    ok(kern_routing_make(&made, &spec, room) && !memcmp(a->ids, made.ids, 128 * sizeof *made.ids) &&
           !memcmp(a->slots, made.slots, 128 * sizeof *made.slots) && a->capacity == made.capacity,
       "the store makes the specified routing");
    kern_routing_release(a);
    kern_routing_release(b);
    ok(kern_routing_hold(&spec) == a, "a routing without a holder is kept for a while");
    kern_routing_release(a);
    spec.seed = 4;
    c = kern_routing_hold(&spec);
    ok(c && c != a && memcmp(c->ids, made.ids, 128 * sizeof *made.ids) != 0,
       "another seed makes another routing");
    spec.seed = 3;
    spec.skew = 2;
    ok(kern_routing_hold(&spec) != a, "another skew is another specification");
    kern_routing_release(c);
    spec = (struct kern_routing_spec){
        .tokens = 1 << 20, .experts = 8, .choices = 4, .ranks = 1, .seed = 9};
    a = kern_routing_hold(&spec);
    for (uint32_t k = 0; k < 9; k++) { /* of 32 MiB each: more than the store keeps */
        spec.seed = 10 + k;
        kern_routing_release(kern_routing_hold(&spec));
    }
    spec.seed = 9;
    ok(kern_routing_hold(&spec) == a && a->ids[0] >= 0,
       "the store keeps a held routing while others are made");
    kern_routing_release(a);
    kern_routing_release(a);
    free(room);
}

static void test_workloads(void)
{
    const struct kern_routing_spec all = {
        .tokens = 8192, .experts = 16, .choices = 2, .ranks = 4, .hot = 3, .seed = 7};
    struct kern_routing_spec s = all;

    check_workload("uniform", s);
    s.kind = KERN_ROUTING_ZIPF;
    s.skew = 0.5;
    check_workload("zipf", s);
    s.kind = KERN_ROUTING_HOT_EXPERT;
    s.share = 0.3;
    check_workload("hot expert", s);
    s.share = 0.9;
    check_workload("an expert that all choose", s);
    s.kind = KERN_ROUTING_HOT_RANK;
    check_workload("hot rank", s);
    s.share = 1;
    check_workload("a rank that has all", s);
    s.kind = KERN_ROUTING_RAGGED;
    check_workload("ragged", s);
    s.kind = KERN_ROUTING_EMPTY;
    check_workload("an empty expert", s);
    s.choices = 15;
    check_workload("all but the empty expert", s);
    s.kind = KERN_ROUTING_UNIFORM;
    s.choices = 16;
    check_workload("all experts", s);
}

/* A rotating workload fills an array whose groups are equal; the last step has the drawn ids. */
static void test_fill(void)
{
    enum { TOKENS = 12, CHOICES = 2, GROUPS = 3, EXPERTS = 5, STEPS = 4 };
    struct kern_routing_spec spec = {.kind = KERN_ROUTING_RAGGED,
                                     .tokens = TOKENS,
                                     .experts = EXPERTS,
                                     .choices = CHOICES,
                                     .ranks = 2,
                                     .rotate = 2,
                                     .steps = STEPS};
    int32_t *room = malloc(kern_routing_room(&spec) * sizeof *room), nbad = 0;
    int32_t out[GROUPS * TOKENS / 2 * CHOICES];
    const int64_t shape[] = {GROUPS * TOKENS, CHOICES}, offset[] = {6, 0};
    const int64_t extent[] = {GROUPS * TOKENS / 2, CHOICES};
    struct kern_routing r;

    ok(kern_routing_make(&r, &spec, room), "a rotating workload");
    for (uint32_t step = 0; step < STEPS; step++) {
        struct kern_source source = {.routing = &r, .step = step};

        kern_fill(&source, SHD_I32, 2, shape, offset, extent, out);
        for (int i = 0; i < GROUPS * TOKENS / 2 * CHOICES; i++) {
            int32_t id = r.ids[(6 * CHOICES + i) % (TOKENS * CHOICES)];
            int32_t back = (int32_t)(STEPS - 1 - step) * 2;

            nbad += out[i] != (id < 0 ? -1 : (id + 10 * EXPERTS - back) % EXPERTS);
        }
    }
    ok(nbad == 0 && kern_source_changes(&(struct kern_source){.routing = &r}),
       "each step moves on, in every group alike");
    free(room);
}

int main(void)
{
    plan(0);
    diag("seed %llu", (unsigned long long)random_state);
    test_topk();
    test_slots();
    test_count();
    test_copies();
    test_deal();
    test_filled_copies();
    test_grouped();
    test_named();
    test_store();
    test_workloads();
    test_fill();
    return done();
}

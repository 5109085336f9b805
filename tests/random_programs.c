/* Random programs of products, elementwise functions, reductions and constraints.
 *
 * Each program has its own seed, so that one that fails can be made again by
 * SHD_TEST_SEED=<its seed> SHD_TEST_COUNT=1.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "random_check.h"
#include "tap.h"

#define SEED 20260131u
#define NPROGRAMS 300
#define NDIMS 5

static void add_leaf(struct random_program *p)
{
    uint32_t dims[3], rank = random_chance(&p->random, 5) ? 0 : 1 + random_below(&p->random, 3);
    uint32_t start = random_below(&p->random, NDIMS);

    for (uint32_t d = 0; d < rank; d++)
        dims[d] = (start + 2 * d) % NDIMS; /* 5 is prime: all different */
    random_leaf(p, dims, rank);
}

static struct random_program *make(uint64_t seed)
{
    static const int64_t sizes[] = {4, 6, 8, 12, 8, 12, 4, 3, 1};
    static const char *const names[NDIMS] = {"a", "b", "c", "d", "e"};
    struct random_program *p = random_program_create(seed);
    uint32_t target;

    for (int d = 0; d < NDIMS; d++)
        (void)graph_dim(p->graph, names[d], sizes[random_below(&p->random, 9)]);
    for (uint32_t n = 3 + random_below(&p->random, 3); n > 0; n--)
        add_leaf(p);
    target = p->graph->nnodes + 8 + random_below(&p->random, 12);
    while (p->graph->nnodes < target && p->graph->err.status == SHD_OK)
        random_op(p);
    random_program_finish(p);
    return p;
}

static void test_seen(void)
{
    for (int kind = 0; kind < SHD_RESHARD_NKINDS; kind++)
        if (kind != SHD_RESHARD_PERMUTE && kind != SHD_RESHARD_EXCHANGE)
            ok(random_seen.steps[kind] > 0, "occurred: %s",
               shd_reshard_kind_name((enum shd_reshard_kind)kind));
    ok(random_seen.steps[SHD_RESHARD_PERMUTE] + random_seen.steps[SHD_RESHARD_EXCHANGE] > 0,
       "occurred: permute or exchange");
    ok(random_seen.summed > 0 && random_seen.passed > 0, "occurred: partial sums that ops pass on");
    ok(random_seen.extremes > 0, "occurred: partial maxima or minima");
    ok(random_seen.tuples > 0 && random_seen.turned > 0, "occurred: tuples of axes, in any order");
    ok(random_seen.rings > 0, "occurred: rings");
    ok(random_seen.ones > 0 && random_seen.naxes[1] && random_seen.naxes[2] && random_seen.naxes[3] && random_seen.naxes[4],
       "occurred: meshes of 1 to 4 axes, some of size 1");
    ok(random_seen.backward > 0 && random_seen.f32 > 0, "occurred: gradients, float32");
}

int main(void)
{
    plan(0);
    if (random_test(make, SEED, NPROGRAMS))
        test_seen();
    return done();
}

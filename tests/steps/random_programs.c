/* Tests random programs of products, elementwise functions, reductions and constraints.
 *
 * Each program has its own seed, so that SHD_TEST_SEED=<its seed> SHD_TEST_COUNT=1 makes a failing
 * one again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "../support/random_check.h"
#include "../support/tap.h"

#define SEED 20260131u
#define NPROGRAMS 300

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
    ok(random_seen.converted > 0 && random_seen.mixed_sums > 0,
       "occurred: conversions, sums in other types");
    for (int fn = KERN_SIN; fn < KERN_NFNS; fn++)
        ok(random_seen.functions[fn] > 0, "occurred: %s", kern_fns[fn].name);
    ok(random_seen.tuples > 0 && random_seen.turned > 0, "occurred: tuples of axes, in any order");
    ok(random_seen.rings > 0, "occurred: rings");
    ok(random_seen.ones > 0 && random_seen.naxes[1] && random_seen.naxes[2] && random_seen.naxes[3] && random_seen.naxes[4],
       "occurred: meshes of 1 to 4 axes, some of size 1");
    ok(random_seen.backward > 0 && random_seen.f32 > 0, "occurred: gradients, float32");
}

int main(void)
{
    plan(0);
    if (random_test(random_ops_program, SEED, NPROGRAMS))
        test_seen();
    return done();
}

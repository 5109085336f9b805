/* Random programs of the ops that models are made of, with products and elementwise functions
 * between them.
 *
 * Each program has its own seed, so that one that fails can be made again by
 * SHD_TEST_SEED=<its seed> SHD_TEST_COUNT=1.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "random_check.h"
#include "tap.h"

#define SEED 20260707u
#define NPROGRAMS 300

static void test_seen(void)
{
    for (int op = 0; op < GRAPH_NOPS; op++)
        ok(random_seen.nodes[op] > 0, "occurred: %s", graph_op_name((enum graph_op)op));
    ok(random_layers.causal > 0 && random_layers.causal < random_layers.attention && random_layers.grouped > 0,
       "occurred: causal attentions and others, with fewer key heads and as many");
    ok(random_layers.blocks > 0, "occurred: blocks");
    ok(random_layers.sighted > 0 && random_layers.in_blocks > 0 && random_layers.goes_on > 0,
       "occurred: attentions by positions, in blocks, going on");
    ok(random_seen.split > 0, "occurred: axes split in parts for key heads");
    ok(random_seen.extremes > 0, "occurred: partial maxima, of sharded softmaxes");
    ok(random_seen.converted > 0 && random_seen.mixed_sums > 0,
       "occurred: conversions, sums in other types");
    ok(random_seen.tuples > 0, "occurred: dimensions over several axes");
    ok(random_seen.backward > 0 && random_seen.f32 > 0, "occurred: gradients, float32");
}

int main(void)
{
    bool enough;

    plan(0);
    enough = random_test(random_layer_program, SEED, NPROGRAMS);
    diag("attentions: %u, causal %u, with fewer key heads %u; blocks: %u", random_layers.attention,
         random_layers.causal, random_layers.grouped, random_layers.blocks);
    diag("by positions %u, in blocks %u, going on %u", random_layers.sighted,
         random_layers.in_blocks, random_layers.goes_on);
    if (enough)
        test_seen();
    return done();
}

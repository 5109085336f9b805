/* Tests random programs of the ops of models, with products and elementwise functions between
 * them.
 *
 * Each program has its own seed, so that SHD_TEST_SEED=<its seed> SHD_TEST_COUNT=1 makes a failing
 * one again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>

#include "graph/ops.h"
#include "partition/partition.h"
#include "../support/random_check.h"
#include "../support/tap.h"
#include "trial/verify.h"

#define SEED 20260707u
#define NPROGRAMS 300
#define NJUDGED 40 /* results of programs with several, each of which is spoilt once */

/* Whether other tests draw an op: products of codes are made of others' by a pass of their own
 * (tests/steps/products.sh), and caches are those of serving (tests/steps/random_serving.py). */
static bool is_drawn_elsewhere(enum graph_op op)
{
    static const enum graph_op ops[] = {GRAPH_AMAX,   GRAPH_ENCODE,   GRAPH_CODED,
                                        GRAPH_DECODE, GRAPH_QUANTIZE, GRAPH_CODED_GROUPED,
                                        GRAPH_APPEND, GRAPH_RESTORE};
    bool found = false;

    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
        found |= ops[i] == op;
    return found;
}

static void test_seen(void)
{
    for (int op = 0; op < GRAPH_NOPS; op++)
        if (!is_drawn_elsewhere((enum graph_op)op))
            ok(random_seen.nodes[op] > 0, "occurred: %s", graph_op((enum graph_op)op)->name);
    ok(random_layers.causal > 0 && random_layers.causal < random_layers.attention &&
           random_layers.grouped > 0,
       "occurred: causal attentions and others, with fewer key heads and as many");
    ok(random_layers.blocks > 0, "occurred: blocks");
    ok(random_layers.capped > 0 && random_layers.sunk > 0, "attentions with caps and sinks occur");
    ok(random_layers.sighted > 0 && random_layers.in_blocks > 0 && random_layers.goes_on > 0,
       "occurred: attentions by positions, in blocks, going on");
    ok(random_seen.split > 0, "occurred: axes split in parts for key heads");
    ok(random_seen.extremes > 0, "occurred: partial maxima, of sharded softmaxes");
    ok(random_seen.converted > 0 && random_seen.mixed_sums > 0,
       "occurred: conversions, sums in other types");
    ok(random_seen.tuples > 0, "occurred: dimensions over several axes");
    ok(random_seen.backward > 0 && random_seen.f32 > 0, "occurred: gradients, float32");
}

/* ---- each of a step's results is judged ---- */

/* Flip one bit of a result on device 0, each time: the lowest of its first element, or of a sum
 * over devices, whose order of additions is free, one of a value's upper half. */
struct planted {
    const struct program *program;
    uint32_t op, result;
};

static void plant(void *arg, int32_t device, uint32_t op, uint32_t microbatch,
                  const void *const *shards)
{
    const struct planted *p = arg;
    uint32_t buffer = p->program->ops[p->op].outputs[p->result];
    enum shd_dtype dtype = p->program->buffers[buffer].dtype;
    bool rounded = program_coll_kind(&p->program->ops[p->op]) >= 0;
    size_t at = rounded && shd_dtype_size(dtype) >= 4 ? shd_dtype_size(dtype) / 2 : 0;

    (void)microbatch;
    if (device == 0 && op == p->op)
        ((unsigned char *)(uintptr_t)shards[buffer])[at] ^= 1;
}

static bool is_seen(const struct planted *p, const struct verify_reference *reference)
{
    const struct walk_opts opts = {.observe = plant, .observe_arg = (void *)(uintptr_t)p};
    struct record *record;
    bool seen = record_create(&record, p->program, RECORD_EXECUTED, false, NULL) == SHD_OK &&
                verify_run(record, reference, &opts, NULL) == SHD_OK && record->step.error > 1;

    record_destroy(record);
    return seen;
}

static void judge_program(struct random_program *p, unsigned *ntried, unsigned *nseen)
{
    const struct partition_request request = {
        .graph = p->graph, .mesh = p->mesh, .nodes = p->nodes, .outputs = p->outputs};
    const struct verify_opts opts = {.ndevices = shd_mesh_size(p->mesh), .nthreads = 1};
    struct verify_reference reference;
    struct program *program;

    if (partition_build(&program, &request, NULL) != SHD_OK ||
        verify_reference(&reference, p->graph, &opts, NULL) != SHD_OK)
        abort();
    for (uint32_t i = program->first_op; i < program->nops; i++)
        for (uint32_t k = 1; k < program->ops[i].noutputs && *ntried < NJUDGED; k++) {
            const struct planted planted = {program, i, k};

            /* Counts are left alone: kernels go by them through memory. */
            if (program->buffers[program->ops[i].outputs[k]].bytes == 0 ||
                kern_is_whole(program->buffers[program->ops[i].outputs[k]].dtype))
                continue;
            ++*ntried;
            *nseen += is_seen(&planted, &reference);
        }
    verify_reference_fini(&reference);
    program_destroy(program);
    random_program_destroy(p);
}

static void test_judged(void)
{
    unsigned ntried = 0, nseen = 0;

    for (uint64_t seed = SEED; ntried < NJUDGED; seed++)
        judge_program(random_layer_program(seed), &ntried, &nseen);
    ok(nseen == ntried, "one bit of a result that is not a step's first: seen %u times of %u",
       nseen, ntried);
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
    test_judged();
    return done();
}

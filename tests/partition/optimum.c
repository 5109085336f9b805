/* Tests partition/optimum.h, and measures how far the partitioner's search is from the optimum.
 *
 * Each program has its own seed, so that SHD_TEST_SEED=<its seed> SHD_TEST_COUNT=1 makes it again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "partition/optimum.h"
#include "partition/tally.h"
#include "../support/random_program.h"
#include "../support/tap.h"

#define SEED 20261100u
#define NPROGRAMS 500
#define NDIMS 5
#define NODES_MAX 10000 /* partial placements */
#define FAR 1.5

#define OPS_MAX 10         /* besides inputs and parameters */
#define TRIES_STEP 1000003 /* between the seeds of a program that has more, and of its substitute */

/* A program of some ops on few dimensions. */
static struct random_program *try_make(uint64_t seed)
{
    static const int64_t sizes[] = {4, 6, 8, 12, 16, 24, 32, 64};
    static const char *const names[NDIMS] = {"a", "b", "c", "d", "e"};
    struct random_program *p = random_program_create(seed);
    uint32_t target, most, nleaves = 3 + random_below(&p->random, 2);

    for (int d = 0; d < NDIMS; d++)
        (void)graph_dim(p->graph, names[d], sizes[random_below(&p->random, 8)]);
    for (uint32_t n = 0; n < nleaves; n++) {
        uint32_t start = random_below(&p->random, NDIMS), dims[2] = {start, (start + 1) % NDIMS};

        random_leaf(p, dims, 2);
    }
    most = p->graph->nnodes + OPS_MAX;
    target = p->graph->nnodes + 3 + random_below(&p->random, 6);
    while (p->graph->nnodes < target && p->graph->err.status == SHD_OK)
        random_op(p);
    if (p->graph->nnodes > most) { /* one random op may be a dozen nodes */
        random_program_destroy(p);
        return NULL;
    }
    random_program_finish(p);
    return p;
}

/* A program of few ops, so that most optima can be proven. */
static struct random_program *make(uint64_t seed)
{
    struct random_program *p;

    do {
        p = try_make(seed);
        seed += TRIES_STEP;
    } while (!p);
    return p;
}

static struct partition_request request_of(const struct random_program *p)
{
    return (struct partition_request){.graph = p->graph,
                                      .mesh = p->mesh,
                                      .nodes = p->nodes,
                                      .outputs = p->outputs,
                                      .placement = PARTITION_SEARCH,
                                      .algos = p->algos};
}

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-8 * fmax(fabs(a), fabs(b));
}

/* The optimum of a program; *adds_up: its price equals the sum over the placement's ops. */
static struct region_best find(const struct partition_request *request, double below,
                               uint64_t nodes_max, bool *adds_up)
{
    struct pool pool = {0};
    struct placement p;
    struct region_best best;

    if (placement_init(&p, &pool, request, NULL) != SHD_OK)
        abort();
    optimum_find(&best, &p, below, nodes_max);
    *adds_up &= !best.found || is_near(best.price, tally_total(&p));
    pool_free(&pool);
    return best;
}

/* The optimum is the same with a bound on the price (`below`) as without one, where nothing is
 * pruned by the bound; with the optimum's price as the bound there is no solution. */
static void test_bounds(unsigned long seed, unsigned long count)
{
    unsigned nproven = 0, nwrong = 0;
    bool adds_up = true;

    for (unsigned long i = 0; i < count; i++) {
        struct random_program *p = make(seed + i);
        const struct partition_request request = request_of(p);
        struct region_best all = find(&request, INFINITY, NODES_MAX, &adds_up), below, none;

        if (all.proven && all.found) {
            below = find(&request, all.price * 1.001, NODES_MAX, &adds_up);
            none = find(&request, all.price, NODES_MAX, &adds_up);
            nproven++;
            nwrong += !below.proven || !below.found || !is_near(below.price, all.price) ||
                      below.nodes > all.nodes || !none.proven || none.found;
        }
        random_program_destroy(p);
    }
    ok(nproven > count / 4 && nwrong == 0, "bounds keep the best: %u programs, %u wrong", nproven,
       nwrong);
    ok(adds_up, "prices are those of the placements");
}

/* With too few nodes the search gives up and says so. */
static void test_given_up(void)
{
    struct random_program *p = make(SEED);
    const struct partition_request request = request_of(p);
    bool adds_up = true;
    struct region_best best = find(&request, INFINITY, 3, &adds_up);

    ok(!best.proven && !best.found && best.nodes == 4, "given up after 3 nodes");
    random_program_destroy(p);
}

/* The distances of the programs' searches from their optima. */
struct gaps {
    unsigned long nprograms;
    unsigned nproven, nbest, nfar, nshared;
    double sum, worst;
    unsigned long worst_seed;
    uint64_t nodes;
};

static void count_gap(struct gaps *g, unsigned long seed)
{
    struct random_program *p = make(seed);
    const struct partition_request request = request_of(p);
    struct pool pool = {0};
    struct optimum_gap gap;
    double ratio;

    if (optimum_compare(&gap, &pool, &request, NODES_MAX, NULL) != SHD_OK)
        abort();
    pool_free(&pool);
    ratio = gap.searched / gap.optimum;
    g->nprograms++;
    g->nshared += gap.shared;
    g->nodes += gap.nodes;
    if (gap.proven) {
        g->nproven++;
        g->nbest += ratio <= 1 + 1e-6;
        g->nfar += ratio > FAR;
        g->sum += ratio;
    }
    if (gap.proven && ratio > g->worst) {
        g->worst = ratio;
        g->worst_seed = seed;
    }
    random_program_destroy(p);
}

static void test_search(unsigned long seed, unsigned long count)
{
    struct gaps g = {.nprograms = 0};

    for (unsigned long i = 0; i < count; i++)
        count_gap(&g, seed + i);
    diag("%u of %lu programs proven, %llu nodes; the search found the optimum of %u", g.nproven,
         g.nprograms, (unsigned long long)g.nodes, g.nbest);
    diag("its price by the optimum: mean %.4f, worst %.3f (seed %lu), over %.1f %u",
         g.sum / g.nproven, g.worst, g.worst_seed, FAR, g.nfar);
    ok(g.nproven > count / 2, "most programs are proven");
    ok(g.sum <= 1.05 * g.nproven, "the search is within 1.05 of the optimum in the mean");
    ok(g.nbest * 5 >= 4 * g.nproven, "four of five times it is the optimum");
    ok(g.nfar == 0, "it is never over 1.5");
    ok(g.nshared == count,
       "as many devices share heavy work as by following, in %u of %lu programs", g.nshared, count);
}

int main(void)
{
    bool small = small_size();
    unsigned long seed = from_env("SHD_TEST_SEED", SEED);
    unsigned long count = from_env("SHD_TEST_COUNT", small ? 100 : NPROGRAMS);

    plan(0);
    diag("SHD_TEST_SEED=%lu, %lu programs of at most %d nodes each", seed, count, NODES_MAX);
    test_bounds(seed, count / 5 + 1);
    test_given_up();
    test_search(seed, count);
    return done();
}

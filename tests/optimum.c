/* What partition/optimum.h promises, and how far the partitioner's search is from it.
 *
 * Each program has its own seed, so that one can be made again by SHD_TEST_SEED=<its seed>
 * SHD_TEST_COUNT=1.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "partition/optimum.h"
#include "partition/search.h"
#include "partition/tally.h"
#include "random_program.h"
#include "tap.h"

#define SEED 20261100u
#define NPROGRAMS 500
#define NDIMS 5
#define NODES_MAX 200000

static struct random_program *make(uint64_t seed)
{
    static const int64_t sizes[] = {4, 6, 8, 12, 16, 24, 32, 64};
    static const char *const names[NDIMS] = {"a", "b", "c", "d", "e"};
    struct random_program *p = random_program_create(seed);
    uint32_t target, nleaves = 2 + random_below(&p->random, 3);

    for (int d = 0; d < NDIMS; d++)
        (void)graph_dim(p->graph, names[d], sizes[random_below(&p->random, 8)]);
    for (uint32_t n = 0; n < nleaves; n++) {
        uint32_t start = random_below(&p->random, NDIMS), dims[2] = {start, (start + 1) % NDIMS};

        random_leaf(p, dims, 2);
    }
    target = p->graph->nnodes + 3 + random_below(&p->random, 6);
    while (p->graph->nnodes < target && p->graph->err.status == SHD_OK)
        random_op(p);
    random_program_finish(p);
    return p;
}

int main(void)
{
    unsigned long seed = getenv("SHD_TEST_SEED") ? strtoul(getenv("SHD_TEST_SEED"), 0, 10) : SEED;
    unsigned long count =
        getenv("SHD_TEST_COUNT") ? strtoul(getenv("SHD_TEST_COUNT"), 0, 10) : NPROGRAMS;

    plan(0);
    for (unsigned long i = 0; i < count; i++) {
        struct random_program *p = make(seed + i);
        struct partition_request request = {.graph = p->graph,
                                            .mesh = p->mesh,
                                            .nodes = p->nodes,
                                            .outputs = p->outputs,
                                            .placement = PARTITION_SEARCH,
                                            .algos = p->algos};
        struct optimum_gap gap;
        char mesh[100];
        clock_t t = clock();

        if (optimum_compare(&gap, &request, NODES_MAX, NULL) != SHD_OK)
            abort();
        shd_mesh_print(p->mesh, mesh, sizeof mesh);
        diag("%lu %s: nodes %u graph, %llu, %s ratio %.6f searched %.1f optimum %.1f %.3f s",
             seed + i, mesh, p->graph->nnodes, (unsigned long long)gap.nodes,
             gap.proven ? "proven" : "GIVENUP", gap.searched / gap.optimum, gap.searched,
             gap.optimum, (double)(clock() - t) / CLOCKS_PER_SEC);
        random_program_destroy(p);
    }
    ok(true, "x");
    return done();
}

/* Tests decisions of routers in 16 bits with many ties and near ties: a run is compared with a
 * reference that takes the same decisions, so that the run is not called wrong; a wrong decision
 * is found.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>

#include <shd/spec.h>

#include "graph/graph.h"
#include "partition/partition.h"
#include "../support/tap.h"
#include "trial/decisions.h"
#include "trial/verify.h"
#include "run/walk/walk.h"

enum { BATCH = 48, EMBED = 64, EXPERTS = 32, CHOICES = 3, WIDTH = 4, LEAVES = 2 };

static const char *const specs[LEAVES] = {"('dp', 'tp')", "('tp', None)"};

/* Tokens choose experts by scores that are sums over devices, and get the rows of their experts. */
static struct graph *make_graph(uint32_t seed, enum shd_dtype dtype, uint32_t leaves[LEAVES])
{
    struct graph *g = graph_create();
    uint32_t batch = graph_dim(g, "batch", BATCH), embed = graph_dim(g, "embed", EMBED);
    uint32_t expert = graph_dim(g, "expert", EXPERTS), choice = graph_dim(g, "choice", CHOICES);
    uint32_t width = graph_dim(g, "width", WIDTH), scores, ids, gates, rows;
    struct kern_source source = {.seed = seed, .scale = 2};

    leaves[0] = graph_input(g, "x", dtype, (const uint32_t[]){batch, embed}, 2, source);
    source.seed += 12345;
    leaves[1] = graph_param(g, "router", dtype, (const uint32_t[]){embed, expert}, 2, source);
    scores = graph_einsum(g, "scores", leaves[0], leaves[1], (const uint32_t[]){batch, expert}, 2);
    ids = graph_topk(g, "ids", scores, expert, choice, NULL);
    gates = graph_pick(g, "gates", scores, ids, expert);
    source.seed += 12345;
    rows = graph_embed(g, "rows",
                       graph_param(g, "table", dtype, (const uint32_t[]){expert, width}, 2, source),
                       ids);
    graph_output(g, GRAPH_OUTPUT, "y",
                 graph_einsum(g, "y", rows, gates, (const uint32_t[]){batch, width}, 2),
                 GRAPH_NONE);
    return g;
}

static struct program *make_program(const struct graph *g, const struct shd_mesh *mesh,
                                    const uint32_t leaves[LEAVES])
{
    const struct shd_sharding **nodes = calloc(g->nnodes, sizeof *nodes);
    struct shd_sharding storage[LEAVES];
    struct partition_request request = {.graph = g, .mesh = mesh, .nodes = nodes};
    struct program *program = NULL;
    struct shd_error err = {SHD_OK, ""};

    for (int k = 0; k < LEAVES; k++) {
        struct shd_spec *spec;

        if (shd_spec_parse(&spec, specs[k], &err) != SHD_OK ||
            shd_sharding_bind(&storage[k], mesh, spec, 2, &err) != SHD_OK)
            diag("%s", err.text);
        shd_spec_destroy(spec);
        nodes[leaves[k]] = &storage[k];
    }
    if (partition_build(&program, &request, &err) != SHD_OK)
        diag("%s", err.text);
    free(nodes);
    return program;
}

/* A walk_observe_fn: device 1 chooses another expert for its first token. */
static void choose_wrong(void *arg, int32_t device, uint32_t op, uint32_t microbatch,
                         const void *const *shards)
{
    const struct program *program = arg;
    const struct program_op *o = &program->ops[op];
    int32_t *ids;

    (void)microbatch;
    if (device != 1 || o->kind != PROGRAM_KERNEL || o->kernel != &kern_kernel_topk)
        return;
    ids = (int32_t *)(uintptr_t)shards[o->outputs[0]]; /* the device's own memory */
    ids[0] = ids[0] == 5 ? 6 : 5;
}

/* Whether verification calls a run right; `decided` may be NULL. */
static bool is_right(const struct graph *g, const struct program *program,
                     const struct decisions *decided, walk_observe_fn observe)
{
    struct verify_opts verify = {.ndevices = 4, .nthreads = 1, .decisions = decided};
    struct walk_opts opts = {.observe = observe, .observe_arg = (void *)(uintptr_t)program};
    struct verify_reference reference;
    struct record *record;
    struct shd_error err;
    bool right = false;

    if (verify_reference(&reference, g, &verify, &err) != SHD_OK)
        return false;
    if (record_create(&record, program, RECORD_EXECUTED, false, &err) == SHD_OK) {
        right = verify_run(record, &reference, &opts, &err) == SHD_OK && record_verified_ok(record);
        record_destroy(record);
    }
    verify_reference_fini(&reference);
    return right;
}

static void check(enum shd_dtype dtype, int nprograms)
{
    static const char *const names[] = {"dp", "tp"};
    static const int32_t sizes[] = {2, 2};
    int alarms = 0, alone = 0, seen = 0;
    struct shd_mesh *mesh;

    if (shd_mesh_create(&mesh, names, sizes, 2, NULL) != SHD_OK)
        return;
    for (int i = 0; i < nprograms; i++) {
        uint32_t leaves[LEAVES];
        struct graph *g = make_graph(1000u * (uint32_t)i, dtype, leaves);
        struct program *program = make_program(g, mesh, leaves);
        struct walk_opts opts = {.nthreads = 0};
        struct decisions decided;

        if (program && decisions_make(&decided, program, 1, &opts, NULL) == SHD_OK) {
            alarms += !is_right(g, program, &decided, NULL);
            alone += !is_right(g, program, NULL, NULL);
            seen += !is_right(g, program, &decided, choose_wrong);
            decisions_fini(&decided);
        } else {
            alarms++;
        }
        program_destroy(program);
        graph_destroy(g);
    }
    shd_mesh_destroy(mesh);
    ok(alarms == 0, "%s: %d of %d right programs called wrong, with the reference's decisions",
       shd_dtype_name(dtype), alarms, nprograms);
    ok(seen == nprograms, "%s: a wrong decision seen in %d of %d", shd_dtype_name(dtype), seen,
       nprograms);
    if (dtype == SHD_BF16)
        ok(alone > 0, "%d would be called wrong beside decisions of the reference's own", alone);
}

int main(void)
{
    int n = small_size() ? 20 : 200;

    plan(0);
    check(SHD_BF16, n);
    check(SHD_F32, n / 10);
    return done();
}

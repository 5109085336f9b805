/* Tests partition/tally.h on steps of several microbatches: costs are those of the whole step, and
 * bytes those that the program receives.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "partition/tally.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "program/program.h"
#include "../support/tap.h"

#define SIZE 8 /* size of both dimensions of a parameter */
#define DEVICES 4
#define NODES 16

/* A parameter that each microbatch reads unsharded twice and the update once more. */
struct step {
    struct shd_mesh *mesh;
    struct graph *graph;
    struct shd_sharding cut, whole;
    const struct shd_sharding *nodes[NODES];
    uint32_t param, map; /* map: runs once per microbatch */
};

static uint32_t unsharded(struct step *s, const char *name, enum graph_phase phase)
{
    uint32_t node;

    s->graph->phase = phase;
    node = graph_constraint(s->graph, name, s->param);
    s->nodes[node] = &s->whole;
    return node;
}

static void create(struct step *s, uint32_t microbatches)
{
    const struct kern_source source = {.scale = 1};
    const char *const axes[] = {"x"};
    const int32_t sizes[] = {DEVICES};
    uint32_t dims[2], first, again, once, sum;

    *s = (struct step){.graph = graph_create()};
    if (!s->graph || shd_mesh_create(&s->mesh, axes, sizes, 1, NULL) != SHD_OK)
        abort();
    shd_sharding_init(&s->whole, s->mesh, 2);
    s->cut = s->whole;
    s->cut.dims[0].axes[s->cut.dims[0].naxes++] = 0;
    s->graph->microbatches = microbatches;
    dims[0] = graph_dim(s->graph, "a", SIZE);
    dims[1] = graph_dim(s->graph, "b", SIZE);
    s->param = graph_param(s->graph, "w", SHD_F32, dims, 2, source);
    s->nodes[s->param] = &s->cut;
    first = unsharded(s, "first", GRAPH_FORWARD);
    again = unsharded(s, "again", GRAPH_BACKWARD);
    s->map = graph_map(s->graph, "sum", KERN_ADD, first, again, 0);
    sum = graph_accumulate(s->graph, "sum", SHD_F32, s->map);
    once = unsharded(s, "once", GRAPH_OPTIMIZER);
    sum = graph_map(s->graph, "update", KERN_ADD, sum, once, 0);
    graph_output(s->graph, GRAPH_OUTPUT, "update", sum, GRAPH_NONE);
    if (graph_status(s->graph, NULL) != SHD_OK)
        abort();
}

static void destroy(struct step *s)
{
    graph_destroy(s->graph);
    shd_mesh_destroy(s->mesh);
}

static struct partition_request request_of(const struct step *s)
{
    return (struct partition_request){.graph = s->graph, .mesh = s->mesh, .nodes = s->nodes};
}

static uint64_t program_bytes(const struct step *s)
{
    const struct partition_request request = request_of(s);
    struct program *program;
    uint64_t bytes = 0;

    if (partition_build(&program, &request, NULL) != SHD_OK)
        abort();
    for (uint32_t i = program->first_op; i < program->nops; i++)
        bytes +=
            (uint64_t)program_received_by_all(program, &program->ops[i]) * program->ops[i].times;
    program_destroy(program);
    return bytes;
}

static void test_step(uint32_t microbatches, uint32_t gathers)
{
    const double elements = SIZE * SIZE, gather = (DEVICES - 1) * elements * sizeof(float);
    const double once = DEVICES * (elements / PRICE_FLOPS_PER_BYTE +
                                   3 * elements * sizeof(float) / PRICE_LOCAL_PER_BYTE);
    struct pool pool = {0};
    struct step s;
    struct placement p;
    double work;

    create(&s, microbatches);
    const struct partition_request request = request_of(&s);

    if (placement_init(&p, &pool, &request, NULL) != SHD_OK)
        abort();
    placement_settle(&p, s.map);
    work = tally_work(&p, s.map);
    s.graph->microbatches = 1;
    ok(work == microbatches * tally_work(&p, s.map), "%u microbatches: the work of each",
       microbatches);
    ok(fabs(tally_work(&p, s.map) - once) < 1e-9 * once,
       "work: of two whole operands and the result, on each device");
    s.graph->microbatches = microbatches;
    ok(tally_value(&p, s.param) == gathers * (gather + PRICE_STEP_BYTES),
       "%u microbatches: gathered %u times", microbatches, gathers);
    ok((double)program_bytes(&s) == gathers * gather, "%u microbatches: the program does, too",
       microbatches);
    pool_free(&pool);
    destroy(&s);
}

/* A cluster on which a byte takes 1 ns between any two devices. */
static struct hardware *read_cluster(void)
{
    static const char text[] =
        "version: 1\nname: round\nsource: made up\n"
        "rates: {float64: 1TFLOP/s}\nmemory: {size: 16GiB, rate: 100GB/s}\n"
        "kernels: {launch: 0s, matmul_efficiency: 1, half_k: 0, memory_efficiency: 1,\n"
        "          attention_efficiency: 1, attention_backward_efficiency: 1}\n"
        "tiers: [{name: wire, rate: 1GB/s, latency: 0s, step: 0s}]\n";
    struct diag errors = DIAG_INIT;
    struct hardware *out;

    if (hardware_parse(&out, "test", text, strlen(text), &errors) != SHD_OK)
        abort();
    diag_fini(&errors);
    return out;
}

/* Sixteen tokens of four numbers, sharded over the devices like the experts to which they go: each
 * device keeps one row in four. */
static void test_rows(void)
{
    const struct kern_routing_spec spec = {
        .kind = KERN_ROUTING_UNIFORM, .tokens = 16, .choices = 1, .experts = 4, .capacity = 4};
    const double rows = 16 - 16 / DEVICES, row_bytes = 4 * sizeof(double);
    const struct kern_source source = {.scale = 1};
    struct kern_routing routing;
    struct kern_source ids = {.routing = &routing};
    int32_t *room = calloc(kern_routing_room(&spec), sizeof *room);
    struct hardware *cluster = read_cluster();
    double seconds;
    struct pool pool = {0};
    struct step s;
    struct placement p;
    uint32_t dims[6], x, id, slot, dispatch;

    create(&s, 1);
    graph_destroy(s.graph);
    s.graph = graph_create();
    if (!room || !kern_routing_make(&routing, &spec, room))
        abort();
    memset(s.nodes, 0, sizeof s.nodes);
    dims[0] = graph_dim(s.graph, "batch", 8);
    dims[1] = graph_dim(s.graph, "seq", 2);
    dims[2] = graph_dim(s.graph, "width", 4);
    dims[3] = graph_dim(s.graph, "choice", 1);
    dims[4] = graph_dim(s.graph, "expert", 4);
    dims[5] = graph_dim(s.graph, "slot", 4);
    x = graph_input(s.graph, "x", SHD_F64, dims, 3, source);
    id = graph_input(s.graph, "ids", SHD_I32, (uint32_t[]){dims[0], dims[1], dims[3]}, 3, ids);
    slot = graph_input(s.graph, "slots", SHD_I32, (uint32_t[]){dims[0], dims[1], dims[3]}, 3, ids);
    dispatch = graph_dispatch(s.graph, "rows", x, id, slot, dims[4], dims[5], 1, &routing);
    graph_output(s.graph, GRAPH_OUTPUT, "rows", graph_constraint(s.graph, "placed", dispatch),
                 GRAPH_NONE);
    shd_sharding_init(&s.cut, s.mesh, 3);
    s.cut.dims[0] = (struct shd_dim_axes){1, {0}};
    s.nodes[x] = s.nodes[id] = s.nodes[slot] = s.nodes[dispatch + 1] = &s.cut;
    struct partition_request request = request_of(&s);

    if (graph_status(s.graph, NULL) != SHD_OK ||
        placement_init(&p, &pool, &request, NULL) != SHD_OK)
        abort();
    placement_settle(&p, dispatch);
    ok(tally_rows(&p, dispatch, 0) == DEVICES * rows * row_bytes + PRICE_STEP_BYTES &&
           tally_rows(&p, dispatch, 1) == 0,
       "rows: three of four come from other devices: %g", tally_rows(&p, dispatch, 0));
    request.hardware = cluster;
    if (placement_init(&p, &pool, &request, NULL) != SHD_OK)
        abort();
    placement_settle(&p, dispatch);
    seconds = tally_rows(&p, dispatch, 0);
    ok(fabs(seconds - rows * row_bytes * 1e-9) < 1e-15, "rows: %g s on a cluster", seconds);
    pool_free(&pool);
    hardware_destroy(cluster);
    destroy(&s);
    free(room);
}

int main(void)
{
    plan(0);
    test_rows();
    test_step(1, 1); /* gathered once and kept for the update */
    test_step(2, 3); /* once per microbatch, and once for the update */
    test_step(5, 6);
    return done();
}

/* Tests cost/op_seconds.h: seconds of transfers, products, chains and stages, worked out by hand
 * on a cluster of round numbers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cost/modelled.h"
#include "cost/op_seconds.h"
#include "cost/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/tap.h"
#include "timetable/timetable.h"

/* A flop takes 1 ps, a byte of memory 10 ps, a byte on a link 1 ns inside a node of four devices
 * and 10 ns between nodes. */
static const char cluster[] =
    "version: 1\nname: round\nsource: made up\n"
    "rates: {float32: 1TFLOP/s, bfloat16: 4TFLOP/s}\nmemory: {size: 16GiB, rate: 100GB/s}\n"
    "kernels: {launch: 0s, matmul_efficiency: 1, half_k: 0, memory_efficiency: 1,\n"
    "          attention_efficiency: 1, attention_backward_efficiency: 1}\n"
    "tiers: [{name: node, devices: 4, rate: 1GB/s, latency: 0s, step: 0s},\n"
    "        {name: wire, rate: 0.1GB/s, latency: 0s, step: 0s}]\n";

#define MEMORY_S 10e-12 /* per byte of memory */
#define NODE_S 1e-9     /* per byte inside a node */
#define WIRE_S 10e-9    /* per byte between nodes */

enum { ROWS = 16, COLUMNS = 32, BYTES = ROWS * COLUMNS * 4 };

static struct hardware *read_cluster(void)
{
    struct diag errors = DIAG_INIT;
    struct hardware *out = NULL;

    if (hardware_parse(&out, "test", cluster, strlen(cluster), &errors) != SHD_OK) {
        diag_write(&errors, stdout);
        exit(99);
    }
    diag_fini(&errors);
    return out;
}

static struct shd_mesh *mesh_of(const char *const *names, const int32_t *sizes)
{
    struct shd_mesh *mesh;

    if (shd_mesh_create(&mesh, names, sizes, 2, NULL) != SHD_OK)
        exit(99);
    return mesh;
}

static struct program *program_on(const struct shd_mesh *mesh)
{
    struct program *p = program_create(mesh);

    if (!p)
        exit(99);
    return p;
}

static void is_near(double found, double expected, const char *what)
{
    ok(fabs(found - expected) <= 1e-9 * expected, "%s: %.9g s, expected %.9g", what, found,
       expected);
}

/* An array of ROWS x COLUMNS whose rows are sharded by an axis of the mesh; -1: replicated. */
static struct shd_sharding by_rows(const struct program *p, int axis)
{
    struct shd_sharding s;

    shd_sharding_init(&s, p->mesh, 2);
    if (axis >= 0)
        s.dims[0] = (struct shd_dim_axes){1, {(uint8_t)axis}};
    return s;
}

static uint32_t array(struct program *p, const struct shd_sharding *s)
{
    const int64_t shape[2] = {ROWS, COLUMNS};
    uint32_t buffer;

    if (program_add_buffer(&buffer, p, "array", SHD_F32, shape, s, NULL) != SHD_OK)
        exit(99);
    return buffer;
}

/* Add an op that writes one array; returns the array. */
static uint32_t add(struct program *p, struct program_op op, const struct shd_sharding *s)
{
    op.name = "op";
    op.noutputs = 1;
    op.outputs[0] = array(p, s);
    if (program_add_op(p, &op, NULL) != SHD_OK)
        exit(99);
    return op.outputs[0];
}

static uint32_t argument(struct program *p, int axis)
{
    const struct shd_sharding s = by_rows(p, axis);
    uint32_t buffer = add(p, (struct program_op){.kind = PROGRAM_FILL}, &s);

    p->buffers[buffer].argument = true;
    return buffer;
}

/* Add the step that reshards rows to another axis (-1: replicated); returns the new array. */
static uint32_t reshard(struct program *p, uint32_t in, int axis)
{
    const int64_t shape[2] = {ROWS, COLUMNS};
    const struct shd_sharding s = by_rows(p, axis);
    struct program_op op = {.kind = PROGRAM_RESHARD, .ninputs = 1, .inputs = {in}};
    struct shd_reshard_plan plan;

    if (shd_reshard_build(&plan, &p->buffers[in].sharding, &s, shape, SHD_F32, NULL) != SHD_OK ||
        plan.nsteps != 1)
        exit(99);
    op.reshard = plan.steps[0];
    return add(p, op, &s);
}

/* a + b of replicated arrays: one pass over the elements. */
static uint32_t sum(struct program *p, uint32_t a, uint32_t b)
{
    const struct shd_sharding s = by_rows(p, -1);
    struct program_op op = {.kind = PROGRAM_KERNEL, .ninputs = 2, .inputs = {a, b}};
    static union kern_desc desc;

    op.kernel = &kern_kernel_map;
    op.desc = &desc;
    desc.map = (struct kern_map){
        .dtype = SHD_F32, .in_dtype = {SHD_F32, SHD_F32}, .ndims = 1, .ninputs = 2};
    op.dense_flops = ROWS * COLUMNS;
    desc.map.extent[0] = ROWS * COLUMNS;
    desc.map.out_stride[0] = desc.map.in_stride[0][0] = desc.map.in_stride[1][0] = 1;
    return add(p, op, &s);
}

static void finish(struct program *p)
{
    program_set_lifetimes(p);
    if (program_set_order(p, 1, NULL, NULL) != SHD_OK)
        exit(99);
}

static struct op_seconds seconds_of(const struct program *p, const struct hardware *h)
{
    struct op_seconds s;

    if (op_seconds_init(&s, p, h, NULL) != SHD_OK)
        exit(99);
    return s;
}

/* Two nodes of four devices: axis a joins the nodes, axis b lies inside a node. */
static const char *const names[] = {"a", "b"};
static const int32_t sizes[] = {2, 4};

static void test_transfers(void)
{
    struct hardware *h = read_cluster();
    struct shd_mesh *mesh = mesh_of(names, sizes);
    struct program *p = program_on(mesh);
    uint32_t whole = argument(p, -1), by_a = argument(p, 0), by_b = argument(p, 1);
    struct op_seconds s;

    reshard(p, by_b, -1); /* op 3: an all-gather inside nodes */
    reshard(p, by_a, -1); /* op 4: an all-gather between nodes */
    reshard(p, whole, 1); /* op 5: a slice */
    reshard(p, by_a, 1);  /* op 6: an exchange */
    finish(p);
    s = seconds_of(p, h);
    is_near(op_seconds_of(&s, 3, 0), BYTES * 3 / 4 * NODE_S, "all-gather in a node");
    is_near(op_seconds_of(&s, 4, 0), BYTES / 2 * WIRE_S, "all-gather between nodes");
    is_near(op_seconds_of(&s, 5, 0), 2 * BYTES / 4 * MEMORY_S, "slice: read and written");
    /* Device 2 fetches half of its rows over the wire, at the rate of an all-to-all of eight. */
    is_near(op_seconds_of(&s, 6, 2), BYTES / 4 * 8 / 7. / 2 * WIRE_S, "exchange: what it lacks");
    ok(op_seconds_of(&s, 6, 0) == 0, "exchange: a device with all its rows");
    ok(op_seconds_even(&s, 3) && op_seconds_even(&s, 5) && !op_seconds_even(&s, 6),
       "even: a collective and a copy; an exchange is not");
    ok(op_seconds_stream(&s, 3) == 0 && op_seconds_stream(&s, 4) == 1 &&
           op_seconds_stream(&s, 6) == 1,
       "streams: the outermost tier that a transfer needs");
    h->software.bucket_bytes = 1 << 20;
    h->tiers[0].latency_s = 1e-3;
    is_near(op_seconds_of(&s, 3, 0), 1e-3 + BYTES * 3 / 4 * NODE_S, "activations: no bucket");
    p->buffers[p->ops[3].outputs[0]].use = PROGRAM_GATHERED;
    is_near(op_seconds_of(&s, 3, 0), 1e-3 * (BYTES / 4) / (1 << 20) + BYTES * 3 / 4 * NODE_S,
            "parameters: their fraction of a bucket");
    op_seconds_fini(&s);
    program_destroy(p);
    shd_mesh_destroy(mesh);
    hardware_destroy(h);
}

/* `mesh` decides where groups lie, even if its axes have another order than the program's. */
static void test_order(void)
{
    static const char *const other[] = {"b", "a"};
    static const int32_t lengths[] = {4, 2};
    struct hardware *h = read_cluster();
    struct shd_mesh *mesh = mesh_of(names, sizes), *counts = mesh_of(other, lengths);
    struct program *p = program_on(mesh);
    uint32_t by_a = argument(p, 0), by_b = argument(p, 1);
    struct hardware_group g;
    struct op_seconds s;

    reshard(p, by_a, -1); /* op 2 */
    reshard(p, by_b, -1); /* op 3 */
    finish(p);
    s = seconds_of(p, h);
    op_seconds_group(&g, &s, 2);
    ok(g.members == 2 && g.inside[0] == 1, "group: from node to node");
    op_seconds_group(&g, &s, 3);
    ok(g.members == 4 && g.inside[0] == 4, "group: a node");
    s.mesh = counts;
    op_seconds_group(&g, &s, 2);
    ok(g.members == 2 && g.inside[0] == 2, "group: neighbours, where the last axis is a");
    op_seconds_group(&g, &s, 3);
    ok(g.members == 4 && g.inside[0] == 2, "group: two of each node, where the first axis is b");
    is_near(op_seconds_of(&s, 2, 0), BYTES / 2 * NODE_S, "all-gather: by the mesh that counts");
    op_seconds_fini(&s);
    program_destroy(p);
    shd_mesh_destroy(counts);
    shd_mesh_destroy(mesh);
    hardware_destroy(h);
}

/* The time of a product follows from the rate of its type. */
static void test_products(void)
{
    enum { SIDE = 1024 };
    static const enum shd_dtype types[] = {SHD_F32, SHD_BF16};
    struct hardware *h = read_cluster();
    struct shd_mesh *mesh = mesh_of(names, sizes);
    struct program *p = program_on(mesh);
    const struct shd_sharding whole = by_rows(p, -1);
    uint32_t a = argument(p, -1), b = argument(p, -1);
    struct op_seconds s;

    for (int t = 0; t < 2; t++) {
        struct program_op op = {.kind = PROGRAM_KERNEL, .ninputs = 2, .inputs = {a, b}};
        union kern_desc desc = {0};

        op.desc = &desc;
        op.kernel = &kern_kernel_einsum;
        op.dense_flops = UINT64_C(2) * SIDE * SIDE * SIDE;
        desc.einsum = (struct kern_einsum){.dtype = types[t],
                                           .ndims = 3,
                                           .extent = {SIDE, SIDE, SIDE},
                                           .a_has = 5,
                                           .b_has = 6,
                                           .c_has = 3};
        add(p, op, &whole);
    }
    finish(p);
    s = seconds_of(p, h);
    is_near(op_seconds_of(&s, 2, 0), 2. * SIDE * SIDE * SIDE / 1e12, "a matmul of float32");
    is_near(op_seconds_of(&s, 3, 0), 2. * SIDE * SIDE * SIDE / 4e12, "a matmul of bfloat16");
    op_seconds_fini(&s);
    program_destroy(p);
    shd_mesh_destroy(mesh);
    hardware_destroy(h);
}

/* Heads whose keys are one latent vector fill a tile together; those of key heads of their own do
 * not, so that one query of each is far from the peak. */
static void test_tiles_of_attention(void)
{
    enum { BATCH = 2, HEADS = 64, KEYS = 1024, DIM = 8, HALF = 63 };
    struct hardware *h = read_cluster();
    struct shd_mesh *mesh = mesh_of(names, sizes);
    struct program *p = program_on(mesh);
    const struct shd_sharding whole = by_rows(p, -1);
    uint32_t a = argument(p, -1), b = argument(p, -1);
    struct op_seconds s;
    double peak_s = 2. * BATCH * HEADS * KEYS * (DIM + DIM) / 1e12;

    for (int one = 0; one < 2; one++) {
        struct program_op op = {.kind = PROGRAM_KERNEL, .ninputs = 3, .inputs = {a, b, b}};
        union kern_desc desc = {0};

        op.desc = &desc;
        op.kernel = &kern_kernel_attention;
        desc.attention = (struct kern_attention){.dtype = SHD_F32,
                                                 .batch = BATCH,
                                                 .queries = 1,
                                                 .keys = KEYS,
                                                 .heads = HEADS,
                                                 .kv_heads = 1,
                                                 .head_dim = DIM,
                                                 .value_dim = DIM,
                                                 .repeat = HEADS,
                                                 .scale = 1,
                                                 .blocks = 1,
                                                 .one = one};
        add(p, op, &whole);
    }
    finish(p);
    h->kernels.attention_half_queries = HALF;
    s = seconds_of(p, h);
    is_near(op_seconds_of(&s, 2, 0), peak_s * (1 + HALF), "one query of each head");
    is_near(op_seconds_of(&s, 3, 0), peak_s * (1 + HALF / (double)HEADS),
            "one query of each head, all of one latent vector");
    op_seconds_fini(&s);
    program_destroy(p);
    shd_mesh_destroy(mesh);
    hardware_destroy(h);
}

/* A row of sums, each adding the argument to the sum before. */
static void test_chains(void)
{
    enum { SUMS = 18, ROOM = 16 }; /* ROOM: a chain ends with its sixteenth op */
    struct hardware *h = read_cluster();
    struct shd_mesh *mesh = mesh_of(names, sizes);
    struct program *p = program_on(mesh);
    uint32_t one = argument(p, -1), last = argument(p, -1);
    struct op_seconds s;
    double others = 0;

    for (int i = 0; i < SUMS; i++)
        last = sum(p, last, one);
    if (program_add_result(p, PROGRAM_OUTPUT, "sum", last, NULL) != SHD_OK)
        exit(99);
    finish(p);
    s = seconds_of(p, h);
    is_near(op_seconds_of(&s, 3, 0), 3 * BYTES * MEMORY_S, "a sum: two arrays read, one written");
    ok(op_seconds_bound(&s, 3, 0) == HARDWARE_BY_MEMORY, "a sum: by memory");
    h->elementwise_per_s[SHD_F32] = 1e6;
    ok(op_seconds_bound(&s, 3, 0) == HARDWARE_BY_COMPUTE, "a sum: by compute if the units are "
                                                          "slow");
    h->elementwise_per_s[SHD_F32] = 0;
    op_seconds_fini(&s);
    h->software.fuses_elementwise = true;
    s = seconds_of(p, h);
    is_near(op_seconds_of(&s, 2, 0), 3 * BYTES * MEMORY_S,
            "a chain: first operand, shared operand, result");
    is_near(op_seconds_of(&s, 2 + ROOM, 0), 3 * BYTES * MEMORY_S, "the next chain, likewise");
    for (uint32_t i = 3; i < 2 + SUMS; i++)
        others += i == 2 + ROOM ? 0 : op_seconds_of(&s, i, 0);
    ok(others == 0, "a chain: its first op takes the time of all");
    op_seconds_fini(&s);
    program_destroy(p);
    shd_mesh_destroy(mesh);
    hardware_destroy(h);
}

static void test_messages(void)
{
    struct hardware *h = read_cluster();
    struct shd_mesh *mesh = mesh_of(names, sizes);
    struct program *p = program_on(mesh);
    uint32_t whole = argument(p, -1), by_b = argument(p, 1);
    struct op_seconds s;

    finish(p);
    s = seconds_of(p, h);
    is_near(op_seconds_message(&s, 0, 1, whole, UINT32_MAX), BYTES * NODE_S, "message in a node");
    is_near(op_seconds_message(&s, 0, 4, by_b, UINT32_MAX), BYTES / 4 * WIRE_S,
            "message of a shard between nodes");
    h->software.scatters_sends = true;
    is_near(op_seconds_message(&s, 0, 4, whole, 2), BYTES / 4 * WIRE_S + BYTES * 3 / 4 * NODE_S,
            "message that four copies share in, gathered where it arrives");
    is_near(op_seconds_message(&s, 0, 1, whole, 2), BYTES * NODE_S, "in a node nobody shares");
    is_near(op_seconds_message(&s, 0, 4, by_b, 2), BYTES / 4 * WIRE_S, "nor where shards differ");
    is_near(op_seconds_message(&s, 0, 4, whole, 1), BYTES * WIRE_S, "nor who is in other nodes");
    op_seconds_fini(&s);
    program_destroy(p);
    shd_mesh_destroy(mesh);
    hardware_destroy(h);
}

/* Two stages of three devices.  Of the messages 0 -> 3, 1 -> 4 and 2 -> 5 only the first stays
 * inside a node. */
static void test_stages(void)
{
    static const char *const axes[] = {"pp", "dp"};
    static const int32_t lengths[] = {2, 3};
    const struct timetable_sizes one = {.nranks = 2, .stages_per_rank = 1, .nmicrobatches = 1};
    const struct timetable_schedule *schedule;
    struct hardware *h = read_cluster();
    struct shd_mesh *mesh = mesh_of(axes, lengths);
    struct program *p = program_on(mesh);
    const struct shd_sharding s = by_rows(p, -1);
    struct program_op op = {.kind = PROGRAM_SEND, .ninputs = 1};
    struct timetable *timetable;
    struct record *record;

    p->nstages = 2;
    op.name = "send";
    op.inputs[0] = argument(p, -1);
    if (program_add_op(p, &op, NULL) != SHD_OK)
        exit(99);
    op = (struct program_op){.kind = PROGRAM_RECV, .stage = 1};
    op.inputs[0] = add(p, op, &s);
    sum(p, op.inputs[0], op.inputs[0]);
    p->ops[p->nops - 1].stage = 1;
    program_set_lifetimes(p);
    if (timetable_find(&schedule, "GPipe", NULL) != SHD_OK ||
        timetable_build(&timetable, schedule, &one, NULL) != SHD_OK ||
        program_set_order(p, 1, &(struct program_stages){0, timetable}, NULL) != SHD_OK ||
        plan_create(&record, p, NULL) != SHD_OK || modelled_run(record, h, NULL, NULL) != SHD_OK)
        exit(99);
    ok(record->modelled->timeline->step_ns == BYTES + 61,
       "stages: the first device's message in its node, and a sum: %lld ns",
       (long long)record->modelled->timeline->step_ns);
    record_destroy(record);
    timetable_destroy(timetable);
    program_destroy(p);
    shd_mesh_destroy(mesh);
    hardware_destroy(h);
}

int main(void)
{
    plan(0);
    test_transfers();
    test_order();
    test_products();
    test_tiles_of_attention();
    test_chains();
    test_messages();
    test_stages();
    return done();
}

/* Tests run/walk/walk.h with more devices than cores: devices that compute for long take turns, and
 * no device keeps its turn while it waits for others, inspected or not.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdatomic.h>
#include <unistd.h>

#include "partition/partition.h"
#include "../support/tap.h"
#include "run/walk/walk.h"

enum { DEVICES = 8, SIZE = 128, SECONDS_MOST = 120 };

/* A product of two million multiplications on every device.  Each device keeps a slice of the
 * result (a step within the device), all devices gather the slices (a step between devices), and
 * another product follows. */
static struct graph *make_graph(void)
{
    struct graph *g = graph_create();
    uint32_t a = graph_dim(g, "a", SIZE), b = graph_dim(g, "b", SIZE), c = graph_dim(g, "c", SIZE);
    uint32_t x = graph_input(g, "x", SHD_F32, (uint32_t[]){a, b}, 2,
                             (struct kern_source){.seed = 1, .scale = 1});
    uint32_t w = graph_param(g, "w", SHD_F32, (uint32_t[]){b, c}, 2,
                             (struct kern_source){.seed = 2, .scale = 1});
    uint32_t y = graph_einsum(g, "y", x, w, (uint32_t[]){a, c}, 2);

    y = graph_constraint(g, "part", graph_map(g, "tanh", KERN_TANH, y, GRAPH_NONE, 0));
    y = graph_constraint(g, "whole", graph_map(g, "neg", KERN_NEG, y, GRAPH_NONE, 0));
    y = graph_einsum(g, "z", y, w, (uint32_t[]){b, a}, 2);
    graph_output(g, GRAPH_OUTPUT, "z", y, GRAPH_NONE);
    return g;
}

static void look(void *arg, int32_t device, uint32_t op, uint32_t microbatch,
                 const void *const *shards)
{
    uint32_t *nseen = arg;

    (void)microbatch;
    (void)op;
    (void)shards;
    if (device == 0)
        ++*nseen;
}

static bool runs(const struct program *program, bool inspected)
{
    uint32_t nseen = 0;
    struct walk_opts opts = {.inspect = inspected ? look : NULL, .inspect_arg = &nseen};
    struct record *record;
    struct shd_error err = {SHD_OK, ""};
    int status = record_create(&record, program, RECORD_EXECUTED, false, &err);

    if (status == SHD_OK) {
        status = walk_run(record, &opts, &err);
        record_destroy(record);
    }
    if (status != SHD_OK)
        diag("%s", err.text);
    return status == SHD_OK && nseen == (inspected ? program->nops : 0);
}

/* Counts of the ops that the device and other devices did. */
struct doers {
    int32_t device;
    uint32_t nops, nothers;
};

static void count_doers(void *arg, int32_t device, uint32_t op, uint32_t microbatch,
                        const void *const *shards)
{
    struct doers *d = arg;

    (void)op, (void)microbatch, (void)shards;
    d->nops += device == d->device;
    d->nothers += device != d->device;
}

static bool walks_alone(const struct program *program, int32_t device)
{
    struct doers doers = {.device = device};
    const struct walk_opts opts = {.observe = count_doers, .observe_arg = &doers};
    struct record *record;
    bool good = record_create(&record, program, RECORD_EXECUTED, false, NULL) == SHD_OK &&
                walk_alone(record, device, &opts, NULL) == SHD_OK;

    record_destroy(record);
    return good && doers.nops == program->nops && doers.nothers == 0;
}

/* Device 1 is stopped as soon as an inspector has looked; device 0 goes on looking at the
 * shards. */
struct stopped {
    const struct program *program;
    int request;
    _Atomic(const void *const *) first; /* the shards of device 1 */
    bool gone;                          /* whether device 1's shards vanished while device 0
                                         * looked */
};

enum { LOOKS = 50, PAUSE_US = 2000 };

static void look_for_long(void *arg, int32_t device, uint32_t i, uint32_t microbatch,
                          const void *const *shards)
{
    struct stopped *s = arg;
    const struct program_op *op = &s->program->ops[i];

    (void)microbatch;
    if (device == 1)
        atomic_store(&s->first, shards);
    if (!program_reads_others(op))
        return;
    if (device == 1)
        __atomic_store_n(&s->request, 1, __ATOMIC_RELAXED);
    for (int k = 0; device == 0 && k < LOOKS && !s->gone; k++) {
        s->gone = !atomic_load(&s->first)[op->inputs[0]];
        usleep(PAUSE_US);
    }
}

static bool keeps_shards(const struct program *program)
{
    struct stopped stopped = {.program = program};
    const struct walk_opts opts = {
        .inspect = look_for_long, .inspect_arg = &stopped, .stop_request = &stopped.request};
    struct record *record;
    bool good = record_create(&record, program, RECORD_EXECUTED, false, NULL) == SHD_OK &&
                walk_run(record, &opts, NULL) == SHD_ESTOPPED;

    record_destroy(record);
    return good && !stopped.gone;
}

int main(void)
{
    const int32_t ndevices = DEVICES;
    const struct shd_sharding *nodes[16] = {NULL};
    struct shd_sharding part, whole;
    struct graph *graph = make_graph();
    struct partition_request request = {.graph = graph, .nodes = nodes};
    struct program *program;
    struct shd_mesh *mesh;
    int nlocal = 0, nbetween = 0;

    plan(0);
    alarm(SECONDS_MOST); /* a deadlock of devices ends the test */
    if (shd_mesh_create(&mesh, (const char *const[]){"d"}, &ndevices, 1, NULL) != SHD_OK)
        return 99;
    shd_sharding_init(&whole, mesh, 2);
    part = whole;
    part.dims[0] = (struct shd_dim_axes){1, {0}};
    for (uint32_t n = 0; n < graph->nnodes && n < 16; n++)
        nodes[n] = graph->nodes[n].op == GRAPH_CONSTRAINT && graph->nodes[n].name[0] == 'p' ? &part
                   : graph->nodes[n].op != GRAPH_MAP && graph->nodes[n].op != GRAPH_EINSUM  ? &whole
                                                                                            : NULL;
    request.mesh = mesh;
    if (partition_build(&program, &request, NULL) != SHD_OK)
        return 99;
    for (uint32_t i = 0; i < program->nops; i++) {
        nlocal += program_reads_others(&program->ops[i]) && !program_communicates(&program->ops[i]);
        nbetween += program_communicates(&program->ops[i]);
    }
    ok(nlocal > 0 && nbetween > 0, "a step within devices and a step between devices");
    ok(runs(program, false), "turns: none is kept at a step between devices");
    ok(runs(program, true), "turns: with inspected devices none is kept at a step within a device");
    ok(walks_alone(program, 0) && walks_alone(program, DEVICES - 1),
       "alone: any device executes its own ops");
    ok(keeps_shards(program), "stopped: a device keeps its shards while another looks at them");
    program_destroy(program);
    graph_destroy(graph);
    shd_mesh_destroy(mesh);
    return done();
}

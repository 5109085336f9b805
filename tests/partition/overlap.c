/* Tests partition/overlap.h on a training step whose parameters are sharded over the data axis:
 * the places of gathers, the memory that they cost, and the time that they save in replay.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "cost/replay.h"
#include "graph/layer_name.h"
#include "graph/optimizer/training.h"
#include "model/zero.h"
#include "../support/step.h"
#include "../support/tap.h"

enum { DEVICES = 4, LAYERS = 6, ROWS = 16, WIDTH = 16, NODES_MAX = 1024 };

#define KERNEL_BYTES (WIDTH * WIDTH * sizeof(double))

/* Each layer computes x w; the loss is the mean of the squares. */
static struct graph *make_graph(uint32_t microbatches)
{
    const struct optimizer_opts opts = {.kind = &optimizer_sgd,
                                        .rate = 0.1,
                                        .steps = 1,
                                        .types = {SHD_F64, SHD_F64, SHD_F64, SHD_F64}};
    struct graph *g = graph_create();
    uint32_t batch = graph_dim(g, "batch", ROWS), x;

    g->microbatches = microbatches;
    x = graph_input(g, "x", SHD_F64, (uint32_t[]){batch, graph_dim(g, "d0", WIDTH)}, 2,
                    (struct kern_source){.seed = 1, .scale = 1});
    for (uint32_t i = 0; i < LAYERS; i++) {
        uint32_t in = graph_dim(g, graph_text(g, "d%u", i), WIDTH), w;
        uint32_t out = graph_dim(g, graph_text(g, "d%u", i + 1), WIDTH);

        w = graph_param(g, graph_text(g, "layers/%u/w", i), SHD_F64, (uint32_t[]){in, out}, 2,
                        (struct kern_source){.seed = 2 + i, .scale = 1});
        x = graph_einsum(g, graph_text(g, "layers/%u/product", i), x, w, (uint32_t[]){batch, out},
                         2);
        x = graph_map(g, graph_text(g, "layers/%u/tanh", i), KERN_TANH, x, GRAPH_NONE, 0);
    }
    x = graph_map(g, "square", KERN_MUL, x, x, 0);
    x = graph_reduce(g, "loss", SHD_MEAN, x, NULL, 0);
    training_add(g, x, &opts);
    return g;
}

/* Place arrays as stage 3 of ZeRO. */
static void place(const struct shd_sharding **nodes, struct shd_sharding *storage,
                  const struct graph *g, const struct shd_mesh *mesh)
{
    for (uint32_t n = 0; n < g->nnodes; n++) {
        bool is_data = strcmp(g->nodes[n].name, "x") == 0;
        int64_t shape[GRAPH_RANK_MAX];

        if (!is_data && g->nodes[n].op != GRAPH_PARAM && g->nodes[n].state_of == GRAPH_NONE)
            continue;
        shd_sharding_init(&storage[n], mesh, g->nodes[n].rank);
        graph_shape(g, n, shape);
        (void)zero_cut(&storage[n], shape, &(struct zero_axes){.n = 1});
        nodes[n] = &storage[n];
    }
}

static bool is_gather(const struct program_op *op, uint8_t phase)
{
    return op->kind == PROGRAM_RESHARD && op->reshard.kind == SHD_RESHARD_ALL_GATHER &&
           op->phase == phase;
}

/* The layer of the first computation after an op in its phase; GRAPH_NO_LAYER if there is none. */
static uint32_t layer_behind(const struct program *program, uint32_t i)
{
    uint8_t phase = program->ops[i].phase;

    for (; i < program->nops && program->ops[i].phase == phase; i++)
        if (program->ops[i].kind == PROGRAM_KERNEL)
            return graph_layer_of(program->ops[i].name).number;
    return GRAPH_NO_LAYER;
}

/* Each layer's kernel is gathered for the forward phase; the backward phase does not read the
 * first layer's kernel. */
static void check_places(const struct program *program, uint32_t prefetch)
{
    uint32_t forward = 0, backward = 0;
    bool right = true;

    for (uint32_t i = 0; i < program->nops; i++) {
        const struct program_op *op = &program->ops[i];
        uint32_t layer = graph_layer_of(op->name).number;

        if (is_gather(op, GRAPH_FORWARD)) {
            right &= layer_behind(program, i) == (layer > prefetch ? layer - prefetch : 0);
            forward++;
        }
        if (is_gather(op, GRAPH_BACKWARD)) {
            /* the loss, which has no layer, comes before the last layer's backward */
            uint32_t before = layer + prefetch;

            right &= layer_behind(program, i) == (before < LAYERS ? before : GRAPH_NO_LAYER);
            backward++;
        }
    }
    ok(right && forward == LAYERS && backward == LAYERS - 1,
       "prefetch %u: gathers stand so many layers before their readers", prefetch);
}

/* Replay with 1 us per computation and 1 ns per transferred byte. */
static int64_t replayed_ns(const struct program *program)
{
    const struct record_transfers transfers = {.bytes_per_s = UINT64_C(1000000000)};
    struct record *record = NULL;
    int64_t ns = -1;

    if (record_create(&record, program, RECORD_EXECUTED, true, NULL) != SHD_OK)
        return -1;
    for (int32_t d = 0; d < DEVICES; d++)
        for (uint32_t i = 0; i < program->nops; i++) {
            size_t at = (size_t)d * program->nops + i;

            record->times[at].cpu_ns = 1000;
            if (program_communicates(&program->ops[i]))
                record->op_received[at] = program_moved(program, &program->ops[i], d).received;
        }
    if (replay_run(record, &transfers, NULL) == SHD_OK)
        ns = record->replay->step_ns;
    record_destroy(record);
    return ns;
}

struct seen {
    uint64_t peak_bytes, received_bytes;
    int64_t replayed_ns;
};

static bool look(struct seen *out, uint32_t prefetch)
{
    static const struct shd_sharding *nodes[NODES_MAX];
    static struct shd_sharding storage[NODES_MAX];
    const int32_t ndevices = DEVICES;
    struct graph *graph = make_graph(1);
    struct shd_mesh *mesh = NULL;
    struct step step = {.program = NULL};
    bool good = graph_status(graph, NULL) == SHD_OK && graph->nnodes <= NODES_MAX &&
                shd_mesh_create(&mesh, (const char *const[]){"dp"}, &ndevices, 1, NULL) == SHD_OK;

    if (good) {
        struct partition_request request = {.graph = graph,
                                            .mesh = mesh,
                                            .nodes = nodes,
                                            .params = PARTITION_AGAIN,
                                            .prefetch_layers = prefetch};

        place(nodes, storage, graph, mesh);
        good = step_init(&step, &request);
    }
    if (good) {
        check_places(step.program, prefetch);
        ok(!step_disagreement(step.planned, step.executed), "prefetch %u: runs as planned",
           prefetch);
        *out = (struct seen){(uint64_t)step.executed->peak_bytes[0], record_received(step.executed),
                             replayed_ns(step.program)};
        diag("prefetch %u: %llu bytes at the peak, %lld ns", prefetch,
             (unsigned long long)out->peak_bytes, (long long)out->replayed_ns);
    }
    step_fini(&step);
    shd_mesh_destroy(mesh);
    graph_destroy(graph);
    return good;
}

/* ---- sums of gradients ---- */

/* Sum gradients over the devices for each microbatch: to a part on each device (`cut`), or to all
 * on each device. */
static void place_sums(const struct shd_sharding **nodes, struct shd_sharding *storage,
                       const struct graph *g, const struct shd_mesh *mesh, bool cut)
{
    for (uint32_t n = 0; n < g->nnodes; n++) {
        bool is_data = strcmp(g->nodes[n].name, "x") == 0;
        bool is_sum = g->nodes[n].op == GRAPH_CONSTRAINT && g->nodes[n].state_of != GRAPH_NONE;
        int64_t shape[GRAPH_RANK_MAX];

        nodes[n] = NULL;
        if (!is_data && !is_sum && g->nodes[n].op != GRAPH_PARAM)
            continue;
        shd_sharding_init(&storage[n], mesh, g->nodes[n].rank);
        graph_shape(g, n, shape);
        if (is_data || (is_sum && cut))
            (void)zero_cut(&storage[n], shape, &(struct zero_axes){.n = 1});
        nodes[n] = &storage[n];
    }
}

static bool reads(const struct program_op *op, uint32_t buffer)
{
    for (uint32_t k = 0; k < op->ninputs; k++)
        if (op->inputs[k] == buffer)
            return true;
    return false;
}

/* Count the reductions of gradients in the backward phase, and those during which the previous
 * layer computes before the result is read. */
static void count_sums(const struct program *program, enum shd_reshard_kind kind, uint32_t *nsums,
                       uint32_t *nlater)
{
    for (uint32_t i = 0; i < program->nops; i++) {
        const struct program_op *sum = &program->ops[i];
        uint32_t layer = graph_layer_of(sum->name).number;
        bool between = false;

        if (sum->kind != PROGRAM_RESHARD || sum->reshard.kind != kind ||
            sum->part != PROGRAM_BACKWARD ||
            program->buffers[sum->outputs[0]].use != PROGRAM_GRADIENTS)
            continue;
        ++*nsums;
        for (uint32_t r = i + 1; r < program->nops && !reads(&program->ops[r], sum->outputs[0]);
             r++)
            between |= layer > 0 && program->ops[r].kind == PROGRAM_KERNEL &&
                       graph_layer_of(program->ops[r].name).number + 1 == layer;
        *nlater += between;
    }
}

static void test_sums(bool cut)
{
    static const struct shd_sharding *nodes[NODES_MAX];
    static struct shd_sharding storage[NODES_MAX];
    const int32_t ndevices = DEVICES;
    struct graph *graph = make_graph(2);
    struct shd_mesh *mesh = NULL;
    struct program *program = NULL;
    uint32_t nsums = 0, nlater = 0;
    bool good = graph_status(graph, NULL) == SHD_OK && graph->nnodes <= NODES_MAX &&
                shd_mesh_create(&mesh, (const char *const[]){"dp"}, &ndevices, 1, NULL) == SHD_OK;

    if (good) {
        const struct partition_request request = {.graph = graph, .mesh = mesh, .nodes = nodes};

        place_sums(nodes, storage, graph, mesh, cut);
        good = partition_build(&program, &request, NULL) == SHD_OK;
    }
    if (good)
        count_sums(program, cut ? SHD_RESHARD_REDUCE_SCATTER : SHD_RESHARD_ALL_REDUCE, &nsums,
                   &nlater);
    ok(good && nsums == LAYERS && nlater == LAYERS - 1,
       "gradients summed %s: %u sums, of which %u are read a layer later",
       cut ? "in parts" : "whole", nsums, nlater);
    program_destroy(program);
    shd_mesh_destroy(mesh);
    graph_destroy(graph);
}

int main(void)
{
    struct seen seen[4] = {{0, 0, 0}};
    bool good = true;

    plan(0);
    for (uint32_t n = 0; n < 4 && good; n++)
        good = look(&seen[n], n);
    ok(good, "all are built");
    for (uint32_t n = 1; n < 4 && good; n++)
        ok(seen[n].received_bytes == seen[0].received_bytes, "prefetch %u: the same bytes", n);
    ok(seen[2].peak_bytes - seen[1].peak_bytes == KERNEL_BYTES &&
           seen[3].peak_bytes - seen[2].peak_bytes == KERNEL_BYTES &&
           seen[1].peak_bytes > seen[0].peak_bytes,
       "a layer more takes the memory of its kernel");
    ok(seen[1].replayed_ns < seen[0].replayed_ns, "the next layer's gather beside this one");
    test_sums(true);
    test_sums(false);
    return done();
}

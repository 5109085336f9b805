/* Tests a training step in several microbatches and with recomputed activations: the same numbers
 * for less memory and more work, and gradients that are reduced once per step.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "graph/layers/block.h"
#include "graph/layers/xent.h"
#include "graph/optimizer/training.h"
#include "graph/recompute.h"
#include "../support/step.h"
#include "../support/tap.h"

#define BATCH 8
#define SEQ 48
#define LAYERS 3

/* The options of a step. */
struct made {
    uint32_t microbatches;
    enum recompute recompute;
    int32_t ndevices; /* devices over which the batch is sharded */
    struct recompute_layers layers;
};

#define ALL RECOMPUTE_ALL_LAYERS

static uint32_t weight(struct graph *g, const char *name, uint32_t a, uint32_t b, uint32_t c)
{
    const uint32_t dims[3] = {a, b, c};
    struct kern_source source = {.scale = 0.5};

    for (const char *at = name; *at; at++)
        source.seed = source.seed * 31 + (unsigned char)*at;
    return graph_param(g, name, SHD_F64, dims, c == GRAPH_NONE ? 2 : 3, source);
}

/* A row of tokens; the labels begin with its second token.  The data are the same for any number of
 * microbatches. */
static uint32_t tokens(struct graph *g, const char *name, uint32_t first, int64_t vocab)
{
    const uint32_t dims[2] = {graph_dim(g, "batch", BATCH / g->microbatches),
                              graph_dim(g, "seq", SEQ)};
    uint64_t per_microbatch = BATCH / g->microbatches * (SEQ + 1);

    return graph_input(g, name, SHD_I32, dims, 2,
                       (struct kern_source){.seed = 5,
                                            .modulus = (uint32_t)vocab,
                                            .place = {.first = first,
                                                      .per_step = BATCH * (SEQ + 1),
                                                      .per_microbatch = per_microbatch,
                                                      .columns = SEQ,
                                                      .row = SEQ + 1}});
}

static uint32_t add_block(struct graph *g, const char *name, uint32_t x, uint32_t embed)
{
    const struct attention_opts attention = {.causal = true};
    uint32_t mlp = graph_dim(g, "mlp", 32), heads = graph_dim(g, "heads", 4);
    uint32_t head_dim = graph_dim(g, "head_dim", 4);
    struct block_weights w = {
        .attn = {.q = weight(g, graph_text(g, "%s/q", name), embed, heads, head_dim),
                 .k = weight(g, graph_text(g, "%s/k", name), embed, heads, head_dim),
                 .v = weight(g, graph_text(g, "%s/v", name), embed, heads, head_dim),
                 .o = weight(g, graph_text(g, "%s/o", name), heads, head_dim, embed)},
        .mlp = {GRAPH_NONE, weight(g, graph_text(g, "%s/up", name), embed, mlp, GRAPH_NONE),
                weight(g, graph_text(g, "%s/down", name), mlp, embed, GRAPH_NONE), GRAPH_NONE,
                GRAPH_NONE, GRAPH_NONE},
        .norm1 = norm_rms(GRAPH_NONE, BLOCK_NORM_EPS),
        .norm2 = norm_rms(GRAPH_NONE, BLOCK_NORM_EPS)};
    const struct block_opts opts = {.attention = &attention, .activation = {.fn = KERN_GELU}};

    return layer_block(g, name, x, &w, &opts);
}

static struct graph *make_graph(const struct made *made)
{
    const struct optimizer_opts opts = {.kind = &optimizer_adamw,
                                        .rate = 0.01,
                                        .steps = 2,
                                        .clip = 1,
                                        .beta1 = 0.9,
                                        .beta2 = 0.95,
                                        .eps = 1e-8,
                                        .types = {SHD_F64, SHD_F64, SHD_F64, SHD_F64}};
    struct graph *g = graph_create();
    uint32_t embed, vocab, table, x, labels, dims[3];

    g->microbatches = made->microbatches;
    embed = graph_dim(g, "embed", 16);
    vocab = graph_dim(g, "vocab", 24);
    x = tokens(g, "ids", 0, 24);
    labels = tokens(g, "labels", 1, 24);
    table = weight(g, "table", vocab, embed, GRAPH_NONE);
    x = graph_embed(g, "embed", table, x);
    for (int i = 0; i < LAYERS; i++)
        x = add_block(g, graph_text(g, "layers/%d", i), x, embed);
    dims[0] = graph_dim(g, "batch", BATCH / made->microbatches);
    dims[1] = graph_dim(g, "seq", SEQ);
    dims[2] = vocab;
    x = graph_einsum(g, "logits", x, table, dims, 3);
    x = layer_cross_entropy(g, "loss", x, vocab, labels, GRAPH_NONE).loss;
    training_add(g, x, &opts);
    recompute_add(g, made->recompute, &made->layers);
    return g;
}

/* Make the step, with the batch sharded over a mesh of one axis. */
static bool make(struct step *out, struct graph **graph, struct shd_mesh **mesh,
                 const struct made *made)
{
    static struct shd_sharding shardings[2];
    const struct shd_sharding *nodes[4096] = {NULL};
    struct partition_request request = {.nodes = nodes};

    *graph = make_graph(made);
    if (graph_status(*graph, NULL) != SHD_OK || (*graph)->nnodes > 4096 ||
        shd_mesh_create(mesh, (const char *const[]){"dp"}, &made->ndevices, 1, NULL) != SHD_OK)
        return false;
    for (uint32_t n = 0, k = 0; n < (*graph)->nnodes && k < 2; n++)
        if ((*graph)->nodes[n].op == GRAPH_INPUT && (*graph)->nodes[n].dtype == SHD_I32) {
            shd_sharding_init(&shardings[k], *mesh, 2);
            shardings[k].dims[0] = (struct shd_dim_axes){1, {0}};
            nodes[n] = &shardings[k++];
        }
    request.graph = *graph;
    request.mesh = *mesh;
    return step_init(out, &request);
}

static void forget(struct step *step, struct graph *graph, struct shd_mesh *mesh)
{
    step_fini(step);
    graph_destroy(graph);
    shd_mesh_destroy(mesh);
}

/* The maximum, with NaN as infinity. */
static double larger(double a, double b)
{
    return isnan(b) || b > a ? (isnan(b) ? INFINITY : b) : a;
}

/* The largest difference of elements of a result, relative to 1. */
static double difference(const struct step *a, const struct step *b)
{
    double most = 0;

    for (uint32_t r = 0; r < a->program->nresults; r++) {
        uint32_t other = step_result(b, a->program->results[r].name);
        const struct program_buffer *x = &a->program->buffers[a->program->results[r].buffer];
        int64_t n = 1;

        if (other == PROGRAM_NONE)
            return INFINITY;
        for (uint32_t d = 0; d < x->rank; d++)
            n *= x->shape[d];
        for (int64_t i = 0; i < n; i++)
            most = larger(most, fabs(step_value(a, r, i) - step_value(b, other, i)));
    }
    return most;
}

static uint64_t peak(const struct step *s)
{
    return (uint64_t)s->executed->peak_bytes[0];
}

static uint64_t flops(const struct step *s)
{
    return (uint64_t)s->executed->flops[0];
}

/* Bytes of all parameters. */
static uint64_t parameter_bytes(const struct graph *g)
{
    uint64_t bytes = 0;

    for (uint32_t n = 0; n < g->nnodes; n++) {
        uint64_t size = sizeof(double);

        for (uint32_t d = 0; d < g->nodes[n].rank; d++)
            size *= (uint64_t)g->dims[g->nodes[n].dims[d]].size;
        bytes += g->nodes[n].op == GRAPH_PARAM ? size : 0;
    }
    return bytes;
}

/* Whether parameters and the optimizer's state are updated in place, so that they exist once. */
static bool all_in_place(const struct program *program)
{
    bool all = program_has_state(program);

    for (uint32_t r = 0; r < program->nresults; r++)
        if (program->results[r].kind == PROGRAM_NEXT)
            all &= program->buffers[program->results[r].buffer].over == program->results[r].of;
    return all;
}

/* Check the bytes at the peak by their use. */
static void check_uses(const struct step *s, uint64_t parameters, bool sums, const char *what)
{
    struct program_memory memory;
    uint128 all = 0;

    program_memory(&memory, s->program, 0);
    for (int use = 0; use < PROGRAM_NUSES; use++)
        all += memory.uses[use];
    ok(all == peak(s) && memory.uses[PROGRAM_PARAMETERS] == parameters &&
           memory.uses[PROGRAM_OPTIMIZER] == 2 * (uint128)parameters,
       "%s: at the peak there are the parameters and two moments of each, %llu bytes in all", what,
       (unsigned long long)all);
    if (sums)
        ok(memory.uses[PROGRAM_GRADIENTS] >= parameters,
           "%s: and the gradients of the microbatches before", what);
}

static void compare(const struct step *whole, const struct made *made)
{
    struct step s = {.program = NULL};
    struct graph *graph = NULL;
    struct shd_mesh *mesh = NULL;
    char what[96];
    bool good = make(&s, &graph, &mesh, made);

    snprintf(what, sizeof what, "%u microbatches, recompute %s, %d devices", made->microbatches,
             recompute_name(made->recompute), (int)made->ndevices);
    ok(good && !step_disagreement(s.planned, s.executed), "%s: runs as planned", what);
    if (good)
        ok(difference(whole, &s) < 1e-10, "%s: loss, norm and all next values are the same", what);
    if (good)
        check_uses(&s, parameter_bytes(graph), made->microbatches > 1, what);
    if (good)
        ok(all_in_place(s.program), "%s: next values are written over those of the step", what);
    if (good && made->ndevices == 1 && made->recompute != RECOMPUTE_NONE)
        ok(flops(&s) > flops(whole), "%s: %llu flops, not %llu", what,
           (unsigned long long)flops(&s), (unsigned long long)flops(whole));
    /* Fused attention keeps no scores, so its recomputation frees little memory. */
    if (good && made->ndevices == 1 && made->recompute != RECOMPUTE_SELECTIVE)
        ok(peak(&s) < peak(whole), "%s: %llu bytes at the peak, not %llu", what,
           (unsigned long long)peak(&s), (unsigned long long)peak(whole));
    if (good && made->ndevices > 1) /* plus the loss, a single number */
        ok(record_received(s.executed) ==
               2 * (uint64_t)(made->ndevices - 1) * (parameter_bytes(graph) + sizeof(double)),
           "%s: gradients are all-reduced once, 2 (n - 1) bytes of the parameters'", what);
    forget(&s, graph, mesh);
}

/* Each recomputed layer adds the same work to a step. */
static void test_layers(const struct step *whole)
{
    static const struct {
        struct recompute_layers layers;
        uint64_t times;
        bool more; /* also the values that a layer hands to another layer of its group */
    } cases[] = {
        {{1, 1, 2, 0, NULL}, 2, false},          {{1, 1, 3, 0, NULL}, 3, false},
        {{1, 2, UINT32_MAX, 0, NULL}, 2, false}, {{1, 3, UINT32_MAX, 0, NULL}, 1, false},
        {{2, 1, UINT32_MAX, 0, NULL}, 3, true},  {{2, 2, UINT32_MAX, 0, NULL}, 2, true},
        {{3, 1, UINT32_MAX, 0, NULL}, 3, true},
    };
    uint64_t one = 0;

    for (size_t i = 0; i <= sizeof cases / sizeof cases[0]; i++) {
        struct made made = {1, RECOMPUTE_FULL, 1, {1, 1, 1, 0, NULL}};
        struct step s = {.program = NULL};
        struct graph *graph = NULL;
        struct shd_mesh *mesh = NULL;
        uint64_t added;
        bool good;

        if (i > 0)
            made.layers = cases[i - 1].layers;
        good = make(&s, &graph, &mesh, &made);
        added = good ? flops(&s) - flops(whole) : 0;
        if (i == 0) {
            ok(added > 0, "layers: the first one alone");
            one = added;
        } else {
            ok(cases[i - 1].more ? added > cases[i - 1].times * one
                                 : added == cases[i - 1].times * one,
               "layers: group %u, every %u, first %u: %llu flops more, one layer's %llu",
               made.layers.group, made.layers.every, made.layers.first, (unsigned long long)added,
               (unsigned long long)one);
            ok(good && difference(whole, &s) < 1e-10, "layers: with the same results");
        }
        forget(&s, graph, mesh);
    }
}

int main(void)
{
    static const struct made whole = {1, RECOMPUTE_NONE, 1, ALL};
    static const struct made others[] = {
        {1, RECOMPUTE_SELECTIVE, 1, ALL}, {1, RECOMPUTE_FULL, 1, ALL},
        {2, RECOMPUTE_NONE, 1, ALL},      {4, RECOMPUTE_NONE, 1, ALL},
        {8, RECOMPUTE_FULL, 1, ALL},      {1, RECOMPUTE_NONE, 4, ALL},
        {2, RECOMPUTE_NONE, 4, ALL},      {4, RECOMPUTE_FULL, 2, ALL},
        {2, RECOMPUTE_SELECTIVE, 2, ALL}, {2, RECOMPUTE_FULL, 2, {2, 1, UINT32_MAX, 0, NULL}},
    };
    struct step s = {.program = NULL};
    struct graph *graph = NULL;
    struct shd_mesh *mesh = NULL;

    plan(0);
    if (make(&s, &graph, &mesh, &whole)) {
        for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
            compare(&s, &others[i]);
        test_layers(&s);
        forget(&s, graph, mesh);
    } else {
        ok(false, "the step with a single microbatch on a single device");
    }
    return done();
}

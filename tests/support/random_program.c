/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "random_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/gradient.h"
#include "graph/ops.h"
#include "tap.h"

uint64_t random_next(struct random *r)
{
    uint64_t z = r->state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint32_t random_below(struct random *r, uint32_t n)
{
    return (uint32_t)(random_next(r) >> 33) % n;
}

bool random_chance(struct random *r, uint32_t percent)
{
    return random_below(r, 100) < percent;
}

static void make_mesh(struct random_program *p)
{
    static const char *const names[] = {"p", "q", "r", "s"};
    uint32_t naxes = 1 + random_below(&p->random, 4);
    int32_t sizes[4], size = 1;

    for (uint32_t a = 0; a < naxes; a++) {
        do
            sizes[a] = 1 + (int32_t)random_below(&p->random, 4);
        while (size * sizes[a] > 16);
        size *= sizes[a];
    }
    if (shd_mesh_create(&p->mesh, names, sizes, naxes, NULL) != SHD_OK)
        abort();
}

/* Draw axes in random order on random dimensions that they divide. */
static void make_sharding(struct random_program *p, struct shd_sharding *s, uint32_t node)
{
    const struct graph_node *n = &p->graph->nodes[node];
    uint32_t naxes = (uint32_t)shd_mesh_naxes(p->mesh), first = random_below(&p->random, 4);
    uint32_t stride = random_chance(&p->random, 50) ? 1 : naxes - 1;
    int64_t left[GRAPH_RANK_MAX];

    shd_sharding_init(s, p->mesh, n->rank);
    graph_shape(p->graph, node, left);
    for (uint32_t i = 0; i < naxes && n->rank > 0; i++) {
        uint32_t axis = (first + i * stride) % naxes, d = random_below(&p->random, n->rank);
        int32_t size = shd_mesh_axis_size(p->mesh, axis);

        if (random_chance(&p->random, 25) || left[d] % size)
            continue;
        left[d] /= size;
        s->dims[d].axes[s->dims[d].naxes++] = (uint8_t)axis;
    }
}

void random_ask(struct random_program *p, uint32_t node)
{
    make_sharding(p, &p->storage[node], node);
    p->nodes[node] = &p->storage[node];
}

const char *random_name(struct random_program *p, const char *what)
{
    return graph_text(p->graph, "%s%u", what, p->graph->nnodes);
}

uint32_t random_keep(struct random_program *p, uint32_t node, double bound)
{
    while (p->nbounds < p->graph->nnodes)
        p->bounds[p->nbounds++] = bound;
    if (bound <= RANDOM_BOUND || node == GRAPH_NONE)
        return node;
    node = graph_map(p->graph, random_name(p, "scale"), KERN_SCALE, node, GRAPH_NONE, 1 / bound);
    return random_keep(p, node, 1);
}

/* Whether arithmetic can use a node.  Integers cannot be used, nor can the log-sum-exp of a 16-bit
 * attention, which is float32 and has no gradient. */
static bool usable(const struct random_program *p, uint32_t node)
{
    return p->graph->nodes[node].dtype == p->dtype &&
           !(p->backward && p->graph->nodes[node].op == GRAPH_EXTRA);
}

uint32_t random_pick(struct random_program *p)
{
    uint32_t n = p->graph->nnodes, node;

    do
        node = random_chance(&p->random, 60) && n > 4 ? n - 1 - random_below(&p->random, 4)
                                                      : random_below(&p->random, n);
    while (!usable(p, node));
    return node;
}

double random_elements(const struct graph *g, const uint32_t *dims, uint32_t rank)
{
    double count = 1;

    for (uint32_t d = 0; d < rank; d++)
        count *= (double)g->dims[dims[d]].size;
    return count;
}

static void add_output(struct random_program *p, enum graph_output_kind kind, uint32_t node,
                       uint32_t of)
{
    uint32_t o = p->graph->noutputs;
    const char *name = node == GRAPH_NONE ? "" : graph_text(p->graph, "out%u", o);

    graph_output(p->graph, kind, name, node, of);
    if (p->graph->noutputs > o && random_chance(&p->random, 60)) {
        make_sharding(p, &p->storage[RANDOM_NODES_MAX + o], node);
        p->outputs[o] = &p->storage[RANDOM_NODES_MAX + o];
    }
}

static void find_read(bool read[RANDOM_NODES_MAX], const struct graph *g)
{
    memset(read, 0, RANDOM_NODES_MAX * sizeof *read);
    for (uint32_t n = 0; n < g->nnodes; n++)
        for (uint32_t k = 0; k < g->nodes[n].ninputs; k++)
            read[g->nodes[n].inputs[k]] = true;
    for (uint32_t o = 0; o < g->noutputs; o++)
        read[g->outputs[o].node] = true;
}

/* The loss is the sum of the squares of all unread nodes, so that every node has a gradient, and
 * no two parts of a node have the same. */
static uint32_t add_loss(struct random_program *p)
{
    uint32_t nnodes = p->graph->nnodes, loss = GRAPH_NONE, part;
    bool read[RANDOM_NODES_MAX];

    find_read(read, p->graph);
    for (uint32_t n = 0; n < nnodes; n++) {
        if (read[n] || !usable(p, n))
            continue;
        part = graph_einsum(p->graph, random_name(p, "squares"), n, n, NULL, 0);
        loss = loss == GRAPH_NONE
                   ? part
                   : graph_map(p->graph, random_name(p, "loss"), KERN_ADD, loss, part, 0);
    }
    return loss;
}

static void add_gradients(struct random_program *p)
{
    uint32_t wrt[RANDOM_NODES_MAX], grads[RANDOM_NODES_MAX], nwrt = 0, loss = add_loss(p);

    if (loss == GRAPH_NONE) /* the program has only integers and log-sum-exps */
        return;
    for (uint32_t n = 0; n < p->graph->nnodes; n++)
        if (p->graph->nodes[n].op <= GRAPH_PARAM && !kern_is_whole(p->graph->nodes[n].dtype))
            wrt[nwrt++] = n;
    graph_gradient(p->graph, loss, wrt, nwrt, grads);
    add_output(p, GRAPH_LOSS, loss, GRAPH_NONE);
    for (uint32_t i = 0; i < nwrt && p->graph->err.status == SHD_OK; i++)
        add_output(p, GRAPH_GRADIENT, grads[i], wrt[i]);
}

/* Every unread node becomes a result, so that all nodes count, and so do some of the read ones. */
static void add_results(struct random_program *p)
{
    uint32_t nnodes = p->graph->nnodes;
    bool read[RANDOM_NODES_MAX];

    find_read(read, p->graph);
    for (uint32_t n = 0; n < nnodes; n++)
        if (!kern_is_whole(p->graph->nodes[n].dtype) && (!read[n] || random_chance(&p->random, 10)))
            add_output(p, GRAPH_OUTPUT, n, GRAPH_NONE);
}

static void ask_algos(struct random_program *p)
{
    static const char *const names[] = {"direct", "ring"};

    for (int kind = 0; kind < COLL_NKINDS; kind++)
        p->algos[kind] = coll_find((enum coll_kind)kind, names[random_below(&p->random, 2)]);
}

static enum shd_dtype asked_type = SHD_NDTYPES; /* SHD_NDTYPES: any type */

void random_program_type(enum shd_dtype dtype)
{
    asked_type = dtype;
}

struct random_program *random_program_create(uint64_t seed)
{
    struct random_program *p = calloc(1, sizeof *p);

    if (!p || !(p->storage = calloc(2 * RANDOM_NODES_MAX, sizeof *p->storage)) ||
        !(p->graph = graph_create()))
        abort();
    p->seed = p->random.state = seed;
    p->dtype = random_chance(&p->random, 70) ? SHD_F64 : SHD_F32;
    if (asked_type != SHD_NDTYPES)
        p->dtype = asked_type;
    p->backward =
        (asked_type != SHD_NDTYPES || p->dtype == SHD_F64) && random_chance(&p->random, 50);
    p->memory_bytes = random_chance(&p->random, 30);
    make_mesh(p);
    ask_algos(p);
    return p;
}

/* Make some programs steps of several microbatches, whose results are summed.  The random numbers
 * are separate ones, so that the rest of a program stays the same for its seed. */
static void add_microbatches(struct random_program *p)
{
    struct random own = {p->seed ^ 0x5bd1e995u};
    struct graph *g = p->graph;

    if (g->err.status != SHD_OK || !random_chance(&own, 30) ||
        g->nnodes + 2 * g->noutputs > RANDOM_NODES_MAX)
        return;
    g->microbatches = 2 + random_below(&own, 2);
    for (uint32_t n = 0; n < g->nnodes; n++)
        if (g->nodes[n].op == GRAPH_INPUT && !g->nodes[n].source.routing && random_chance(&own, 75))
            g->nodes[n].source.place.per_microbatch = random_below(&own, 5000);
    g->phase = GRAPH_BACKWARD;
    for (uint32_t o = 0; o < g->noutputs; o++) {
        enum shd_dtype dtype = g->nodes[g->outputs[o].node].dtype;

        if (!kern_is_whole(dtype) && random_chance(&own, 25))
            dtype = (enum shd_dtype)random_below(&own, 4);
        g->outputs[o].node = graph_accumulate(g, g->outputs[o].name, dtype, g->outputs[o].node);
    }
    g->phase = GRAPH_OPTIMIZER;
    for (uint32_t o = 0; o < g->noutputs; o++)
        g->outputs[o].node =
            graph_map(g, g->outputs[o].name, KERN_COPY, g->outputs[o].node, GRAPH_NONE, 0);
}

void random_program_finish(struct random_program *p)
{
    if (p->backward)
        add_gradients(p);
    add_results(p);
    add_microbatches(p);
    /* Ask for a constraint's gradient the sharding of the constraint. */
    for (uint32_t n = 0; n < p->graph->nnodes && p->graph->err.status == SHD_OK; n++)
        if (p->graph->nodes[n].op == GRAPH_CONSTRAINT &&
            p->graph->nodes[n].phase == GRAPH_BACKWARD && random_chance(&p->random, 75))
            random_ask(p, n);
}

void random_program_destroy(struct random_program *p)
{
    graph_destroy(p->graph);
    shd_mesh_destroy(p->mesh);
    free(p->storage);
    free(p);
}

/* ---- telling ---- */

static void print_dims(const struct graph *g, const struct graph_node *n, char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (uint32_t d = 0; d < n->rank; d++)
        used += (size_t)snprintf(out + used, size - used, "%s%s:%lld", d ? " " : "",
                                 g->dims[n->dims[d]].name, (long long)g->dims[n->dims[d]].size);
}

void random_dump(const struct random_program *p)
{
    char dims[256], sharding[256];

    for (uint32_t i = 0; i < p->graph->nnodes; i++) {
        const struct graph_node *n = &p->graph->nodes[i];

        print_dims(p->graph, n, dims, sizeof dims);
        sharding[0] = '\0';
        if (p->nodes[i])
            shd_sharding_print(p->nodes[i], sharding, sizeof sharding);
        diag("%3u %s %s %s(%d, %d) [%s] %s", i, n->name, graph_op(n->op)->name,
             n->op == GRAPH_MAP ? kern_fns[n->fn].name : "",
             n->ninputs > 0 ? (int)n->inputs[0] : -1, n->ninputs > 1 ? (int)n->inputs[1] : -1, dims,
             sharding);
    }
    for (uint32_t o = 0; o < p->graph->noutputs; o++) {
        sharding[0] = '\0';
        if (p->outputs[o])
            shd_sharding_print(p->outputs[o], sharding, sizeof sharding);
        diag("%s = %u %s", p->graph->outputs[o].name, p->graph->outputs[o].node, sharding);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/recompute.h"

#include <stdlib.h>
#include <string.h>

#include "graph/layer_name.h"
#include "graph/ops.h"
#include "graph/rebuild.h"
#include "graph/stages.h"

static const char *const names[RECOMPUTE_NKINDS] = {"none", "selective", "full"};

const char *recompute_name(enum recompute kind)
{
    return kind < RECOMPUTE_NKINDS ? names[kind] : NULL;
}

int recompute_find(const char *name)
{
    for (int kind = 0; kind < RECOMPUTE_NKINDS; kind++)
        if (!strcmp(name, names[kind]))
            return kind;
    return -1;
}

/* ---- marking ---- */

static bool same_stack(struct graph_layer a, struct graph_layer b)
{
    return a.stack_length == b.stack_length && !strncmp(a.stack, b.stack, a.stack_length);
}

void recompute_find_starts(uint32_t *start, const struct graph *graph)
{
    struct graph_layer first = {"", 0, GRAPH_NO_LAYER};
    uint32_t stage = 0;

    for (uint32_t n = 0; n < graph->nnodes; n++) {
        const struct graph_node *node = &graph->nodes[n];
        struct graph_layer layer = graph_layer_of(node->name);

        start[n] = 0;
        if (layer.number == GRAPH_NO_LAYER || node->op <= GRAPH_PARAM ||
            node->phase != GRAPH_FORWARD)
            continue;
        if (first.number == GRAPH_NO_LAYER || node->stage != stage || !same_stack(first, layer)) {
            first = layer;
            stage = node->stage;
        }
        start[n] = first.number <= layer.number ? first.number : layer.number;
    }
}

/* The layer of a node, counted as the layers to recompute are. */
static struct graph_layer layer_of(const struct recompute_layers *layers, const struct graph *graph,
                                   uint32_t node)
{
    struct graph_layer layer = graph_layer_of(graph->nodes[node].name);

    if (layers->start && layer.number != GRAPH_NO_LAYER)
        layer.number -= layers->start[node];
    return layer;
}

static bool is_chosen(const struct recompute_layers *layers, struct graph_layer layer)
{
    return layer.number / layers->group % layers->every == layers->offset &&
           layer.number < layers->first;
}

/* Whether two nodes lie in one group of layers; a group ends where its stage does. */
static bool same_group(const struct recompute_layers *layers, const struct graph *graph, uint32_t m,
                       uint32_t n)
{
    struct graph_layer a = layer_of(layers, graph, m), b = layer_of(layers, graph, n);

    return a.number != GRAPH_NO_LAYER && b.number != GRAPH_NO_LAYER &&
           a.number / layers->group == b.number / layers->group && same_stack(a, b) &&
           graph->nodes[m].stage == graph->nodes[n].stage &&
           is_chosen(layers, a) == is_chosen(layers, b);
}

/* Mark forward values inside a group of layers; values that others read are kept. */
static void mark_layers(bool *again, const struct graph *graph,
                        const struct recompute_layers *layers)
{
    for (uint32_t n = 0; n < graph->nnodes; n++)
        again[n] = graph->nodes[n].op > GRAPH_PARAM && graph->nodes[n].phase == GRAPH_FORWARD &&
                   is_chosen(layers, layer_of(layers, graph, n));
    for (uint32_t n = 0; n < graph->nnodes; n++)
        for (uint32_t k = 0; k < graph->nodes[n].ninputs; k++) {
            uint32_t from = graph->nodes[n].inputs[k];

            if (graph->nodes[n].phase == GRAPH_FORWARD && !same_group(layers, graph, n, from))
                again[from] = false;
        }
}

/* Whether a product has dimensions that its operand lacks. */
static bool widens(const struct graph_node *product, const struct graph_node *operand)
{
    for (uint32_t d = 0; d < product->rank; d++)
        if (!graph_has_dim(operand, product->dims[d]))
            return true;
    return false;
}

/* Whether an op reads scores of an unfused attention, or values made from them. */
static bool reads_scores(const bool *again, const struct graph *graph, const struct graph_node *n)
{
    bool reads = false;

    for (uint32_t k = 0; k < n->ninputs; k++) {
        const struct graph_node *operand = &graph->nodes[n->inputs[k]];

        reads |=
            again[n->inputs[k]] && operand->op != GRAPH_ATTENTION && operand->op != GRAPH_EXTRA;
    }
    return reads;
}

/* Whether an op belongs to the scores of an unfused attention: the product of two activations, and
 * everything made from it, up to the product with a third activation. */
static bool is_of_scores(const bool *again, const struct graph *graph, const struct graph_node *n)
{
    bool outer = n->op == GRAPH_EINSUM;

    for (uint32_t k = 0; k < n->ninputs; k++) {
        const struct graph_node *operand = &graph->nodes[n->inputs[k]];

        outer &= !graph_is_weight(graph, n->inputs[k]) && widens(n, operand);
    }
    return n->op == GRAPH_EINSUM ? outer && !reads_scores(again, graph, n)
                                 : reads_scores(again, graph, n);
}

/* Mark the shifts of ring attention: keys go around the ring again, so that only the first keys are
 * kept and not those of each step. */
static void mark_blocks(bool *again, const struct graph *graph)
{
    for (uint32_t n = graph->nnodes; n-- > 0;) {
        const struct graph_node *node = &graph->nodes[n];

        if (!again[n] || (node->op != GRAPH_ATTENTION && node->op != GRAPH_SHIFT))
            continue;
        for (uint32_t k = 0; k < node->ninputs; k++)
            again[node->inputs[k]] |= graph->nodes[node->inputs[k]].op == GRAPH_SHIFT;
    }
}

static void mark_attention(bool *again, const struct graph *graph,
                           const struct recompute_layers *layers)
{
    for (uint32_t n = 0; n < graph->nnodes; n++) {
        const struct graph_node *node = &graph->nodes[n];
        struct graph_layer layer = layer_of(layers, graph, n);

        if (node->op == GRAPH_EXTRA)
            node = &graph->nodes[node->inputs[0]];
        again[n] = node->phase == GRAPH_FORWARD &&
                   (layer.number == GRAPH_NO_LAYER || is_chosen(layers, layer)) &&
                   (node->op == GRAPH_ATTENTION || is_of_scores(again, graph, node));
    }
    mark_blocks(again, graph);
}

void recompute_mark(bool *again, const struct graph *graph, enum recompute kind,
                    const struct recompute_layers *layers)
{
    memset(again, 0, graph->nnodes * sizeof *again);
    if (kind == RECOMPUTE_FULL)
        mark_layers(again, graph, layers);
    else if (kind == RECOMPUTE_SELECTIVE)
        mark_attention(again, graph, layers);
}

/* Group number of a value: the group of the value before if both belong to one layer group, else a
 * new group. */
static uint32_t group_number(const struct graph *graph, const struct recompute_layers *layers,
                             uint32_t node, uint32_t before, const uint32_t *together)
{
    if (before != GRAPH_NONE && same_group(layers, graph, before, node))
        return together[before];
    return node;
}

void recompute_together(uint32_t *together, const bool *again, const struct graph *graph,
                        enum recompute kind, const struct recompute_layers *layers)
{
    uint32_t before = GRAPH_NONE;

    memset(together, 0xff, graph->nnodes * sizeof *together);
    for (uint32_t n = 0; n < graph->nnodes; n++) {
        const struct graph_node *node = &graph->nodes[n];
        bool forward = node->phase == GRAPH_FORWARD && node->op > GRAPH_PARAM;
        bool inside = kind == RECOMPUTE_FULL && is_chosen(layers, layer_of(layers, graph, n));
        bool ends_scores = kind == RECOMPUTE_SELECTIVE && node->op == GRAPH_EINSUM &&
                           reads_scores(again, graph, node);

        if (!forward || !(inside || again[n] || ends_scores))
            continue;
        together[n] = group_number(graph, layers, n, before, together);
        before = n;
    }
}

bool recompute_is_chosen(const struct recompute_layers *layers, const struct graph *graph,
                         uint32_t node)
{
    struct graph_layer layer = layer_of(layers, graph, node);

    return layer.number == GRAPH_NO_LAYER || is_chosen(layers, layer);
}

void recompute_join(uint32_t *together, const bool *again, const struct graph *graph,
                    const struct recompute_layers *layers)
{
    uint32_t before = GRAPH_NONE;

    for (uint32_t n = 0; n < graph->nnodes; n++) {
        together[n] = GRAPH_NONE;
        if (again[n])
            together[n] = group_number(graph, layers, n, before, together);
        if (graph->nodes[n].op > GRAPH_PARAM)
            before = again[n] ? n : GRAPH_NONE;
    }
}

/* ---- cloning ---- */

#define LISTED (GRAPH_NONE - 1) /* stands for a clone's number until it exists */

struct cloning {
    struct graph *graph; /* as it is before the pass */
    const bool *again;
    const uint32_t *together; /* NULL: no groups */
    struct graph_node *nodes; /* in the new order */
    uint32_t nnodes;
    uint32_t *moved, *clones; /* by old node: new number, and clone's number; GRAPH_NONE: none
                                 yet */
    uint32_t *list;           /* ops to clone */
};

static uint32_t append(struct cloning *c, const struct graph_node *node)
{
    c->nodes[c->nnodes] = *node;
    return c->nnodes++;
}

/* The node that a clone, or a node of the backward phase, reads in place of an old node. */
static uint32_t read_again(const struct cloning *c, uint32_t old)
{
    return c->again[old] ? c->clones[old] : c->moved[old];
}

/* Clone an op with its further results; marked operands must have clones. */
static void clone_one(struct cloning *c, uint32_t old)
{
    struct graph_node node = c->graph->nodes[old];
    uint32_t made;

    for (uint32_t k = 0; k < node.ninputs; k++)
        node.inputs[k] = read_again(c, node.inputs[k]);
    node.phase = GRAPH_BACKWARD;
    node.again = true;
    node.unread = !c->again[old];
    made = c->clones[old] = append(c, &node);
    for (uint32_t e = 0; e < node.nextras; e++) {
        struct graph_node extra = c->graph->nodes[node.extras[e]];

        extra.inputs[0] = made;
        extra.phase = GRAPH_BACKWARD;
        c->clones[node.extras[e]] = c->nodes[made].extras[e] = append(c, &extra);
    }
}

/* The op that makes a node. */
static uint32_t maker_of(const struct graph *graph, uint32_t node)
{
    return graph->nodes[node].op == GRAPH_EXTRA ? graph->nodes[node].inputs[0] : node;
}

/* List an op for cloning, unless it is listed or has a clone. */
static void list_op(struct cloning *c, uint32_t *n, uint32_t old)
{
    uint32_t op = maker_of(c->graph, old);

    if (c->clones[op] != GRAPH_NONE)
        return;
    c->clones[op] = LISTED;
    c->list[(*n)++] = op;
}

/* List all ops of an op's group.  A group's number is its first node; only nodes without a group
 * lie between its nodes. */
static void list_group(struct cloning *c, uint32_t *n, uint32_t old)
{
    uint32_t group = c->together ? c->together[old] : GRAPH_NONE;

    if (group == GRAPH_NONE)
        return;
    for (uint32_t m = group; m < c->graph->nnodes; m++) {
        if (c->together[m] == group)
            list_op(c, n, m);
        else if (c->together[m] != GRAPH_NONE)
            break;
    }
}

static int compare_numbers(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

/* Clone the op of a node and all marked ops that it depends on, in their original order, so that a
 * value read soon after it was made is again. */
static void clone(struct cloning *c, uint32_t old)
{
    uint32_t n = 0;

    list_op(c, &n, old);
    for (uint32_t i = 0; i < n; i++) {
        const struct graph_node *node = &c->graph->nodes[c->list[i]];

        list_group(c, &n, c->list[i]);
        for (uint32_t k = 0; k < node->ninputs; k++)
            if (c->again[node->inputs[k]])
                list_op(c, &n, node->inputs[k]);
    }
    qsort(c->list, n, sizeof *c->list, compare_numbers);
    for (uint32_t i = 0; i < n; i++)
        clone_one(c, c->list[i]);
}

/* Whether a node reads recomputed values.  The accumulation of the loss belongs to the backward
 * phase but reads the first result: otherwise no node would read the first result, and only the
 * recomputed forward phase would remain. */
static bool reads_again(const struct graph_node *node)
{
    return node->phase == GRAPH_BACKWARD && node->op != GRAPH_ACCUMULATE;
}

static void move(struct cloning *c, uint32_t old)
{
    struct graph_node node = c->graph->nodes[old];
    bool again = reads_again(&node);

    for (uint32_t k = 0; k < node.ninputs; k++) {
        if (again && c->again[node.inputs[k]])
            clone(c, node.inputs[k]);
        node.inputs[k] = again ? read_again(c, node.inputs[k]) : c->moved[node.inputs[k]];
    }
    node.forgotten = c->again[old];
    c->moved[old] = append(c, &node);
}

static void finish(struct graph *graph, struct cloning *c)
{
    struct graph_node *old = graph->nodes;
    uint32_t n = graph->nnodes;

    graph->nodes = c->nodes;
    graph->nnodes = c->nnodes;
    graph_rebuild_renumber(graph, old, n, c->moved);
    free(old);
}

/* ---- holding ---- */

/* Whether a clone becomes an op of its own that may hold another result. */
static bool may_hold(const struct cloning *c, uint32_t old)
{
    enum graph_op op = c->graph->nodes[old].op;

    return c->clones[old] != GRAPH_NONE && (op == GRAPH_EINSUM || op == GRAPH_REDUCE) &&
           c->nodes[c->clones[old]].holds == 0;
}

/* Let the first free clone of a node's layer hold its result. */
static void hold_one(struct cloning *c, uint32_t old)
{
    const struct recompute_layers all = RECOMPUTE_ALL_LAYERS;
    uint32_t first = old, best = GRAPH_NONE;

    while (first > 0 && (c->graph->nodes[first - 1].op <= GRAPH_PARAM ||
                         same_group(&all, c->graph, old, first - 1)))
        first--;
    for (uint32_t n = first; n < c->graph->nnodes; n++) {
        if (c->graph->nodes[n].op > GRAPH_PARAM && !same_group(&all, c->graph, old, n))
            break;
        if (may_hold(c, n) && (best == GRAPH_NONE || c->clones[n] < best))
            best = c->clones[n];
    }
    if (best != GRAPH_NONE)
        c->nodes[best].holds = c->moved[old] + 1;
}

/* Let results that the backward phase does not read be held. */
static void hold(struct cloning *c, const bool *held)
{
    bool *read = calloc((size_t)c->nnodes + 1, sizeof *read);

    if (!read) {
        graph_fail(c->graph, SHD_ENOMEM, "no memory to hold results");
        return;
    }
    for (uint32_t n = 0; n < c->nnodes; n++)
        for (uint32_t k = 0; k < c->nodes[n].ninputs; k++)
            read[c->nodes[n].inputs[k]] |= c->nodes[n].phase == GRAPH_BACKWARD;
    for (uint32_t old = 0; old < c->graph->nnodes; old++)
        if (held[old] && !read[c->moved[old]])
            hold_one(c, old);
    free(read);
}

void recompute_clone(struct graph *graph, const bool *again, const uint32_t *together,
                     const bool *held)
{
    uint32_t n = graph->nnodes;
    struct cloning c = {.graph = graph, .again = again, .together = together};

    if (graph->err.status != SHD_OK)
        return;
    c.nodes = malloc(graph_room(2 * n + 1) * sizeof *c.nodes); /* a node occurs at most twice */
    c.moved = malloc((3 * (size_t)n + 1) * sizeof *c.moved);
    if (!c.nodes || !c.moved) {
        free(c.nodes);
        free(c.moved);
        graph_fail(graph, SHD_ENOMEM, "no memory to recompute in a graph of %u nodes", n);
        return;
    }
    c.clones = c.moved + n;
    c.list = c.clones + n;
    memset(c.clones, 0xff, n * sizeof *c.clones);
    for (uint32_t old = 0; old < n; old++)
        move(&c, old);
    if (held)
        hold(&c, held);
    finish(graph, &c);
    free(c.moved);
    if (graph->nstages > 1) /* recomputed nodes may serve only gradients of parameters */
        graph_mark_weights(graph);
}

void recompute_add(struct graph *graph, enum recompute kind, const struct recompute_layers *layers)
{
    bool *again;

    if (kind == RECOMPUTE_NONE || graph->err.status != SHD_OK)
        return;
    again = malloc(graph->nnodes * sizeof *again);
    if (!again) {
        graph_fail(graph, SHD_ENOMEM, "no memory to recompute activations");
        return;
    }
    recompute_mark(again, graph, kind, layers);
    recompute_clone(graph, again, NULL, NULL);
    free(again);
}

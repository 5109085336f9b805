/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/graph.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "kern/pairs.h"

/* A text, or an array of numbers, owned by the graph. */
struct graph_text {
    struct graph_text *next;
    _Alignas(double) char chars[];
};

struct graph *graph_create(void)
{
    struct graph *graph = calloc(1, sizeof *graph);

    if (graph)
        graph->microbatches = graph->nstages = 1;
    return graph;
}

void graph_destroy(struct graph *graph)
{
    if (!graph)
        return;
    for (struct graph_routing *r = graph->routings; r; r = r->next)
        kern_routing_release(r->routing);
    while (graph->texts) {
        struct graph_text *next = graph->texts->next;

        free(graph->texts);
        graph->texts = next;
    }
    graph_names_fini(&graph->leaves);
    free(graph->dims);
    free(graph->nodes);
    free(graph->outputs);
    free(graph);
}

int graph_status(const struct graph *graph, struct shd_error *err)
{
    if (graph->err.status == SHD_OK)
        return SHD_OK;
    return shd_error_set(err, graph->err.status, "%s", graph->err.text);
}

uint32_t graph_fail(struct graph *graph, int status, const char *fmt, ...)
{
    char text[SHD_ERROR_TEXT_MAX];
    va_list args;

    if (graph->err.status != SHD_OK)
        return GRAPH_NONE;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    (void)shd_error_set(&graph->err, status, "%s", text);
    return GRAPH_NONE;
}

const char *graph_text(struct graph *graph, const char *fmt, ...)
{
    va_list args;
    int length;
    struct graph_text *text;

    va_start(args, fmt);
    length = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    text = malloc(sizeof *text + (size_t)length + 1);
    if (!text) {
        graph_fail(graph, SHD_ENOMEM, "no memory for a name");
        return "";
    }
    va_start(args, fmt);
    vsnprintf(text->chars, (size_t)length + 1, fmt, args);
    va_end(args);
    text->next = graph->texts;
    graph->texts = text;
    return text->chars;
}

/* Allocate memory that the graph owns; NULL: no memory, or the size overflowed. */
void *graph_memory(struct graph *graph, size_t count, size_t size)
{
    struct graph_text *text = NULL;

    if (count < SIZE_MAX / size / 2)
        text = malloc(sizeof *text + count * size);
    if (!text) {
        graph_fail(graph, SHD_ENOMEM, "no memory for %zu numbers", count);
        return NULL;
    }
    text->next = graph->texts;
    graph->texts = text;
    return text->chars;
}

double *graph_numbers(struct graph *graph, size_t count)
{
    return graph_memory(graph, count, sizeof(double));
}

uint8_t *graph_bytes(struct graph *graph, size_t count)
{
    return graph_memory(graph, count, 1);
}

static const int32_t *copy_numbers(struct graph *graph, const int32_t *numbers, size_t count)
{
    int32_t *copy = graph_memory(graph, count, sizeof *copy);

    if (copy)
        memcpy(copy, numbers, count * sizeof *copy);
    return copy;
}

const struct kern_sight *graph_sight(struct graph *graph, const struct kern_sight *sight)
{
    struct kern_sight *copy = graph_memory(graph, 1, sizeof *copy);
    size_t count = (size_t)sight->rows * (size_t)sight->order.extent;

    if (!copy)
        return NULL;
    *copy = *sight;
    copy->pairs = graph_memory(graph, kern_pairs_bytes(), 1);
    if (!copy->pairs)
        return NULL;
    memset(copy->pairs, 0, kern_pairs_bytes());
    if (count > 0) {
        copy->first = copy_numbers(graph, sight->first, count);
        copy->last = copy_numbers(graph, sight->last, count);
    }
    return count == 0 || (copy->first && copy->last) ? copy : NULL;
}

size_t graph_room(uint32_t n)
{
    size_t room = 1;

    while (room < n)
        room *= 2;
    return room;
}

/* Room for one more element behind `count`. */
static bool make_room(struct graph *graph, void *array, uint32_t count, size_t size)
{
    if (array_make_room(array, count, size))
        return true;
    graph_fail(graph, SHD_ENOMEM, "no memory for a graph of %u nodes", count);
    return false;
}

uint32_t graph_find_dim(const struct graph *graph, const char *name)
{
    for (uint32_t d = 0; d < graph->ndims; d++)
        if (!strcmp(graph->dims[d].name, name))
            return d;
    return GRAPH_NONE;
}

uint32_t graph_dim(struct graph *graph, const char *name, int64_t size)
{
    uint32_t found = graph_find_dim(graph, name);

    if (graph->err.status != SHD_OK)
        return GRAPH_NONE;
    if (found != GRAPH_NONE) {
        if (graph->dims[found].size != size)
            return graph_fail(graph, SHD_EINVAL, "dimension '%s' has size %lld, not %lld", name,
                              (long long)graph->dims[found].size, (long long)size);
        return found;
    }
    if (size < 0)
        return graph_fail(graph, SHD_EINVAL, "dimension '%s' has size %lld", name, (long long)size);
    if (!make_room(graph, &graph->dims, graph->ndims, sizeof *graph->dims))
        return GRAPH_NONE;
    graph->dims[graph->ndims] =
        (struct graph_dim){graph_text(graph, "%s", name), size, size, GRAPH_NONE, NULL, GRAPH_NONE};
    return graph->ndims++;
}

uint32_t graph_dim_of(struct graph *graph, uint32_t dim, int64_t several)
{
    uint32_t made;

    if (graph->err.status != SHD_OK || several == 1)
        return dim;
    made = graph_dim(graph, graph_text(graph, "%s/%lld", graph->dims[dim].name, (long long)several),
                     graph->dims[dim].size / several);
    if (made != GRAPH_NONE)
        graph->dims[made].of = graph->dims[dim].of == GRAPH_NONE ? dim : graph->dims[dim].of;
    return made;
}

uint32_t graph_origin(const struct graph *graph, uint32_t node)
{
    const struct graph_node *n = &graph->nodes[node];

    while (n->op == GRAPH_CONSTRAINT ||
           (n->op == GRAPH_MAP && (n->fn == KERN_CONVERT || n->fn == KERN_COPY))) {
        node = n->inputs[0];
        n = &graph->nodes[node];
    }
    return node;
}

uint32_t graph_place(const struct graph_node *node, uint32_t dim)
{
    uint32_t d = 0;

    while (d < node->rank && node->dims[d] != dim)
        d++;
    return d;
}

bool graph_has_dim(const struct graph_node *node, uint32_t dim)
{
    return graph_place(node, dim) < node->rank;
}

void graph_shape(const struct graph *graph, uint32_t node, int64_t *shape)
{
    const struct graph_node *n = &graph->nodes[node];

    for (uint32_t d = 0; d < n->rank; d++)
        shape[d] = graph->dims[n->dims[d]].size;
}

double graph_elements(const struct graph *graph, const struct graph_node *node)
{
    double n = 1;

    for (uint32_t d = 0; d < node->rank; d++)
        n *= (double)graph->dims[node->dims[d]].size;
    return n;
}

/* Check a result's dimensions: known, not too many, all different, with a size that fits. */
static bool check_dims(struct graph *graph, const char *name, const uint32_t *dims, uint32_t rank)
{
    int64_t shape[GRAPH_RANK_MAX];
    uint64_t bytes;
    struct shd_error why;
    int status;

    if (graph->err.status != SHD_OK)
        return false;
    if (rank > GRAPH_RANK_MAX) {
        graph_fail(graph, SHD_ERANGE, "'%s' has %u dimensions, at most %d are allowed", name, rank,
                   GRAPH_RANK_MAX);
        return false;
    }
    for (uint32_t d = 0; d < rank; d++) {
        if (dims[d] >= graph->ndims) {
            graph_fail(graph, SHD_EINVAL, "'%s' has a dimension that is not known", name);
            return false;
        }
        for (uint32_t e = 0; e < d; e++)
            if (dims[e] == dims[d]) {
                graph_fail(graph, SHD_EINVAL, "'%s' has dimension '%s' twice", name,
                           graph->dims[dims[d]].name);
                return false;
            }
        shape[d] = graph->dims[dims[d]].size;
    }
    status = shd_shape_bytes(&bytes, shape, rank, SHD_F64, &why);
    if (status != SHD_OK)
        graph_fail(graph, status, "'%s': %s", name, why.text);
    return status == SHD_OK;
}

static uint32_t add_node(struct graph *graph, const struct graph_node *node, const char *name)
{
    struct graph_node *nodes;

    if (!check_dims(graph, name, node->dims, node->rank))
        return GRAPH_NONE;
    if (!make_room(graph, &graph->nodes, graph->nnodes, sizeof *graph->nodes))
        return GRAPH_NONE;
    nodes = graph->nodes;
    nodes[graph->nnodes] = *node;
    nodes[graph->nnodes].name = graph_text(graph, "%s", name);
    nodes[graph->nnodes].phase = graph->phase;
    nodes[graph->nnodes].stage = graph->stage;
    nodes[graph->nnodes].gradient_of = GRAPH_NONE;
    nodes[graph->nnodes].state_of = GRAPH_NONE;
    nodes[graph->nnodes].stored = node->dtype;
    return graph->nnodes++;
}

bool graph_usable(const struct graph *graph, uint32_t node)
{
    return graph->err.status == SHD_OK && node < graph->nnodes;
}

static uint32_t add_leaf(struct graph *graph, enum graph_op op, const char *name,
                         enum shd_dtype dtype, const uint32_t *dims, uint32_t rank,
                         struct kern_source source)
{
    struct graph_node node = {
        .op = op, .dtype = dtype, .rank = rank, .source = source, .packs = op == GRAPH_PARAM};
    uint32_t added;

    if ((uint32_t)dtype >= SHD_NCOMPUTE_DTYPES &&
        !((source.quant || source.modulus || source.bytes) && kern_is_whole(dtype)) &&
        dtype != SHD_F8E4M3 && dtype != SHD_F8E5M2)
        return graph_fail(graph, SHD_EUNSUPPORTED, "'%s' has a type without arithmetic", name);
    node.source.rounded = dtype; /* also when graph_in_dtype() changes the computed type */
    if (graph_names_has(&graph->leaves, name))
        return graph_fail(graph, SHD_EINVAL, "there are two arrays named '%s'", name);
    for (uint32_t d = 0; d < rank && d < GRAPH_RANK_MAX; d++)
        node.dims[d] = dims[d];
    added = add_node(graph, &node, name);
    if (graph_usable(graph, added) && !graph_names_add(&graph->leaves, graph->nodes[added].name))
        return graph_fail(graph, SHD_ENOMEM, "no memory for a graph of %u nodes", added);
    return added;
}

uint32_t graph_input(struct graph *graph, const char *name, enum shd_dtype dtype,
                     const uint32_t *dims, uint32_t rank, struct kern_source source)
{
    return add_leaf(graph, GRAPH_INPUT, name, dtype, dims, rank, source);
}

uint32_t graph_param(struct graph *graph, const char *name, enum shd_dtype dtype,
                     const uint32_t *dims, uint32_t rank, struct kern_source source)
{
    return add_leaf(graph, GRAPH_PARAM, name, dtype, dims, rank, source);
}

uint32_t graph_add(struct graph *graph, const struct graph_node *node, const char *name)
{
    for (uint32_t k = 0; k < node->ninputs; k++)
        if (!graph_usable(graph, node->inputs[k]))
            return GRAPH_NONE;
    return add_node(graph, node, name);
}

struct graph_node graph_like(const struct graph *graph, enum graph_op op, uint32_t x)
{
    struct graph_node node = {.op = op, .ninputs = 1, .inputs = {x}};

    if (!graph_usable(graph, x))
        return node;
    node.dtype = graph->nodes[x].dtype;
    node.rank = graph->nodes[x].rank;
    memcpy(node.dims, graph->nodes[x].dims, sizeof node.dims);
    return node;
}

uint32_t graph_constraint(struct graph *graph, const char *name, uint32_t a)
{
    struct graph_node node = graph_like(graph, GRAPH_CONSTRAINT, a);

    return graph_add(graph, &node, name);
}

void graph_output(struct graph *graph, enum graph_output_kind kind, const char *name, uint32_t node,
                  uint32_t of)
{
    if (!graph_usable(graph, node))
        return;
    if (!make_room(graph, &graph->outputs, graph->noutputs, sizeof *graph->outputs))
        return;
    graph->outputs[graph->noutputs++] =
        (struct graph_output){kind, graph_text(graph, "%s", name), node, of};
}

/* A copy with the capacity for growth that the original has. */
static void *copied(const void *from, uint32_t count, size_t size)
{
    void *to = malloc(graph_room(count) * size);

    if (to && count)
        memcpy(to, from, count * size);
    return to;
}

static bool add_leaf_names(struct graph *graph)
{
    for (uint32_t i = 0; i < graph->nnodes; i++)
        if (graph->nodes[i].op <= GRAPH_PARAM &&
            !graph_names_add(&graph->leaves, graph->nodes[i].name))
            return false;
    return true;
}

struct graph *graph_in_dtype(const struct graph *graph, enum shd_dtype dtype)
{
    struct graph *copy = graph_create();

    if (!copy)
        return NULL;
    *copy = *graph;
    copy->texts = NULL;
    copy->routings = NULL;
    copy->leaves = (struct graph_names){.slots = NULL};
    copy->dims = copied(graph->dims, graph->ndims, sizeof *graph->dims);
    copy->nodes = copied(graph->nodes, graph->nnodes, sizeof *graph->nodes);
    copy->outputs = copied(graph->outputs, graph->noutputs, sizeof *graph->outputs);
    if (!copy->dims || !copy->nodes || !copy->outputs || !add_leaf_names(copy)) {
        graph_destroy(copy);
        return NULL;
    }
    for (uint32_t i = 0; i < copy->nnodes; i++) {
        struct graph_node *n = &copy->nodes[i];

        if (n->op == GRAPH_CAUSAL) /* -1e30 becomes -inf where the stored type rounds it so */
            n->attr.causal.masked = kern_round(n->stored, n->attr.causal.masked);
        if (!kern_is_whole(n->dtype))
            n->dtype = dtype;
    }
    return copy;
}

void graph_stop_gradient(struct graph *graph, uint32_t node)
{
    if (graph_usable(graph, node))
        graph->nodes[node].stop_gradient = true;
}

uint32_t graph_add_extra(struct graph *graph, uint32_t node, const char *name, enum shd_dtype dtype,
                         const uint32_t *dims, uint32_t rank)
{
    struct graph_node extra = {
        .op = GRAPH_EXTRA, .dtype = dtype, .rank = rank, .ninputs = 1, .inputs = {node}};
    uint32_t added;

    for (uint32_t d = 0; d < rank; d++)
        extra.dims[d] = dims[d];
    added = graph_add(graph, &extra, name);
    if (added != GRAPH_NONE)
        graph->nodes[node].extras[graph->nodes[node].nextras++] = added;
    return added;
}

const char *graph_phase_name(enum graph_phase phase)
{
    static const char *const names[GRAPH_NPHASES] = {"forward", "backward", "optimizer"};

    return names[phase];
}

/* The public graph builder (shd_graph_...), on top of graph, model, partition, walk and verify.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/graph.h>

#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"
#include "model/graph_text.h"
#include "model/model.h"
#include "partition/partition.h"
#include "program/program.h"
#include "program/record.h"
#include "trial/verify.h"
#include "run/walk/walk.h"

struct shd_graph {
    struct graph *graph;
    bool complete; /* has its backward computation */
};

/* ---- building ---- */

int shd_graph_create(struct shd_graph **out, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out))
        return SHD_EINVAL;

    struct shd_graph *graph = calloc(1, sizeof *graph);

    if (graph)
        graph->graph = graph_create();
    if (!graph || !graph->graph) {
        free(graph);
        return shd_error_set(err, SHD_ENOMEM, "no memory for a graph");
    }
    *out = graph;
    return SHD_OK;
}

void shd_graph_destroy(struct shd_graph *graph)
{
    if (!graph)
        return;
    graph_destroy(graph->graph);
    free(graph);
}

int shd_graph_status(const struct shd_graph *graph, struct shd_error *err)
{
    if (!SHD_GIVEN(err, graph))
        return SHD_EINVAL;
    return graph_status(graph->graph, err);
}

/* The public numbers of values are the graph's own: GRAPH_NONE is SHD_GRAPH_NONE. */
static int32_t value_of(uint32_t node)
{
    return node == GRAPH_NONE ? SHD_GRAPH_NONE : (int32_t)node;
}

static bool is_value(const struct graph *g, int32_t value)
{
    return value >= 0 && (uint32_t)value < g->nnodes;
}

/* The node of a value, or an error. */
static uint32_t operand(struct graph *g, const char *name, int32_t value)
{
    if (is_value(g, value))
        return (uint32_t)value;
    return graph_fail(g, SHD_EINVAL, "'%s' is made from %d, which is not a value of this graph",
                      name, (int)value);
}

#define NAME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_."

/* Whether the graph may grow; if not, and there is a graph, its error says why. */
static bool can_grow(struct shd_graph *graph)
{
    if (!graph)
        return false;
    if (graph->complete)
        graph_fail(graph->graph, SHD_EINVAL, "a graph cannot grow behind its backward computation");
    return graph->graph->err.status == SHD_OK;
}

/* can_grow() for a value that needs a name, which is checked as well. */
static bool can_build(struct shd_graph *graph, const char *name)
{
    if (!can_grow(graph))
        return false;
    if (name && name[0] && !name[strspn(name, NAME_CHARS)])
        return true;
    graph_fail(graph->graph, SHD_EINVAL,
               "%s%.80s%s is not a name; expected letters, digits, '_' and '.'", name ? "'" : "",
               name ? name : "NULL", name ? "'" : "");
    return false;
}

/* Parse dimension names, "b,s,d", into dimension numbers; spaces are skipped. */
static bool read_dims(struct graph *g, const char *name, const char *text, uint32_t *dims,
                      uint32_t *rank)
{
    const char *at;

    if (!text) {
        graph_fail(g, SHD_EINVAL, "the dimensions of '%s' are NULL; expected a list", name);
        return false;
    }
    at = text + strspn(text, ", ");
    for (*rank = 0; *at; at += strspn(at, ", ")) {
        size_t length = strcspn(at, ", ");
        uint32_t dim = graph_find_dim(g, graph_text(g, "%.*s", (int)length, at));

        if (dim == GRAPH_NONE)
            graph_fail(g, SHD_ENOTFOUND, "'%s' has dimension '%.*s', which is not known", name,
                       (int)length, at);
        if (*rank == GRAPH_RANK_MAX)
            graph_fail(g, SHD_ERANGE, "'%s' has more than %d dimensions", name, GRAPH_RANK_MAX);
        if (g->err.status != SHD_OK)
            return false;
        dims[(*rank)++] = dim;
        at += length;
    }
    return true;
}

void shd_graph_dim(struct shd_graph *graph, const char *name, int64_t size)
{
    if (can_build(graph, name))
        graph_dim(graph->graph, name, size);
}

static int32_t add_array(struct shd_graph *graph, bool param, const char *name,
                         enum shd_dtype dtype, const char *dims)
{
    uint32_t numbers[GRAPH_RANK_MAX], rank;
    struct graph *g;

    if (!can_build(graph, name))
        return SHD_GRAPH_NONE;
    g = graph->graph;
    if (!read_dims(g, name, dims, numbers, &rank))
        return SHD_GRAPH_NONE;
    if (kern_is_whole(dtype))
        return value_of(graph_fail(g, SHD_EUNSUPPORTED, "'%s' holds whole numbers", name));
    return value_of((param ? graph_param : graph_input)(
        g, name, dtype, numbers, rank,
        model_source(0, name, model_scale(g, numbers, rank, param))));
}

int32_t shd_graph_input(struct shd_graph *graph, const char *name, enum shd_dtype dtype,
                        const char *dims)
{
    return add_array(graph, false, name, dtype, dims);
}

int32_t shd_graph_param(struct shd_graph *graph, const char *name, enum shd_dtype dtype,
                        const char *dims)
{
    return add_array(graph, true, name, dtype, dims);
}

int32_t shd_graph_einsum(struct shd_graph *graph, const char *name, int32_t a, int32_t b,
                         const char *dims)
{
    uint32_t numbers[GRAPH_RANK_MAX], rank;
    struct graph *g;

    if (!can_build(graph, name))
        return SHD_GRAPH_NONE;
    g = graph->graph;
    if (operand(g, name, a) == GRAPH_NONE || operand(g, name, b) == GRAPH_NONE ||
        !read_dims(g, name, dims, numbers, &rank))
        return SHD_GRAPH_NONE;
    return value_of(graph_einsum(g, name, (uint32_t)a, (uint32_t)b, numbers, rank));
}

int32_t shd_graph_map(struct shd_graph *graph, const char *name, const char *function, int32_t a,
                      int32_t b, double scalar)
{
    struct graph *g;
    int fn = 0;

    if (!can_build(graph, name))
        return SHD_GRAPH_NONE;
    g = graph->graph;
    if (!function)
        return value_of(
            graph_fail(g, SHD_EINVAL, "the function of '%s' is NULL; expected a name", name));
    while (fn < KERN_NSAME &&
           (kern_fns[fn].noperands > 2 || strcmp(kern_fns[fn].name, function) != 0))
        fn++;
    if (operand(g, name, a) == GRAPH_NONE)
        return SHD_GRAPH_NONE;
    if (fn == KERN_NSAME)
        return value_of(
            graph_fail(g, SHD_ENOTFOUND, "there is no function '%.60s' for '%s'", function, name));
    if ((kern_fns[fn].noperands == 2) != (b != SHD_GRAPH_NONE))
        return value_of(graph_fail(g, SHD_EINVAL, "'%s': %s has %d operand%s", name, function,
                                   b == SHD_GRAPH_NONE ? 2 : 1, b == SHD_GRAPH_NONE ? "s" : ""));
    if (b != SHD_GRAPH_NONE && operand(g, name, b) == GRAPH_NONE)
        return SHD_GRAPH_NONE;
    return value_of(graph_map(g, name, (enum kern_fn)fn, (uint32_t)a,
                              b == SHD_GRAPH_NONE ? GRAPH_NONE : (uint32_t)b, scalar));
}

int32_t shd_graph_reduce(struct shd_graph *graph, const char *name, enum shd_reduce_op op,
                         int32_t a, const char *dims)
{
    uint32_t numbers[GRAPH_RANK_MAX], rank;
    struct graph *g;

    if (!can_build(graph, name))
        return SHD_GRAPH_NONE;
    g = graph->graph;
    if (operand(g, name, a) == GRAPH_NONE || !read_dims(g, name, dims, numbers, &rank))
        return SHD_GRAPH_NONE;
    return value_of(graph_reduce(g, name, op, (uint32_t)a, numbers, rank));
}

int32_t shd_graph_constraint(struct shd_graph *graph, const char *name, int32_t a)
{
    if (!can_build(graph, name) || operand(graph->graph, name, a) == GRAPH_NONE)
        return SHD_GRAPH_NONE;
    return value_of(graph_constraint(graph->graph, name, (uint32_t)a));
}

int32_t shd_graph_line(struct shd_graph *graph, const char *line)
{
    if (!can_grow(graph))
        return SHD_GRAPH_NONE;
    if (!line)
        return value_of(graph_fail(graph->graph, SHD_EINVAL, "a line is NULL; expected a string"));
    return value_of(graph_text_add(graph->graph, line));
}

void shd_graph_output(struct shd_graph *graph, const char *name, int32_t value)
{
    if (can_build(graph, name) && operand(graph->graph, name, value) != GRAPH_NONE)
        graph_output(graph->graph, GRAPH_OUTPUT, name, (uint32_t)value, GRAPH_NONE);
}

void shd_graph_backward(struct shd_graph *graph)
{
    if (!can_grow(graph))
        return;
    model_add_backward(graph->graph, 0);
    graph->complete = true;
}

/* ---- running ---- */

/* Ask for a spec on all values of its name. */
static int bind_spec(struct model_shardings *s, const struct graph *g, const struct shd_mesh *mesh,
                     const struct shd_graph_spec *asked, struct shd_error *err)
{
    struct shd_spec *spec;
    bool found = false;
    int status;

    if (!SHD_GIVEN(err, asked->name, asked->spec))
        return SHD_EINVAL;
    status = shd_spec_parse(&spec, asked->spec, err);
    if (status != SHD_OK)
        return status;
    for (uint32_t n = 0; n < g->nnodes && status == SHD_OK; n++) {
        const struct graph_node *node = &g->nodes[n];
        int64_t shape[GRAPH_RANK_MAX];

        if ((node->op != GRAPH_INPUT && node->op != GRAPH_PARAM && node->op != GRAPH_CONSTRAINT) ||
            strcmp(node->name, asked->name) != 0)
            continue;
        found = true;
        graph_shape(g, n, shape);
        status = shd_sharding_bind(&s->storage[n], mesh, spec, node->rank, err);
        if (status == SHD_OK)
            status = shd_sharding_check(&s->storage[n], shape, err);
        s->nodes[n] = &s->storage[n];
    }
    shd_spec_destroy(spec);
    if (status == SHD_OK && !found)
        return shd_error_set(err, SHD_ENOTFOUND,
                             "there is no input, parameter or place '%.80s' to shard", asked->name);
    return status;
}

/* Copy counts per device into one allocation. */
static int collect_stats(struct shd_graph_stats *out, const struct record *record,
                         struct shd_error *err)
{
    size_t n = (size_t)record->ndevices;
    struct shd_graph_stats s = {.ndevices = record->ndevices};

    /* Counts of an execution fit a uint64_t. */
    s.received_bytes = calloc(4 * n, sizeof *s.received_bytes);
    if (!s.received_bytes)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the counted bytes");
    s.sent_bytes = s.received_bytes + n;
    s.peak_bytes = s.sent_bytes + n;
    s.flops = s.peak_bytes + n;
    for (size_t d = 0; d < n; d++) {
        s.received_bytes[d] = (uint64_t)record->received_bytes[d];
        s.sent_bytes[d] = (uint64_t)record->sent_bytes[d];
        s.peak_bytes[d] = (uint64_t)record->peak_bytes[d];
        s.flops[d] = (uint64_t)record->flops[d];
    }
    for (uint32_t op = 0; op < record->program->nops; op++)
        s.ncollectives += record_op_received(record, op) > 0;
    for (uint32_t i = 0; i < record->nchecks; i++)
        if (record->checks[i].error > s.error)
            s.error = record->checks[i].error;
    s.within = record_matches(record);
    *out = s;
    return SHD_OK;
}

static int execute(struct shd_graph_stats *stats, const struct graph *g, struct program *program,
                   const struct shd_graph_opts *opts, struct shd_error *err)
{
    struct walk_opts run = {.memory_bytes = opts->memory_bytes, .stop_request = opts->stop_request};
    struct verify_opts verify = {.ndevices = shd_mesh_size(program->mesh),
                                 .nthreads = 1,
                                 .stop_request = opts->stop_request,
                                 .tolerance = opts->tolerance > 0};
    struct verify_reference reference;
    struct record *record;
    int status = record_create(&record, program, RECORD_EXECUTED, false, err);

    if (status != SHD_OK)
        return status;
    status = verify_reference(&reference, g, &verify, err);
    if (status == SHD_OK) {
        record->tolerance = opts->tolerance;
        status = verify_run(record, &reference, &run, err);
        verify_reference_fini(&reference);
    }
    if (status == SHD_OK && stats)
        status = collect_stats(stats, record, err);
    record_destroy(record);
    return status;
}

int shd_graph_run(struct shd_graph *graph, const struct shd_mesh *mesh,
                  const struct shd_graph_spec *specs, size_t nspecs,
                  const struct shd_graph_opts *opts, struct shd_graph_stats *stats,
                  struct shd_error *err)
{
    static const struct shd_graph_opts defaults = SHD_GRAPH_OPTS_INIT;
    struct model_shardings shardings;
    struct program *program = NULL;
    int status;

    if (stats)
        memset(stats, 0, sizeof *stats);
    if (!SHD_GIVEN(err, graph) || !SHD_GIVEN_ARRAY(err, specs, nspecs))
        return SHD_EINVAL;

    struct graph *g = graph->graph;
    struct partition_request request = {.graph = g, .mesh = mesh};

    status = graph_status(g, err);
    if (status == SHD_OK && !mesh)
        status = shd_error_set(err, SHD_ENOMESH, "no mesh is given");
    if (status == SHD_OK && g->noutputs == 0)
        status = shd_error_set(err, SHD_EINVAL, "the graph has no output");
    if (status != SHD_OK)
        return status;
    status = model_shardings_init(&shardings, g);
    if (status != SHD_OK)
        return shd_error_set(err, status, "no memory for the graph's shardings");
    for (size_t i = 0; i < nspecs && status == SHD_OK; i++)
        status = bind_spec(&shardings, g, mesh, &specs[i], err);
    if (status == SHD_OK) {
        model_shardings_bind_outputs(&shardings, g);
        request.nodes = shardings.nodes;
        request.outputs = shardings.outputs;
        status = partition_build(&program, &request, err);
    }
    if (status == SHD_OK)
        status = execute(stats, g, program, opts ? opts : &defaults, err);
    program_destroy(program);
    model_shardings_fini(&shardings);
    return status;
}

void shd_graph_stats_fini(struct shd_graph_stats *stats)
{
    if (!stats)
        return;
    free(stats->received_bytes); /* the allocation of all arrays */
    memset(stats, 0, sizeof *stats);
}

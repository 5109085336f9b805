/* Expressions of JAX for the nodes of a graph: each op's row (graph/ops.h) has a text with places
 * for its operands, which are filled in here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "export/jax_ops.h"

#include <ctype.h>
#include <string.h>

#include "base/literal.h"
#include "export/export.h"
#include "graph/ops.h"

/* ---- names ---- */

/* A node's variable: its name, with characters that Python refuses replaced, and its number, since
 * several nodes may have one name. */
void jax_add_variable(struct text *out, const struct graph *graph, uint32_t node)
{
    const char *name = graph->nodes[node].name;

    if (!isalpha((unsigned char)name[0]))
        text_add(out, "x");
    for (; *name; name++)
        text_add_char(out, isalnum((unsigned char)*name) ? *name : '_');
    text_addf(out, "_%u", node);
}

/* Add a letter for each dimension, by the dimension's number in the graph. */
static void add_letter(struct text *out, uint32_t dim)
{
    text_add_char(out, (char)(dim < 26 ? 'a' + dim : 'A' + (dim - 26)));
}

static void add_letters(struct text *out, const struct graph_node *node)
{
    for (uint32_t d = 0; d < node->rank; d++)
        add_letter(out, node->dims[d]);
}

/* The letters of operand k's dimensions as its reader names them. */
static void add_letters_read(struct text *out, const struct graph *graph,
                             const struct graph_node *reader, uint32_t k)
{
    const struct graph_node *operand = &graph->nodes[reader->inputs[k]];

    for (uint32_t d = 0; d < operand->rank; d++)
        add_letter(out, graph_read_as(reader, k, operand->dims[d]));
}

static bool same_dims(const struct graph_node *a, const struct graph_node *b)
{
    return a->rank == b->rank && !memcmp(a->dims, b->dims, a->rank * sizeof *a->dims);
}

/* Add an operand broadcast and transposed to the dimensions of its reader. */
static void add_fitted(struct text *out, const struct graph *graph, uint32_t operand,
                       const struct graph_node *reader)
{
    const struct graph_node *n = &graph->nodes[operand];

    if (same_dims(n, reader)) {
        jax_add_variable(out, graph, operand);
        return;
    }
    text_add(out, "fit(");
    jax_add_variable(out, graph, operand);
    text_add(out, ", \"");
    add_letters(out, n);
    text_add(out, "\", \"");
    add_letters(out, reader);
    text_add(out, "\")");
}

/* The axes that shard a dimension of some input; NULL: none. */
static const struct shd_dim_axes *axes_of_input(const struct export_layout *layout, uint32_t dim)
{
    const struct graph *graph = layout->graph;

    for (uint32_t i = 0; i < graph->nnodes; i++) {
        const struct shd_sharding *sharding = layout->shardings->nodes[i];
        uint32_t d = graph_place(&graph->nodes[i], dim);

        if (export_is_leaf(&graph->nodes[i], GRAPH_INPUT) && sharding && d < graph->nodes[i].rank &&
            sharding->dims[d].naxes > 0)
            return &sharding->dims[d];
    }
    return NULL;
}

/* Shard queues of token groups like the batch, before or after the exchange between experts: then
 * XLA emits an all-to-all instead of a gather. */
static void add_sharding_of_groups(struct text *out, const struct export_layout *layout,
                                   const struct graph_node *node)
{
    const struct shd_dim_axes *axes =
        axes_of_input(layout, layout->graph->nodes[node->inputs[1]].dims[0]);

    if (!axes ||
        node->attr.experts.groups % shd_mesh_size_of_axes(layout->mesh, axes->axes, axes->naxes)) {
        text_add(out, "None");
        return;
    }
    text_add(out, "NamedSharding(mesh, P(");
    export_add_axes(out, layout->mesh, axes);
    text_add(out, "))");
}

/* Add what `$` and `c` stand for in a row's text (graph/ops.h). */
static void add_of_row(struct text *out, const struct export_layout *layout,
                       const struct graph_node *node, char c)
{
    const struct graph *graph = layout->graph;

    if (c == 's')
        export_add_number(out, node->scalar);
    else if (c == 'G')
        add_sharding_of_groups(out, layout, node);
    else if (c == 'R')
        add_letters(out, node);
    else if (c == 'A' || c == 'B')
        add_letters_read(out, graph, node, (uint32_t)(c - 'A'));
    else if (c >= 'a' && c <= 'c')
        add_fitted(out, graph, node->inputs[c - 'a'], node);
    else
        jax_add_variable(out, graph, node->inputs[c - '0']);
}

static void add_constrained(struct text *out, const struct export_layout *layout, uint32_t i)
{
    const struct shd_sharding *sharding = layout->shardings->nodes[i];

    text_add(out, sharding ? "constrain(" : "");
    jax_add_variable(out, layout->graph, layout->graph->nodes[i].inputs[0]);
    if (sharding) {
        text_add(out, ", ");
        export_add_spec(out, sharding);
        text_add(out, ")");
    }
}

int jax_add_expression(struct text *out, const struct export_layout *layout, uint32_t i,
                       struct shd_error *err)
{
    const struct graph_node *node = &layout->graph->nodes[i];
    struct text form = TEXT_INIT;

    if (node->op == GRAPH_CONSTRAINT) {
        add_constrained(out, layout, i);
        return SHD_OK;
    }
    if (node->op <= GRAPH_PARAM) {
        text_add(out, node->op == GRAPH_PARAM ? "params[" : "inputs[");
        literal_add_python(out, node->name);
        text_add(out, "]");
        return SHD_OK;
    }
    if (!graph_op(node->op)->jax)
        return shd_error_set(err, SHD_EUNSUPPORTED, "exporting op '%.100s' to JAX is not supported",
                             node->name);
    graph_op(node->op)->jax(&form, layout->graph, node);
    for (const char *c = text_get(&form); *c; c++)
        if (*c == '$')
            add_of_row(out, layout, node, *++c);
        else
            text_add_char(out, *c);
    out->failed |= form.failed;
    text_fini(&form);
    return SHD_OK;
}

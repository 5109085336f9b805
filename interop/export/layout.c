/* Helpers that targets share: names, specs, types (export.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "export/export.h"

#include <inttypes.h>
#include <string.h>

#include "base/escape.h"
#include "base/json_out.h"
#include "base/literal.h"

void export_add_number(struct text *out, double value)
{
    char number[32];

    text_add(out, json_out_print_double(number, sizeof number, value));
}

void export_add_title(struct text *out, const struct export_layout *layout)
{
    text_add(out, "# ");
    escape_add(out, layout->scenario);
    text_add(out, ", ");
    escape_add(out, layout->strategy);
    text_add(out, ": ");
    escape_add(out, layout->what);
    text_add(out, "\n");
}

void export_add_mesh(struct text *out, const struct shd_mesh *mesh)
{
    text_add(out, "MESH = {");
    for (size_t a = 0; a < shd_mesh_naxes(mesh); a++) {
        text_add(out, a ? ", " : "");
        literal_add_python(out, shd_mesh_axis_name(mesh, a));
        text_addf(out, ": %d", (int)shd_mesh_axis_size(mesh, a));
    }
    text_add(out, "}\n");
}

void export_add_shape(struct text *out, const int64_t *shape, uint32_t rank)
{
    text_add(out, "(");
    for (uint32_t d = 0; d < rank; d++)
        text_addf(out, "%s%lld", d ? ", " : "", (long long)shape[d]);
    text_add(out, rank == 1 ? ",)" : ")");
}

void export_add_key(struct text *out, const char *name)
{
    text_add(out, "    ");
    literal_add_python(out, name);
    text_add(out, ": ");
}

void export_add_shard(struct text *out, const struct export_layout *layout, uint32_t node)
{
    const struct shd_sharding *sharding = export_sharding(layout, node);
    int64_t shape[GRAPH_RANK_MAX];

    graph_shape(layout->graph, node, shape);
    if (sharding)
        shd_sharding_shard_shape(sharding, shape, shape);
    export_add_key(out, layout->graph->nodes[node].name);
    export_add_shape(out, shape, layout->graph->nodes[node].rank);
    text_add(out, ",\n");
}

bool export_is_leaf(const struct graph_node *node, enum graph_op op)
{
    return node->op == op && node->phase == GRAPH_FORWARD && node->state_of == GRAPH_NONE;
}

int export_check_types(const struct scenario *scenario, const char *system, struct shd_error *err)
{
    const struct scenario_types *t = &scenario->types;
    const struct {
        const char *key;
        enum scenario_type type;
    } kept[] = {{"gradients", t->gradients}, {"moments", t->moments}, {"reduce", t->reduce}};

    if (!scenario->step.update || scenario->model.dtype == SHD_F32)
        return SHD_OK;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (scenario_type(scenario, kept[i].type) != SHD_F32)
            return shd_error_set(err, SHD_EUNSUPPORTED,
                                 "%s keeps and accumulates it in float32; expected types.%s "
                                 "float32, not %s",
                                 system, kept[i].key,
                                 shd_dtype_name(scenario_type(scenario, kept[i].type)));
    return SHD_OK;
}

void export_add_axes(struct text *out, const struct shd_mesh *mesh, const struct shd_dim_axes *dim)
{
    if (dim->naxes == 0)
        text_add(out, "None");
    if (dim->naxes > 1)
        text_add(out, "(");
    for (uint8_t i = 0; i < dim->naxes; i++) {
        text_add(out, i ? ", " : "");
        literal_add_python(out, shd_mesh_axis_name(mesh, dim->axes[i]));
    }
    if (dim->naxes > 1)
        text_add(out, ")");
}

void export_add_spec(struct text *out, const struct shd_sharding *sharding)
{
    size_t rank = sharding ? sharding->rank : 0;

    while (rank > 0 && sharding->dims[rank - 1].naxes == 0)
        rank--;
    text_add(out, "P(");
    for (size_t d = 0; d < rank; d++) {
        text_add(out, d ? ", " : "");
        export_add_axes(out, sharding->mesh, &sharding->dims[d]);
    }
    text_add(out, ")");
}

const struct shd_sharding *export_sharding(const struct export_layout *layout, uint32_t node)
{
    return layout->shardings->nodes[node];
}

int export_check_pieces(const struct export_layout *layout, const char *what, struct shd_error *err)
{
    for (uint32_t i = 0; i < layout->graph->nnodes; i++) {
        const struct graph_node *node = &layout->graph->nodes[i];
        const struct shd_sharding *sharding = export_sharding(layout, i);

        if (export_is_leaf(node, GRAPH_PARAM) && kern_is_whole(node->dtype))
            return shd_error_set(err, SHD_EUNSUPPORTED,
                                 "quantized storage of '%.60s' cannot be exported; expected "
                                 "lora.base compute",
                                 node->name);
        if (export_is_leaf(node, GRAPH_PARAM) && sharding && sharding->flat.naxes > 0)
            return shd_error_set(err, SHD_EUNSUPPORTED,
                                 "no dimension of '%.60s' is a multiple of %" PRId64 " shards, and "
                                 "%s cannot shard several dimensions; expected devices that divide "
                                 "one, or zero.stage below 3",
                                 node->name, shd_sharding_npieces(sharding), what);
    }
    return SHD_OK;
}

bool export_wants_gradient(const struct graph *graph, uint32_t node)
{
    bool updates = false;

    for (uint32_t i = 0; i < graph->noutputs; i++) {
        if (graph->outputs[i].kind == GRAPH_GRADIENT && graph->outputs[i].of == node)
            return true;
        updates |= graph->outputs[i].kind == GRAPH_NEXT;
    }
    return updates && graph->nodes[node].op == GRAPH_PARAM && !graph->nodes[node].frozen;
}

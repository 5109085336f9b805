/* Groups of devices that ops communicate in (op_seconds.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cost/op_seconds.h"

#include "program/row_nodes.h"

void op_seconds_find_axes(const struct op_seconds *s, uint8_t *axes, size_t naxes)
{
    if (s->mesh == s->program->mesh)
        return;
    for (size_t a = 0; a < naxes; a++)
        axes[a] =
            (uint8_t)shd_mesh_find_axis(s->mesh, shd_mesh_axis_name(s->program->mesh, axes[a]));
}

void op_seconds_group_along(struct hardware_group *out, const struct op_seconds *s, uint8_t *axes,
                            size_t naxes)
{
    op_seconds_find_axes(s, axes, naxes);
    hardware_group_of(out, s->hardware, s->mesh, axes, naxes);
}

void op_seconds_group(struct hardware_group *out, const struct op_seconds *s, uint32_t i)
{
    uint8_t axes[SHD_MESH_AXES_MAX];
    size_t naxes = program_op_axes(&s->program->ops[i], axes);

    op_seconds_group_along(out, s, axes, naxes);
}

void op_seconds_cross(struct op_seconds *s)
{
    const struct kern_routing *last = NULL;
    int64_t last_nodes = 0;
    double crossing = 0;

    for (uint32_t i = 0; i < s->program->nops && s->hardware->software.dispatches_by_node; i++) {
        const struct program_op *op = &s->program->ops[i];
        struct hardware_group group;
        int64_t nodes;

        if (s->hardware->by_models || op->kind != PROGRAM_ROWS || op->rows.way != PROGRAM_ROWS_DIRECT ||
            !program_communicates(op))
            continue;
        op_seconds_group(&group, s, i);
        nodes = group.members / group.inside[0];
        if (op->rows.routing != last || nodes != last_nodes)
            crossing = nodes > 1 ? program_nodes_of_choices(op, nodes) : 0;
        last = op->rows.routing;
        last_nodes = nodes;
        s->moves[i].crossing = crossing;
    }
}

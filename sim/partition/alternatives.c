/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/alternatives.h"

#include <stdlib.h>
#include <string.h>

#include "partition/emit.h"
#include "partition/place.h"
#include "partition/refine.h"

struct alternatives {
    const struct partition_request *request;
    struct placement placement;
    bool any; /* there is a choice to look at */
    bool failed; /* no memory */
};

/* What a step moves, and what one of its ops computes. */
struct outcome {
    uint128 bytes, flops;
    uint32_t nops; /* of that name: names need not be unique */
};

/* Emit the step as it stands and add up; false when it cannot be. */
static bool measure(struct outcome *out, struct alternatives *a, const char *name, uint8_t phase)
{
    struct program *program = program_create(a->request->mesh);
    int status = program ? emit_program(program, &a->placement, false, NULL) : SHD_ENOMEM;
    bool ok = status == SHD_OK;

    a->failed |= status == SHD_ENOMEM || price_failed(a->placement.price);
    *out = (struct outcome){0, 0, 0};
    for (uint32_t i = 0; ok && i < program->nops; i++) {
        const struct program_op *op = &program->ops[i];

        if (op->kind == PROGRAM_RESHARD)
            out->bytes += op->reshard.received_bytes;
        if (op->kind == PROGRAM_KERNEL && op->phase == phase && !strcmp(op->name, name)) {
            out->flops += op->dense_flops;
            out->nops++;
        }
    }
    program_destroy(program);
    return ok;
}

int alternatives_create(struct alternatives **out, const struct partition_request *request,
                        struct shd_error *err)
{
    struct alternatives *a = calloc(1, sizeof *a);
    struct refined refined;
    int status;

    if (!a)
        return shd_error_set(err, SHD_ENOMEM, "no memory for alternatives");
    a->request = request;
    status = refine_init(&refined, request, err);
    if (status == SHD_OK && !refined.mesh) {
        status = place_values(&a->placement, request, err);
        a->any = status == SHD_OK;
    }
    if (status == SHD_OK)
        shd_mesh_destroy(refined.mesh);
    if (status == SHD_OK)
        *out = a;
    else
        alternatives_destroy(a);
    return status;
}

void alternatives_destroy(struct alternatives *alternatives)
{
    if (alternatives && alternatives->any)
        placement_fini(&alternatives->placement);
    free(alternatives);
}

/* The op that became the kernel of that name; GRAPH_NONE where it was not free. */
static uint32_t find_node(const struct alternatives *a, const char *name, uint8_t phase)
{
    const struct graph *graph = a->placement.graph;

    for (uint32_t n = 0; n < graph->nnodes; n++) {
        if (placement_is_free(&a->placement, n) && (uint8_t)graph->nodes[n].phase == phase &&
            !strcmp(graph->nodes[n].name, name))
            return n;
    }
    return GRAPH_NONE;
}

/* Give a node another assignment, if it is a valid one; all else stays. */
static bool place_node(struct placement *placement, uint32_t node, const struct assign *assign)
{
    struct placement_node *n = &placement->nodes[node];
    const struct assigned assigned = {placement->graph, node, &n->rule, assign, placement->mesh};

    if (!assign_valid(&assigned))
        return false;
    n->assign = *assign;
    placement_settle(placement, node);
    return true;
}

/* The name of a factor: that of a dimension which it is. */
static const char *factor_name(const struct alternatives *a, uint32_t node, int factor,
                               bool *reduced)
{
    const struct graph *graph = a->placement.graph;
    const struct graph_node *n = &graph->nodes[node];
    const struct rule *rule = &a->placement.nodes[node].rule;

    *reduced = false;
    for (uint32_t d = 0; d < n->rank; d++)
        if (rule->result[0][d] == factor)
            return graph->dims[n->dims[d]].name;
    *reduced = true;
    for (uint32_t k = 0; k < n->ninputs; k++)
        for (uint32_t d = 0; d < graph->nodes[n->inputs[k]].rank; d++)
            if (rule->operand[k][d] == factor)
                return graph->dims[graph->nodes[n->inputs[k]].dims[d]].name;
    return NULL;
}

static bool try_place(struct alternatives *a, uint32_t node, const struct assign *was, uint8_t axis,
                      int place, const struct outcome *base, struct alternative *out)
{
    const struct graph_node *n = &a->placement.graph->nodes[node];
    struct assign assign = *was;
    struct outcome outcome;

    *out = (struct alternative){.axis = axis, .chosen = was->place[axis] == place, .work = 1};
    if (place >= 0) {
        out->dim = factor_name(a, node, place, &out->reduced);
        if (!out->dim)
            return false;
    }
    if (out->chosen)
        return true;
    assign.place[axis] = (int8_t)place;
    if (!place_node(&a->placement, node, &assign) ||
        !measure(&outcome, a, n->name, (uint8_t)n->phase))
        return false;
    if (outcome.bytes > base->bytes)
        out->more_bytes = outcome.bytes - base->bytes;
    else
        out->fewer_bytes = base->bytes - outcome.bytes;
    out->work = base->flops ? (double)outcome.flops / (double)base->flops : 1;
    return true;
}

bool alternatives_failed(const struct alternatives *alternatives)
{
    return alternatives->failed;
}

uint32_t alternatives_of(struct alternatives *alternatives, const char *name, uint8_t phase,
                         struct alternative out[ALTERNATIVES_MAX])
{
    struct alternatives *a = alternatives;
    uint32_t node = a->any ? find_node(a, name, phase) : GRAPH_NONE, n = 0;
    struct outcome base;
    struct assign was;

    if (node == GRAPH_NONE || !measure(&base, a, name, phase) || base.nops != 1)
        return 0;
    was = a->placement.nodes[node].assign;
    for (uint8_t axis = 0; axis < shd_mesh_naxes(a->request->mesh); axis++) {
        if (was.place[axis] == ASSIGN_PARTIAL)
            continue;
        for (int place = ASSIGN_NONE;
             place < (int)a->placement.nodes[node].rule.nfactors && n < ALTERNATIVES_MAX; place++)
            n += try_place(a, node, &was, axis, place, &base, &out[n]);
    }
    if (!place_node(&a->placement, node, &was))
        return 0;
    return n;
}

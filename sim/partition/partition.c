/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/partition.h"

#include <inttypes.h>
#include <stdlib.h>

#include "partition/beside.h"
#include "partition/bucket.h"
#include "partition/emit.h"
#include "partition/offload.h"
#include "partition/overlap.h"
#include "partition/place.h"
#include "partition/refine.h"
#include "program/valid.h"
#include "timetable/timetable.h"

/* A request to build: on the mesh asked for, or on a mesh with axes split.  If memory runs out,
 * what was built is left to partition_build(). */
struct target {
    struct pool *pool;
    const struct partition_request *asked;
    struct partition_request request; /* the same on the mesh built on */
    struct program_stages stages;
    struct refined refined; /* its mesh is NULL if no axis is split */
    uint32_t outer_axes; /* of the mesh built on: the axes between groups of neighbours */
    struct program *program, *smaller; /* the result, and a smaller candidate */
};

/* Keep the asked mesh in the program, so that texts name the user's axes. */
static void keep_asked_axes(struct program *program, const struct target *target)
{
    if (!target->refined.mesh)
        return;
    program->asked_mesh = target->asked->mesh;
    for (uint8_t a = 0; a < shd_mesh_naxes(target->asked->mesh); a++)
        for (uint8_t p = 0; p < target->refined.nparts[a]; p++)
            program->asked_axis[target->refined.first[a] + p] = a;
}

/* Whether the schedule computes gradients of weights as separate actions. */
static bool splits_backward(const struct program_stages *stages)
{
    const struct timetable *t = stages ? stages->timetable : NULL;

    for (size_t a = 0; t && a < timetable_nactions(t); a++)
        if (t->actions[a].kind == TIMETABLE_BACKWARD_WEIGHT)
            return true;
    return false;
}

/* Find the parts of the neighbours' axis that lie between groups of neighbours: the major parts. */
static int find_outer(struct target *target, struct shd_error *err)
{
    const struct partition_request *asked = target->asked;
    const struct refined *refined = &target->refined;
    uint8_t axis = asked->neighbours_axis;
    int32_t groups;

    if (asked->neighbours == 0)
        return SHD_OK;
    groups = shd_mesh_axis_size(asked->mesh, axis) / asked->neighbours;
    for (uint8_t p = 0; refined->mesh && p < refined->nparts[axis] && groups > 1; p++) {
        uint8_t part = (uint8_t)(refined->first[axis] + p);
        int32_t size = shd_mesh_axis_size(refined->mesh, part);

        groups = groups % size == 0 ? groups / size : 0;
        target->outer_axes |= UINT32_C(1) << part;
    }
    if (groups == 1)
        return SHD_OK;
    return shd_error_set(err, SHD_EUNSUPPORTED,
                         "zero.reshard_after_forward: groups of %d neighbours do not fit the parts "
                         "of '%s' that other arrays "
                         "are sharded over",
                         (int)asked->neighbours, shd_mesh_axis_name(asked->mesh, axis));
}

/* Set lifetimes and in-place updates, which depend on the order of ops.
 */
static int settle(struct program *program, uint32_t microbatches, struct shd_error *err)
{
    program->microbatches = microbatches;
    program_set_lifetimes(program);
    return program_update_in_place(program, err);
}

/* Build a program in *out, which is destroyed by partition_build() on errors. */
static int build(struct program **out, const struct target *target, struct placement *placement,
                 bool short_of_memory, struct shd_error *err)
{
    const struct partition_request *request = &target->request;
    const struct overlap_layers ahead = {request->prefetch_layers, request->offload_layers};
    struct pool *pool = target->pool;
    struct program *program = *out = program_create(request->mesh);
    int status;

    if (!program)
        pool_fail(pool);
    keep_asked_axes(program, target);
    program->nstages = request->stages ? request->graph->nstages : 1;
    status = emit_program(program, placement,
                          &(struct emit_opts){short_of_memory, splits_backward(request->stages),
                                              target->outer_axes},
                          err);
    if (status == SHD_OK && program->nstages > 1)
        status = program_sort_ops(program, err);
    if (status != SHD_OK)
        return status;
    program_ask_algos(program, request->algos);
    status = settle(program, request->graph->microbatches, err);
    if (status != SHD_OK)
        return status;
    bucket_collectives(program, pool);
    status = offload_build(program, pool, err);
    if (status != SHD_OK)
        return status;
    overlap_transfers(program, &ahead, pool);
    program_set_lifetimes(program);
    beside_products(program, pool);
    program_set_lifetimes(program);
    status = program_set_order(program, request->graph->microbatches, request->stages, err);
    if (status == SHD_OK)
        status = program_update_in_place(program, err);
    return status == SHD_OK ? program_check(program, err) : status;
}

static bool may_forget(const struct partition_request *request)
{
    return partition_values(request) == PARTITION_KEPT_IF_FITS ||
           request->params == PARTITION_KEPT_IF_FITS;
}

/* If the step exceeds the memory limit, rebuild it with values gathered again; keep the smaller
 * program. */
static int make_fit(struct target *t, struct placement *placement, struct shd_error *err)
{
    uint64_t limit = t->request.memory_bytes;
    struct program *first = t->program;
    int status;

    if (limit == 0 || !may_forget(&t->request) || program_peak_bytes(first) <= limit)
        return SHD_OK;
    status = build(&t->smaller, t, placement, true, err);
    if (status == SHD_OK && program_peak_bytes(t->smaller) < program_peak_bytes(first)) {
        t->program = t->smaller;
        t->smaller = first;
    }
    return status;
}

/* Note in the program what the search's limits left out. */
static void note_limits(struct program *program, const struct limits *limits)
{
    for (enum limit l = 0; l < LIMIT_COUNT; l++) {
        const char *note = program->note;

        if (limits->hits[l] == 0)
            continue;
        note = program_text(program, "%s%s %" PRIu64 " %s", note ? note : "the search left out",
                            note ? "," : "", limits->hits[l], limit_text(l));
        program->note = note;
    }
}

#define PADDED_TOLD 8 /* dimensions named in the note */

/* Note in the program which dimensions are padded. */
static void note_padding(struct program *program, const struct graph *graph)
{
    const char *before = program->note, *note = before;
    uint32_t npadded = 0;

    for (uint32_t d = 0; d < graph->ndims; d++) {
        const struct graph_dim *dim = &graph->dims[d];

        if (dim->held == dim->size || npadded++ >= PADDED_TOLD)
            continue;
        note = program_text(program, "%s%s%s %" PRId64 " to %" PRId64, note ? note : "",
                            npadded > 1 ? ", "
                            : before    ? "; padded with zeros: "
                                        : "padded with zeros: ",
                            dim->name, dim->held, dim->size);
    }
    if (npadded > PADDED_TOLD)
        note = program_text(program, "%s and %" PRIu32 " more", note, npadded - PADDED_TOLD);
    program->note = note;
}

/* Translate asked shardings to the refined mesh; `asked` and its entries may be NULL. */
static const struct shd_sharding *const *
refine_all(const struct target *t, const struct shd_sharding *const *asked, uint32_t n)
{
    struct shd_sharding *finer = pool_array(t->pool, n, sizeof *finer);
    const struct shd_sharding **pointers = pool_array(t->pool, n, sizeof *pointers);

    for (uint32_t i = 0; asked && i < n; i++) {
        if (!asked[i])
            continue;
        refine_sharding(&finer[i], &t->refined, asked[i]);
        pointers[i] = &finer[i];
    }
    return pointers;
}

static const uint32_t *refine_stored(const struct target *t, const uint32_t *stored, uint32_t n)
{
    uint32_t *finer = pool_array(t->pool, n, sizeof *finer);

    for (uint32_t i = 0; stored && i < n; i++)
        finer[i] = refine_axes(&t->refined, stored[i]);
    return stored ? finer : NULL;
}

/* Put the request on the refined mesh, which the program then owns. */
static void refine_request(struct target *t)
{
    const struct partition_request *asked = t->asked;

    t->request.mesh = t->refined.mesh;
    t->request.stored = refine_stored(t, asked->stored, asked->graph->nnodes);
    if (asked->stages) {
        t->stages = *asked->stages;
        t->stages.axis = t->refined.first[t->stages.axis];
        t->request.stages = &t->stages;
    }
    t->request.nodes = refine_all(t, asked->nodes, asked->graph->nnodes);
    t->request.outputs = refine_all(t, asked->outputs, asked->graph->noutputs);
}

/* Check that the axis of stages has as many coordinates as the timetable has ranks. */
static int check_stages(const struct partition_request *request, struct shd_error *err)
{
    const struct program_stages *s = request->stages;
    const char *name;
    int32_t size;

    if (!s)
        return SHD_OK;
    name = shd_mesh_axis_name(request->mesh, (size_t)s->axis);
    size = shd_mesh_axis_size(request->mesh, (size_t)s->axis);
    if ((uint32_t)size != s->timetable->nranks || request->graph->nstages != s->timetable->nstages)
        return shd_error_set(
            err, SHD_EINVAL,
            "pipeline: a schedule of %u stages on %u ranks does not fit %u stages on '%s', "
            "which has %d devices",
            s->timetable->nstages, s->timetable->nranks, request->graph->nstages, name, (int)size);
    return SHD_OK;
}

/* Work of partition_build(), on a struct target. */
static int build_asked(void *target, struct shd_error *err)
{
    struct target *t = target;
    struct placement placement;
    int status = refine_init(&t->refined, t->pool, t->asked, err);

    if (status == SHD_OK && t->refined.mesh)
        refine_request(t);
    if (status == SHD_OK)
        status = find_outer(t, err);
    if (status == SHD_OK)
        status = place_values(&placement, t->pool, &t->request, err);
    if (status == SHD_OK)
        status = build(&t->program, t, &placement, false, err);
    if (status == SHD_OK)
        status = make_fit(t, &placement, err);
    if (status != SHD_OK)
        return status;
    note_limits(t->program, &placement.limits);
    note_padding(t->program, t->request.graph);
    if (t->program->failed)
        pool_fail(t->pool);
    return SHD_OK;
}

int partition_build(struct program **out, const struct partition_request *request,
                    struct shd_error *err)
{
    struct pool pool = {0};
    struct target target = {.pool = &pool, .asked = request, .request = *request};
    int status = graph_status(request->graph, err);

    if (status == SHD_OK)
        status = check_stages(request, err);
    if (status == SHD_OK)
        status = pool_try(&pool, build_asked, &target, err);
    pool_free(&pool);
    program_destroy(target.smaller);
    if (status == SHD_OK) {
        target.program->own_mesh = target.refined.mesh;
        *out = target.program;
        return SHD_OK;
    }
    program_destroy(target.program);
    shd_mesh_destroy(target.refined.mesh);
    return status;
}

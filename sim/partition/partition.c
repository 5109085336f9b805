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

/* A request to build: on the mesh asked for, or on a mesh with axes split. */
struct target {
    const struct partition_request *request;
    const struct refined *refined;     /* its mesh is NULL if no axis is split */
    const struct shd_mesh *asked_mesh; /* the mesh whose axis names users know */
    uint32_t outer_axes; /* of the mesh built on: the axes between groups of neighbours */
};

/* Keep the asked mesh in the program, so that texts name the user's axes. */
static void keep_asked_axes(struct program *program, const struct target *target)
{
    if (!target->refined->mesh)
        return;
    program->asked_mesh = target->asked_mesh;
    for (uint8_t a = 0; a < shd_mesh_naxes(target->asked_mesh); a++)
        for (uint8_t p = 0; p < target->refined->nparts[a]; p++)
            program->asked_axis[target->refined->first[a] + p] = a;
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
static int find_outer(struct target *target, const struct partition_request *asked,
                      struct shd_error *err)
{
    const struct refined *refined = target->refined;
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

static int build(struct program **out, const struct target *target, struct placement *placement,
                 bool short_of_memory, struct shd_error *err)
{
    const struct partition_request *request = target->request;
    const struct overlap_layers ahead = {request->prefetch_layers, request->offload_layers};
    struct program *program = program_create(request->mesh);
    int status;

    if (!program)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the program");
    keep_asked_axes(program, target);
    program->nstages = request->stages ? request->graph->nstages : 1;
    status = emit_program(program, placement,
                          &(struct emit_opts){short_of_memory, splits_backward(request->stages),
                                              target->outer_axes},
                          err);
    if (status == SHD_OK && program->nstages > 1)
        status = program_sort_ops(program, err);
    if (status != SHD_OK) {
        program_destroy(program);
        return status;
    }
    program_ask_algos(program, request->algos);
    status = settle(program, request->graph->microbatches, err);
    if (status == SHD_OK)
        status = bucket_collectives(program, err);
    if (status == SHD_OK)
        status = offload_build(program, err);
    if (status == SHD_OK)
        status = overlap_transfers(program, &ahead, err);
    if (status == SHD_OK) {
        program_set_lifetimes(program);
        status = beside_products(program, err);
    }
    if (status == SHD_OK) {
        program_set_lifetimes(program);
        status = program_set_order(program, request->graph->microbatches, request->stages, err);
    }
    if (status == SHD_OK)
        status = program_update_in_place(program, err);
    if (status == SHD_OK)
        status = program_check(program, err);
    if (status == SHD_OK)
        *out = program;
    else
        program_destroy(program);
    return status;
}

static bool may_forget(const struct partition_request *request)
{
    return partition_values(request) == PARTITION_KEPT_IF_FITS ||
           request->params == PARTITION_KEPT_IF_FITS;
}

/* If the step exceeds the memory limit, rebuild it with values gathered again; keep the smaller
 * program. */
static int make_fit(struct program **program, const struct target *target,
                    struct placement *placement, struct shd_error *err)
{
    uint64_t limit = target->request->memory_bytes;
    struct program *smaller;
    int status;

    if (limit == 0 || !may_forget(target->request) || program_peak_bytes(*program) <= limit)
        return SHD_OK;
    status = build(&smaller, target, placement, true, err);
    if (status != SHD_OK)
        return status;
    if (program_peak_bytes(smaller) < program_peak_bytes(*program)) {
        program_destroy(*program);
        *program = smaller;
    } else {
        program_destroy(smaller);
    }
    return SHD_OK;
}

/* Note in the program what the search's limits left out. */
static int note_limits(struct program *program, const struct limits *limits, struct shd_error *err)
{
    for (enum limit l = 0; l < LIMIT_COUNT; l++) {
        const char *note = program->note;

        if (limits->hits[l] == 0)
            continue;
        note = program_text(program, "%s%s %" PRIu64 " %s", note ? note : "the search left out",
                            note ? "," : "", limits->hits[l], limit_text(l));
        if (!note)
            return shd_error_set(err, SHD_ENOMEM, "no memory for the program");
        program->note = note;
    }
    return SHD_OK;
}

#define PADDED_TOLD 8 /* dimensions named in the note */

/* Note in the program which dimensions are padded. */
static int note_padding(struct program *program, const struct graph *graph, struct shd_error *err)
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
    return program->failed ? shd_error_set(err, SHD_ENOMEM, "no memory for the program") : SHD_OK;
}

static int build_on(struct program **out, const struct target *target, struct shd_error *err)
{
    struct program *program = NULL;
    struct placement placement;
    int status = place_values(&placement, target->request, err);

    if (status != SHD_OK)
        return status;
    status = build(&program, target, &placement, false, err);
    if (status == SHD_OK)
        status = make_fit(&program, target, &placement, err);
    if (status == SHD_OK)
        status = note_limits(program, &placement.limits, err);
    if (status == SHD_OK)
        status = note_padding(program, target->request->graph, err);
    placement_fini(&placement);
    if (status == SHD_OK)
        *out = program;
    else
        program_destroy(program);
    return status;
}

/* Translate asked shardings to the refined mesh; `asked` and its entries may be NULL. */
static const struct shd_sharding **refine_all(struct shd_sharding *storage,
                                              const struct shd_sharding **pointers,
                                              const struct refined *refined,
                                              const struct shd_sharding *const *asked, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        pointers[i] = NULL;
        if (!asked || !asked[i])
            continue;
        refine_sharding(&storage[i], refined, asked[i]);
        pointers[i] = &storage[i];
    }
    return pointers;
}

static const uint32_t *refine_stored(uint32_t *storage, const struct refined *refined,
                                     const uint32_t *stored, uint32_t n)
{
    for (uint32_t i = 0; stored && i < n; i++)
        storage[i] = refine_axes(refined, stored[i]);
    return stored ? storage : NULL;
}

/* Build on the refined mesh, which the program then owns. */
static int build_refined(struct program **out, const struct partition_request *request,
                         const struct refined *refined, struct shd_error *err)
{
    uint32_t nnodes = request->graph->nnodes, noutputs = request->graph->noutputs;
    size_t n = (size_t)nnodes + noutputs;
    struct shd_sharding *storage = calloc(n, sizeof *storage);
    const struct shd_sharding **pointers = calloc(n, sizeof *pointers);
    uint32_t *stored = calloc((size_t)nnodes + 1, sizeof *stored);
    struct partition_request finer = *request;
    struct program_stages stages;
    struct target target = {&finer, refined, request->mesh, 0};
    int status;

    if (storage && pointers && stored) {
        finer.mesh = refined->mesh;
        finer.stored = refine_stored(stored, refined, request->stored, nnodes);
        if (request->stages) {
            stages = *request->stages;
            stages.axis = refined->first[stages.axis];
            finer.stages = &stages;
        }
        finer.nodes = refine_all(storage, pointers, refined, request->nodes, nnodes);
        finer.outputs =
            refine_all(storage + nnodes, pointers + nnodes, refined, request->outputs, noutputs);
        status = find_outer(&target, request, err);
        if (status == SHD_OK)
            status = build_on(out, &target, err);
    } else {
        status = shd_error_set(err, SHD_ENOMEM, "no memory to partition %u ops", nnodes);
    }
    free(storage);
    free(pointers);
    free(stored);
    return status;
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

int partition_build(struct program **out, const struct partition_request *request,
                    struct shd_error *err)
{
    struct refined refined;
    int status = graph_status(request->graph, err);

    if (status == SHD_OK)
        status = check_stages(request, err);
    if (status == SHD_OK)
        status = refine_init(&refined, request, err);
    if (status != SHD_OK)
        return status;
    if (!refined.mesh) {
        struct target target = {request, &refined, request->mesh, 0};

        status = find_outer(&target, request, err);
        return status == SHD_OK ? build_on(out, &target, err) : status;
    }
    status = build_refined(out, request, &refined, err);
    if (status == SHD_OK)
        (*out)->own_mesh = refined.mesh;
    else
        shd_mesh_destroy(refined.mesh);
    return status;
}

/* Finding the classes of devices that a program treats alike (classes.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "program/classes.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "program/row_nodes.h"
#include "program/rows.h"

/* ---- what depends on which axes ---- */

/* The axes that an exchange step (boxes fetched) moves data along.  None for a shift, in which all
 * devices move alike. */
static uint32_t exchanged_axes(const struct shd_reshard_step *step)
{
    uint8_t along[SHD_MESH_AXES_MAX];
    size_t n = step->shift > 0 ? 0 : shd_reshard_step_axes(step, along);
    uint32_t axes = 0;

    for (size_t i = 0; i < n; i++)
        axes |= UINT32_C(1) << along[i];
    return axes;
}

uint32_t program_moves_axes(const struct program *program, const struct program_op *op)
{
    const struct coll_algo *algo;
    struct coll_shape call;
    uint32_t axes = 0;

    if (!program_communicates(op) || op->kind == PROGRAM_SEND || op->kind == PROGRAM_RECV)
        return 0;
    if (op->kind == PROGRAM_ROWS)
        return program_rows_moves_axes(program, op);
    algo = program_algo(program, op, &call);
    if (!algo)
        return exchanged_axes(&op->reshard);
    if (algo->alike(&call, 0) == call.nmembers)
        return 0;
    for (uint8_t a = 0; a < op->reshard.naxes; a++)
        axes |= UINT32_C(1) << op->reshard.axes[a];
    return axes;
}

bool program_moves_alike(const struct program *program, const struct program_op *a,
                         const struct program_op *b)
{
    const struct shd_reshard_step *x = &a->reshard, *y = &b->reshard;
    const struct program_buffer *from = &program->buffers[a->inputs[0]];
    const struct program_buffer *to = &program->buffers[b->inputs[0]];
    struct coll_shape x_call, y_call;

    if (a->kind != b->kind || (program->rank_of_stage && program->rank_of_stage[a->stage] !=
                                                             program->rank_of_stage[b->stage]))
        return false;
    if (a->kind == PROGRAM_ROWS && a->rows.way == PROGRAM_ROWS_BETWEEN)
        return b->rows.way == PROGRAM_ROWS_BETWEEN && program_nodes_move_alike(program, a, b);
    if (a->kind == PROGRAM_ROWS)
        return program_rows_moves_alike(program, a, b);
    if (a->kind != PROGRAM_RESHARD)
        return false;
    if (x->kind != y->kind || x->shift != y->shift || x->dim != y->dim ||
        memcmp(&x->reach, &y->reach, sizeof x->reach) != 0 || from->dtype != to->dtype ||
        !shd_sharding_equal(&x->from, &y->from) || !shd_sharding_equal(&x->to, &y->to) ||
        x->naxes != y->naxes || memcmp(x->axes, y->axes, sizeof x->axes) != 0 ||
        memcmp(x->near, y->near, sizeof x->near) != 0)
        return false;
    if (program_algo(program, a, &x_call) && program_algo(program, b, &y_call))
        return x_call.count == y_call.count;
    return memcmp(from->shape, to->shape, sizeof from->shape) == 0;
}

/* ---- cuts ---- */

/* Start a segment of an axis at a coordinate.  Starts stay ascending; their array has a power of
 * two of entries. */
static int add_cut(struct program_classes *c, uint8_t axis, int32_t coord)
{
    uint32_t low = 0, n = c->nsegments[axis], high = n;
    int32_t *starts = c->starts[axis];

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (starts[middle] < coord)
            low = middle + 1;
        else
            high = middle;
    }
    if (starts[low] == coord)
        return SHD_OK;
    if (!array_make_room(&c->starts[axis], (size_t)n + 1, sizeof *starts))
        return SHD_ENOMEM;
    starts = c->starts[axis];
    memmove(starts + low + 1, starts + low, (n + 1 - low) * sizeof *starts);
    starts[low] = coord;
    c->nsegments[axis]++;
    return SHD_OK;
}

/* Cut axes so that members below `member` and members from `member` on are in different boxes.  A
 * member's number has one digit per axis, the first the most significant.  The last nonzero digit
 * needs one cut, at the digit itself; each digit before it needs a cut on both sides, since an
 * equal digit leaves the order to the later ones. */
static int cut_at(struct program_classes *c, const uint8_t *axes, uint8_t naxes, uint32_t member)
{
    bool last = true;
    int status = SHD_OK;

    for (uint8_t i = naxes; i-- > 0 && status == SHD_OK;) {
        uint32_t size = (uint32_t)shd_mesh_axis_size(c->program->mesh, axes[i]);
        int32_t digit = (int32_t)(member % size);

        member /= size;
        if (last && digit == 0)
            continue;
        status = add_cut(c, axes[i], digit);
        if (status == SHD_OK && !last)
            status = add_cut(c, axes[i], digit + 1);
        last = false;
    }
    return status;
}

static int cut_scheduled(struct program_classes *c, const struct program_op *op)
{
    struct coll_shape call;
    const struct coll_algo *algo = program_algo(c->program, op, &call);
    int status = SHD_OK;

    for (uint32_t m = 0, next; m < call.nmembers && status == SHD_OK; m = next) {
        next = algo->alike(&call, m);
        if (next < call.nmembers && (algo->received(&call, m) != algo->received(&call, next) ||
                                     algo->sent(&call, m) != algo->sent(&call, next)))
            status = cut_at(c, op->reshard.axes, op->reshard.naxes, next);
    }
    return status;
}

/* Two figures of a device's share in an op. */
typedef struct program_moved (*figures_fn)(const struct program *program,
                                           const struct program_op *op, int32_t position);

static struct program_moved flops_of(const struct program *program, const struct program_op *op,
                                     int32_t position)
{
    return (struct program_moved){program_op_flops(program, op, position), 0};
}

/* The position whose coordinates on the masked axes encode `n`, the last axis the least
 * significant; coordinates on the other axes are 0. */
static int32_t position_along(const struct shd_mesh *mesh, uint32_t axes, size_t n)
{
    int32_t coords[SHD_MESH_AXES_MAX] = {0};

    for (size_t a = shd_mesh_naxes(mesh); a-- > 0;) {
        size_t size = (size_t)shd_mesh_axis_size(mesh, a);

        if (!(axes >> a & 1))
            continue;
        coords[a] = (int32_t)(n % size);
        n /= size;
    }
    return shd_mesh_position(mesh, coords);
}

/* Whether figures differ between coordinate `coord` of an axis and the one before, at any
 * coordinates of the other axes.  `figures` has `n` entries, in runs of `inner` for each of the
 * axis's `size` coordinates. */
static bool differs_before(const struct program_moved *figures, size_t n, size_t inner, size_t size,
                           size_t coord)
{
    for (size_t outer = 0; outer < n; outer += inner * size) {
        const struct program_moved *here = figures + outer + coord * inner;

        if (memcmp(here, here - inner, inner * sizeof *here) != 0)
            return true;
    }
    return false;
}

/* Cut the masked axes where an op's figures differ, by evaluating every coordinate. */
static int cut_by_figures(struct program_classes *c, const struct program_op *op, uint32_t axes,
                          figures_fn figures_of)
{
    const struct shd_mesh *mesh = c->program->mesh;
    struct program_moved *figures;
    size_t n = (size_t)shd_mesh_size_along(mesh, axes), inner = 1;
    int status = SHD_OK;

    figures = malloc(n * sizeof *figures);
    if (!figures)
        return SHD_ENOMEM;
    for (size_t i = 0; i < n; i++)
        figures[i] =
            figures_of(c->program, op, program_doer(c->program, op, position_along(mesh, axes, i)));
    for (size_t a = shd_mesh_naxes(mesh); a-- > 0;) {
        size_t size = (size_t)shd_mesh_axis_size(mesh, a);

        if (!(axes >> a & 1))
            continue;
        for (size_t i = 1; i < size && status == SHD_OK; i++)
            if (differs_before(figures, n, inner, size, i))
                status = add_cut(c, (uint8_t)a, (int32_t)i);
        inner *= size;
    }
    free(figures);
    return status;
}

/* ---- the classes of a program ---- */

/* Count an op that moves bytes.  `*is_new` is set if no earlier op moves the same bytes. */
static int add_moves(struct program_classes *c, uint32_t i, bool *is_new)
{
    const struct program_op *ops = c->program->ops;

    *is_new = false;
    for (uint32_t k = 0; k < c->nmoves; k++)
        if (program_moves_alike(c->program, &ops[c->moves[k].op], &ops[i])) {
            c->moves[k].times += ops[i].times;
            return SHD_OK;
        }
    if (!array_make_room(&c->moves, c->nmoves, sizeof *c->moves))
        return SHD_ENOMEM;
    c->moves[c->nmoves++] =
        (struct program_moves){i, ops[i].times, program_moves_axes(c->program, &ops[i])};
    *is_new = true;
    return SHD_OK;
}

/* Whether two ops' kernels get equal offsets on every device. */
static bool same_offsets(const struct program *program, const struct program_op *a,
                         const struct program_op *b)
{
    for (uint32_t k = 0; k < a->noffsets; k++) {
        const struct program_buffer *x = &program->buffers[a->offsets[k].buffer];
        const struct program_buffer *y = &program->buffers[b->offsets[k].buffer];

        if (a->offsets[k].dim != b->offsets[k].dim ||
            x->shape[a->offsets[k].dim] != y->shape[b->offsets[k].dim] ||
            memcmp(&x->sharding.dims[a->offsets[k].dim], &y->sharding.dims[b->offsets[k].dim],
                   sizeof x->sharding.dims[0]) != 0)
            return false;
    }
    return a->noffsets == b->noffsets;
}

/* Whether two kernels have equal flops on every device: their description is the same. */
static bool work_alike(const struct program *program, const struct program_op *a,
                       const struct program_op *b)
{
    if (a->kernel != b->kernel || a->noffsets != b->noffsets ||
        (program->rank_of_stage &&
         program->rank_of_stage[a->stage] != program->rank_of_stage[b->stage]))
        return false;
    return a->desc == b->desc && same_offsets(program, a, b);
}

/* Count an op whose flops depend on `axes`.  `*is_new` is set if no earlier op has the same
 * flops. */
static int add_works(struct program_classes *c, uint32_t i, uint32_t axes, bool *is_new)
{
    const struct program_op *ops = c->program->ops;

    *is_new = false;
    for (uint32_t k = 0; k < c->nworks; k++)
        if (work_alike(c->program, &ops[c->works[k].op], &ops[i])) {
            c->works[k].times += ops[i].times;
            return SHD_OK;
        }
    if (!array_make_room(&c->works, c->nworks, sizeof *c->works))
        return SHD_ENOMEM;
    c->works[c->nworks++] = (struct program_works){i, ops[i].times, axes};
    *is_new = true;
    return SHD_OK;
}

static int refine(struct program_classes *c, uint32_t i)
{
    const struct program_op *op = &c->program->ops[i];
    uint32_t axes = program_flops_axes(c->program, op);
    bool is_new;
    int status;

    if (axes) {
        status = add_works(c, i, axes, &is_new);
        return status == SHD_OK && is_new ? cut_by_figures(c, op, axes, flops_of) : status;
    }
    if (!program_communicates(op))
        return SHD_OK;
    status = add_moves(c, i, &is_new);
    if (status != SHD_OK || !is_new)
        return status;
    axes = c->moves[c->nmoves - 1].axes;
    if (program_coll_kind(op) >= 0)
        return axes ? cut_scheduled(c, op) : SHD_OK;
    return axes ? cut_by_figures(c, op, axes, program_moved) : SHD_OK;
}

static int whole_axes(struct program_classes *c)
{
    for (size_t a = 0; a < shd_mesh_naxes(c->program->mesh); a++) {
        c->starts[a] = malloc(2 * sizeof *c->starts[a]);
        if (!c->starts[a])
            return SHD_ENOMEM;
        c->nsegments[a] = 1;
        c->starts[a][0] = 0;
        c->starts[a][1] = shd_mesh_axis_size(c->program->mesh, a);
    }
    return SHD_OK;
}

static void count_classes(struct program_classes *c)
{
    c->nclasses = 1;
    for (size_t a = 0; a < shd_mesh_naxes(c->program->mesh); a++)
        c->nclasses *= c->nsegments[a];
}

int program_classes_create(struct program_classes **out, const struct program *program,
                           struct shd_error *err)
{
    struct program_classes *c = calloc(1, sizeof *c);
    int status = SHD_ENOMEM;

    if (c) {
        c->program = program;
        status = whole_axes(c);
    }
    /* Ranks of a pipeline do different ops. */
    for (uint32_t r = 1; r < program->nranks && status == SHD_OK; r++)
        status = add_cut(c, (uint8_t)program->stage_axis, (int32_t)r);
    for (uint32_t i = 0; i < program->nops && status == SHD_OK; i++)
        status = refine(c, i);
    if (status != SHD_OK) {
        program_classes_destroy(c);
        return shd_error_set(err, status, "no memory for the classes of %d devices",
                             (int)shd_mesh_size(program->mesh));
    }
    count_classes(c);
    *out = c;
    return SHD_OK;
}

int program_classes_single_out(struct program_classes *c, int32_t position, struct shd_error *err)
{
    int status = SHD_OK;

    for (size_t a = 0; a < shd_mesh_naxes(c->program->mesh) && status == SHD_OK; a++) {
        int32_t coord = shd_mesh_coord(c->program->mesh, position, a);

        status = add_cut(c, (uint8_t)a, coord);
        if (status == SHD_OK)
            status = add_cut(c, (uint8_t)a, coord + 1);
    }
    count_classes(c);
    if (status != SHD_OK)
        return shd_error_set(err, status, "no memory to single out device %d", (int)position);
    return SHD_OK;
}

void program_classes_destroy(struct program_classes *classes)
{
    if (!classes)
        return;
    for (size_t a = 0; a < SHD_MESH_AXES_MAX; a++)
        free(classes->starts[a]);
    free(classes->moves);
    free(classes->works);
    free(classes);
}

struct program_class program_classes_get(const struct program_classes *classes, uint32_t i)
{
    const struct shd_mesh *mesh = classes->program->mesh;
    struct program_class class = {.ndevices = 1};

    for (size_t a = shd_mesh_naxes(mesh); a-- > 0;) {
        const int32_t *segment = &classes->starts[a][i % classes->nsegments[a]];

        i /= classes->nsegments[a];
        class.start[a] = segment[0];
        class.size[a] = segment[1] - segment[0];
        class.ndevices *= class.size[a];
    }
    class.first = shd_mesh_position(mesh, class.start);
    return class;
}

struct program_class program_class_of_device(const struct program *program, int32_t position)
{
    struct program_class class = {.first = position, .ndevices = 1};

    shd_mesh_coords(program->mesh, position, class.start);
    for (size_t a = 0; a < shd_mesh_naxes(program->mesh); a++)
        class.size[a] = 1;
    return class;
}

uint32_t program_classes_find(const struct program_classes *classes, int32_t position)
{
    uint32_t class = 0;

    for (size_t a = 0; a < shd_mesh_naxes(classes->program->mesh); a++) {
        int32_t coord = shd_mesh_coord(classes->program->mesh, position, a);
        uint32_t low = 0, high = classes->nsegments[a];

        while (low + 1 < high) { /* invariant: low <= segment < high */
            uint32_t middle = low + (high - low) / 2;

            if (classes->starts[a][middle] <= coord)
                low = middle;
            else
                high = middle;
        }
        class = class * classes->nsegments[a] + low;
    }
    return class;
}

uint32_t program_classes_project(const struct program_classes *classes, uint32_t i, uint32_t axes)
{
    uint32_t stride = 1, projected = 0;

    for (size_t a = shd_mesh_naxes(classes->program->mesh); a-- > 0;) {
        projected += axes >> a & 1 ? i % classes->nsegments[a] * stride : 0;
        i /= classes->nsegments[a];
        stride *= classes->nsegments[a];
    }
    return projected;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "trial/steps.h"

#include <math.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <shd/group.h>

#include "coll/coll.h"
#include "kern/convert.h"
#include "kern/error.h"
#include "kern/nest.h"
#include "trial/replay_sum.h"

#define BLOCK 256

/* All devices judge all ops where that is this many floating-point operations and elements or less,
 * some tenths of a second of a core.  Where it is more, every so many-th judges, from op to op others, but
 * never fewer than JUDGES_LEAST, so that the second run costs a few times the first, not a hundred
 * times. */
#define WORK_MAX (UINT64_C(1) << 28)
#define JUDGES_LEAST 16
#define WORK_OF_OP 4096 /* what it takes to judge an op of nothing */

struct steps {
    const struct program *program;
    const void *const **shards;    /* [device][buffer]; each device's own array, known from the
                                      first op on */
    struct kern_difference *found; /* [device][op] */
    bool *judged;                  /* [op], written by the first device that judges it */
    int32_t stride;                /* from one device that judges an op to the next */
    atomic_bool failed;            /* there was no memory */
};

static uint64_t nelems(const struct program_buffer *b)
{
    return b->bytes / shd_dtype_size(b->dtype);
}

static double *zeros(uint64_t n)
{
    return calloc(n + 1, sizeof(double));
}

/* Compare a shard with what it is to be. */
static void judge(const struct steps *s, int32_t device, uint32_t op, uint32_t buffer,
                  const double *want, const double *allowed)
{
    static const int64_t start[PROGRAM_RANK_MAX] = {0};
    const struct program_buffer *b = &s->program->buffers[buffer];

    kern_compare(b->dtype, b->rank, b->local, start, b->local, s->shards[device][buffer], want,
                 allowed, &s->found[(size_t)device * s->program->nops + op]);
}

/* What a 16-bit array holds of a value that may be `off` before it is stored is one of a few numbers,
 * mostly of one: the least to the greatest that it is rounded to. */
static void allow_rounded(enum shd_dtype dtype, double *value, double off, double *allowed)
{
    double least = kern_round(dtype, *value - off), most = kern_round(dtype, *value + off);

    *value = (least + most) / 2;
    *allowed = (most - least) / 2;
}

/* Variances of what a step does before it stores, to what may be off from `values`, which may be
 * moved to the middle of that. */
static void allow(double *variances, double *values, const struct program_buffer *b, bool kept)
{
    enum shd_dtype computed = b->dtype == SHD_F64 ? SHD_F64 : SHD_F32;

    for (uint64_t i = 0; i < nelems(b); i++) {
        double off = KERN_ERROR_ALLOWED * sqrt(variances[i]);

        if (variances[i] == (double)INFINITY)
            continue; /* left open, whatever it is */
        if (!kept)
            off += kern_store_loss(computed, values[i]);
        off *= KERN_ERROR_SLACK;
        if (!isfinite(values[i]))
            variances[i] = 0; /* compared by place */
        else if (!(fabs(values[i]) + off <= kern_largest(b->dtype)))
            variances[i] = INFINITY;
        else if (computed == b->dtype)
            variances[i] = off;
        else
            allow_rounded(b->dtype, &values[i], off, &variances[i]);
    }
}

/* ---- arguments ---- */

static bool judge_fill(const struct steps *s, int32_t device, uint32_t i)
{
    const struct program_op *op = &s->program->ops[i];
    const struct program_buffer *b = &s->program->buffers[op->outputs[0]];
    double *want = zeros(nelems(b) + KERN_LANES);
    void *values = malloc(b->bytes + 1);
    int64_t offset[SHD_RANK_MAX];
    bool done = want && values;

    if (done) {
        shd_sharding_offset(&b->sharding, b->shape, device, offset);
        kern_fill(&op->source, b->dtype, b->rank, b->shape, offset, b->local, values);
        kern_load_f64(b->dtype, values, 1, (size_t)nelems(b), want);
        judge(s, device, i, op->outputs[0], want, NULL);
    }
    free(want);
    free(values);
    return done;
}

/* ---- kernels ---- */

/* A step done again in float64, on what it read. */
struct again {
    const void *in[PROGRAM_INPUTS_MAX];
    double *read[PROGRAM_INPUTS_MAX];    /* operands in float64; NULL: as it is */
    double *values[PROGRAM_OUTPUTS_MAX]; /* results */
    double *variances[PROGRAM_OUTPUTS_MAX];
    void *workspace;
};

static bool again_init(struct again *a, const struct steps *s, int32_t device,
                       const struct program_op *op, uint64_t workspace_bytes)
{
    const struct program_buffer *buffers = s->program->buffers;

    a->workspace = malloc(workspace_bytes + 1);
    if (!a->workspace)
        return false;
    for (uint32_t k = 0; k < op->ninputs; k++) {
        const struct program_buffer *b = &buffers[op->inputs[k]];

        a->in[k] = s->shards[device][op->inputs[k]];
        if (b->dtype == SHD_I32)
            continue;
        if (!(a->read[k] = zeros(nelems(b) + KERN_LANES)))
            return false;
        kern_load_f64(b->dtype, a->in[k], 1, (size_t)nelems(b), a->read[k]);
        a->in[k] = a->read[k];
    }
    for (uint32_t k = 0; k < op->noutputs; k++) {
        a->values[k] = zeros(nelems(&buffers[op->outputs[k]]));
        a->variances[k] = zeros(nelems(&buffers[op->outputs[k]]));
        if (!a->values[k] || !a->variances[k])
            return false;
    }
    return true;
}

static void again_fini(struct again *a)
{
    for (uint32_t k = 0; k < PROGRAM_INPUTS_MAX; k++)
        free(a->read[k]);
    for (uint32_t k = 0; k < PROGRAM_OUTPUTS_MAX; k++) {
        free(a->values[k]);
        free(a->variances[k]);
    }
    free(a->workspace);
}

static void offsets_of(const struct steps *s, int32_t device, const struct program_op *op,
                       int64_t offsets[KERN_OFFSETS_MAX])
{
    for (uint32_t k = 0; k < op->noffsets; k++) {
        const struct program_buffer *b = &s->program->buffers[op->offsets[k].buffer];
        int64_t start[SHD_RANK_MAX];

        shd_sharding_offset(&b->sharding, b->shape, device, start);
        offsets[k] = start[op->offsets[k].dim];
    }
}

static bool judge_kernel(const struct steps *s, int32_t device, uint32_t i)
{
    static const double *const exact[PROGRAM_INPUTS_MAX] = {NULL};
    const struct program_op *op = &s->program->ops[i];
    const struct program_buffer *b = &s->program->buffers[op->outputs[0]];
    union kern_desc desc = op->desc;
    int64_t offsets[KERN_OFFSETS_MAX] = {0};
    struct again a = {.workspace = NULL};
    void *out[PROGRAM_OUTPUTS_MAX];
    const struct kern_args *args;
    /* Inside a kernel of 16-bit arrays all is float32. */
    enum shd_dtype computed = b->dtype == SHD_F64 ? SHD_F64 : SHD_F32;
    struct kern_error error = {
        .variances = exact, .out = a.variances, .type = computed, .parts = 1};
    bool done;

    desc.map.dtype = SHD_F64; /* every description begins with its type */
    done = again_init(&a, s, device, op,
                      op->kernel->workspace_bytes ? op->kernel->workspace_bytes(&desc) : 0);
    for (uint32_t k = 0; k < op->noutputs; k++)
        out[k] = a.values[k];
    offsets_of(s, device, op, offsets);
    args = &(const struct kern_args){a.in, out, a.workspace, offsets, 1};
    error.args = args;
    if (done)
        op->kernel->run(&desc, args);
    done = done && op->kernel->error(&desc, &error);
    for (uint32_t k = 0; k < op->noutputs && done; k++) {
        allow(a.variances[k], a.values[k], &s->program->buffers[op->outputs[k]], error.kept);
        judge(s, device, i, op->outputs[k], a.values[k], a.variances[k]);
    }
    again_fini(&a);
    return done;
}

/* ---- steps between shardings ---- */

/* What the shards that there were make of one that there is to be. */
struct gathering {
    const struct program_buffer *in, *out;
    int64_t offset[PROGRAM_RANK_MAX]; /* of the result in the whole */
    double *want;                     /* the sum, or what is moved */
    bool combines; /* parts; else each element comes from one shard */
    bool in_order; /* parts are added in the order of the group, each partial sum rounded */
    double *squares, *sizes; /* sums of the squares and of the absolute values of the parts */
};

static uint32_t replica_axes(const struct shd_sharding *s)
{
    return ~(shd_sharding_axes(s) | s->partial);
}

/* Whether a device's shard counts at another: where both are partial still, and of replicas, it is
 * the one in its own place. */
static bool counts(const struct shd_sharding *from, const struct shd_sharding *to, int32_t device,
                   int32_t other)
{
    uint32_t own = (from->partial & to->partial) | replica_axes(from);

    for (size_t a = 0; a < shd_mesh_naxes(from->mesh); a++)
        if ((own >> a & 1) &&
            shd_mesh_coord(from->mesh, device, a) != shd_mesh_coord(from->mesh, other, a))
            return false;
    return true;
}

/* An axis along which a result becomes parts: all but the first device have zeros. */
static bool is_masked(const struct shd_sharding *from, const struct shd_sharding *to,
                      int32_t device)
{
    uint32_t more = to->partial & ~from->partial;

    for (size_t a = 0; a < shd_mesh_naxes(from->mesh); a++)
        if ((more >> a & 1) && shd_mesh_coord(from->mesh, device, a) != 0)
            return true;
    return false;
}

static double combine(enum shd_reduce_op op, double a, double b)
{
    if (op == SHD_MAX)
        return a > b || isnan(a) ? a : b;
    if (op == SHD_MIN)
        return a < b || isnan(a) ? a : b;
    return a + b;
}

/* A run of elements of a shard, beside what there is of the result. */
static void add_run(struct gathering *g, int64_t at, int64_t step, const double *x, int64_t n)
{
    double sum[BLOCK + KERN_LANES];

    for (int64_t j = 0; j < n; j++) {
        sum[j] = x[j];
        if (g->combines)
            sum[j] = combine((enum shd_reduce_op)g->in->sharding.partial_op,
                             g->want[at + j * step], x[j]);
        g->squares[at + j * step] += x[j] * x[j];
        g->sizes[at + j * step] += fabs(x[j]);
    }
    if (g->in_order) {
        alignas(double) char stored[BLOCK * sizeof(double)];

        kern_store_f64(g->in->dtype, stored, 1, (size_t)n, sum);
        kern_load_f64(g->in->dtype, stored, 1, (size_t)n, sum);
    }
    for (int64_t j = 0; j < n; j++)
        g->want[at + j * step] = sum[j];
}

/* The part of another device's shard that lies in the result. */
static void add_shard(struct gathering *g, int32_t other, const void *shard)
{
    const struct program_buffer *in = g->in, *out = g->out;
    struct kern_nest nest = {.narrays = 2};
    int64_t there[SHD_RANK_MAX], to = 0, from = 0, to_stride = 1, from_stride = 1;
    int64_t strides[PROGRAM_RANK_MAX][2], extent[PROGRAM_RANK_MAX];
    struct kern_walk walk;
    double x[BLOCK + KERN_LANES];

    shd_sharding_offset(&in->sharding, in->shape, other, there);
    for (uint32_t d = out->rank; d-- > 0;) {
        int64_t start = there[d] > g->offset[d] ? there[d] : g->offset[d];
        int64_t end = there[d] + in->local[d], own_end = g->offset[d] + out->local[d];

        extent[d] = (end < own_end ? end : own_end) - start;
        if (extent[d] <= 0)
            return;
        to += (start - g->offset[d]) * to_stride;
        from += (start - there[d]) * from_stride;
        strides[d][0] = to_stride;
        strides[d][1] = from_stride;
        to_stride *= out->local[d];
        from_stride *= in->local[d];
    }
    for (uint32_t d = 0; d < out->rank; d++)
        kern_nest_add(&nest, extent[d], strides[d]);
    kern_walk_init(&walk, &nest, 0);
    for (int64_t left = kern_nest_count(&nest), n; left > 0; left -= n) {
        int64_t stride = nest.ndims ? nest.stride[1][nest.ndims - 1] : 1;
        int64_t to_step = nest.ndims ? nest.stride[0][nest.ndims - 1] : 1;

        n = kern_walk_run(&walk) < BLOCK ? kern_walk_run(&walk) : BLOCK;
        kern_load_f64(in->dtype,
                      (const char *)shard +
                          (size_t)(from + walk.offset[1]) * shd_dtype_size(in->dtype),
                      stride, (size_t)n, x);
        add_run(g, to + walk.offset[0], to_step, x, n);
        kern_walk_advance(&walk, n);
    }
}

/* The roundings of a sum of n parts, each partial sum kept in the array's own type: at worst each
 * loses a roundoff of all that there is, and rarely so much as if they were independent. */
static void allow_sum(struct gathering *g, double n)
{
    double roundoff = kern_store_roundoff(g->out->dtype);

    for (uint64_t i = 0; i < nelems(g->out); i++) {
        double likely =
            KERN_ERROR_ALLOWED * roundoff * sqrt(n * (g->squares[i] + g->want[i] * g->want[i]));
        double worst = (n - 1) * roundoff * g->sizes[i];
        double least = kern_store_loss(g->out->dtype, 0) * n;

        g->squares[i] = (worst < likely ? worst : likely) * KERN_ERROR_SLACK + least;
        if (!isfinite(g->want[i]))
            g->squares[i] = 0;
        else if (g->sizes[i] + g->squares[i] > kern_largest(g->out->dtype))
            g->squares[i] = INFINITY;
    }
}

/* The devices whose shards a step may take, in the order in which the default algorithms of
 * collectives combine them: a group's; of a step that has none, all. */
static struct shd_groups sources(const struct shd_reshard_step *step)
{
    struct shd_groups groups;
    uint8_t all[SHD_MESH_AXES_MAX];
    size_t nall = shd_mesh_naxes(step->from.mesh);

    for (size_t a = 0; a < nall; a++)
        all[a] = (uint8_t)a;
    if (shd_groups_init(&groups, step->from.mesh, step->naxes ? step->axes : all,
                        step->naxes ? step->naxes : nall, NULL) != SHD_OK)
        abort(); /* they are axes of the mesh, each once */
    return groups;
}

static void add_shards(struct gathering *g, const struct steps *s, int32_t device,
                       const struct program_op *op, uint32_t part)
{
    const struct shd_sharding *from = &g->in->sharding, *to = &g->out->sharding;
    struct shd_groups groups = sources(&op->reshard);
    int32_t group = shd_groups_find(&groups, device);

    if (is_masked(from, to, device))
        return;
    for (int32_t m = 0; m < groups.nmembers; m++) {
        int32_t other = shd_groups_position(&groups, group, m);

        if (counts(from, to, device, other))
            add_shard(g, other, s->shards[other][op->inputs[part]]);
    }
}

static bool judge_part(const struct steps *s, int32_t device, uint32_t i, uint32_t part)
{
    const struct program_op *op = &s->program->ops[i];
    const struct program_buffer *buffers = s->program->buffers;
    struct gathering g = {.in = &buffers[op->inputs[part]], .out = &buffers[op->outputs[part]]};
    const struct shd_sharding *from = &g.in->sharding, *to = &g.out->sharding;
    uint32_t summed = from->partial & ~to->partial;
    bool adds = summed && from->partial_op != SHD_MAX && from->partial_op != SHD_MIN;
    uint64_t n = nelems(g.out);
    struct coll_shape shape;
    double nparts = 1;
    bool done;

    g.want = zeros(n);
    g.squares = zeros(n);
    g.sizes = zeros(n);
    done = g.want && g.squares && g.sizes;
    g.combines = summed != 0;
    g.in_order = adds && program_algo(s->program, op, &shape) ==
                             coll_find((enum coll_kind)program_coll_kind(op), NULL);
    for (size_t a = 0; a < shd_mesh_naxes(from->mesh); a++)
        nparts *= summed >> a & 1 ? shd_mesh_axis_size(from->mesh, a) : 1;
    for (uint64_t j = 0; j < n && summed && !adds && done; j++)
        g.want[j] = from->partial_op == SHD_MAX ? -INFINITY : INFINITY;
    shd_sharding_offset(to, g.out->shape, device, g.offset);
    if (done)
        add_shards(&g, s, device, op, part);
    if (done && adds && !g.in_order)
        allow_sum(&g, nparts);
    if (done)
        judge(s, device, i, op->outputs[part], g.want, adds && !g.in_order ? g.squares : NULL);
    if (done && adds && !g.in_order && replay_sum_serves(s->program, op)) {
        done = replay_sum(s->program, op, device, part, s->shards, g.want);
        if (done)
            judge(s, device, i, op->outputs[part], g.want, NULL);
    }
    free(g.want);
    free(g.squares);
    free(g.sizes);
    return done;
}

/* ---- all steps ---- */

static void judge_step(void *arg, int32_t device, uint32_t i, const void *const *shards)
{
    struct steps *s = arg;
    const struct program_op *op = &s->program->ops[i];
    bool done = true;

    if (!s->shards[device]) /* written at the first op, which is a fill, and only read where devices
                               meet */
        s->shards[device] = shards;
    if (((int64_t)device + i) % s->stride != 0)
        return;
    if (op->kind == PROGRAM_KERNEL && s->program->buffers[op->outputs[0]].dtype == SHD_I32)
        return;
    if (op->kind == PROGRAM_FILL)
        done = judge_fill(s, device, i);
    else if (op->kind == PROGRAM_KERNEL)
        done = judge_kernel(s, device, i);
    for (uint32_t k = 0; k < op->noutputs && op->kind == PROGRAM_RESHARD && done; k++)
        done = judge_part(s, device, i, k);
    if (!done)
        atomic_store(&s->failed, true);
    else if (device < s->stride)
        s->judged[i] = true;
}

static void fill_record(struct record *record, const struct steps *s)
{
    record->step = (struct record_check){.error = 0};
    record->nsteps = 0;
    for (uint32_t i = 0; i < s->program->nops; i++) {
        struct record_check check = record_check_of(record, s->found, s->program->nops, i);

        record->nsteps += s->judged[i];
        if (record->step.error > 1 || check.error <= record->step.error)
            continue;
        record->step = check;
        record->step.name = s->program->buffers[s->program->ops[i].outputs[0]].name;
        record->step_op = i;
    }
}

static int run_again(struct record *record, struct steps *s, const struct walk_opts *opts,
                     struct shd_error *err)
{
    struct walk_opts run = *opts;
    struct record *again;
    int status = record_create(&again, s->program, RECORD_EXECUTED, false, err);

    if (status != SHD_OK)
        return status;
    run.repeats = 1;
    run.finish = NULL;
    run.repeated = NULL; /* this run is not measured */
    run.inspect = judge_step;
    run.inspect_arg = s;
    status = walk_run(again, &run, err);
    record_destroy(again);
    if (status == SHD_OK && atomic_load(&s->failed))
        status = shd_error_set(err, SHD_ENOMEM, "no memory to judge the steps");
    if (status == SHD_OK)
        fill_record(record, s);
    return status;
}

/* What judging costs one device, in floating-point operations and elements. */
static uint64_t work_of_device(const struct program *program)
{
    uint64_t work = 0;

    for (uint32_t i = 0; i < program->nops && work < WORK_MAX; i++) {
        const struct program_op *op = &program->ops[i];

        work += WORK_OF_OP;
        if (op->kind == PROGRAM_KERNEL)
            work += op->dense_flops < WORK_MAX ? op->dense_flops : WORK_MAX;
        for (uint32_t k = 0; k < op->noutputs; k++)
            work += nelems(&program->buffers[op->outputs[k]]);
    }
    return work < WORK_MAX ? work : WORK_MAX;
}

static int32_t stride_of(const struct program *program)
{
    uint64_t ndevices = (uint64_t)shd_mesh_size(program->mesh);
    uint64_t wanted = ndevices * work_of_device(program) / WORK_MAX + 1;
    uint64_t most = (ndevices + JUDGES_LEAST - 1) / JUDGES_LEAST;

    return (int32_t)(wanted < most ? wanted : most);
}

int steps_verify(struct record *record, const struct walk_opts *opts, struct shd_error *err)
{
    size_t n = (size_t)record->ndevices, nops = record->program->nops;
    struct steps s = {.program = record->program,
                      .stride = stride_of(record->program)};
    int status;

    atomic_init(&s.failed, false);
    s.shards = calloc(n, sizeof *s.shards);
    s.found = calloc(n * nops + 1, sizeof *s.found);
    s.judged = calloc(nops + 1, sizeof *s.judged);
    if (s.shards && s.found && s.judged)
        status = run_again(record, &s, opts, err);
    else
        status = shd_error_set(err, SHD_ENOMEM, "no memory to judge the steps");
    free(s.shards);
    free(s.found);
    free(s.judged);
    return status;
}

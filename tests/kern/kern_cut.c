/* Tests kern/cut.h on every kernel op of random programs on one device, in float64 and in their
 * own type: parts of a kernel give the bits of the whole, and so do parts of its rule of errors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "kern/cut.h"
#include "kern/error.h"
#include "kern/nest.h"
#include "partition/partition.h"
#include "../support/random_program.h"
#include "../support/tap.h"
#include "trial/elements.h"
#include "run/walk/walk.h"

#define SEED 2302
#define NPROGRAMS 60

/* Kernels that can be cut, and how often they were. */
static struct seen {
    const struct kern_kernel *kernel;
    unsigned n, merged, apart;
} seen[] = {{&kern_kernel_einsum, 0, 0, 0},
            {&kern_kernel_map, 0, 0, 0},
            {&kern_kernel_reduce, 0, 0, 0},
            {&kern_kernel_attention, 0, 0, 0},
            {&kern_kernel_attention_grad, 0, 0, 0},
            {&kern_kernel_linear_attention, 0, 0, 0},
            {&kern_kernel_linear_attention_grad, 0, 0, 0},
            {&kern_kernel_rope, 0, 0, 0},
            {&kern_kernel_causal, 0, 0, 0},
            {&kern_kernel_embed, 0, 0, 0},
            {&kern_kernel_embed_grad, 0, 0, 0},
            {&kern_kernel_pick, 0, 0, 0},
            {&kern_kernel_pick_grad, 0, 0, 0},
            {&kern_kernel_repeat, 0, 0, 0},
            {&kern_kernel_repeat_sum, 0, 0, 0},
            {&kern_kernel_window, 0, 0, 0},
            {&kern_kernel_scan, 0, 0, 0},
            {&kern_kernel_taps, 0, 0, 0},
            {&kern_kernel_taps_sum, 0, 0, 0},
            {&kern_kernel_topk, 0, 0, 0},
            {&kern_kernel_slots, 0, 0, 0},
            {&kern_kernel_grouped, 0, 0, 0},
            {&kern_kernel_deal, 0, 0, 0}};

#define NSEEN (sizeof seen / sizeof *seen)

/* A finished op, and the variances of the errors of its operands. */
struct done {
    const struct program *program;
    const struct program_op *op;
    const void *const *shards;
    double *off[PROGRAM_INPUTS_MAX];
    double *off_out[PROGRAM_OUTPUTS_MAX];
    uint8_t marks[PROGRAM_INPUTS_MAX];
    double square;
    bool exact; /* the op has no rule of errors */
};

static const struct program_buffer *operand(const struct done *d, uint32_t k)
{
    return &d->program->buffers[d->op->inputs[k]];
}

static const struct program_buffer *result(const struct done *d, uint32_t k)
{
    return &d->program->buffers[d->op->outputs[k]];
}

/* Copy the rows of an array that belong to a part. */
static void *rows_of(const struct kern_cut *cut, const struct kern_cut_array *a, const void *whole,
                     uint64_t n, size_t size, int64_t first, int64_t count)
{
    size_t pitch = (size_t)(cut->rows * a->each * a->inner) * size;
    size_t length = (size_t)(count * a->each * a->inner) * size;
    size_t start = (size_t)(first * a->each * a->inner) * size;
    char *out = malloc(n * size + 1);

    if (!out || !whole) {
        free(out);
        return NULL;
    }
    if (a->each == 0)
        memcpy(out, whole, n * size);
    for (int64_t o = 0; o < a->outer && a->each > 0; o++)
        memcpy(out + (size_t)o * length, (const char *)whole + (size_t)o * pitch + start, length);
    return out;
}

static bool same_rows(const struct kern_cut *cut, const struct kern_cut_array *a, const void *whole,
                      const void *part, uint64_t n, size_t size, int64_t first, int64_t count)
{
    void *want = rows_of(cut, a, whole, n, size, first, count);
    bool is = want && !memcmp(want, part, (size_t)(a->outer * count * a->each * a->inner) * size);

    free(want);
    return is;
}

static bool run_rule(const struct done *d, const union kern_desc *desc,
                     const struct kern_args *args, const double *const *in, double *const *out,
                     const double *square)
{
    struct kern_error error = {.args = args,
                               .variances = in,
                               .out = out,
                               .type = SHD_F32,
                               .parts = 2,
                               .marks = d->marks,
                               .square = square};

    return d->op->kernel->error(desc, &error);
}

/* Run rows [first, first + count) and compare them with the same rows of the whole. */
static bool same_part(const struct done *d, const struct kern_cut *cut, int64_t first,
                      int64_t count)
{
    const struct program_op *op = d->op;
    const struct kern_kernel *kernel = op->kernel;
    union kern_desc desc = *op->desc;
    int64_t offsets[KERN_OFFSETS_MAX] = {0};
    const void *in[PROGRAM_INPUTS_MAX];
    const double *off[PROGRAM_INPUTS_MAX];
    void *out[PROGRAM_OUTPUTS_MAX], *workspace;
    double *off_out[PROGRAM_OUTPUTS_MAX];
    const struct kern_args args = {in, out, NULL, offsets, 1};
    struct kern_args with = args;
    bool is = true;

    kern_cut_part(kernel, &desc, cut, first, count, offsets);
    workspace = malloc((kernel->workspace_bytes ? kernel->workspace_bytes(&desc) : 0) + 1);
    with.workspace = workspace;
    for (uint32_t k = 0; k < op->ninputs; k++) {
        const struct program_buffer *b = operand(d, k);
        uint64_t n = elements_of(b);

        in[k] = rows_of(cut, &cut->in[k], d->shards[op->inputs[k]], n, shd_dtype_size(b->dtype),
                        first, count);
        off[k] = rows_of(cut, &cut->in[k], d->off[k], n, sizeof(double), first, count);
    }
    for (uint32_t k = 0; k < op->noutputs; k++) {
        out[k] = calloc(elements_of(result(d, k)) + 1, sizeof(double));
        off_out[k] = calloc(elements_of(result(d, k)) + 1, sizeof(double));
    }
    kernel->run(&desc, &with);
    if (!d->exact)
        is = run_rule(d, &desc, &with, off, off_out, &d->square);
    for (uint32_t k = 0; k < op->noutputs; k++) {
        const struct program_buffer *b = result(d, k);
        uint64_t n = elements_of(b);

        is = is && same_rows(cut, &cut->out[k], d->shards[op->outputs[k]], out[k], n,
                             shd_dtype_size(b->dtype), first, count);
        is = is && (d->exact || same_rows(cut, &cut->out[k], d->off_out[k], off_out[k], n,
                                          sizeof(double), first, count));
        free(out[k]);
        free(off_out[k]);
    }
    for (uint32_t k = 0; k < op->ninputs; k++) {
        free((void *)(uintptr_t)in[k]);
        free((void *)(uintptr_t)off[k]);
    }
    free(workspace);
    return is;
}

static void note(const struct program_op *op, const struct kern_cut *cut)
{
    for (size_t i = 0; i < NSEEN; i++)
        if (seen[i].kernel == op->kernel) {
            seen[i].n++;
            seen[i].merged += cut->merged != 0;
            seen[i].apart += cut->in[0].each > 0 && cut->in[0].outer > 1;
        }
}

static bool same_in_parts(const struct done *d, int64_t wanted, int64_t nparts)
{
    struct kern_cut cut = kern_cut_of(d->op->kernel, d->op->desc, wanted);

    if (cut.rows < nparts * cut.least)
        return true;
    note(d->op, &cut);
    for (int64_t i = 0; i < nparts; i++) {
        int64_t first = cut.rows * i / nparts, end = cut.rows * (i + 1) / nparts;

        if (!same_part(d, &cut, first, end - first)) {
            diag("%s of %s: rows %lld to %lld of %lld differ", d->op->kernel->name, d->op->name,
                 (long long)first, (long long)end, (long long)cut.rows);
            return false;
        }
    }
    return true;
}

/* Draw variances for two thirds of the operands, keep the others exact, and run the rule on the
 * whole. */
static bool find_variances(struct done *d, struct random *random)
{
    const struct program_op *op = d->op;
    const int64_t offsets[KERN_OFFSETS_MAX] = {0};
    const void *in[PROGRAM_INPUTS_MAX];
    void *out[PROGRAM_OUTPUTS_MAX], *workspace = malloc(op->workspace_bytes + 1);
    const struct kern_args args = {in, out, workspace, offsets, 1};
    bool done;
    int squared = op->kernel == &kern_kernel_map ? kern_map_squared(op->desc, 2) : -1;

    for (uint32_t k = 0; k < op->ninputs; k++) {
        const struct program_buffer *b = operand(d, k);
        uint64_t n = elements_of(b);

        in[k] = d->shards[op->inputs[k]];
        if (kern_is_whole(b->dtype))
            continue;
        d->off[k] = random_chance(random, 33) ? NULL : malloc((n + 1) * sizeof(double));
        for (uint64_t i = 0; i < n && d->off[k]; i++)
            d->off[k][i] = 1e-14 * random_below(random, 1000);
        d->marks[k] = kern_marks(in[k], d->off[k], n);
        if (squared == (int)k)
            d->square = kern_mean_square(in[k], n);
    }
    for (uint32_t k = 0; k < op->noutputs; k++) {
        out[k] = (void *)(uintptr_t)d->shards[op->outputs[k]];
        d->off_out[k] = calloc(elements_of(result(d, k)) + 1, sizeof(double));
    }
    done = run_rule(d, op->desc, &args, (const double *const *)d->off, d->off_out, NULL);
    free(workspace);
    return done;
}

struct watching {
    const struct program *program;
    struct random random;
    bool exact, failed;
};

/* A walk_observe_fn that cuts each op after it ran. */
static void watch(void *arg, int32_t position, uint32_t i, uint32_t microbatch,
                  const void *const *shards)
{
    struct watching *w = arg;
    struct done d = {.program = w->program, .op = &w->program->ops[i], .shards = shards};

    (void)microbatch;
    (void)position;
    if (d.op->kind != PROGRAM_KERNEL || d.op->accumulates || w->failed)
        return;
    d.exact = w->exact || kern_is_whole(result(&d, 0)->dtype);
    if (!d.exact && !find_variances(&d, &w->random))
        w->failed = true;
    for (int64_t nparts = 2; nparts <= 3 && !w->failed; nparts++)
        w->failed = !same_in_parts(&d, 1, nparts) || !same_in_parts(&d, 16 * nparts, nparts);
    for (uint32_t k = 0; k < d.op->ninputs; k++)
        free(d.off[k]);
    for (uint32_t k = 0; k < d.op->noutputs; k++)
        free(d.off_out[k]);
}

static bool same_in_type(const struct graph *graph, uint64_t seed, bool exact)
{
    struct watching w = {.random = {seed}, .exact = exact};
    struct walk_opts opts = {.observe = watch, .observe_arg = &w};
    struct partition_request request = {.graph = graph};
    struct shd_mesh *mesh = NULL;
    struct program *program = NULL;
    struct record *record = NULL;
    bool is = shd_mesh_create(&mesh, NULL, NULL, 0, NULL) == SHD_OK;

    request.mesh = mesh;
    is = is && partition_build(&program, &request, NULL) == SHD_OK;
    w.program = program;
    is = is && record_create(&record, program, RECORD_EXECUTED, false, NULL) == SHD_OK;
    is = is && walk_run(record, &opts, NULL) == SHD_OK && !w.failed;
    record_destroy(record);
    program_destroy(program);
    shd_mesh_destroy(mesh);
    return is;
}

static void test_program(struct random_program *p)
{
    struct graph *exact = graph_in_dtype(p->graph, SHD_F64);

    ok(exact && same_in_type(exact, p->seed, false) && same_in_type(p->graph, p->seed, true),
       "seed %llu: the parts of %u nodes have the bits of the whole", (unsigned long long)p->seed,
       p->graph->nnodes);
    graph_destroy(exact);
    random_program_destroy(p);
}

/* The cut of out[4][5][6] = in[4][5][6] + b, where b has its own strides. */
static struct kern_cut cut_of(const int64_t *b_stride, int64_t wanted)
{
    union kern_desc desc;

    memset(&desc, 0, sizeof desc);
    desc.map = (struct kern_map){.dtype = SHD_F32,
                                 .in_dtype = {SHD_F32, SHD_F32},
                                 .ndims = 3,
                                 .extent = {4, 5, 6},
                                 .out_stride = {30, 6, 1},
                                 .ninputs = 2,
                                 .in_stride = {{30, 6, 1}}};
    memcpy(desc.map.in_stride[1], b_stride, 3 * sizeof *b_stride);
    return kern_cut_of(&kern_kernel_map, &desc, wanted);
}

static void test_rows(void)
{
    static const int64_t same[] = {30, 6, 1}, row[] = {0, 6, 1}, column[] = {5, 1, 0};
    struct kern_cut cut = cut_of(same, 3);

    ok(cut.rows == 4 && cut.dim == 0 && cut.merged == 0, "rows: the outermost are enough");
    cut = cut_of(same, 4);
    ok(cut.rows == 4 && cut.dim == 0 && cut.merged == 0, "rows: exactly the wanted number");
    cut = cut_of(same, 20);
    ok(cut.rows == 20 && cut.dim == 1 && cut.merged == 1 && cut.in[1].inner == 6 &&
           cut.in[1].outer == 1,
       "rows: two dimensions, contiguous in all arrays");
    cut = cut_of(same, 1000);
    ok(cut.rows == 120 && cut.dim == 2 && cut.merged == 3, "rows: every element is a row");
    cut = cut_of(row, 20);
    ok(cut.rows == 30 && cut.dim == 2 && cut.merged == 2 && cut.in[1].each == 1 &&
           cut.in[1].outer == 1 && cut.in[0].outer == 4 && cut.in[0].inner == 1,
       "rows: inside the dimension that an operand lacks");
    cut = cut_of(column, 20);
    ok(cut.rows == 20 && cut.dim == 1 && cut.in[1].inner == 1 && cut.in[1].each == 1,
       "rows: the inner dimension, which an operand lacks, is left whole");
}

/* Kernels that cut one of two dimensions, of 4 and of 8, by a choice of their own. */
static void test_outermost(void)
{
    const union kern_desc window = {
        .window = {SHD_F32, 1, 4, 8, 3, {3}, {0}, {0}, {3}, {0}, {0}, 0, false}};
    const union kern_desc attention = {.attention = {.dtype = SHD_F32,
                                                     .batch = 4,
                                                     .queries = 2,
                                                     .keys = 2,
                                                     .heads = 8,
                                                     .kv_heads = 8,
                                                     .head_dim = 1,
                                                     .value_dim = 1,
                                                     .repeat = 1,
                                                     .blocks = 1}};

    ok(kern_cut_of(&kern_kernel_window, &window, 4).rows == 4 &&
           kern_cut_of(&kern_kernel_window, &window, 5).rows == 8,
       "rows: a window's outermost, where they are enough");
    ok(kern_cut_of(&kern_kernel_attention, &attention, 4).rows == 4 &&
           kern_cut_of(&kern_kernel_attention, &attention, 5).rows == 8,
       "rows: an attention's batch, where it is enough");
}

/* A nest of the dimensions [2][3][4] of an array, given inside out, and of another array with the
 * strides `other`: like the first one or transposed. */
static struct kern_nest nest_of(const int64_t other[3], uint32_t first)
{
    static const int64_t extent[] = {4, 1, 2, 3}, stride[] = {1, 77, 12, 4};
    struct kern_nest nest = {.narrays = 2};

    for (int d = 0, k = 0; d < 4; d++)
        kern_nest_add(&nest, extent[d],
                      (const int64_t[]){stride[d], extent[d] == 1 ? 5 : other[k++]});
    kern_nest_simplify(&nest, first);
    return nest;
}

static void test_nest(void)
{
    static const int64_t same[] = {1, 12, 4}, turned[] = {6, 1, 2}, none[] = {0, 0, 0};
    struct kern_nest nest = nest_of(same, 0);

    ok(nest.ndims == 1 && nest.extent[0] == 24 && nest.stride[0][0] == 1 && nest.stride[1][0] == 1,
       "nest: dimensions that are contiguous in all arrays are joined");
    nest = nest_of(turned, 0);
    ok(nest.ndims == 3 && nest.extent[0] == 2 && nest.extent[1] == 3 && nest.extent[2] == 4 &&
           nest.stride[0][0] == 12 && nest.stride[1][2] == 6,
       "nest: else the first array's strides fall");
    nest = nest_of(turned, 1);
    ok(nest.ndims == 3 && nest.extent[0] == 4 && nest.extent[1] == 3 && nest.extent[2] == 2 &&
           nest.stride[1][0] == 6 && nest.stride[0][2] == 12,
       "nest: or those of the second, if it is to come first");
    nest = nest_of(none, 1);
    ok(nest.ndims == 1 && nest.extent[0] == 24 && nest.stride[0][0] == 1 && nest.stride[1][0] == 0,
       "nest: ties go by the other array");
}

int main(void)
{
    plan(0);
    test_rows();
    test_outermost();
    test_nest();
    for (unsigned long i = 0; i < NPROGRAMS; i++)
        test_program(i % 4 ? random_layer_program(SEED + i) : random_ops_program(SEED + i));
    for (size_t i = 0; i < NSEEN; i++)
        ok(seen[i].n > 0, "%s was cut %u times: %u along several dimensions, %u inside an operand",
           seen[i].kernel->name, seen[i].n, seen[i].merged, seen[i].apart);
    return done();
}

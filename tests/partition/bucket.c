/* Tests partition/bucket.h on hand-written programs: reductions over a mesh of 4 that are joined
 * to larger ones.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "partition/bucket.h"
#include "../support/tap.h"

#define ARRAYS_MAX 12

/* An array that is partial before the step and reduced (or scattered) after it. */
struct array {
    int64_t size;
    enum shd_dtype dtype;
    enum shd_reduce_op op;
    bool scattered, read; /* read: by a slice that follows at once */
};

static struct shd_mesh *mesh;

static uint32_t buffer(struct program *p, const struct array *a, const struct shd_sharding *s)
{
    uint32_t id;

    if (program_add_buffer(&id, p, "a", a->dtype, &a->size, s, NULL) != SHD_OK)
        abort();
    return id;
}

static void add_op(struct program *p, const struct program_op *op)
{
    if (program_add_op(p, op, NULL) != SHD_OK)
        abort();
}

static void add_fill(struct program *p, uint32_t out)
{
    add_op(p, &(struct program_op){
                  .kind = PROGRAM_FILL, .name = "fill", .noutputs = 1, .outputs = {out}});
}

/* Add the one step from a sharding to another; returns its result. */
static uint32_t add_step(struct program *p, const struct array *a, uint32_t in,
                         const struct shd_sharding *to)
{
    struct program_op op = {.kind = PROGRAM_RESHARD, .phase = 1, .name = "sum", .why = "so"};
    struct shd_reshard_plan plan;

    if (shd_reshard_build(&plan, &p->buffers[in].sharding, to, &a->size, a->dtype, NULL) !=
            SHD_OK ||
        plan.nsteps != 1)
        abort();
    op.reshard = plan.steps[0];
    op.ninputs = op.noutputs = 1;
    op.inputs[0] = in;
    op.outputs[0] = buffer(p, a, to);
    add_op(p, &op);
    return op.outputs[0];
}

/* A program with a large buffer that comes and goes, after which each array is made and summed at
 * once. */
static struct program *new_program(const struct array *arrays, size_t n, int64_t large)
{
    const struct array big = {large, SHD_F32, SHD_SUM, false, false};
    struct program *p = program_create(mesh);
    struct shd_sharding partial, whole, shards;

    shd_sharding_init(&whole, mesh, 1);
    shards = whole;
    shards.dims[0].axes[shards.dims[0].naxes++] = 0;
    if (large > 0)
        add_fill(p, buffer(p, &big, &whole));
    for (size_t i = 0; i < n; i++) {
        uint32_t made, out;

        partial = whole;
        partial.partial = 1;
        partial.partial_op = (uint8_t)arrays[i].op;
        made = buffer(p, &arrays[i], &partial);
        add_fill(p, made);
        out = add_step(p, &arrays[i], made, arrays[i].scattered ? &shards : &whole);
        if (arrays[i].read)
            out = add_step(p, &arrays[i], out, &shards);
        if (program_add_result(p, PROGRAM_GRADIENT, "a", out, NULL) != SHD_OK)
            abort();
    }
    program_set_lifetimes(p);
    if (program_set_order(p, 1, NULL, NULL) != SHD_OK)
        abort();
    return p;
}

static uint32_t count_steps(const struct program *p, uint32_t *narrays)
{
    uint32_t n = 0;

    *narrays = 0;
    for (uint32_t i = 0; i < p->nops; i++)
        if (program_communicates(&p->ops[i])) {
            n++;
            *narrays += p->ops[i].ninputs;
        }
    return n;
}

static uint64_t received(const struct program *p)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < p->nops; i++)
        for (int32_t d = 0; d < shd_mesh_size(mesh); d++)
            bytes += program_moved(p, &p->ops[i], d).received;
    return bytes;
}

/* Whether every buffer is written once, before it is read. */
static bool is_sound(const struct program *p)
{
    bool *there = calloc(p->nbuffers, sizeof *there);
    bool good = true;

    for (uint32_t i = 0; i < p->nops; i++) {
        for (uint32_t k = 0; k < p->ops[i].ninputs; k++)
            good = good && there[p->ops[i].inputs[k]];
        for (uint32_t k = 0; k < p->ops[i].noutputs; k++) {
            good = good && !there[p->ops[i].outputs[k]];
            there[p->ops[i].outputs[k]] = true;
        }
    }
    for (uint32_t r = 0; r < p->nresults; r++)
        good = good && there[p->results[r].buffer];
    free(there);
    return good;
}

static void bucket(struct program *p)
{
    struct pool pool = {0};

    bucket_collectives(p, &pool);
    pool_free(&pool);
}

static void expect(const char *what, const struct array *arrays, size_t n, int64_t large,
                   uint32_t want)
{
    struct program *before = new_program(arrays, n, large);
    struct program *p = new_program(arrays, n, large);
    uint32_t narrays, nbefore, steps;

    bucket(p);
    ok(program_set_order(p, 1, NULL, NULL) == SHD_OK, "%s: merged", what);
    steps = count_steps(p, &narrays);
    if (!ok(steps == want, "%s: %u collectives", what, want))
        diag("there are %u", steps);
    count_steps(before, &nbefore);
    ok(narrays == nbefore && is_sound(p), "%s: every array is still summed, before it is read",
       what);
    ok(received(p) == received(before), "%s: the same bytes", what);
    ok(program_peak_bytes(p) <= program_peak_bytes(before), "%s: no more memory", what);
    program_destroy(before);
    program_destroy(p);
}

static void test_alike(void)
{
    struct array a[ARRAYS_MAX];

    for (size_t i = 0; i < ARRAYS_MAX; i++)
        a[i] = (struct array){(int64_t)(100 + i), SHD_F32, SHD_SUM, false, false};
    expect("three sums", a, 3, 10000, 1);
    expect("at most 8 arrays", a, ARRAYS_MAX, 10000, 2);
    a[1].read = true;
    a[1].size = 104;
    expect("one is read at once", a, 3, 10000, 2);
    a[1].read = false;
    a[1].dtype = SHD_F64;
    expect("another type between", a, 3, 10000, 2);
    a[1].dtype = SHD_F32;
    a[1].op = SHD_MAX;
    expect("another reduction between", a, 3, 10000, 2);
    a[1].op = SHD_SUM;
    a[1].scattered = true;
    expect("another collective between", a, 3, 10000, 2);
    a[0].size = 8;
    a[0].scattered = true;
    expect("two that are scattered, and another", a, 3, 10000, 2);
}

static void test_limits(void)
{
    const struct array even = {1000, SHD_F32, SHD_SUM, false, false};
    const struct array large = {BUCKET_BYTES_MAX / 8, SHD_F32, SHD_SUM, false, false};
    const struct array a[3] = {even, even, even}, b[3] = {large, large, large};
    struct program *p;

    expect("no memory for two at a time", a, 2, 0, 2);
    expect("memory for two at a time", a, 2, 4000, 1);
    expect("memory for two, but not for three", a, 3, 5000, 2);
    expect("bytes for two at a time", b, 3, 1 << 30, 2);
    p = new_program(a, 3, 10000);
    bucket(p);
    ok(!strcmp(p->ops[p->nops - 1].name, "sum and 2 more") &&
           !strcmp(p->ops[p->nops - 1].why, "so; with it: 2 more arrays"),
       "three arrays: the step is named for the last, with its reason, and says how many more");
    program_destroy(p);
    p = new_program(a, 2, 10000);
    bucket(p);
    ok(!strcmp(p->ops[p->nops - 1].why, "so; with it: so"), "two arrays: with both reasons");
    program_destroy(p);
}

int main(void)
{
    const char *names[] = {"dp"};
    const int32_t sizes[] = {4};

    plan(0);
    if (shd_mesh_create(&mesh, names, sizes, 1, NULL) != SHD_OK)
        return 1;
    test_alike();
    test_limits();
    shd_mesh_destroy(mesh);
    return done();
}

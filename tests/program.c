/* What program/program.h promises: buffers, lifetimes, peaks and bytes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "program/program.h"

#include <stdlib.h>
#include <string.h>

#include "tap.h"

static struct program *new_program(struct shd_mesh **mesh)
{
    const char *const names[] = {"dp", "tp"};
    const int32_t sizes[] = {2, 4};
    struct program *program;

    if (shd_mesh_create(mesh, names, sizes, 2, NULL) != SHD_OK ||
        !(program = program_create(*mesh)))
        abort();
    return program;
}

/* A float32 array [8, n] with the axis (-1: none) on its first dimension. */
static uint32_t add_buffer(struct program *p, int64_t n, int axis)
{
    const int64_t shape[2] = {8, n};
    struct shd_sharding s;
    uint32_t buffer;

    shd_sharding_init(&s, p->mesh, 2);
    if (axis >= 0)
        s.dims[0] = (struct shd_dim_axes){1, {(uint8_t)axis}};
    if (program_add_buffer(&buffer, p, "array", SHD_F32, shape, &s, NULL) != SHD_OK)
        abort();
    return buffer;
}

static void add_op(struct program *p, enum program_op_kind kind, uint32_t in, uint32_t out)
{
    struct program_op op = {.kind = kind, .name = "op", .noutputs = 1, .outputs = {out}};

    if (in != PROGRAM_NONE) {
        op.ninputs = 2;
        op.inputs[0] = op.inputs[1] = in;
    }
    op.workspace_bytes = kind == PROGRAM_KERNEL ? 100 : 0;
    if (program_add_op(p, &op, NULL) != SHD_OK)
        abort();
}

static void test_buffers(void)
{
    struct shd_mesh *mesh;
    struct program *p = new_program(&mesh);
    uint32_t whole = add_buffer(p, 3, -1), cut = add_buffer(p, 3, 1), none = 99;
    const int64_t shape[2] = {6, 3}, huge[2] = {INT64_C(1) << 40, INT64_C(1) << 40};
    const int64_t deep[PROGRAM_RANK_MAX + 1] = {0};
    struct shd_sharding s;
    struct shd_error err;

    ok(p->buffers[whole].bytes == 96 && p->buffers[whole].local[0] == 8, "a whole array's shard");
    ok(p->buffers[cut].bytes == 24 && p->buffers[cut].local[0] == 2 &&
           p->buffers[cut].shape[0] == 8,
       "a cut array's shard");
    shd_sharding_init(&s, mesh, 2);
    s.dims[0] = (struct shd_dim_axes){1, {1}};
    ok(program_add_buffer(&none, p, "odd", SHD_F32, shape, &s, &err) == SHD_EINDIVISIBLE &&
           strstr(err.text, "'odd'") && none == 99 && p->nbuffers == 2,
       "an array that does not divide is named, and nothing is added");
    ok(program_add_buffer(&none, p, "huge", SHD_F32, huge, &s, &err) == SHD_ERANGE,
       "an array of too many bytes");
    shd_sharding_init(&s, mesh, PROGRAM_RANK_MAX + 1);
    ok(program_add_buffer(&none, p, "deep", SHD_F32, deep, &s, &err) == SHD_ERANGE &&
           strstr(err.text, "'deep'"),
       "an array of too many dimensions");
    program_destroy(p);
    program_destroy(NULL);
    shd_mesh_destroy(mesh);
}

/* argument -> a -> b (unread) and a -> c (the result) */
static void test_lifetimes(void)
{
    struct shd_mesh *mesh;
    struct program *p = new_program(&mesh);
    uint32_t argument = add_buffer(p, 1, -1), a = add_buffer(p, 10, -1), b = add_buffer(p, 100, -1);
    uint32_t c = add_buffer(p, 2, -1), dead[PROGRAM_DEAD_MAX];

    p->buffers[argument].argument = true;
    add_op(p, PROGRAM_FILL, PROGRAM_NONE, argument);
    add_op(p, PROGRAM_KERNEL, argument, a);
    add_op(p, PROGRAM_KERNEL, a, b);
    add_op(p, PROGRAM_KERNEL, a, c);
    if (program_add_result(p, PROGRAM_OUTPUT, "c", c, NULL) != SHD_OK)
        abort();
    program_set_lifetimes(p);
    if (program_set_order(p, 1, NULL, NULL) != SHD_OK)
        abort();
    ok(p->buffers[a].first_op == 1 && p->buffers[a].last_op == 3, "written by, last read by");
    ok(p->buffers[b].last_op == 2, "what nobody reads ends with the op that wrote it");
    ok(p->buffers[argument].last_op == 4 && p->buffers[c].last_op == 4,
       "arguments and results stay to the end");
    ok(program_dead_buffers(p, 2, dead) == 1 && dead[0] == b, "ends with op 2: what it wrote");
    ok(program_dead_buffers(p, 3, dead) == 1 && dead[0] == a,
       "ends with op 3: what it read last, once");
    ok(program_dead_buffers(p, 1, dead) == 0, "ends with op 1: nothing");
    ok(program_peak_bytes(p) == 32 + 320 + 3200 + 100, "the peak, workspace counted");
    program_destroy(p);
    shd_mesh_destroy(mesh);
}

/* The one step from a sharding by `from` to one by `to` (an axis, or -1) of a buffer [8, 4]. */
static const struct program_op *add_step(struct program *p, int from, int to)
{
    uint32_t in = add_buffer(p, 4, from), out = add_buffer(p, 4, to);
    struct program_op op = {.kind = PROGRAM_RESHARD, .name = "op", .ninputs = 1, .noutputs = 1};
    struct shd_reshard_plan plan;

    if (shd_reshard_build(&plan, &p->buffers[in].sharding, &p->buffers[out].sharding,
                          p->buffers[in].shape, SHD_F32, NULL) != SHD_OK ||
        plan.nsteps != 1)
        abort();
    op.inputs[0] = in;
    op.outputs[0] = out;
    op.reshard = plan.steps[0];
    if (program_add_op(p, &op, NULL) != SHD_OK)
        abort();
    return &p->ops[p->nops - 1];
}

static bool add_transfer(void *arg, int32_t source, uint64_t bytes)
{
    uint128 *from = arg;

    from[source] += bytes;
    return true;
}

static void test_traffic(void)
{
    struct shd_mesh *mesh;
    struct program *p = new_program(&mesh);
    const struct program_op *op = add_step(p, 1, -1);
    uint128 from[8] = {0};
    struct coll_shape shape;

    ok(!strcmp(program_step_name(op), "all-gather") && program_communicates(op) &&
           program_coll_kind(op) == COLL_ALL_GATHER,
       "a gather is a collective");
    ok(program_algo(p, op, &shape) == coll_find(COLL_ALL_GATHER, NULL) && shape.nmembers == 4 &&
           shape.count == 8,
       "its algorithm is the default, its shape the group's");
    p->algos[COLL_ALL_GATHER] = coll_find(COLL_ALL_GATHER, "ring");
    ok(program_algo(p, op, &shape) == p->algos[COLL_ALL_GATHER], "or the one that was asked for");
    program_transfers(p, op, 5, add_transfer, from);
    ok(program_moved(p, op, 5).received == 96 && program_moved(p, op, 5).sent == 96 &&
           from[4] == 96,
       "around a ring all bytes come from one neighbour");
    p->algos[COLL_ALL_GATHER] = NULL;
    memset(from, 0, sizeof from);
    program_transfers(p, op, 5, add_transfer, from);
    ok(program_moved(p, op, 5).received == 96 && program_received_by_all(p, op) == 8 * 96 &&
           from[4] == 32 && from[5] == 0 && from[6] == 32 && from[7] == 32 && from[0] == 0,
       "directly a part comes from each of the group");
    op = add_step(p, -1, 0);
    ok(!strcmp(program_step_name(op), "slice") && !program_communicates(op) &&
           program_coll_kind(op) == -1 && !program_algo(p, op, &shape) &&
           program_moved(p, op, 3).received == 0 && program_received_by_all(p, op) == 0,
       "a slice moves nothing");
    op = add_step(p, 0, 1);
    memset(from, 0, sizeof from);
    program_transfers(p, op, 0, add_transfer, from);
    program_transfers(p, op, 2, add_transfer, from);
    ok(!strcmp(program_step_name(op), "exchange") && program_communicates(op) &&
           program_coll_kind(op) == -1 && program_moved(p, op, 0).received == 0 &&
           program_moved(p, op, 2).received == 32 && from[6] == 32,
       "an exchange moves what a device lacks");
    program_destroy(p);
    shd_mesh_destroy(mesh);
}

static void test_texts(void)
{
    struct shd_mesh *mesh;
    struct program *p = new_program(&mesh);

    ok(!strcmp(program_text(p, "%s %d", "text", 7), "text 7"), "a text that the program keeps");
    ok(!strcmp(program_kind_name(PROGRAM_FILL), "fill") &&
           !strcmp(program_kind_name(PROGRAM_RESHARD), "reshard"),
       "names of kinds");
    program_destroy(p);
    shd_mesh_destroy(mesh);
}

int main(void)
{
    plan(0);
    test_buffers();
    test_lifetimes();
    test_traffic();
    test_texts();
    return done();
}

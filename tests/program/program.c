/* Tests program/program.h: buffers, lifetimes, peaks of memory, received bytes, the order of ops,
 * and updates in place.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "program/program.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "../support/tap.h"
#include "timetable/timetable.h"

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

/* Add a float32 array [8, n] whose first dimension is sharded by the axis (-1: by none). */
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
       "the shard of a sharded array");
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
    ok(p->buffers[a].first_op == 1 && p->buffers[a].last_op == 3,
       "first_op writes a buffer, last_op reads it last");
    ok(p->buffers[b].last_op == 2, "an unread buffer ends with the op that wrote it");
    ok(p->buffers[argument].last_op == 4 && p->buffers[c].last_op == 4,
       "arguments and results stay to the end");
    ok(program_dead_buffers(p, 2, dead) == 1 && dead[0] == b, "op 2 frees its unread result");
    ok(program_dead_buffers(p, 3, dead) == 1 && dead[0] == a,
       "op 3, the last reader, frees the buffer once");
    ok(program_dead_buffers(p, 1, dead) == 0, "ends with op 1: nothing");
    ok(program_peak_bytes(p) == 32 + 320 + 3200 + 100, "the peak, workspace counted");
    program_destroy(p);
    shd_mesh_destroy(mesh);
}

/* Add the one step that reshards a buffer [8, 4] from axis `from` to axis `to` (-1: replicated). */
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
       "the algorithm is the default, the shape is the group's");
    p->algos[COLL_ALL_GATHER] = coll_find(COLL_ALL_GATHER, "ring");
    ok(program_algo(p, op, &shape) == p->algos[COLL_ALL_GATHER], "or the requested algorithm");
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

/* ---- the order of a step ---- */

/* Add an op of a part and stage that reads one buffer (PROGRAM_NONE: none) and writes another. */
static uint32_t add_part(struct program *p, enum program_part part, uint32_t stage, uint32_t in)
{
    uint32_t out = add_buffer(p, 1, -1);
    struct program_op op = {.kind = PROGRAM_KERNEL, .name = "op", .part = (uint8_t)part};

    op.stage = stage;
    op.ninputs = in != PROGRAM_NONE;
    op.inputs[0] = in;
    op.noutputs = 1;
    op.outputs[0] = out;
    op.kernel = &kern_kernel_map;
    op.dense_flops = 1;
    if (program_add_op(p, &op, NULL) != SHD_OK)
        abort();
    return out;
}

/* Add a message from a stage to the stage on the next rank, through a channel. */
static uint32_t add_message(struct program *p, enum program_part part, uint32_t stage,
                            uint32_t channel, uint32_t in)
{
    uint32_t out = add_buffer(p, 1, -1);
    struct program_op op = {.kind = PROGRAM_SEND, .name = "op", .part = (uint8_t)part};

    op.stage = stage;
    op.ninputs = 1;
    op.inputs[0] = in;
    op.channel = channel;
    if (program_add_op(p, &op, NULL) != SHD_OK)
        abort();
    op = (struct program_op){.kind = PROGRAM_RECV, .name = "op", .part = (uint8_t)part};
    op.stage = part == PROGRAM_FORWARD ? stage + 1 : stage - 1;
    op.noutputs = 1;
    op.outputs[0] = out;
    op.channel = channel;
    if (program_add_op(p, &op, NULL) != SHD_OK)
        abort();
    return out;
}

/* The actions of a rank: "3:1" is op 3 for microbatch 1, '(' marks the begin of a segment for a
 * microbatch, and '!' a segment that was not run before. */
static const char *walked(const struct program *p, uint32_t rank, struct text *out)
{
    struct program_walk walk = program_walk_begin(p, rank);
    struct program_action a;

    while (program_walk_next(&walk, &a))
        text_addf(out, "%s%u:%u%s", a.begins ? " (" : " ", a.op, a.microbatch, a.first ? "!" : "");
    return text_get(out);
}

static void walks(const struct program *p, uint32_t rank, const char *want, const char *what)
{
    struct text out = TEXT_INIT;
    const char *found = walked(p, rank, &out);

    if (!ok(!strcmp(found, want), "order: %s", what))
        diag("%s, not %s", found, want);
    text_fini(&out);
}

/* A step with ops of all parts, one after the other. */
static void test_parts(void)
{
    struct shd_mesh *mesh;
    struct program *p = new_program(&mesh);
    uint32_t argument = add_part(p, PROGRAM_ARGUMENTS, 0, PROGRAM_NONE), start[2], x, sum;
    uint64_t base[8];

    p->ops[0].kind = PROGRAM_FILL;
    p->ops[0].part = PROGRAM_ARGUMENTS;
    p->buffers[argument].argument = true;
    start[0] = add_part(p, PROGRAM_START, 0, argument);
    start[1] = add_part(p, PROGRAM_START, 0, start[0]);
    x = add_part(p, PROGRAM_FORWARD, 0, start[1]);
    sum = add_part(p, PROGRAM_BACKWARD, 0, x);
    p->ops[4].accumulates = true;
    add_part(p, PROGRAM_UPDATE, 0, sum);
    program_set_lifetimes(p);
    if (program_set_order(p, 1, NULL, NULL) != SHD_OK)
        abort();
    walks(p, 0, " (1:0! 2:0! 3:0! 4:0! 5:0!", "one microbatch: all ops in one pass");
    if (program_set_order(p, 3, NULL, NULL) != SHD_OK)
        abort();
    walks(p, 0, " (1:0! 2:0! (3:0! 4:0! (3:1 4:1 (3:2 4:2 (5:2!",
          "three microbatches: ops before, per microbatch, and after");
    ok(p->ops[1].times == 1 && p->ops[3].times == 3 && p->ops[5].times == 1 &&
           program_nactions(p, 0) == 9 && program_number_actions(p, 0, base) == 9 &&
           base[0] == UINT64_MAX && base[1] == 0 && base[3] == 2 && base[4] == 5 && base[5] == 8,
       "order: actions are numbered by op and microbatch");
    ok(p->buffers[start[0]].last_op == 2 && p->buffers[start[1]].last_op == p->nops &&
           p->buffers[x].last_op == 4,
       "lifetimes: buffers written before the first microbatch live until their last reader");
    ok(p->nchannels == 0 && p->nframes == 0, "order: no messages, nothing under way");
    p->ops[4].accumulates = false;
    program_set_lifetimes(p);
    ok(program_set_order(p, 3, NULL, NULL) == SHD_EUNSUPPORTED &&
           program_set_order(p, 1, NULL, NULL) == SHD_OK,
       "order: what a microbatch leaves to the update is a sum, where there are several");
    program_destroy(p);
    shd_mesh_destroy(mesh);
}

static struct timetable *timetable_of(const char *name, uint32_t nmicrobatches)
{
    const struct timetable_sizes sizes = {
        .nranks = 2, .stages_per_rank = 1, .nmicrobatches = nmicrobatches};
    const struct timetable_schedule *schedule;
    struct timetable *t;

    if (timetable_find(&schedule, name, NULL) != SHD_OK ||
        timetable_build(&t, schedule, &sizes, NULL) != SHD_OK)
        abort();
    return t;
}

/* Two stages that send forward through channel 1 and backward through channel 2. */
static void test_stages(void)
{
    struct shd_mesh *mesh;
    struct program *p = new_program(&mesh);
    struct timetable *gpipe = timetable_of("GPipe", 3), *alternating = timetable_of("1F1B", 3);
    uint32_t x, y;
    double bubble;

    p->nstages = 2;
    x = add_part(p, PROGRAM_FORWARD, 0, PROGRAM_NONE); /* op 0; op 1 sends the array, op 2
                                                        * receives */
    y = add_part(p, PROGRAM_FORWARD, 1, add_message(p, PROGRAM_FORWARD, 0, 1, x)); /* op 3 */
    y = add_part(p, PROGRAM_BACKWARD, 1, y); /* op 4; op 5 sends the gradient, op 6 receives */
    y = add_message(p, PROGRAM_BACKWARD, 1, 2, y);
    add_part(p, PROGRAM_BACKWARD, 0, y); /* op 7 */
    p->ops[4].dense_flops = 3;           /* all other ops have 1 */
    program_set_lifetimes(p);
    if (program_set_order(p, 3, &(struct program_stages){0, gpipe}, NULL) != SHD_OK)
        abort();
    walks(p, 0, " (0:0! 1:0! (0:1 1:1 (0:2 1:2 (6:0! 7:0! (6:1 7:1 (6:2 7:2",
          "GPipe: all forward, then all backward");
    walks(p, 1, " (2:0! 3:0! (2:1 3:1 (2:2 3:2 (4:0! 5:0! (4:1 5:1 (4:2 5:2",
          "GPipe: so does the last rank");
    ok(p->nchannels == 3 && p->channels[1].send == 1 && p->channels[1].recv == 2 &&
           p->channels[2].send == 5 && p->channels[2].recv == 6,
       "order: channels by number, with both of their ends");
    ok(p->nframes == 1 && p->frames[0] == y - 2,
       "order: what waits between forward and backward is under way once a microbatch");
    /* Rank 1 computes from time 1 to 4 forward and to 13 backward, rank 0 a flop longer: 18 of 2 *
     * 14 are busy. */
    ok(program_bubble(&bubble, p, NULL) == SHD_OK && bubble > 1 - 18 / 28. - 1e-12 &&
           bubble < 1 - 18 / 28. + 1e-12,
       "bubble: ten of 28");
    if (program_set_order(p, 3, &(struct program_stages){0, alternating}, NULL) != SHD_OK)
        abort();
    walks(p, 1, " (2:0! 3:0! (4:0! 5:0! (2:1 3:1 (4:1 5:1 (2:2 3:2 (4:2 5:2",
          "1F1B: the last rank alternates");
    program_destroy(p);
    timetable_destroy(gpipe);
    timetable_destroy(alternating);
    shd_mesh_destroy(mesh);
}

/* ---- what a step leaves to the next ---- */

static void test_state(void)
{
    struct shd_mesh *mesh;
    struct program *p = new_program(&mesh);
    uint32_t argument = add_buffer(p, 1, -1), cut = add_buffer(p, 1, 0);
    uint32_t a = add_buffer(p, 1, -1), b = add_buffer(p, 1, -1);
    struct shd_error err;

    p->buffers[argument].argument = true;
    ok(!program_has_state(p), "state: none without results");
    ok(program_add_next(p, "a", cut, argument, &err) == SHD_EINVAL &&
           program_add_next(p, "a", argument, argument, &err) == SHD_EINVAL &&
           !program_has_state(p),
       "state: neither in another sharding nor of an argument");
    ok(program_add_next(p, "a", a, argument, NULL) == SHD_OK && program_has_state(p) &&
           p->results[0].of == argument,
       "state: the first result alone");
    ok(program_add_next(p, "a", a, argument, &err) == SHD_EINVAL, "state: no result twice");
    program_destroy(p);
    p = program_create(mesh);
    if (!p || program_add_result(p, PROGRAM_OUTPUT, "b", b, NULL) != SHD_OK)
        abort();
    ok(!program_has_state(p), "state: an output is none");
    program_destroy(p);
    shd_mesh_destroy(mesh);
}

/* ---- memory and work ---- */

/* A training program: a parameter of 32 bytes, activations of 320, their gradient sum of 64, and
 * the next step's parameter, which an elementwise op makes of the old parameter and the sum. */
static struct program *new_training(struct shd_mesh **mesh, union kern_desc *desc,
                                    uint32_t microbatches)
{
    struct program *p = new_program(mesh);
    uint32_t w = add_buffer(p, 1, -1), x = add_buffer(p, 10, -1), sum = add_buffer(p, 2, -1);
    uint32_t next = add_buffer(p, 1, -1);

    p->buffers[w].argument = true;
    p->buffers[w].use = p->buffers[next].use = PROGRAM_PARAMETERS;
    p->buffers[sum].use = PROGRAM_GRADIENTS;
    add_op(p, PROGRAM_FILL, PROGRAM_NONE, w);
    add_op(p, PROGRAM_KERNEL, w, x); /* each kernel has a workspace of 100 */
    add_op(p, PROGRAM_KERNEL, x, sum);
    add_op(p, PROGRAM_KERNEL, w, next);
    p->ops[1].part = PROGRAM_FORWARD;
    p->ops[2].part = PROGRAM_BACKWARD;
    p->ops[2].accumulates = true;
    p->ops[3].part = PROGRAM_UPDATE;
    p->ops[3].inputs[1] = sum;
    p->ops[3].kernel = &kern_kernel_map;
    p->ops[3].desc = desc;
    desc->map.ndims = 1;
    desc->map.extent[0] = 2;
    desc->map.out_stride[0] = desc->map.in_stride[0][0] = 1;
    if (program_add_next(p, "w", next, w, NULL) != SHD_OK)
        abort();
    program_set_lifetimes(p);
    if (program_set_order(p, microbatches, NULL, NULL) != SHD_OK)
        abort();
    return p;
}

static void test_memory(void)
{
    static const struct {
        uint32_t microbatches, microbatch;
        uint64_t workspace, peak, gradients; /* workspace of the sum */
        uint32_t op;
    } cases[] = {
        {1, 0, 36, 32 + 320 + 100, 0, 1}, /* equals the peak of the sum with its workspace, which
                                           * comes later */
        {1, 0, 100, 32 + 320 + 64 + 100, 64, 2},
        {2, 1, 0, 32 + 64 + 320 + 100, 64, 1}, /* the sum exists from the first microbatch on */
        {3, 1, 0, 32 + 64 + 320 + 100, 64, 1},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        union kern_desc desc = {0};
        struct shd_mesh *mesh;
        struct program *p = new_training(&mesh, &desc, cases[i].microbatches);
        struct program_memory m;
        uint128 all = 0;

        p->ops[2].workspace_bytes = cases[i].workspace;
        program_memory(&m, p, 0);
        for (int use = 0; use < PROGRAM_NUSES; use++)
            all += m.uses[use];
        ok(m.peak_bytes == cases[i].peak && all == m.peak_bytes && m.op == cases[i].op &&
               m.microbatch == cases[i].microbatch && m.uses[PROGRAM_WORKSPACE] == 100 &&
               m.uses[PROGRAM_PARAMETERS] == 32 && m.uses[PROGRAM_ACTIVATIONS] == 320 &&
               m.uses[PROGRAM_GRADIENTS] == cases[i].gradients,
           "memory of %u microbatches: the first op with the peak, and what it is for",
           cases[i].microbatches);
        ok(p->nframes == 0, "order: what all microbatches read is not under way");
        program_destroy(p);
        shd_mesh_destroy(mesh);
    }
}

/* Whether the next step's parameter, buffer 3, overwrites the old one. */
static bool is_in_place(struct program *p)
{
    if (program_update_in_place(p, NULL) != SHD_OK)
        abort();
    return p->buffers[3].over == 0;
}

static void test_in_place(void)
{
    union kern_desc desc = {0};
    struct shd_mesh *mesh;
    struct program *p = new_training(&mesh, &desc, 2);

    ok(is_in_place(p) && !program_allocates(p, &p->ops[3], 0, true),
       "in place: an elementwise op that reads and writes the same elements");
    desc.map.in_stride[0][0] = 2;
    ok(!is_in_place(p) && program_allocates(p, &p->ops[3], 0, true),
       "in place: not one that reads another element");
    desc.map.extent[0] = 1;
    ok(is_in_place(p), "in place: an array of one element");
    p->ops[3].inputs[0] = 2;
    p->ops[3].kernel = &kern_kernel_reduce;
    ok(is_in_place(p), "in place: an op that does not read the buffer");
    p->update_op = 4;
    ok(!is_in_place(p), "in place: not before the last microbatch has read it");
    p->microbatches = 1;
    ok(is_in_place(p), "in place: which is the only one");
    add_op(p, PROGRAM_KERNEL, 0, add_buffer(p, 1, -1));
    ok(!is_in_place(p), "in place: not where it is read behind the op");
    program_destroy(p);
    shd_mesh_destroy(mesh);
}

/* Work of three ops: 60 flops that no axis shards, 30 that dp shards, 10 that both axes shard. */
static void test_work(void)
{
    static const uint32_t flops[] = {60, 30, 10}, cut[] = {0, 1, 3};
    struct shd_mesh *mesh;
    struct program *p = new_program(&mesh);
    struct program_work work;

    for (int i = 0; i < 3; i++) {
        add_op(p, PROGRAM_KERNEL, PROGRAM_NONE, add_buffer(p, 1, -1));
        p->ops[i].dense_flops = flops[i];
        p->ops[i].cut_axes = cut[i];
        p->ops[i].unsharded_flops = 8 * flops[i];
        p->ops[i].model_flops = 7 * flops[i];
        p->ops[i].again = i == 1;
    }
    program_work(&work, p);
    ok(work.unsharded_flops == 800 && work.model_flops == 490 && work.again_flops == 210,
       "work: unsharded, of the model, and done again");
    ok(!work.axes[0].idle && work.axes[0].times == 2 && work.axes[0].repeated == 0.6 &&
           !work.axes[1].idle && work.axes[1].times == 4 && work.axes[1].repeated == 0.9,
       "work: what each axis does not shard");
    p->ops[2].cut_axes = 1;
    program_work(&work, p);
    ok(!work.axes[0].idle && work.axes[1].idle, "work: an axis that shards nothing is idle");
    program_destroy(p);
    shd_mesh_destroy(mesh);
}

/* Ops added in any order and named by part and stage are sorted. */
static void test_sorted(void)
{
    static const struct {
        uint8_t part, stage;
        const char *name;
    } ops[] = {
        {PROGRAM_UPDATE, 0, "U"},   {PROGRAM_BACKWARD, 0, "b0"}, {PROGRAM_WEIGHTS, 1, "w1"},
        {PROGRAM_FORWARD, 1, "f1"}, {PROGRAM_FORWARD, 0, "f0"},  {PROGRAM_BACKWARD, 1, "b1"},
        {PROGRAM_START, 0, "S"},    {PROGRAM_FORWARD, 0, "g0"},  {PROGRAM_WEIGHTS, 0, "w0"},
    };
    struct shd_mesh *mesh;
    struct program *p = new_program(&mesh);
    struct text out = TEXT_INIT;

    p->nstages = 2;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        struct program_op op = {.kind = PROGRAM_KERNEL, .name = ops[i].name, .part = ops[i].part};

        op.stage = ops[i].stage;
        if (program_add_op(p, &op, NULL) != SHD_OK)
            abort();
    }
    if (program_sort_ops(p, NULL) != SHD_OK)
        abort();
    for (uint32_t i = 0; i < p->nops; i++)
        text_addf(&out, "%s ", p->ops[i].name);
    ok(!strcmp(text_get(&out), "S f0 g0 f1 b1 w1 b0 w0 U "),
       "sorted: backward from the last stage; equal parts keep their order: %s", text_get(&out));
    text_fini(&out);
    program_destroy(p);
    shd_mesh_destroy(mesh);
}

/* ---- words ---- */

/* A mesh whose axes are factors of the axes asked for: x of eight is split into three axes of
 * two. */
static void test_axes(void)
{
    static const char *const asked[] = {"x", "y"}, *const parts[] = {"x1", "x2", "x3", "y1"};
    static const int32_t sizes[] = {8, 3}, lengths[] = {2, 2, 2, 3};
    static const struct {
        uint8_t axes[4];
        uint8_t naxes;
        const char *sharding, *step;
    } cases[] = {
        {{0, 1, 2}, 3, "[{x}]", "x"},
        {{0, 1, 2, 3}, 4, "[{x,y}]", "x,y"},
        {{3, 0, 1, 2}, 4, "[{y,x}]", "y,x"},
        {{0, 2, 1}, 3, "[{x1,x3,x2}]", "x"}, /* the factors in another order are not the axis */
        {{2, 1, 0}, 3, "[{x3,x2,x1}]", "x"},
        {{0, 1}, 2, "[{x1,x2}]", "x1,x2"},
        {{0, 3, 1, 2}, 4, "[{x1,y,x2,x3}]", "x,y"},
    };
    struct shd_mesh *mesh;
    struct program *p;
    char words[64];

    if (shd_mesh_create(&mesh, asked, sizes, 2, NULL) != SHD_OK || !(p = program_create(mesh)) ||
        shd_mesh_create(&p->own_mesh, parts, lengths, 4, NULL) != SHD_OK)
        abort();
    p->mesh = p->own_mesh;
    memcpy(p->asked_axis, (const uint8_t[]){0, 0, 0, 1}, 4);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text out = TEXT_INIT;
        struct shd_sharding s;

        shd_sharding_init(&s, p->mesh, 1);
        memcpy(s.dims[0].axes, cases[i].axes, cases[i].naxes);
        s.dims[0].naxes = cases[i].naxes;
        program_add_sharding(p, &s, &out);
        (void)program_axes_print(p, cases[i].axes, cases[i].naxes, words, sizeof words);
        if (!ok(!strcmp(text_get(&out), cases[i].sharding) && !strcmp(words, cases[i].step),
                "axes: %s in a sharding, %s in a step", cases[i].sharding, cases[i].step))
            diag("%s, %s", text_get(&out), words);
        text_fini(&out);
    }
    program_destroy(p);
    shd_mesh_destroy(mesh);
}

/* Equal layers have equal kernels. */
static void test_descriptions(void)
{
    struct shd_mesh *mesh;
    struct program *p = new_program(&mesh);
    union kern_desc desc = {0};
    struct program_op op = {.kind = PROGRAM_KERNEL, .desc = &desc};
    uint32_t first = p->nops;
    bool added = true;

    for (int64_t i = 0; i < 100; i++) {
        desc.embed.width = i % 2;
        added &= program_add_op(p, &op, NULL) == SHD_OK;
    }
    desc.embed.width = 7;
    ok(added && p->descs.ndescs == 2 && p->ops[first].desc == p->ops[first + 98].desc &&
           p->ops[first].desc != p->ops[first + 1].desc && p->ops[first + 1].desc->embed.width == 1,
       "kernels: equal ones share a description, which is the program's own");
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
    test_parts();
    test_stages();
    test_sorted();
    test_state();
    test_memory();
    test_in_place();
    test_work();
    test_axes();
    test_descriptions();
    test_texts();
    return done();
}

/* Tests program/valid.h: a right pipeline passes; each kind of contradiction that is planted in it
 * is told, with its op or array.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "program/valid.h"

#include <stdlib.h>
#include <string.h>

#include "../support/tap.h"
#include "timetable/timetable.h"

enum { PP, TP, NAXES }; /* axes of the mesh: 2 stages, 4 shards */

/* Ops of the program: stage 0 gathers its argument and sends it, stage 1 makes a result of it. */
enum { FILL, GATHER, SEND, RECV, KERNEL, NOPS };
enum { ARGUMENT, GATHERED, RECEIVED, RESULT, NBUFFERS };

static uint32_t add_array(struct program *p, int axis)
{
    const int64_t shape[1] = {8};
    struct shd_sharding s;
    uint32_t buffer;

    shd_sharding_init(&s, p->mesh, 1);
    if (axis >= 0)
        s.dims[0] = (struct shd_dim_axes){1, {(uint8_t)axis}};
    if (program_add_buffer(&buffer, p, "array", SHD_F32, shape, &s, NULL) != SHD_OK)
        abort();
    return buffer;
}

static void add(struct program *p, struct program_op op, uint32_t in, uint32_t out)
{
    op.name = "op";
    op.ninputs = in != PROGRAM_NONE;
    op.inputs[0] = in;
    op.noutputs = out != PROGRAM_NONE;
    op.outputs[0] = out;
    if (program_add_op(p, &op, NULL) != SHD_OK)
        abort();
}

static struct program *new_pipeline(const struct shd_mesh *mesh, const struct timetable *timetable)
{
    struct program *p = program_create(mesh);
    struct shd_reshard_plan plan;

    if (!p)
        abort();
    for (int b = 0; b < NBUFFERS; b++)
        (void)add_array(p, b == ARGUMENT ? TP : -1);
    p->buffers[ARGUMENT].argument = true;
    p->nstages = 2;
    if (shd_reshard_build(&plan, &p->buffers[ARGUMENT].sharding, &p->buffers[GATHERED].sharding,
                          p->buffers[ARGUMENT].shape, SHD_F32, NULL) != SHD_OK)
        abort();
    add(p, (struct program_op){.kind = PROGRAM_FILL}, PROGRAM_NONE, ARGUMENT);
    add(p,
        (struct program_op){
            .kind = PROGRAM_RESHARD, .part = PROGRAM_FORWARD, .reshard = plan.steps[0]},
        ARGUMENT, GATHERED);
    add(p, (struct program_op){.kind = PROGRAM_SEND, .part = PROGRAM_FORWARD}, GATHERED,
        PROGRAM_NONE);
    add(p, (struct program_op){.kind = PROGRAM_RECV, .part = PROGRAM_FORWARD, .stage = 1},
        PROGRAM_NONE, RECEIVED);
    add(p, (struct program_op){.kind = PROGRAM_KERNEL, .part = PROGRAM_FORWARD, .stage = 1},
        RECEIVED, RESULT);
    if (program_add_result(p, PROGRAM_OUTPUT, "result", RESULT, NULL) != SHD_OK)
        abort();
    program_set_lifetimes(p);
    if (program_set_order(p, 1, &(struct program_stages){PP, timetable}, NULL) != SHD_OK)
        abort();
    return p;
}

/* ---- contradictions ---- */

static void cut_by_stages(struct program *p)
{
    p->buffers[GATHERED].sharding.dims[0] = (struct shd_dim_axes){1, {PP}};
}

static void other_bytes(struct program *p)
{
    p->buffers[RECEIVED].bytes += 4;
}

static void no_room(struct program *p)
{
    p->buffers[RESULT].over = ARGUMENT;
}

static void step_along_stages(struct program *p)
{
    p->ops[GATHER].reshard.axes[0] = PP;
}

static void step_over_stages(struct program *p)
{
    p->ops[GATHER].reshard.to.dims[0] = (struct shd_dim_axes){1, {PP}};
}

static void other_shards(struct program *p)
{
    p->ops[GATHER].reshard.to = p->ops[GATHER].reshard.from;
}

static void read_of_another_rank(struct program *p)
{
    p->ops[KERNEL].inputs[0] = GATHERED;
    p->buffers[GATHERED].last_op = KERNEL;
}

static void read_of_nothing(struct program *p)
{
    p->ops[KERNEL].inputs[0] = RESULT;
}

static void read_of_freed(struct program *p)
{
    p->buffers[RECEIVED].last_op = RECV;
}

static void no_stage(struct program *p)
{
    p->ops[KERNEL].stage = 2;
}

static void cut_work_by_stages(struct program *p)
{
    p->ops[KERNEL].cut_axes = 1u << PP;
}

static void other_times(struct program *p)
{
    p->ops[KERNEL].times = 2;
}

static void lost_receive(struct program *p)
{
    p->channels[0].recv = KERNEL;
}

static void other_sharding_received(struct program *p)
{
    p->buffers[RECEIVED].dtype = SHD_I32;
}

static void rows_along_stages(struct program *p)
{
    p->ops[KERNEL].kind = PROGRAM_ROWS;
    p->ops[KERNEL].rows = (struct program_rows){.naxes = 1, .axes = {PP}};
}

static void lost_op(struct program *p)
{
    p->segments[p->nsegments - 1].end_op--;
}

static void segment_of_two_stages(struct program *p)
{
    p->ops[SEND].stage = p->ops[GATHER].stage = 1;
    p->rank_of_stage[1] = 0;
}

static void microbatch_twice(struct program *p)
{
    p->turns[0].count = 2;
}

static void lost_turn(struct program *p)
{
    p->first_turn[1] = p->first_turn[2];
}

static void freed_result(struct program *p)
{
    p->buffers[RESULT].last_op = KERNEL;
}

static const struct {
    const char *what;
    void (*plant)(struct program *p);
    const char *told;
} faults[] = {
    {"an array over the stages' axis", cut_by_stages, "array 1 of the program"},
    {"bytes that are not the shard's", other_bytes, "array 2 of the program"},
    {"an array written over a smaller one", no_room, "array 3 of the program"},
    {"a step along the stages' axis", step_along_stages, "op 1 of the program"},
    {"a step to shards along the stages' axis", step_over_stages, "along the pipeline axis"},
    {"a step with another sharding than its array", other_shards, "op 1 of the program"},
    {"a read of another rank's array", read_of_another_rank, "another pipeline rank"},
    {"a read before the write", read_of_nothing, "before any op writes"},
    {"a read after the end", read_of_freed, "a freed array"},
    {"a stage that does not exist", no_stage, "op 4 of the program"},
    {"work sharded by the stages' axis", cut_work_by_stages, "is sharded by"},
    {"other times than microbatches", other_times, "op 4 of the program"},
    {"a send without its receive", lost_receive, "has a channel without the other end"},
    {"another type received than sent", other_sharding_received, "sends shards that differ"},
    {"rows that move along the stages' axis", rows_along_stages, "moves rows"},
    {"an op in no segment", lost_op, "is in no segment"},
    {"a segment of two stages", segment_of_two_stages, "another part or stage"},
    {"a microbatch that does not exist", microbatch_twice, "rank 0"},
    {"a rank that lacks its turn", lost_turn, "rank 1"},
    {"a result that is freed", freed_result, "array 3 of the program"},
};

int main(void)
{
    static const char *const names[NAXES] = {"pp", "tp"};
    static const int32_t devices[NAXES] = {2, 4};
    const struct timetable_sizes sizes = {.nranks = 2, .stages_per_rank = 1, .nmicrobatches = 1};
    const struct timetable_schedule *schedule;
    struct timetable *timetable;
    struct shd_mesh *mesh;
    struct shd_error err;
    struct program *p;

    plan(0);
    if (shd_mesh_create(&mesh, names, devices, NAXES, NULL) != SHD_OK ||
        timetable_find(&schedule, "GPipe", NULL) != SHD_OK ||
        timetable_build(&timetable, schedule, &sizes, NULL) != SHD_OK)
        abort();
    p = new_pipeline(mesh, timetable);
    if (!ok(program_check(p, &err) == SHD_OK, "a pipeline of two stages is consistent"))
        diag("%s", err.text);
    program_destroy(p);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        p = new_pipeline(mesh, timetable);
        faults[i].plant(p);
        if (!ok(program_check(p, &err) == SHD_EINTERNAL && strstr(err.text, faults[i].told),
                "told: %s", faults[i].what))
            diag("%s", err.text);
        program_destroy(p);
    }
    timetable_destroy(timetable);
    shd_mesh_destroy(mesh);
    return done();
}

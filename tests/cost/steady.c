/* Tests cost/works.h and cost/steady.h on made-up records: which ops are the same work, the one
 * time of a work, the spread, and when measuring ends.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cost/steady.h"

#include <stdlib.h>
#include <string.h>

#include "../support/tap.h"

#define NDEVICES 2
#define ELEMENTS 64

/* A program under construction on two devices; arrays are vectors. */
struct made {
    struct shd_mesh *mesh;
    struct program *program;
    struct record *record;
    struct works *works;
    uint32_t *ids;
};

static void need(bool good)
{
    if (!good)
        exit(99);
}

static struct made make(void)
{
    const char *name = "x";
    int32_t size = NDEVICES;
    struct made m = {.works = works_create()};

    need(shd_mesh_create(&m.mesh, &name, &size, 1, NULL) == SHD_OK);
    m.program = program_create(m.mesh);
    need(m.program && m.works);
    return m;
}

static uint32_t add_typed(struct made *m, struct program_op op, enum shd_dtype dtype, bool sharded,
                          bool partial)
{
    int64_t shape = ELEMENTS;
    struct shd_sharding s;

    shd_sharding_init(&s, m->mesh, 1);
    if (sharded)
        s.dims[0] = (struct shd_dim_axes){1, {0}};
    s.partial = partial;
    op.name = "op";
    op.noutputs = 1;
    need(program_add_buffer(&op.outputs[0], m->program, "array", dtype, &shape, &s, NULL) ==
         SHD_OK);
    need(program_add_op(m->program, &op, NULL) == SHD_OK);
    return op.outputs[0];
}

static uint32_t add(struct made *m, struct program_op op, bool sharded, bool partial)
{
    return add_typed(m, op, SHD_F32, sharded, partial);
}

static uint32_t argument(struct made *m, bool sharded)
{
    uint32_t buffer = add(m, (struct program_op){.kind = PROGRAM_FILL}, sharded, false);

    m->program->buffers[buffer].argument = true;
    return buffer;
}

/* A reduction of `extent` elements. */
static struct program_op kernel(uint32_t a, uint32_t b, int64_t extent)
{
    static union kern_desc desc; /* of the one who is made last, which is added before the next */
    struct program_op op = {.kind = PROGRAM_KERNEL, .ninputs = 2, .inputs = {a, b}};

    memset(&desc, 0, sizeof desc);
    op.kernel = &kern_kernel_reduce;
    op.desc = &desc;
    desc.reduce.ndims = 1;
    desc.reduce.extent[0] = extent;
    return op;
}

/* The step of a reshard to another sharding. */
static struct program_op reshard(const struct made *m, uint32_t in, bool sharded, bool partial)
{
    struct program_op op = {.kind = PROGRAM_RESHARD, .ninputs = 1, .inputs = {in}};
    struct shd_reshard_plan plan;
    struct shd_sharding to;
    int64_t shape = ELEMENTS;

    shd_sharding_init(&to, m->mesh, 1);
    if (sharded)
        to.dims[0] = (struct shd_dim_axes){1, {0}};
    to.partial = partial;
    need(shd_reshard_build(&plan, &m->program->buffers[in].sharding, &to, &shape, SHD_F32, NULL) ==
             SHD_OK &&
         plan.nsteps == 1);
    op.reshard = plan.steps[0];
    return op;
}

static void finish(struct made *m)
{
    program_set_lifetimes(m->program);
    need(program_set_order(m->program, 1, NULL, NULL) == SHD_OK);
    need(record_create(&m->record, m->program, RECORD_EXECUTED, true, NULL) == SHD_OK);
    need(works_number(&m->ids, m->works, m->program, NULL) == SHD_OK);
}

static void fini(struct made *m)
{
    free(m->ids);
    works_destroy(m->works);
    record_destroy(m->record);
    program_destroy(m->program);
    shd_mesh_destroy(m->mesh);
}

static uint32_t id(const struct made *m, int32_t device, uint32_t op)
{
    return m->ids[(size_t)device * m->program->nops + op];
}

/* ---- which ops are the same work ---- */

static void test_same(void)
{
    struct made m = make();
    uint32_t a = argument(&m, false), b = argument(&m, true);
    struct program_op at = kernel(a, a, 8), other = kernel(a, a, 8);

    at.noffsets = 1;
    at.offsets[0] = (struct program_offset){b, 0};
    other.kernel = &kern_kernel_repeat;
    add(&m, kernel(a, a, 8), false, false);              /* op 2 */
    add(&m, kernel(b, b, 8), false, false);              /* op 3: the same with other arrays */
    add(&m, kernel(a, a, 9), false, false);              /* 4: another extent */
    add(&m, kernel(a, b, 8), false, false);              /* op 5: of two arrays */
    add(&m, at, false, false);                           /* op 6: at an offset that differs by
                                                          * device */
    add(&m, other, false, false);                        /* 7: another kernel */
    add(&m, reshard(&m, a, true, false), true, false);   /* 8: a slice */
    add(&m, reshard(&m, a, true, false), true, false);   /* op 9: another slice */
    add(&m, reshard(&m, a, false, true), false, true);   /* 10: a mask */
    add(&m, reshard(&m, b, false, false), false, false); /* 11: an all-gather */
    finish(&m);
    ok(id(&m, 0, 2) == id(&m, 1, 2) && id(&m, 0, 2) == id(&m, 0, 3),
       "same work: an op on several devices and arrays");
    ok(id(&m, 0, 4) != id(&m, 0, 2) && id(&m, 0, 5) != id(&m, 0, 2) && id(&m, 0, 7) != id(&m, 0, 2),
       "different work: other extents, another kernel, two arrays instead of one twice");
    ok(id(&m, 0, 6) != id(&m, 1, 6) && id(&m, 0, 6) == id(&m, 0, 2),
       "different work: another offset, 0 on the first device");
    ok(id(&m, 0, 8) == id(&m, 1, 8) && id(&m, 0, 8) == id(&m, 0, 9) &&
           id(&m, 0, 8) != id(&m, 0, 10),
       "same work: slices of equal shards");
    ok(id(&m, 0, 10) != id(&m, 1, 10), "different work: a mask of ones and a mask of zeros");
    ok(id(&m, 0, 0) == WORKS_NONE && id(&m, 1, 11) == WORKS_NONE && works_count(m.works) == 8,
       "no work: arguments and collectives");
    fini(&m);
}

/* A local step of a kind, along no axis, regardless of the shardings. */
static struct program_op local_step(enum shd_reshard_kind kind, uint32_t in)
{
    struct program_op op = {.kind = PROGRAM_RESHARD, .ninputs = 1, .inputs = {in}};

    op.reshard.kind = kind;
    return op;
}

/* Each step differs from the first in one property. */
static void test_steps(void)
{
    struct made m = make();
    uint32_t whole = argument(&m, false), cut = argument(&m, true), half;

    half = add_typed(&m, (struct program_op){.kind = PROGRAM_FILL}, SHD_BF16, false, false);
    m.program->buffers[half].argument = true;
    add(&m, local_step(SHD_RESHARD_SLICE, whole), false, false);                /* op 3 */
    add(&m, local_step(SHD_RESHARD_MASK, whole), false, false);                 /* 4 */
    add(&m, local_step(SHD_RESHARD_SLICE, whole), true, false);                 /* 5 */
    add(&m, local_step(SHD_RESHARD_SLICE, cut), false, false);                  /* 6 */
    add_typed(&m, local_step(SHD_RESHARD_SLICE, half), SHD_BF16, false, false); /* 7 */
    finish(&m);
    ok(id(&m, 0, 4) != id(&m, 0, 3), "other work: a step of another kind");
    ok(id(&m, 0, 5) != id(&m, 0, 3), "other work: to a shard of other extents");
    ok(id(&m, 0, 6) != id(&m, 0, 3), "other work: from a shard of other extents");
    ok(id(&m, 0, 7) != id(&m, 0, 3), "other work: of another type");
    fini(&m);
}

/* More works than the table has room for at first, in two programs. */
static void test_many(void)
{
    struct made m = make();
    uint32_t a = argument(&m, false), *again;
    bool good = true;

    for (int64_t k = 0; k < 1000; k++)
        add(&m, kernel(a, a, k % 500), false, false);
    finish(&m);
    for (uint32_t i = 1; i <= 500; i++)
        good &= id(&m, 0, i) == id(&m, 1, i + 500) && (i == 1 || id(&m, 0, i) != id(&m, 0, i - 1));
    ok(good && works_count(m.works) == 500, "a thousand ops are five hundred works");
    need(works_number(&again, m.works, m.program, NULL) == SHD_OK);
    ok(works_count(m.works) == 500 &&
           !memcmp(again, m.ids, NDEVICES * m.program->nops * sizeof *again),
       "another program's works are the same");
    free(again);
    fini(&m);
}

/* ---- times ---- */

/* Ops 1 and 2 are the same work, one after the other; op 3 is another work. */
static struct made make_timed(void)
{
    struct made m = make();
    uint32_t a = argument(&m, false);
    uint32_t b = add(&m, kernel(a, a, 8), false, false);

    add(&m, kernel(b, b, 8), false, false);
    add(&m, kernel(b, a, 9), false, false);
    finish(&m);
    return m;
}

/* Every op of a device took `wall_ns`, during which its thread had the core for `cpu_ns`. */
static void set_times(struct made *m, int32_t device, int64_t wall_ns, int64_t cpu_ns)
{
    for (uint32_t i = 0; i < m->program->nops; i++)
        m->record->times[(size_t)device * m->program->nops + i] =
            (struct record_time){1000, 1000 + wall_ns, cpu_ns};
}

static void take(struct made *m, uint32_t column, int64_t first_ns, int64_t second_ns)
{
    set_times(m, 0, first_ns, first_ns);
    set_times(m, 1, second_ns, second_ns);
    works_take(m->works, column, m->ids, m->record, 0, 1);
}

static void test_least(void)
{
    struct made m = make_timed();
    uint32_t work = id(&m, 0, 1);

    ok(works_least(m.works, work, 0, WORKS_COLUMNS_MAX) == -1, "least: nothing was seen");
    take(&m, 0, 500000, 400000);
    take(&m, 0, 600000, 450000);
    take(&m, 3, 300000, 700000);
    ok(works_least(m.works, work, 0, 1) == 400000 && works_least(m.works, work, 3, 4) == 300000 &&
           works_least(m.works, work, 0, 4) == 300000 && works_least(m.works, work, 1, 3) == -1,
       "least: over devices and repeats, by columns");
    set_times(&m, 1, 100000, 100000);
    works_take(m.works, 5, m.ids, m.record, 0, 2);
    ok(works_least(m.works, work, 5, 6) == 300000, "least: of the devices that are asked");
    fini(&m);
}

/* A CPU time may be measured too short; a wall time cannot. */
static void test_lost(void)
{
    struct made m = make_timed();
    uint32_t work = id(&m, 0, 1);

    set_times(&m, 0, 900000, 200000);
    set_times(&m, 1, 900000, 300000);
    works_take(m.works, 0, m.ids, m.record, 0, 1);
    ok(works_least(m.works, work, 0, 1) == 200000,
       "least: CPU time, where every thread has lost its core");
    set_times(&m, 0, 410000, 400000);
    works_take(m.works, 1, m.ids, m.record, 0, 2);
    ok(works_least(m.works, work, 0, 2) == 410000,
       "least: wall time, if one round kept it, even with shorter CPU times of others");
    fini(&m);
}

/* ---- spread ---- */

static const struct record_transfers rate = {UINT64_C(1000000000), 0};

static const struct record_replay *replay(struct made *m, uint32_t from, uint32_t to)
{
    need(steady_replay(m->record, &rate, m->works, m->ids, from, to, NULL) == SHD_OK);
    return m->record->replay;
}

static bool is_near(double a, double b)
{
    return a - b < 1e-9 && b - a < 1e-9;
}

static void test_spread(void)
{
    struct made m = make_timed();
    const struct record_replay *r;

    take(&m, 0, 110000, 130000);
    take(&m, 1, 120000, 105000);
    take(&m, 2, 100000, 900000);
    take(&m, 3, 100000, 100000);
    r = replay(&m, 0, 1);
    ok(r->step_ns == 330000 && r->spread < 0 && r->noise_ns < 0,
       "spread: unknown for a single column");
    r = replay(&m, 0, 4);
    ok(r->step_ns == 300000 && is_near(r->spread, 0.05),
       "spread: the slower half above both, 315 us of 300");
    ok(r->noise_ns == 15000, "noise: the spread");
    ok(m.record->times[1].cpu_ns == 100000 && r->devices[0].busy_ns == r->devices[1].busy_ns,
       "equal devices and equal layers have one time");
    r = replay(&m, 2, 4);
    ok(r->spread == 0 && r->noise_ns == 3000, "noise: 1 %% where the halves agree by chance");
    fini(&m);
    m = make_timed();
    take(&m, 0, 50000, 50000); /* a step before the measured ones */
    take(&m, 1, 100000, 100000);
    take(&m, 2, 110000, 120000);
    ok(is_near(replay(&m, 1, 3)->spread, 0.1), "spread: of the later half, where that is slower");
    take(&m, 3, 90000, 90000);
    take(&m, 4, 90000, 90000);
    ok(is_near(replay(&m, 1, 5)->spread, 1 / 9.), "spread: of the columns that are asked alone");
    fini(&m);
}

/* A work that only one half of the steps measured adds nothing to the spread. */
static void test_half_seen(void)
{
    struct made m = make_timed();

    take(&m, 0, 100000, 100000);
    ok(replay(&m, 0, 2)->step_ns == 300000 && m.record->replay->spread == 0,
       "spread: a work seen by one half only adds nothing");
    fini(&m);
}

/* ---- when measuring ends ---- */

static void test_ends(void)
{
    struct made m = make_timed(), planned = make_timed();
    const struct record *records[] = {m.record, planned.record};
    struct record_replay *r;

    take(&m, 0, 100000, 100000);
    take(&m, 1, 100000, 100000);
    (void)replay(&m, 0, 2);
    r = m.record->replay;
    ok(steady_ends(records, 2, STEADY_ROUNDS_LEAST, 0, 9), "ends: a small spread");
    ok(!steady_ends(records, 2, STEADY_ROUNDS_LEAST - 1, 0, 9), "goes on: too few rounds to tell");
    r->spread = 2 * STEADY_SPREAD;
    ok(!steady_ends(records, 2, 9, 8, 9), "goes on: a large spread");
    ok(steady_ends(records, 2, 9, 9, 9), "ends: no time is left");
    ok(steady_ends(records, 2, STEADY_ROUNDS_MAX, 0, 9), "ends: the largest number of rounds");
    r->spread = -1;
    ok(!steady_ends(records, 2, 9, 0, 9), "goes on: the spread is not known");
    fini(&m);
    fini(&planned);
}

int main(void)
{
    plan(0);
    test_same();
    test_steps();
    test_many();
    test_least();
    test_lost();
    test_spread();
    test_half_seen();
    test_ends();
    return done();
}

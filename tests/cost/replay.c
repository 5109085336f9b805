/* Tests cost/replay.h on steps small enough to be worked out by hand.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cost/replay.h"

#include <stdlib.h>

#include "../support/tap.h"

#define ELEMENTS 64 /* elements of every array: 256 bytes in float32 */

/* A program under construction.  Arrays are vectors; an op of the core reads and writes any of
 * them. */
struct made {
    struct shd_mesh *mesh;
    struct program *program;
    struct record *record;
};

static struct made make(int32_t ndevices)
{
    const char *name = "x";
    struct made m = {NULL, NULL, NULL};

    if (shd_mesh_create(&m.mesh, &name, &ndevices, 1, NULL) != SHD_OK ||
        !(m.program = program_create(m.mesh)))
        exit(99);
    return m;
}

enum lies { WHOLE, SHARDED, PARTIAL };

static struct shd_sharding lies(const struct made *m, enum lies how)
{
    struct shd_sharding s;

    shd_sharding_init(&s, m->mesh, 1);
    if (how == SHARDED)
        s.dims[0] = (struct shd_dim_axes){1, {0}};
    if (how == PARTIAL)
        s.partial = 1;
    return s;
}

static uint32_t add_buffer(struct made *m, enum lies how)
{
    int64_t shape = ELEMENTS;
    struct shd_sharding s = lies(m, how);
    uint32_t buffer;

    if (program_add_buffer(&buffer, m->program, "array", SHD_F32, &shape, &s, NULL) != SHD_OK)
        exit(99);
    return buffer;
}

static uint32_t add_op(struct made *m, struct program_op op, enum lies how)
{
    op.name = "op";
    op.noutputs = 1;
    op.outputs[0] = add_buffer(m, how);
    if (program_add_op(m->program, &op, NULL) != SHD_OK)
        exit(99);
    return op.outputs[0];
}

static uint32_t argument(struct made *m, enum lies how)
{
    uint32_t buffer = add_op(m, (struct program_op){.kind = PROGRAM_FILL}, how);

    m->program->buffers[buffer].argument = true;
    return buffer;
}

static uint32_t kernel(struct made *m, uint32_t a, uint32_t b, enum lies how)
{
    return add_op(
        m,
        (struct program_op){
            .kind = PROGRAM_KERNEL, .kernel = &kern_kernel_map, .ninputs = 2, .inputs = {a, b}},
        how);
}

static uint32_t reshard(struct made *m, uint32_t in, enum lies how)
{
    struct shd_sharding to = lies(m, how);
    struct shd_reshard_plan plan;
    struct program_op op = {.kind = PROGRAM_RESHARD, .ninputs = 1, .inputs = {in}};
    int64_t shape = ELEMENTS;

    if (shd_reshard_build(&plan, &m->program->buffers[in].sharding, &to, &shape, SHD_F32, NULL) !=
            SHD_OK ||
        plan.nsteps != 1)
        exit(99);
    op.reshard = plan.steps[0];
    return add_op(m, op, how);
}

/* Move each shard to the next device. */
static uint32_t rotate(struct made *m, uint32_t in)
{
    struct program_op op = {.kind = PROGRAM_RESHARD, .ninputs = 1, .inputs = {in}};

    op.reshard.kind = SHD_RESHARD_EXCHANGE;
    op.reshard.dim = op.reshard.dim2 = -1;
    op.reshard.from = lies(m, SHARDED);
    op.reshard.to = lies(m, WHOLE);
    return add_op(m, op, WHOLE);
}

/* End the program: make a record with times of 0. */
static void finish(struct made *m)
{
    program_set_lifetimes(m->program);
    if (program_set_order(m->program, 1, NULL, NULL) != SHD_OK)
        exit(99);
    if (record_create(&m->record, m->program, RECORD_EXECUTED, true, NULL) != SHD_OK)
        exit(99);
}

static void fini(struct made *m)
{
    record_destroy(m->record);
    program_destroy(m->program);
    shd_mesh_destroy(m->mesh);
}

static void set_cpu(struct made *m, int32_t device, uint32_t op, int64_t ns)
{
    m->record->times[(size_t)device * m->program->nops + op].cpu_ns = ns;
}

static void set_received(struct made *m, int32_t device, uint32_t op, uint64_t bytes)
{
    m->record->op_received[(size_t)device * m->program->nops + op] = bytes;
}

/* With this rate a byte takes 1 ns. */
static const struct record_transfers byte_a_ns = {UINT64_C(1000000000), 0};

static const struct record_replay *replay(struct made *m, struct record_transfers transfers)
{
    if (replay_run(m->record, &transfers, NULL) != SHD_OK)
        exit(99);
    return m->record->replay;
}

static bool is(const struct record_replay *r, int32_t device, int64_t busy, int64_t exposed,
               int64_t waiting, int64_t idle)
{
    const struct record_replayed *d = &r->devices[device];

    diag("device %d: busy %lld, exposed %lld, waiting %lld, idle %lld", (int)device,
         (long long)d->busy_ns, (long long)d->exposed_ns, (long long)d->waiting_ns,
         (long long)d->idle_ns);
    return d->busy_ns == busy && d->exposed_ns == exposed && d->waiting_ns == waiting &&
           d->idle_ns == idle;
}

static bool stretch_is(const struct record_replay *r, uint32_t i, int32_t device, uint32_t op,
                       int64_t start, int64_t end)
{
    const struct record_stretch *s = &r->path[i];

    return i < r->npath && s->device == device && s->op == op && s->start_ns == start &&
           s->end_ns == end;
}

/* ---- one device ---- */

static void test_one_device(void)
{
    struct made m = make(1);
    uint32_t a = argument(&m, WHOLE), b = kernel(&m, a, a, WHOLE);
    const struct record_replay *r;

    kernel(&m, a, b, WHOLE);
    kernel(&m, a, a, WHOLE);
    finish(&m);
    set_cpu(&m, 0, 0, 1000); /* filling the argument is not part of the step */
    set_cpu(&m, 0, 1, 10);
    set_cpu(&m, 0, 2, 20);
    set_cpu(&m, 0, 3, 30);
    r = replay(&m, byte_a_ns);
    ok(r->step_ns == 60 && is(r, 0, 60, 0, 0, 0), "one device: the sum of its ops");
    ok(r->npath == 3 && stretch_is(r, 0, 0, 1, 0, 10) && stretch_is(r, 1, 0, 2, 10, 30) &&
           stretch_is(r, 2, 0, 3, 30, 60),
       "one device: the path is all ops");
    fini(&m);
}

static void test_nothing(void)
{
    struct made m = make(2);
    const struct record_replay *r;

    argument(&m, WHOLE);
    finish(&m);
    r = replay(&m, byte_a_ns);
    ok(r->step_ns == 0 && r->npath == 0 && is(r, 1, 0, 0, 0, 0), "a step without ops");
    fini(&m);
}

/* ---- two devices and an all-reduce ---- */

/* ops: 0 fill; 1 core; 2 all-reduce of op 1's result; 3 core, independent of op 2; 4 core, reads
 * op 2's result */
static struct made make_reduced(int64_t beside_ns)
{
    struct made m = make(2);
    uint32_t a = argument(&m, WHOLE), part = kernel(&m, a, a, PARTIAL);
    uint32_t sum = reshard(&m, part, WHOLE), other = kernel(&m, a, a, WHOLE);

    kernel(&m, sum, other, WHOLE);
    finish(&m);
    set_cpu(&m, 0, 1, 100);
    set_cpu(&m, 1, 1, 40);
    for (int32_t d = 0; d < 2; d++) {
        set_cpu(&m, d, 2, 999); /* the copying that was measured here is not replayed as a
                                 * transfer */
        set_received(&m, d, 2, 256);
        set_cpu(&m, d, 3, beside_ns);
        set_cpu(&m, d, 4, 10);
    }
    return m;
}

static void test_exposed(void)
{
    struct made m = make_reduced(0);
    const struct record_replay *r = replay(&m, byte_a_ns);

    ok(r->step_ns == 100 + 256 + 10, "exposed: the slower device, the transfer, the rest");
    ok(is(r, 0, 110, 256, 0, 0), "exposed: the slower device does not wait");
    ok(is(r, 1, 50, 256, 60, 0), "exposed: the faster device waits for the slower, then for bytes");
    ok(r->devices[1].communication_ns == 256, "exposed: all of the communication");
    ok(stretch_is(r, 0, 0, 1, 0, 100), "exposed: the path leads through the slower device");
    ok(stretch_is(r, 1, 0, 2, 100, 356) && r->path[r->npath - 1].op == 4 &&
           r->path[r->npath - 1].end_ns == 366,
       "exposed: then through the transfer");
    fini(&m);
}

static void test_overlap(void)
{
    struct made m = make_reduced(300);
    const struct record_replay *r = replay(&m, byte_a_ns);

    ok(r->step_ns == 100 + 300 + 10, "overlap: overlapped computation hides the transfer");
    ok(is(r, 0, 410, 0, 0, 0) && r->devices[0].communication_ns == 256, "overlap: nothing exposed");
    /* core of device 1: 0-40, 40-340; then device 1 waits until 356 for bytes sent since 100 */
    ok(is(r, 1, 350, 16, 0, 44), "overlap: the faster one sees the end of it, and is done first");
    ok(r->npath == 3 && stretch_is(r, 0, 0, 1, 0, 100) && stretch_is(r, 1, 0, 3, 100, 400) &&
           stretch_is(r, 2, 0, 4, 400, 410),
       "overlap: the path has no transfer");
    fini(&m);
}

static void test_partly(void)
{
    struct made m = make_reduced(20);
    const struct record_replay *r = replay(&m, byte_a_ns);

    /* core of device 1: 0-40, 40-60; the transfer takes 100-356 */
    ok(is(r, 0, 130, 236, 0, 0), "partly hidden: the rest is exposed");
    ok(is(r, 1, 70, 256, 40, 0), "partly hidden: waiting and exposed time are separate");
    fini(&m);
}

static void test_rates(void)
{
    struct made m = make_reduced(0);
    const struct record_replay *r;

    r = replay(&m, (struct record_transfers){UINT64_MAX, 0});
    ok(r->step_ns == 110 && is(r, 0, 110, 0, 0, 0) && is(r, 1, 50, 0, 60, 0),
       "no end of rate: only waiting is left");
    r = replay(&m, (struct record_transfers){UINT64_MAX, 7});
    ok(r->step_ns == 117 && is(r, 0, 110, 7, 0, 0), "latency");
    r = replay(&m, (struct record_transfers){UINT64_C(500000000), 7});
    ok(r->step_ns == 100 + 512 + 7 + 10 && r->transfers.latency_ns == 7, "latency and rate");
    set_received(&m, 0, 2, 0);
    r = replay(&m, (struct record_transfers){UINT64_C(1000000000), 7});
    ok(is(r, 0, 110, 0, 0, 263) && is(r, 1, 50, 263, 60, 0) && r->step_ns == 373,
       "a device that receives no bytes needs no time for the transfer");
    fini(&m);
}

/* The network takes transfers in order, and the step may end with a transfer. */
static void test_order(void)
{
    struct made m = make(2);
    uint32_t a = argument(&m, PARTIAL), late = kernel(&m, a, a, PARTIAL);
    const struct record_replay *r;

    reshard(&m, late, WHOLE); /* op 2, after the kernel */
    reshard(&m, a, WHOLE);    /* op 3: ready at once, but queued behind op 2 */
    finish(&m);
    for (int32_t d = 0; d < 2; d++) {
        set_cpu(&m, d, 1, 10 + d);
        set_received(&m, d, 2, 5);
        set_received(&m, d, 3, 6);
    }
    r = replay(&m, byte_a_ns);
    ok(r->step_ns == 11 + 5 + 6, "order: transfers one after another");
    ok(is(r, 0, 10, 11, 1, 0) && is(r, 1, 11, 11, 0, 0), "order: the tail is exposed");
    ok(r->npath == 3 && stretch_is(r, 0, 1, 1, 0, 11) && r->path[1].op == 2 && r->path[2].op == 3 &&
           r->path[2].end_ns == 22,
       "order: the path begins on the slower device");
    fini(&m);
}

/* The bytes of a transfer come in parts, one per microbatch. */
static void test_microbatches(void)
{
    struct made m = make(2);
    uint32_t a = argument(&m, WHOLE), part = kernel(&m, a, a, PARTIAL);
    const struct record_replay *r;

    reshard(&m, part, WHOLE);
    finish(&m);
    if (program_set_order(m.program, 2, NULL, NULL) != SHD_OK)
        exit(99);
    for (int32_t d = 0; d < 2; d++) {
        set_cpu(&m, d, 1, 100);
        set_received(&m, d, 2, 60);
    }
    r = replay(&m, byte_a_ns);
    ok(r->step_ns == 2 * 100 + 30 && is(r, 0, 200, 30, 0, 0) &&
           r->devices[0].communication_ns == 60,
       "two microbatches: the first's half of the bytes beside the second, then the other");
    fini(&m);
}

/* Sums over one axis of a cube, then over another: a device that shares no group with the slow
 * device waits for no other device. */
static void test_groups(void)
{
    static const char *const names[] = {"x", "y", "z"};
    static const int32_t sizes[] = {2, 2, 2};
    struct made m = {NULL, NULL, NULL};
    const struct record_replay *r;
    uint32_t a;

    if (shd_mesh_create(&m.mesh, names, sizes, 3, NULL) != SHD_OK ||
        !(m.program = program_create(m.mesh)))
        exit(99);
    a = argument(&m, WHOLE);
    a = kernel(&m, a, a, WHOLE);
    for (uint8_t axis = 0; axis < 3; axis += 2) {
        struct program_op op = {.kind = PROGRAM_RESHARD, .ninputs = 1, .inputs = {a}};

        op.reshard = (struct shd_reshard_step){.kind = SHD_RESHARD_ALL_REDUCE, .naxes = 1};
        op.reshard.axes[0] = axis;
        add_op(&m, op, WHOLE);
    }
    finish(&m);
    set_cpu(&m, 5, 1, 100);
    for (int32_t d = 0; d < 8; d++) {
        set_received(&m, d, 2, 10);
        set_received(&m, d, 3, 1);
    }
    r = replay(&m, byte_a_ns);
    ok(r->step_ns == 111 && is(r, 5, 100, 11, 0, 0) && is(r, 1, 0, 11, 100, 0),
       "groups: over x device 1 waits for device 5");
    ok(is(r, 0, 0, 11, 100, 0) && is(r, 4, 0, 11, 100, 0),
       "groups: over z devices 0 and 4 wait for devices 1 and 5");
    ok(is(r, 2, 0, 11, 0, 100) && is(r, 3, 0, 11, 0, 100) && is(r, 7, 0, 11, 0, 100),
       "groups: devices in no group with device 5 do not wait");
    fini(&m);
}

/* ---- fetching ---- */

static void test_fetch(void)
{
    struct made m = make(4);
    uint32_t a = argument(&m, SHARDED), b = kernel(&m, a, a, SHARDED);
    const struct record_replay *r;

    rotate(&m, b);
    finish(&m);
    for (int32_t d = 0; d < 4; d++) {
        set_cpu(&m, d, 1, 10 * (d + 1));
        set_received(&m, d, 2, 3);
    }
    r = replay(&m, byte_a_ns);
    ok(r->step_ns == 43 && is(r, 0, 10, 3, 30, 0) && is(r, 3, 40, 3, 0, 0),
       "exchange: a device waits for all holders of its boxes");
    ok(r->npath == 2 && stretch_is(r, 0, 3, 1, 0, 40), "exchange: the path leads to the holder");
    fini(&m);
}

/* ---- sums ---- */

static uint64_t next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* A program of ops of both kinds on the latest arrays. */
static struct made make_random(int32_t ndevices, uint32_t nops, uint64_t *state)
{
    struct made m = make(ndevices);
    uint32_t parts[2], wholes[2];

    parts[0] = parts[1] = argument(&m, PARTIAL);
    wholes[0] = wholes[1] = argument(&m, WHOLE);
    for (uint32_t i = 0; i < nops; i++) {
        uint32_t k = next(state) % 2;

        if (next(state) % 3 == 0)
            wholes[k] = reshard(&m, parts[next(state) % 2], WHOLE);
        else
            parts[k] = kernel(&m, wholes[next(state) % 2], parts[k], PARTIAL);
    }
    finish(&m);
    for (int32_t d = 0; d < ndevices; d++)
        for (uint32_t i = 0; i < m.program->nops; i++) {
            set_cpu(&m, d, i, (int64_t)(next(state) % 100));
            set_received(&m, d, i,
                         program_communicates(&m.program->ops[i]) ? next(state) % 200 : 0);
        }
    return m;
}

static bool sums_agree(const struct made *m, const struct record_replay *r)
{
    for (int32_t d = 0; d < m->record->ndevices; d++) {
        const struct record_replayed *t = &r->devices[d];

        if (t->busy_ns + t->exposed_ns + t->waiting_ns + t->idle_ns != r->step_ns ||
            t->exposed_ns < 0 || t->waiting_ns < 0 || t->idle_ns < 0 ||
            t->exposed_ns > t->communication_ns)
            return false;
    }
    return true;
}

/* Whether the critical path goes from the begin to the end of the step without a gap. */
static bool path_is_whole(const struct record_replay *r)
{
    int64_t at = 0;

    for (uint32_t i = 0; i < r->npath; i++) {
        if (r->path[i].start_ns != at)
            return false;
        at = r->path[i].end_ns;
    }
    return at == r->step_ns;
}

static void test_sums(void)
{
    uint64_t state = 1;
    bool agree = true, whole = true;

    for (int round = 0; round < 200; round++) {
        struct made m = make_random(1 << (round % 4 + 1), 1 + (uint32_t)next(&state) % 40, &state);
        const struct record_replay *r = replay(&m, byte_a_ns);

        agree &= sums_agree(&m, r);
        whole &= path_is_whole(r);
        fini(&m);
    }
    ok(agree, "random steps: busy, exposed, waiting and idle make up the step on every device");
    ok(whole, "random steps: the path is the step without a gap");
}

static void test_large(void)
{
    uint64_t state = 2;
    struct made m = make_random(256, 1000, &state);
    const struct record_replay *r = replay(&m, byte_a_ns);

    ok(sums_agree(&m, r) && path_is_whole(r), "256 devices, 1,000 ops");
    fini(&m);
}

/* ---- what cannot be ---- */

static void test_errors(void)
{
    struct made m = make_reduced(0);
    struct record_transfers never = {0, 0};
    struct record *untimed;
    struct shd_error err;

    ok(replay_run(m.record, &never, &err) == SHD_EINVAL && !m.record->replay, "a rate of 0");
    if (record_create(&untimed, m.program, RECORD_PLANNED, false, NULL) != SHD_OK)
        exit(99);
    ok(replay_run(untimed, &byte_a_ns, &err) == SHD_EINVAL && !untimed->replay, "no times");
    record_destroy(untimed);
    fini(&m);
}

int main(void)
{
    plan(0);
    test_one_device();
    test_nothing();
    test_exposed();
    test_overlap();
    test_partly();
    test_rates();
    test_order();
    test_microbatches();
    test_groups();
    test_fetch();
    test_sums();
    test_large();
    test_errors();
    return done();
}

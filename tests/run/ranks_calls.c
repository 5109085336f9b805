/* Tests sim/run/ranks with devices spread over ranks: results, counts and messages are those of one
 * rank, bit for bit.  Under mpirun (tests/run/ranks.sh) each rank runs the same calls twice, with all
 * devices on this rank and with its own share of them.  Without mpirun there is one rank and
 * nothing to compare.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kern/convert.h"
#include "run/ranks/over_ranks.h"
#include "run/ranks/ranks.h"
#include "run/ranks/spread.h"
#include "run/device.h"
#include "../support/tap.h"

#define NDEVICES 12
#define NCALLS 25
#define NSTOPS 20
#define COUNT_MAX 60000 /* of float64: more than two blocks of a chain */

static const char *const axis_names[] = {"a", "b", "c"};
static const int32_t axis_sizes[] = {2, 3, 2};
static const char *const groups[] = {"a", "b", "c", "a,b", "c,a", "b,c", "a,b,c", ""};
static const enum shd_dtype dtypes[] = {SHD_F32, SHD_F64, SHD_BF16};

struct call {
    int kind; /* enum coll_kind */
    const char *axes;
    enum shd_dtype dtype;
    enum shd_reduce_op op;
    uint64_t count;
    uint32_t root, shift;
    bool in_place;
};

/* The fault of call number `at`, if any. */
enum fault {
    NONE,
    FAILS,    /* a device fails */
    DIFFERS,  /* a device passes another count */
    LEAVES,   /* a device ends without an error */
    CIRCLE,   /* two devices wait for each other */
    TOO_MUCH, /* a device asks for too much memory */
    STOPPED,  /* by request, on the last rank only */
    AMID,     /* like STOPPED, but the devices go on calling */
    TANGLED   /* like STOPPED, while two devices wait for each other */
};

struct plan {
    struct call calls[NCALLS];
    int ncalls;
    enum fault fault;
    int at;
    int32_t device;
    int stop_request;
    uint64_t digest[NDEVICES][NCALLS];
};

static uint64_t next(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = *state;

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t some_count(uint64_t *state)
{
    static const uint64_t most[] = {1, 5, 100, 3000, COUNT_MAX};

    return next(state) % (most[next(state) % 5] + 1);
}

static void make_plan(struct plan *plan, uint64_t seed)
{
    uint64_t state = seed;

    memset(plan, 0, sizeof *plan);
    plan->ncalls = NCALLS;
    for (int i = 0; i < NCALLS; i++) {
        struct call *c = &plan->calls[i];

        c->kind = (int)(next(&state) % COLL_NKINDS);
        c->axes = groups[next(&state) % (sizeof groups / sizeof *groups)];
        c->dtype = dtypes[next(&state) % 3];
        c->op = (enum shd_reduce_op)(next(&state) % 4);
        c->count = some_count(&state);
        c->root = (uint32_t)next(&state);
        c->shift = (uint32_t)next(&state);
        c->in_place = next(&state) % 2;
    }
}

/* Reductions of more than two blocks of a chain, whose blocks are numbered consecutively. */
static void make_long_plan(struct plan *plan)
{
    static const int kinds[] = {COLL_ALL_REDUCE, COLL_REDUCE, COLL_REDUCE_SCATTER};

    memset(plan, 0, sizeof *plan);
    for (int in_place = 0; in_place < 2; in_place++)
        for (int k = 0; k < 3; k++)
            plan->calls[plan->ncalls++] = (struct call){.kind = kinds[k],
                                                        .axes = k == 2 ? "a" : "a,b,c",
                                                        .dtype = SHD_F64,
                                                        .op = SHD_SUM,
                                                        .count = COUNT_MAX,
                                                        .root = 5,
                                                        .in_place = in_place != 0};
}

static void fill(void *memory, const struct call *c, int32_t position, int i, uint64_t n)
{
    size_t size = shd_dtype_size(c->dtype);
    uint64_t state = (uint64_t)position * 1000 + (uint64_t)i;

    for (uint64_t e = 0; e < n; e++) {
        double x = (double)(int64_t)(next(&state) % 2000001 - 1000000) / 4099;

        kern_store_f64(c->dtype, (char *)memory + e * size, 1, 1, &x);
    }
}

static uint64_t digest(const void *memory, uint64_t bytes)
{
    const char *at = memory;
    uint64_t hash = UINT64_C(14695981039346656037);

    for (uint64_t i = 0; i < bytes; i += 8) {
        uint64_t word = 0;

        memcpy(&word, at + i, bytes - i < 8 ? bytes - i : 8);
        hash = (hash ^ word) * UINT64_C(1099511628211);
        hash ^= hash >> 31;
    }
    return hash;
}

/* Device 0 sends to the device with the highest position, device 1 to the next lower one, and so
 * on, so that messages cross all ranks. */
static int send_across(struct shd_device *dev, const struct call *c, const void *in, void *out,
                       struct shd_error *err)
{
    int32_t me = shd_device_position(dev), peer = NDEVICES - 1 - me;

    if (me < peer)
        return shd_device_send(dev, peer, in, c->count, c->dtype, err);
    return shd_device_recv(dev, peer, out, c->count, c->dtype, err);
}

static int call(struct shd_device *dev, const struct call *c, void *in, void *out,
                struct shd_error *err)
{
    uint32_t member, n, source[NDEVICES];
    int status = shd_device_group(dev, c->axes, &member, &n, err);

    if (status != SHD_OK)
        return status;
    for (uint32_t m = 0; m < n; m++)
        source[m] = (m + c->shift) % (n + 1) == n ? UINT32_MAX : (m + c->shift) % (n + 1);
    switch (c->kind) {
    case COLL_ALL_REDUCE:
        return shd_device_all_reduce(dev, c->axes, in, c->in_place ? in : out, c->count, c->dtype,
                                     c->op, err);
    case COLL_ALL_GATHER:
        return shd_device_all_gather(dev, c->axes, in, out, c->count, c->dtype, err);
    case COLL_REDUCE_SCATTER:
        return shd_device_reduce_scatter(dev, c->axes, in, out, c->count, c->dtype, c->op, err);
    case COLL_ALL_TO_ALL:
        return shd_device_all_to_all(dev, c->axes, in, out, c->count, c->dtype, err);
    case COLL_PERMUTE:
        return shd_device_permute(dev, c->axes, source, in, out, c->count, c->dtype, err);
    case COLL_BROADCAST:
        return shd_device_broadcast(dev, c->axes, c->root % n, in, c->in_place ? in : out, c->count,
                                    c->dtype, err);
    case COLL_GATHER:
        return shd_device_gather(dev, c->axes, c->root % n, in, out, c->count, c->dtype, err);
    case COLL_SCATTER:
        return shd_device_scatter(dev, c->axes, c->root % n, in, out, c->count, c->dtype, err);
    case COLL_REDUCE:
        return shd_device_reduce(dev, c->axes, c->root % n, in, out, c->count, c->dtype, c->op,
                                 err);
    case COLL_SEND_RECV:
        return send_across(dev, c, in, out, err);
    default:
        return shd_device_barrier(dev, c->axes, err);
    }
}

/* Commit the planned fault.  SHD_OK: the device goes on to make the call; else its function ends
 * with that status. */
static int go_wrong(struct plan *plan, struct shd_device *dev, struct call *c, bool *leaves,
                    struct shd_error *err)
{
    int32_t me = shd_device_position(dev);
    char byte = 0;

    *leaves = false;
    switch (plan->fault) {
    case FAILS:
        return me == plan->device ? shd_error_set(err, SHD_ERANGE, "of its own accord") : SHD_OK;
    case DIFFERS:
        c->count += me == plan->device;
        return SHD_OK;
    case LEAVES:
        *leaves = me == plan->device;
        return SHD_OK;
    case CIRCLE: /* the first and the last device are on different ranks */
        if (me == 0 || me == NDEVICES - 1)
            return shd_device_recv(dev, NDEVICES - 1 - me, &byte, 1, SHD_U8, err);
        return SHD_OK;
    case TOO_MUCH:
        if (me == plan->device) {
            void *memory;

            return shd_device_alloc(dev, UINT64_C(1) << 40, "too much", &memory, err);
        }
        return SHD_OK;
    case TANGLED: /* the last but one keeps busy, because a wait of all devices would be found
                   * before the stop */
        if (me == 0 || me == NDEVICES - 1)
            return shd_device_recv(dev, NDEVICES - 1 - me, &byte, 1, SHD_U8, err);
        if (me != NDEVICES - 2)
            return SHD_OK;
        nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
        __atomic_store_n(&plan->stop_request, 1, __ATOMIC_RELEASE);
        while (shd_device_check_stop(dev, err) == SHD_OK)
            (void)0;
        return SHD_ESTOPPED;
    case AMID:
        if (ranks_me() == ranks_count() - 1)
            __atomic_store_n(&plan->stop_request, 1, __ATOMIC_RELEASE);
        return SHD_OK;
    case STOPPED:
        if (ranks_me() == ranks_count() - 1)
            __atomic_store_n(&plan->stop_request, 1, __ATOMIC_RELEASE);
        while (shd_device_check_stop(dev, err) == SHD_OK)
            (void)0;
        return SHD_ESTOPPED;
    default:
        return SHD_OK;
    }
}

static int device_main(struct shd_device *dev, void *arg, struct shd_error *err)
{
    struct plan *plan = arg;
    int32_t me = shd_device_position(dev);
    uint64_t bytes = (uint64_t)NDEVICES * COUNT_MAX * 8;
    void *in, *out;
    int status = shd_device_alloc(dev, bytes, "in", &in, err);

    if (status == SHD_OK)
        status = shd_device_alloc(dev, bytes, "out", &out, err);
    for (int n = 0; (n < plan->ncalls || plan->fault == AMID) && status == SHD_OK; n++) {
        int i = n % plan->ncalls;
        struct call c = plan->calls[i];
        size_t size = shd_dtype_size(c.dtype);
        bool leaves = false;

        fill(in, &c, me, i, c.count);
        memset(out, 0x5a, NDEVICES * c.count * size);
        if (plan->fault != NONE && i == plan->at)
            status = go_wrong(plan, dev, &c, &leaves, err);
        if (leaves)
            return SHD_OK;
        if (status == SHD_OK)
            status = call(dev, &c, in, out, err);
        plan->digest[me][i] = digest(out, NDEVICES * c.count * size) ^ digest(in, c.count * size);
    }
    return status;
}

struct outcome {
    int status;
    struct shd_error err;
    struct shd_run_stats stats;
};

static void run(struct outcome *out, struct plan *plan, const struct shd_mesh *mesh,
                const struct spread *spread, const struct shd_run_opts *given)
{
    struct shd_run_opts opts = *given;

    memset(plan->digest, 0, sizeof plan->digest);
    plan->stop_request = 0;
    opts.stop_request = &plan->stop_request;
    opts.memory_bytes = UINT64_C(1) << 30;
    out->err = (struct shd_error){.status = SHD_OK};
    out->status = run_over_ranks(mesh, device_main, plan, &opts, spread, &out->stats, &out->err);
    spread_merge_rows(spread, plan->digest, sizeof plan->digest[0]);
}

/* Whether `is` holds on all ranks. */
static bool all(bool is)
{
    int64_t differs = !is;

    ranks_merge(&differs, sizeof differs, RANKS_MOST);
    return differs == 0;
}

static bool same(const uint64_t *a, const uint64_t *b, size_t n)
{
    return !memcmp(a, b, n * sizeof *a);
}

static bool same_counts(const struct shd_run_stats *a, const struct shd_run_stats *b)
{
    return same(a->received_bytes, b->received_bytes, NDEVICES) &&
           same(a->sent_bytes, b->sent_bytes, NDEVICES) &&
           same(a->peak_bytes, b->peak_bytes, NDEVICES) &&
           same(a->matrix, b->matrix, (size_t)NDEVICES * NDEVICES);
}

static void compare(const struct shd_mesh *mesh, const char *axis, const struct plan *plan,
                    const struct shd_run_opts *opts, const char *what)
{
    struct spread *spread;
    struct plan *here = malloc(sizeof *here), *there = malloc(sizeof *there);
    struct outcome one, several;
    struct shd_error err;

    if (!here || !there || spread_create(&spread, mesh, axis, &err) != SHD_OK)
        abort();
    *here = *there = *plan;
    run(&one, here, mesh, NULL, opts);
    run(&several, there, mesh, spread, opts);
    ok(all(one.status == SHD_OK && several.status == SHD_OK), "%s: both run (%s)", what,
       several.err.text);
    ok(all(!memcmp(here->digest, there->digest, sizeof here->digest)), "%s: the same bits", what);
    ok(all(same_counts(&one.stats, &several.stats)), "%s: the same bytes and memory", what);
    shd_run_stats_fini(&one.stats);
    shd_run_stats_fini(&several.stats);
    spread_destroy(spread);
    free(here);
    free(there);
}

static void compare_drawn(const struct shd_mesh *mesh, const char *axis, uint64_t seed,
                          const struct shd_run_opts *opts, const char *what)
{
    struct plan plan;

    make_plan(&plan, seed);
    compare(mesh, axis, &plan, opts, what);
}

/* If an axis other than the first is spread over the ranks, all-reduces go by chain. */
static void compare_long(const struct shd_mesh *mesh)
{
    const struct shd_run_opts usual = SHD_RUN_OPTS_INIT;
    struct plan plan;

    make_long_plan(&plan);
    compare(mesh, NULL, &plan, &usual, "long, in the order of devices");
    if (ranks_count() <= 3)
        compare(mesh, "b", &plan, &usual, "long, by the middle axis");
}

static void compare_faults(const struct shd_mesh *mesh)
{
    static const char *const names[] = {[FAILS] = "a device fails",
                                        [DIFFERS] = "a device calls something else",
                                        [LEAVES] = "a device leaves",
                                        [CIRCLE] = "two wait for each other",
                                        [TOO_MUCH] = "a device has no memory",
                                        [STOPPED] = "a rank is asked to stop"};
    struct shd_run_opts opts = SHD_RUN_OPTS_INIT;
    struct plan *plan = malloc(sizeof *plan);
    struct spread *spread;
    struct shd_error err;

    if (!plan || spread_create(&spread, mesh, NULL, &err) != SHD_OK)
        abort();
    for (int f = FAILS; f <= STOPPED; f++) {
        for (int32_t device = 1; device < NDEVICES; device += 5) {
            struct outcome one, several;

            make_plan(plan, (uint64_t)f);
            plan->fault = (enum fault)f;
            plan->at = 7;
            plan->device = device;
            plan->calls[7].kind = COLL_ALL_REDUCE;
            plan->calls[7].axes = "a,b,c";
            opts.stop_request = NULL;
            if (f == STOPPED) /* one rank alone never sees the request, so the expected outcome
                               * is given */
                one = (struct outcome){.status = SHD_ESTOPPED, .err.text = "stopped by request"};
            else
                run(&one, plan, mesh, NULL, &opts);
            run(&several, plan, mesh, spread, &opts);
            ok(all(one.status == several.status && !strcmp(one.err.text, several.err.text) &&
                   one.stats.error_device == several.stats.error_device * (f != STOPPED)),
               "%s (device %" PRId32 "): '%s', '%s'", names[f], device, one.err.text,
               several.err.text);
            if (f != STOPPED)
                shd_run_stats_fini(&one.stats);
            shd_run_stats_fini(&several.stats);
        }
    }
    spread_destroy(spread);
    free(plan);
}

/* A stop may come at any moment of a call.  All ranks must agree whether that call still takes
 * place, because a rank that has begun waits for the parts that others send. */
static void compare_stops(const struct shd_mesh *mesh)
{
    const struct shd_run_opts opts = SHD_RUN_OPTS_INIT;
    struct plan *plan = malloc(sizeof *plan);
    struct spread *spread;
    struct shd_error err;
    bool good = true;

    if (!plan || spread_create(&spread, mesh, NULL, &err) != SHD_OK)
        abort();
    for (uint64_t seed = 0; seed <= NSTOPS; seed++) {
        struct outcome several;

        make_plan(plan, seed + 300);
        plan->fault = seed > 0 ? AMID : TANGLED;
        run(&several, plan, mesh, spread, &opts);
        good &= several.status == SHD_ESTOPPED && !strcmp(several.err.text, "stopped by request");
        shd_run_stats_fini(&several.stats);
    }
    ok(all(good), "a rank is asked to stop where two wait for each other, and %d times amid calls",
       NSTOPS);
    spread_destroy(spread);
    free(plan);
}

/* If one rank cannot start its devices, no rank begins, and all ranks report why. */
static void compare_start(const struct shd_mesh *mesh)
{
    struct shd_run_opts opts = SHD_RUN_OPTS_INIT;
    struct plan *plan = malloc(sizeof *plan);
    struct spread *spread;
    struct shd_error err;
    struct outcome several;

    if (!plan || spread_create(&spread, mesh, NULL, &err) != SHD_OK)
        abort();
    make_plan(plan, 400);
    opts.stack_bytes = ranks_me() == ranks_count() - 1;
    run(&several, plan, mesh, spread, &opts);
    ok(all(several.status == SHD_EINVAL && strstr(several.err.text, "a stack of 1 bytes")),
       "a rank cannot start: '%s'", several.err.text);
    shd_run_stats_fini(&several.stats);
    spread_destroy(spread);
    free(plan);
}

int main(void)
{
    const struct shd_run_opts usual = SHD_RUN_OPTS_INIT;
    struct shd_run_opts by_steps = SHD_RUN_OPTS_INIT, rings = SHD_RUN_OPTS_INIT;
    struct shd_mesh *mesh;
    struct shd_error err;

    if (ranks_begin(&err) != SHD_OK || (ranks_me() > 0 && !freopen("/dev/null", "w", stdout)))
        return 1;
    plan(0);
    if (shd_mesh_create(&mesh, axis_names, axis_sizes, 3, &err) != SHD_OK)
        abort();
    by_steps.fuse_bytes = -1;
    rings.algorithms = "all-reduce=ring,all-gather=ring,reduce-scatter=ring";
    for (uint64_t seed = 1; seed <= 3; seed++) {
        compare_drawn(mesh, NULL, seed, &usual, "in the order of devices");
        if (ranks_count() <= 3)
            compare_drawn(mesh, "b", seed, &usual, "by the middle axis");
        if (ranks_count() <= 2)
            compare_drawn(mesh, "c", seed, &usual, "by the last axis");
        compare_drawn(mesh, NULL, seed + 100, &by_steps, "step by step");
        compare_drawn(mesh, NULL, seed + 200, &rings, "by rings");
    }
    compare_long(mesh);
    compare_faults(mesh);
    compare_stops(mesh);
    compare_start(mesh);
    shd_mesh_destroy(mesh);
    ranks_end();
    return done();
}

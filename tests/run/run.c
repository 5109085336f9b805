/* Tests shd/run.h and run/collective.h for runs that succeed: device threads give the same bits
 * and count the same bytes as the schedules walked in one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <shd/run.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kern/kern.h"
#include "run/collective.h"
#include "../support/tap.h"

#define DEVICES_MAX 12
#define LARGE 5003 /* elements; several blocks of a reduction, and a prime number */

/* ---- the reference: a schedule, walked in one thread ---- */

struct ref {
    const struct coll_algo *algo;
    struct coll_shape shape;
    enum shd_dtype dtype;
    enum shd_reduce_op op;
    uint64_t bytes; /* of each buffer */
    char *buf[DEVICES_MAX][3];
    char *out; /* the result of the call itself */
};

/* All buffers are one allocation, because a sanitizer maps and unmaps large allocations each
 * time. */
static bool ref_init(struct ref *ref, uint64_t ndevices, uint64_t count)
{
    uint64_t bytes = ndevices * sizeof(double) * (count + ndevices);

    *ref = (struct ref){.bytes = bytes, .out = calloc(3 * ndevices + 1, bytes)};
    for (uint64_t i = 0; i < 3 * ndevices && ref->out; i++)
        ref->buf[i / 3][i % 3] = ref->out + (i + 1) * bytes;
    return ref->out != NULL;
}

static void fill(const struct ref *ref, uint32_t position, uint64_t count, void *out)
{
    struct kern_source source = {.seed = position * 7919, .scale = 8, .modulus = 0};
    int64_t n = (int64_t)count;
    int64_t zero = 0;

    kern_fill(&source, ref->dtype, 1, &n, &zero, &n, out);
}

static void ref_move(struct ref *ref, uint32_t member, const struct coll_move *move)
{
    size_t size = shd_dtype_size(ref->dtype);
    char *dst = ref->buf[member][move->dst] + move->dst_at * size;
    const char *src = ref->buf[move->peer][move->src] + move->src_at * size;

    if (move->act == COLL_ZERO)
        memset(dst, 0, move->count * size);
    else if (move->act == COLL_COPY)
        memcpy(dst, src, move->count * size);
    else
        kern_combine(ref->dtype, ref->op, dst, &(const void *){src}, 1, move->count);
}

/* Walk the schedule for all members, and add the bytes that `me` receives to received[member]. */
static void ref_walk(struct ref *ref, uint32_t me, uint64_t *received)
{
    const struct coll_shape *shape = &ref->shape;

    for (uint32_t s = 0; s < ref->algo->nsteps(shape); s++) {
        for (uint32_t m = 0; m < shape->nmembers; m++) {
            for (uint32_t i = 0; i < ref->algo->nmoves(shape, m, s); i++) {
                struct coll_move move;

                ref->algo->move(shape, m, s, i, &move);
                ref_move(ref, m, &move);
                if (m == me && move.peer != me)
                    received[move.peer] += move.count * shd_dtype_size(ref->dtype);
            }
        }
    }
    if (ref->algo->reduces && ref->op == SHD_MEAN)
        kern_scale(ref->dtype, ref->buf[me][COLL_OUT], 1.0 / shape->nmembers,
                   coll_out_count(ref->algo->kind, shape, me));
}

/* ---- all kinds, types and operators over one set of axes ---- */

struct suite {
    const char *algorithm; /* the algorithm to use in each kind whose groups it serves */
    bool pow2;             /* all groups are powers of two */
    int32_t ndevices;
    const char *axes[5];
    uint64_t counts[4];
    uint64_t ncounts;
    uint32_t nwrong[DEVICES_MAX];
    uint64_t received[DEVICES_MAX][DEVICES_MAX]; /* bytes by the schedules */
};

static int call_kind(struct shd_device *dev, const char *axes, const struct ref *ref,
                     const void *in, void *out, struct shd_error *err)
{
    const struct coll_shape *s = &ref->shape;

    switch (ref->algo->kind) {
    case COLL_ALL_REDUCE:
        return shd_device_all_reduce(dev, axes, in, out, s->count, ref->dtype, ref->op, err);
    case COLL_ALL_GATHER:
        return shd_device_all_gather(dev, axes, in, out, s->count, ref->dtype, err);
    case COLL_REDUCE_SCATTER:
        return shd_device_reduce_scatter(dev, axes, in, out, s->count, ref->dtype, ref->op, err);
    case COLL_ALL_TO_ALL:
        return shd_device_all_to_all(dev, axes, in, out, s->count, ref->dtype, err);
    case COLL_PERMUTE:
        return shd_device_permute(dev, axes, s->source, in, out, s->count, ref->dtype, err);
    case COLL_BROADCAST:
        return shd_device_broadcast(dev, axes, s->root, in, out, s->count, ref->dtype, err);
    case COLL_GATHER:
        return shd_device_gather(dev, axes, s->root, in, out, s->count, ref->dtype, err);
    case COLL_SCATTER:
        return shd_device_scatter(dev, axes, s->root, in, out, s->count, ref->dtype, err);
    case COLL_REDUCE:
        return shd_device_reduce(dev, axes, s->root, in, out, s->count, ref->dtype, ref->op, err);
    default:
        return shd_device_barrier(dev, axes, err);
    }
}

/* The algorithm that the run was told to use, see add_choices(). */
static const struct coll_algo *suite_algo(const struct suite *suite, enum coll_kind kind)
{
    const struct coll_algo *algo = coll_find(kind, suite->algorithm);

    return algo && (algo->limits == COLL_ANY || suite->pow2) ? algo : coll_find(kind, NULL);
}

/* Whether a suite calls this kind: the suite of direct algorithms calls all kinds, and any other
 * suite those that have its algorithm, because others would be called as before. */
static bool suite_calls(const struct suite *suite, enum coll_kind kind)
{
    return kind != COLL_SEND_RECV && (!strcmp(suite->algorithm, "direct") ||
                                      !strcmp(suite_algo(suite, kind)->name, suite->algorithm));
}

/* The positions of the members of the caller's group, by an all-gather, which tests that as
 * well. */
static int gather_positions(struct shd_device *dev, struct suite *suite, const char *axes,
                            uint32_t me, uint32_t n, int32_t *positions, struct shd_error *err)
{
    const struct coll_algo *algo = suite_algo(suite, COLL_ALL_GATHER);
    struct coll_shape shape = {.nmembers = n, .count = 1};
    int32_t mine = shd_device_position(dev);
    int status = shd_device_all_gather(dev, axes, &mine, positions, 1, SHD_I32, err);

    for (uint32_t s = 0; s < algo->nsteps(&shape) && status == SHD_OK; s++) {
        for (uint32_t i = 0; i < algo->nmoves(&shape, me, s); i++) {
            struct coll_move move;

            algo->move(&shape, me, s, i, &move);
            if (move.peer != me)
                suite->received[mine][positions[move.peer]] += move.count * sizeof(int32_t);
        }
    }
    return status;
}

static int test_call(struct shd_device *dev, struct suite *suite, const char *axes,
                     const int32_t *positions, uint32_t me, struct ref *ref, struct shd_error *err)
{
    int32_t position = shd_device_position(dev);
    uint64_t received[DEVICES_MAX] = {0};
    int status;

    memset(ref->out, 0, ref->bytes);
    for (uint32_t m = 0; m < ref->shape.nmembers; m++) {
        fill(ref, (uint32_t)positions[m], ref->shape.count, ref->buf[m][COLL_IN]);
        memset(ref->buf[m][COLL_OUT], 0, ref->bytes);
    }
    ref_walk(ref, me, received);
    status = call_kind(dev, axes, ref, ref->buf[me][COLL_IN], ref->out, err);
    if (status == SHD_OK && memcmp(ref->out, ref->buf[me][COLL_OUT], ref->bytes) != 0)
        suite->nwrong[position]++;
    for (uint32_t m = 0; m < ref->shape.nmembers; m++)
        suite->received[position][positions[m]] += received[m];
    return status;
}

static int test_kind(struct shd_device *dev, struct suite *suite, const char *axes, uint32_t me,
                     const int32_t *positions, struct ref *ref, struct shd_error *err)
{
    int status = SHD_OK;

    for (int t = 0; t < SHD_NCOMPUTE_DTYPES && status == SHD_OK; t++) {
        for (int op = SHD_SUM; op <= SHD_MIN && status == SHD_OK; op++) {
            if (op != SHD_SUM && !ref->algo->reduces)
                break;
            ref->dtype = (enum shd_dtype)t;
            ref->op = (enum shd_reduce_op)op;
            for (uint64_t c = 0; c < suite->ncounts && status == SHD_OK; c++) {
                ref->shape.count = suite->counts[c];
                status = test_call(dev, suite, axes, positions, me, ref, err);
            }
        }
    }
    return status;
}

static int test_axes(struct shd_device *dev, struct suite *suite, const char *axes,
                     struct ref *ref, struct shd_error *err)
{
    int32_t positions[DEVICES_MAX];
    uint32_t source[DEVICES_MAX];
    uint32_t me;
    uint32_t n;
    int status = shd_device_group(dev, axes, &me, &n, err);

    if (status == SHD_OK)
        status = gather_positions(dev, suite, axes, me, n, positions, err);
    for (uint32_t m = 0; m < n && status == SHD_OK; m++)
        source[m] = m == 2 ? COLL_NOBODY : (m + 1) % n;
    for (int k = 0; k < COLL_NKINDS && status == SHD_OK; k++) {
        if (!suite_calls(suite, (enum coll_kind)k))
            continue;
        ref->algo = suite_algo(suite, (enum coll_kind)k);
        ref->shape = (struct coll_shape){.nmembers = n, .root = n / 2, .source = source};
        status = test_kind(dev, suite, axes, me, positions, ref, err);
    }
    return status;
}

static int suite_main(struct shd_device *dev, void *arg, struct shd_error *err)
{
    struct suite *suite = arg;
    uint64_t most = 0;
    struct ref ref;
    int status = SHD_OK;

    for (uint64_t c = 0; c < suite->ncounts; c++)
        most = suite->counts[c] > most ? suite->counts[c] : most;
    if (!ref_init(&ref, (uint64_t)suite->ndevices, most))
        status = shd_error_set(err, SHD_ENOMEM, "no memory for the reference");
    for (int i = 0; i < 5 && status == SHD_OK && (i == 0 || suite->axes[i]); i++)
        status = test_axes(dev, suite, suite->axes[i], &ref, err);
    free(ref.out);
    return status;
}

static bool check_counts(const struct suite *suite, const struct shd_run_stats *stats)
{
    for (int32_t d = 0; d < stats->ndevices; d++) {
        uint64_t received = 0;
        uint64_t sent = 0;

        for (int32_t p = 0; p < stats->ndevices; p++) {
            if (stats->matrix[d * stats->ndevices + p] != suite->received[d][p])
                return false;
            received += suite->received[d][p];
            sent += suite->received[p][d];
        }
        if (stats->received_bytes[d] != received || stats->sent_bytes[d] != sent)
            return false;
    }
    return true;
}

struct mesh_case {
    const char *what;
    const char *names[3];
    int32_t sizes[3];
    size_t naxes;
    const char *axes[5]; /* the first, NULL, means all axes */
};

static const struct mesh_case mesh_cases[] = {
    {"1 device", {"x"}, {1}, 1, {NULL, "x", ""}},
    {"2 devices", {"x"}, {2}, 1, {NULL, "x", ""}},
    {"3 devices", {"x"}, {3}, 1, {NULL, "x"}},
    {"2 x 2", {"dp", "tp"}, {2, 2}, 2, {NULL, "dp", "tp", "tp,dp", ""}},
    {"2 x 3", {"dp", "tp"}, {2, 3}, 2, {NULL, "dp", "tp", "tp,dp"}},
    {"2 x 2 x 2", {"a", "b", "c"}, {2, 2, 2}, 3, {NULL, "c,a", "b", "a,b"}},
};

static struct shd_mesh *make_mesh(const struct mesh_case *c)
{
    struct shd_mesh *mesh = NULL;

    if (shd_mesh_create(&mesh, c->names, c->sizes, c->naxes, NULL) != SHD_OK)
        abort();
    return mesh;
}

/* Print the suite's algorithms as the run's option: "all-reduce=ring,all-gather=ring". */
static void add_choices(const struct suite *suite, char *out, size_t size)
{
    size_t length = 0;

    for (int k = 0; k < COLL_NKINDS; k++)
        length += (size_t)snprintf(out + length, size - length, "%s%s=%s", k ? "," : "",
                                   coll_kind_name((enum coll_kind)k),
                                   suite_algo(suite, (enum coll_kind)k)->name);
}

static bool all_pow2(const struct mesh_case *c)
{
    for (size_t a = 0; a < c->naxes; a++) {
        if (c->sizes[a] & (c->sizes[a] - 1))
            return false;
    }
    return true;
}

static void run_suite(const struct mesh_case *c, const char *algorithm, int64_t fuse_bytes,
                      struct suite *suite)
{
    struct shd_run_opts opts = SHD_RUN_OPTS_INIT;
    struct shd_mesh *mesh = make_mesh(c);
    struct shd_run_stats stats;
    struct shd_error err = {0, ""};
    uint32_t nwrong = 0;
    char choices[512];
    int status;

    suite->algorithm = algorithm;
    suite->ndevices = shd_mesh_size(mesh);
    memcpy(suite->axes, c->axes, sizeof(suite->axes));
    opts.fuse_bytes = fuse_bytes;
    suite->pow2 = all_pow2(c);
    add_choices(suite, choices, sizeof(choices));
    opts.algorithms = choices;
    status = shd_run(mesh, suite_main, suite, &opts, &stats, &err);
    for (int d = 0; d < DEVICES_MAX; d++)
        nwrong += suite->nwrong[d];
    ok(status == SHD_OK && nwrong == 0, "%s, %s%s: all calls give the schedule's bits", c->what,
       algorithm, fuse_bytes < 0 ? "" : ", small ones fused");
    if (status != SHD_OK || nwrong)
        diag("status %d, %" PRIu32 " wrong: %s", status, nwrong, err.text);
    ok(check_counts(suite, &stats), "%s, %s%s: bytes by device and source are the schedule's",
       c->what, algorithm, fuse_bytes < 0 ? "" : ", small ones fused");
    shd_run_stats_fini(&stats);
    shd_mesh_destroy(mesh);
}

static const char *const algorithm_names[] = {
    "direct", "ring", "recursive-doubling", "recursive-halving", "halving-doubling", "tree",
    "bruck", "pairwise", "two-level"};
#define NALGORITHMS (sizeof(algorithm_names) / sizeof(algorithm_names[0]))

static void test_schedules(bool small)
{
    for (size_t i = 0; i < sizeof(mesh_cases) / sizeof(mesh_cases[0]); i++) {
        for (size_t variant = 0; variant < 2 * NALGORITHMS; variant++) {
            struct suite suite = {.counts = {1, 7, 0, 12}, .ncounts = small ? 2 : 4};

            if (small && !sampled(2, i + variant / 2))
                continue;
            run_suite(&mesh_cases[i], algorithm_names[variant / 2], variant % 2 ? 0 : -1, &suite);
        }
    }
}

static void test_large(void)
{
    static const struct mesh_case three = {"5003 elements on 3", {"x"}, {3}, 1, {NULL}};
    static const struct mesh_case six = {"5003 elements on 6", {"x"}, {6}, 1, {NULL}};

    for (size_t a = 0; a < NALGORITHMS; a++) {
        struct suite suite = {.counts = {LARGE}, .ncounts = 1};
        struct suite larger = {.counts = {LARGE}, .ncounts = 1};

        run_suite(&three, algorithm_names[a], 0, &suite);
        run_suite(&six, algorithm_names[a], 0, &larger);
    }
}

/* ---- calls that store past the caches ---- */

/* float32 elements with which an all-reduce of two devices reads and writes more than 64 MiB (see
 * run/fused.c); an odd number, so that chunks differ in size. */
#define STREAMED ((UINT64_C(17) << 20) / 4 + 1)

static int streamed_main(struct shd_device *dev, void *arg, struct shd_error *err)
{
    _Atomic uint32_t *nwrong = arg;
    uint32_t wrong = 0;
    float *in;
    float *out;
    int status = shd_device_alloc(dev, STREAMED * 4, "in", (void **)&in, err);

    if (status == SHD_OK)
        status = shd_device_alloc(dev, STREAMED * 4, "out", (void **)&out, err);
    if (status != SHD_OK)
        return status;
    for (uint64_t i = 0; i < STREAMED; i++) {
        in[i] = (float)(i % 1021 + (uint64_t)shd_device_position(dev));
        out[i] = -1;
    }
    status = shd_device_all_reduce(dev, "x", in, out, STREAMED, SHD_F32, SHD_SUM, err);
    for (uint64_t i = 0; i < STREAMED && status == SHD_OK; i++)
        wrong += out[i] != (float)(2 * (i % 1021) + 1);
    atomic_fetch_add(nwrong, wrong);
    return status;
}

static void test_streamed(void)
{
    static const struct mesh_case two = {"2 devices", {"x"}, {2}, 1, {NULL}};
    const struct coll_algo *algo = coll_find(COLL_ALL_REDUCE, NULL);
    const struct coll_shape shape = {.nmembers = 2, .count = STREAMED};
    struct shd_mesh *mesh = make_mesh(&two);
    _Atomic uint32_t nwrong = 0;
    struct shd_run_stats stats;
    int status = shd_run(mesh, streamed_main, &nwrong, NULL, &stats, NULL);

    ok(status == SHD_OK && nwrong == 0, "an all-reduce past the caches gives the sum");
    ok(stats.matrix[0] == 0 && stats.matrix[3] == 0 &&
           stats.matrix[1] == 4 * algo->received(&shape, 0) &&
           stats.matrix[2] == 4 * algo->received(&shape, 1),
       "an all-reduce past the caches: bytes by device and source are the schedule's");
    shd_run_stats_fini(&stats);
    shd_mesh_destroy(mesh);
}

/* ---- views: arrays cut along a dimension in the middle ---- */

#define OUTER 3
#define LEN 5 /* length of each shard */
#define INNER 2
#define PARTS 4
#define SHARD (OUTER * LEN * INNER)

struct flags {
    int bad[DEVICES_MAX];
};

static float whole_value(int64_t o, int64_t i, int64_t k)
{
    return (float)(o * 10000 + i * 100 + k);
}

static float *whole_at(float *whole, int64_t o, int64_t i, int64_t k)
{
    return &whole[(o * PARTS * LEN + i) * INNER + k];
}

static const struct coll_view cut = {
    .chunk = SHARD, .run = LEN * INNER, .stride = PARTS * LEN * INNER};

static int gather_view(struct shd_device *dev, struct coll_call *call, struct flags *flags,
                       struct shd_error *err)
{
    int32_t d = shd_device_position(dev);
    float shard[OUTER][LEN][INNER];
    float whole[SHARD * PARTS] = {0};
    int status;

    for (int64_t o = 0; o < OUTER; o++)
        for (int64_t i = 0; i < LEN; i++)
            for (int64_t k = 0; k < INNER; k++)
                shard[o][i][k] = whole_value(o, d * LEN + i, k);
    call->kind = COLL_ALL_GATHER;
    call->count = SHARD;
    call->in = (struct coll_view){.base = shard};
    call->out = cut;
    call->out.base = whole;
    status = run_collective(dev, call, err);
    for (int64_t o = 0; o < OUTER && status == SHD_OK; o++)
        for (int64_t i = 0; i < PARTS * LEN; i++)
            for (int64_t k = 0; k < INNER; k++)
                flags->bad[d] += *whole_at(whole, o, i, k) != whole_value(o, i, k);
    flags->bad[d] += call->received_bytes != (PARTS - 1) * SHARD * sizeof(float);
    return status;
}

static int scatter_view(struct shd_device *dev, struct coll_call *call, struct flags *flags,
                        struct shd_error *err)
{
    int32_t d = shd_device_position(dev);
    float shard[OUTER][LEN][INNER];
    float whole[SHARD * PARTS];
    int status;

    for (int64_t o = 0; o < OUTER; o++)
        for (int64_t i = 0; i < PARTS * LEN; i++)
            for (int64_t k = 0; k < INNER; k++)
                *whole_at(whole, o, i, k) = whole_value(o, i, k) + (float)d;
    call->kind = COLL_REDUCE_SCATTER;
    call->count = SHARD * PARTS;
    call->in = cut;
    call->in.base = whole;
    call->out = (struct coll_view){.base = shard};
    status = run_collective(dev, call, err);
    for (int64_t o = 0; o < OUTER && status == SHD_OK; o++)
        for (int64_t i = 0; i < LEN; i++)
            for (int64_t k = 0; k < INNER; k++)
                flags->bad[d] += shard[o][i][k] != PARTS * whole_value(o, d * LEN + i, k) + 6;
    return status;
}

/* Exchange shards along the middle dimension of [4][20][2] for shards along the outer one. */
static int exchange_view(struct shd_device *dev, struct coll_call *call, struct flags *flags,
                         struct shd_error *err)
{
    int32_t d = shd_device_position(dev);
    float before[PARTS][LEN][INNER];
    float after[PARTS * LEN][INNER];
    int status;

    for (int64_t o = 0; o < PARTS; o++)
        for (int64_t i = 0; i < LEN; i++)
            for (int64_t k = 0; k < INNER; k++)
                before[o][i][k] = whole_value(o, d * LEN + i, k);
    call->kind = COLL_ALL_TO_ALL;
    call->count = PARTS * LEN * INNER;
    call->in = (struct coll_view){.base = before};
    call->out = (struct coll_view){.base = after,
                                   .chunk = LEN * INNER,
                                   .run = LEN * INNER,
                                   .stride = PARTS * LEN * INNER};
    status = run_collective(dev, call, err);
    for (int64_t i = 0; i < PARTS * LEN && status == SHD_OK; i++)
        for (int64_t k = 0; k < INNER; k++)
            flags->bad[d] += after[i][k] != whole_value(d, i, k);
    return status;
}

static int views_main(struct shd_device *dev, void *arg, struct shd_error *err)
{
    static const int32_t members[] = {0, 1, 2, 3};
    struct flags *flags = arg;
    struct coll_call call = {.dtype = SHD_F32, .where = "views"};
    int status = run_group_of_list(&call.seat, dev, members, PARTS, err);

    if (status == SHD_OK)
        status = gather_view(dev, &call, flags, err);
    if (status == SHD_OK)
        status = scatter_view(dev, &call, flags, err);
    if (status == SHD_OK)
        status = exchange_view(dev, &call, flags, err);
    call.algo = coll_find(COLL_ALL_GATHER, "ring");
    if (status == SHD_OK)
        status = gather_view(dev, &call, flags, err);
    call.algo = coll_find(COLL_REDUCE_SCATTER, "ring");
    if (status == SHD_OK)
        status = scatter_view(dev, &call, flags, err);
    call.algo = coll_find(COLL_ALL_GATHER, "bruck");
    if (status == SHD_OK)
        status = gather_view(dev, &call, flags, err);
    call.algo = coll_find(COLL_REDUCE_SCATTER, "recursive-halving");
    if (status == SHD_OK)
        status = scatter_view(dev, &call, flags, err);
    call.algo = coll_find(COLL_ALL_TO_ALL, "bruck");
    if (status == SHD_OK)
        status = exchange_view(dev, &call, flags, err);
    return status;
}

/* ---- in place ---- */

static int in_place_main(struct shd_device *dev, void *arg, struct shd_error *err)
{
    struct flags *flags = arg;
    int32_t d = shd_device_position(dev);
    int32_t x[4 * LARGE];
    int status;

    for (int32_t i = 0; i < LARGE; i++)
        x[i] = d * 3 + i;
    status = shd_device_all_reduce(dev, NULL, x, x, LARGE, SHD_I32, SHD_SUM, err);
    for (int32_t i = 0; i < LARGE && status == SHD_OK; i++)
        flags->bad[d] += x[i] != 18 + 4 * i;
    if (status == SHD_OK)
        status = shd_device_reduce(dev, NULL, 2, x, x, LARGE, SHD_I32, SHD_MAX, err);
    if (status == SHD_OK)
        status = shd_device_broadcast(dev, NULL, 2, x, x, LARGE, SHD_I32, err);
    for (int32_t i = 0; i < LARGE && status == SHD_OK; i++)
        flags->bad[d] += x[i] != 18 + 4 * i;
    for (int32_t i = 0; i < LARGE; i++)
        x[d * LARGE + i] = d + i;
    if (status == SHD_OK)
        status = shd_device_all_gather(dev, NULL, x + d * LARGE, x, LARGE, SHD_I32, err);
    for (int32_t i = 0; i < 4 * LARGE && status == SHD_OK; i++)
        flags->bad[d] += x[i] != i / LARGE + i % LARGE;
    if (status == SHD_OK)
        status = shd_device_reduce_scatter(dev, NULL, x, x + d * LARGE, 4 * LARGE, SHD_I32, SHD_SUM,
                                           err);
    for (int32_t i = 0; i < LARGE && status == SHD_OK; i++)
        flags->bad[d] += x[d * LARGE + i] != 4 * (d + i);
    return status;
}

/* ---- pairs, and pulling ---- */

static int pairs_main(struct shd_device *dev, void *arg, struct shd_error *err)
{
    struct flags *flags = arg;
    int32_t d = shd_device_position(dev);
    int32_t sent[2] = {d, 100 + d};
    int32_t got[2] = {-1, -1};
    int32_t to = (d + 1) % 4;
    int32_t from = (d + 3) % 4;
    int status;

    if (d % 2 == 0) { /* if all devices sent first, each would wait for the next */
        status = shd_device_send(dev, to, sent, 2, SHD_I32, err);
        if (status == SHD_OK)
            status = shd_device_recv(dev, from, got, 2, SHD_I32, err);
    } else {
        status = shd_device_recv(dev, from, got, 2, SHD_I32, err);
        if (status == SHD_OK)
            status = shd_device_send(dev, to, sent, 2, SHD_I32, err);
    }
    flags->bad[d] += got[0] != from || got[1] != 100 + from;
    return status;
}

struct puller {
    struct flags *flags;
    int fail;
};

static int pull_all(struct run_pull *pull, void *arg, struct shd_error *err)
{
    const struct puller *puller = arg;

    for (uint32_t m = 0; m < 4; m++) {
        const int32_t *theirs = run_pull_peer(pull, m);

        puller->flags->bad[pull->seat.member] += *theirs != (int32_t)m * 5;
        run_pull_count(pull, m, sizeof(*theirs), true);
    }
    return puller->fail ? shd_error_set(err, SHD_EINVAL, "as asked") : SHD_OK;
}

static int pull_main(struct shd_device *dev, void *arg, struct shd_error *err)
{
    static const uint8_t axes[] = {0, 1};
    int32_t d = shd_device_position(dev);
    int32_t mine = d * 5;
    struct puller puller = {.flags = arg, .fail = 0};
    struct run_seat seat;
    uint64_t received = 0;
    int status = run_group_over_axes(&seat, dev, axes, 2, err);

    if (status == SHD_OK)
        status = run_pull_phase(dev, seat, &mine, sizeof mine, 1, "test", pull_all, &puller,
                                &received, err);
    puller.flags->bad[d] += received != 3 * sizeof(int32_t);
    puller.fail = d == 1; /* a device that fails inside the call lets the others finish */
    if (status == SHD_OK)
        status = run_pull_phase(dev, seat, &mine, sizeof mine, 2, "test", pull_all, &puller, NULL,
                                err);
    return d == 1 && status == SHD_EINVAL ? SHD_OK : status;
}

/* ---- the same function on a 2 x 2 mesh ---- */

static void run_square(const char *what, shd_device_fn fn, const char *algorithms,
                       uint64_t received_bytes)
{
    static const struct mesh_case c = {"", {"x", "y"}, {2, 2}, 2, {NULL}};
    struct shd_run_opts opts = SHD_RUN_OPTS_INIT;
    struct shd_mesh *mesh = make_mesh(&c);
    struct flags flags = {{0}};
    struct shd_error err = {0, ""};
    struct shd_run_stats stats;
    int status;
    int good;

    opts.algorithms = algorithms;
    status = shd_run(mesh, fn, &flags, &opts, &stats, &err);
    good = status == SHD_OK && stats.error_device == -1;
    for (int d = 0; d < 4; d++)
        good = good && flags.bad[d] == 0 &&
               (received_bytes == 0 || stats.received_bytes[d] == received_bytes);
    if (!ok(good, "%s", what))
        diag("status %d: %s", status, err.text);
    shd_run_stats_fini(&stats);
    shd_mesh_destroy(mesh);
}

/* ---- calls that must be refused, on all devices alike ---- */

static int refuse_main(struct shd_device *dev, void *arg, struct shd_error *err)
{
    static const uint32_t beyond[] = {0, 4, 1, 2};
    struct flags *flags = arg;
    int32_t d = shd_device_position(dev);
    int32_t x[4] = {0};
    int32_t y[4] = {0};
    const struct {
        int status, want;
    } calls[] = {
        {shd_device_barrier(dev, "z", err), SHD_ENOAXIS},
        {shd_device_barrier(dev, "x,", err), SHD_ENOAXIS},
        {shd_device_barrier(dev, "x,x", err), SHD_EDUPAXIS},
        {shd_device_broadcast(dev, NULL, 4, x, y, 4, SHD_I32, err), SHD_EINVAL},
        {shd_device_permute(dev, NULL, beyond, x, y, 4, SHD_I32, err), SHD_EINVAL},
        {shd_device_permute(dev, NULL, NULL, x, y, 4, SHD_I32, err), SHD_EINVAL},
        {shd_device_all_to_all(dev, NULL, x, x, 4, SHD_I32, err), SHD_EINVAL},
        {shd_device_all_reduce(dev, NULL, x, y, 4, SHD_I8, SHD_SUM, err), SHD_EUNSUPPORTED},
        {shd_device_all_gather(dev, NULL, x, y, UINT64_MAX / 8, SHD_I32, err), SHD_ERANGE},
        {shd_device_send(dev, d, x, 1, SHD_I32, err), SHD_EINVAL},
        {shd_device_send(dev, 4, x, 1, SHD_I32, err), SHD_EINVAL},
        {shd_device_recv(dev, -1, x, 1, SHD_I32, err), SHD_EINVAL},
    };

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        flags->bad[d] += calls[i].status != calls[i].want;
    flags->bad[d] += shd_device_coord(dev, "z") != -1 || shd_device_coord(dev, "x") != d / 2;
    return shd_device_barrier(dev, NULL, err); /* refused calls leave the run usable */
}

static int empty_main(struct shd_device *dev, void *arg, struct shd_error *err)
{
    (void)arg;
    return shd_device_barrier(dev, NULL, err);
}

static void test_options(void)
{
    static const struct mesh_case c = {"", {"x"}, {2}, 1, {NULL}};
    static const struct {
        const char *what;
        struct shd_run_opts opts;
        int status;
    } cases[] = {
        {"no '='", {.algorithms = "ring"}, SHD_EINVAL},
        {"no such collective", {.algorithms = "sum=ring"}, SHD_EINVAL},
        {"no such algorithm", {.algorithms = "all-reduce=ring,barrier=tree"}, SHD_EINVAL},
        {"tiny stack", {.stack_bytes = 100}, SHD_EINVAL},
        {"no limit on waits", {.wait_limit_s = -1}, SHD_OK},
        {"large stack", {.stack_bytes = 1 << 20}, SHD_OK},
    };
    struct shd_mesh *mesh = make_mesh(&c);

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct shd_run_stats stats;
        struct shd_error err = {0, ""};
        int status = shd_run(mesh, empty_main, NULL, &cases[i].opts, &stats, &err);

        ok(status == cases[i].status && stats.ndevices == 2 &&
               (status == SHD_OK || err.text[0] != '\0'),
           "options: %s", cases[i].what);
        shd_run_stats_fini(&stats);
    }
    ok(shd_run(mesh, empty_main, NULL, NULL, NULL, NULL) == SHD_OK,
       "options, counts and error may be left out");
    shd_mesh_destroy(mesh);
}

/* ---- many devices ---- */

static int many_main(struct shd_device *dev, void *arg, struct shd_error *err)
{
    int *nwrong = arg;
    int32_t d = shd_device_position(dev);
    int32_t n = shd_mesh_size(shd_device_mesh(dev));

    for (int32_t round = 0; round < 5; round++) {
        int32_t in = d + round;
        int32_t out = -1;
        int status = shd_device_all_reduce(dev, NULL, &in, &out, 1, SHD_I32, SHD_SUM, err);

        if (status != SHD_OK)
            return status;
        if (out != n * (n - 1) / 2 + n * round)
            __atomic_add_fetch(nwrong, 1, __ATOMIC_RELAXED);
    }
    return SHD_OK;
}

static void test_many(int32_t ndevices, int64_t fuse_bytes)
{
    const struct mesh_case c = {"", {"x"}, {ndevices}, 1, {NULL}};
    struct shd_run_opts opts = SHD_RUN_OPTS_INIT;
    struct shd_mesh *mesh = make_mesh(&c);
    struct shd_run_stats stats;
    struct shd_error err = {0, ""};
    int nwrong = 0;
    uint64_t received = 0;
    uint64_t sent = 0;
    int status;

    opts.fuse_bytes = fuse_bytes;
    status = shd_run(mesh, many_main, &nwrong, &opts, &stats, &err);
    for (int32_t d = 0; d < ndevices; d++) {
        received += stats.received_bytes[d];
        sent += stats.sent_bytes[d];
    }
    if (!ok(status == SHD_OK && nwrong == 0 && received == sent &&
                received == 5 * 2 * ((uint64_t)ndevices - 1) * sizeof(int32_t) &&
                (stats.matrix != NULL) == (ndevices <= SHD_RUN_MATRIX_MAX),
            "%" PRId32 " devices%s", ndevices, fuse_bytes < 0 ? "" : ", fused"))
        diag("status %d: %s", status, err.text);
    shd_run_stats_fini(&stats);
    shd_mesh_destroy(mesh);
}

int main(void)
{
    bool small = small_size();

    plan(0);
    test_schedules(small);
    test_large();
    test_streamed();
    run_square("views cut arrays along a dimension in the middle", views_main, NULL, 0);
    run_square("in place, direct", in_place_main, NULL, 0);
    run_square("in place, ring", in_place_main,
               "all-reduce=ring,all-gather=ring,reduce-scatter=ring", 0);
    run_square("in place, by doubling", in_place_main,
               "all-reduce=recursive-doubling,all-gather=recursive-doubling,"
               "reduce-scatter=recursive-halving,broadcast=tree,reduce=tree", 0);
    run_square("in place, halving and doubling", in_place_main,
               "all-reduce=halving-doubling,all-gather=bruck", 0);
    run_square("in place, two levels", in_place_main, "all-reduce=two-level", 0);
    run_square("send and receive round a ring", pairs_main, NULL, 8);
    run_square("pull phases, also with a failure inside", pull_main, NULL, 24);
    run_square("bad calls are refused", refuse_main, NULL, 0);
    test_options();
    test_many(64, -1);
    test_many(64, 0);
    if (!small)
        test_many(SHD_RUN_MATRIX_MAX + 1, 0);
    return done();
}

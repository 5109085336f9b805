/* reshard_cases.c - plan reshards that are read as lines of numbers; print the figures of each plan
 * and the time of planning.  Built and asked by reshard_table.py.
 *
 * A line: number of axes, their sizes; rank, extents; bytes of an element (1, 2, 4, 8); for `from`
 * and then for `to` an entry per dimension (number of axes, the axes) and the mask of partial axes.
 * An answer: bound, received, largest received, largest sent by a device, peak bytes of a device,
 * bytes of its source and destination shard, messages, steps that communicate, all steps, median
 * and largest nanoseconds of CPU time of `times` plans.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <shd/reshard_figures.h>

#define TIMES_MAX 1001

struct reshard {
    struct shd_mesh *mesh;
    struct shd_sharding from, to;
    int64_t shape[SHD_RANK_MAX];
    enum shd_dtype dtype;
};

static long long number(void)
{
    long long n;

    if (scanf("%lld", &n) != 1)
        exit(feof(stdin) ? 0 : 1);
    return n;
}

static void read_sharding(struct shd_sharding *s, const struct shd_mesh *mesh, size_t rank)
{
    shd_sharding_init(s, mesh, rank);
    for (size_t d = 0; d < rank; d++) {
        s->dims[d].naxes = (uint8_t)number();
        for (size_t i = 0; i < s->dims[d].naxes; i++)
            s->dims[d].axes[i] = (uint8_t)number();
    }
    s->partial = (uint16_t)number();
}

static void read_case(struct reshard *r)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
    static const enum shd_dtype types[] = {
        [1] = SHD_I8, [2] = SHD_BF16, [4] = SHD_F32, [8] = SHD_F64};
    int32_t sizes[6];
    size_t naxes = (size_t)number(), rank;

    for (size_t a = 0; a < naxes; a++)
        sizes[a] = (int32_t)number();
    rank = (size_t)number();
    for (size_t d = 0; d < rank; d++)
        r->shape[d] = number();
    r->dtype = types[number()];
    if (shd_mesh_create(&r->mesh, names, sizes, naxes, NULL) != SHD_OK)
        exit(1);
    read_sharding(&r->from, r->mesh, rank);
    read_sharding(&r->to, r->mesh, rank);
}

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* CPU time, as the machine may be busy */
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static uint64_t shard_bytes(const struct shd_sharding *s, const struct reshard *r)
{
    int64_t extent[SHD_RANK_MAX];
    uint64_t bytes = shd_dtype_size(r->dtype);

    shd_sharding_shard_shape(s, r->shape, extent);
    for (size_t d = 0; d < s->rank; d++)
        bytes *= (uint64_t)extent[d];
    return bytes;
}

static void answer(const struct reshard *r, int times)
{
    static int64_t ns[TIMES_MAX];
    static struct shd_reshard_plan plan;
    struct shd_reshard_bound bound;
    struct shd_reshard_figures f;
    int nmoving = 0;

    for (int i = 0; i < times; i++) {
        ns[i] = now_ns();
        if (shd_reshard_build(&plan, &r->from, &r->to, r->shape, r->dtype, NULL) != SHD_OK)
            exit(1);
        ns[i] = now_ns() - ns[i];
    }
    qsort(ns, (size_t)times, sizeof *ns, compare);
    if (shd_reshard_bound(&bound, &r->from, &r->to, r->shape, r->dtype, NULL, NULL) != SHD_OK ||
        shd_reshard_measure(&f, &plan, r->shape, NULL, NULL) != SHD_OK)
        exit(1);
    for (size_t s = 0; s < plan.nsteps; s++)
        nmoving += plan.steps[s].received_bytes > 0;
    printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
           " %d %zu %" PRId64 " %" PRId64 "\n",
           bound.received_bytes, f.received_bytes, f.largest_received_bytes, f.largest_sent_bytes,
           f.peak_bytes, shard_bytes(&r->from, r) + shard_bytes(&r->to, r), f.nmessages, nmoving,
           plan.nsteps, ns[times / 2], ns[times - 1]);
}

int main(int argc, char **argv)
{
    long times = argc > 1 ? strtol(argv[1], NULL, 10) : 101;

    if (times < 1 || times > TIMES_MAX)
        return 2;
    for (;;) {
        struct reshard r;

        read_case(&r);
        answer(&r, (int)times);
        shd_mesh_destroy(r.mesh);
    }
}

/* Tests shd/reshard.h: the steps of a plan, carried out on arrays in plain memory, give the right
 * values and receive the planned bytes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <shd/group.h>
#include <shd/reshard_figures.h>

#include "../support/reshard_case.h"
#include "../support/tap.h"

enum { NAMES_MAX = 6, DEVICES_MAX = 64, CASES = 4000 };

static const char *const axis_names[NAMES_MAX] = {"a", "b", "c", "d", "e", "f"};

/* Copy a box between row-major arrays. */
static void copy_box(int64_t *out, const int64_t *out_shape, const int64_t *out_offset,
                     const int64_t *in, const int64_t *in_shape, const int64_t *in_offset,
                     const int64_t *extent, size_t rank)
{
    int64_t index[SHD_RANK_MAX] = {0};

    if (count_of(extent, rank) == 0)
        return;
    do {
        out[flat(out_shape, out_offset, index, rank)] = in[flat(in_shape, in_offset, index, rank)];
    } while (next_index(extent, index, rank));
}

/* The shards of all devices, and the number of elements that each device received. */
struct cluster {
    const int64_t *shape; /* of the whole array */
    size_t rank;
    int32_t ndevices;
    int64_t *shards[DEVICES_MAX];
    uint64_t received[DEVICES_MAX];
};

/* The arrays, groups and positions with which one device carries out one step. */
struct view {
    const struct shd_reshard_step *step;
    struct cluster *cluster;
    struct shd_groups groups;
    int32_t position;
    int32_t group;
    int32_t member;
    int64_t old_shape[SHD_RANK_MAX];
    int64_t new_shape[SHD_RANK_MAX];
    int64_t *out;
};

static const int64_t zeros[SHD_RANK_MAX];

/* The shard that a member of the group had before the step. */
static const int64_t *member_shard(const struct view *view, int32_t member)
{
    return view->cluster->shards[shd_groups_position(&view->groups, view->group, member)];
}

static void count_received(const struct view *view, int32_t member, int64_t count)
{
    if (member != view->member)
        view->cluster->received[view->position] += (uint64_t)count;
}

static void do_slice(const struct view *view)
{
    const struct cluster *cluster = view->cluster;
    int64_t old_start[SHD_RANK_MAX];
    int64_t start[SHD_RANK_MAX];

    shd_sharding_offset(&view->step->from, cluster->shape, view->position, old_start);
    shd_sharding_offset(&view->step->to, cluster->shape, view->position, start);
    for (size_t d = 0; d < cluster->rank; d++)
        start[d] -= old_start[d];
    copy_box(view->out, view->new_shape, zeros, cluster->shards[view->position], view->old_shape,
             start, view->new_shape, cluster->rank);
}

static void do_mask(const struct view *view)
{
    if (view->member == 0)
        do_slice(view);
}

/* Gather the members' pieces side by side along `dim`.  With an all-to-all (dim2 >= 0) each piece
 * is the part number `member` of its shard along dim2. */
static void do_gather(const struct view *view)
{
    const struct cluster *cluster = view->cluster;
    int cut = view->step->dim2;
    int dim = view->step->dim;
    int64_t in_offset[SHD_RANK_MAX] = {0};
    int64_t out_offset[SHD_RANK_MAX] = {0};
    int64_t extent[SHD_RANK_MAX];

    memcpy(extent, view->old_shape, sizeof(extent));
    if (cut >= 0) {
        extent[cut] /= view->groups.nmembers;
        in_offset[cut] = view->member * extent[cut];
    }
    for (int32_t m = 0; m < view->groups.nmembers; m++) {
        out_offset[dim] = m * extent[dim];
        copy_box(view->out, view->new_shape, out_offset, member_shard(view, m), view->old_shape,
                 in_offset, extent, cluster->rank);
        count_received(view, m, count_of(extent, cluster->rank));
    }
}

static int64_t combine(uint16_t op, int64_t a, int64_t b)
{
    switch (op) {
    case SHD_MAX:
        return a > b ? a : b;
    case SHD_MIN:
        return a < b ? a : b;
    default:
        return a + b;
    }
}

/* Combine the shards of all members element by element. */
static void combine_members(const struct view *view, int64_t *out)
{
    int64_t count = count_of(view->old_shape, view->cluster->rank);

    memcpy(out, member_shard(view, 0), (size_t)count * sizeof(*out));
    for (int32_t m = 1; m < view->groups.nmembers; m++) {
        for (int64_t i = 0; i < count; i++)
            out[i] = combine(view->step->from.partial_op, out[i], member_shard(view, m)[i]);
    }
}

/* All-reduce in chunks, the first of which are one element longer if need be: each member receives
 * its own chunk from the others, then the chunks of the others. */
static void do_all_reduce(const struct view *view)
{
    int64_t count = count_of(view->old_shape, view->cluster->rank);
    int64_t n = view->groups.nmembers;
    int64_t own = count / n + (view->member < count % n);

    combine_members(view, view->out);
    for (int32_t m = 0; m < n; m++) {
        count_received(view, m, own);
        count_received(view, m, count / n + (m < count % n));
    }
}

static void do_reduce_scatter(const struct view *view)
{
    const struct cluster *cluster = view->cluster;
    int64_t offset[SHD_RANK_MAX] = {0};
    int64_t *whole = calloc((size_t)count_of(view->old_shape, cluster->rank) + 1, sizeof(*whole));

    if (!whole)
        abort();
    combine_members(view, whole);
    offset[view->step->dim] = view->member * view->new_shape[view->step->dim];
    copy_box(view->out, view->new_shape, zeros, whole, view->old_shape, offset, view->new_shape,
             cluster->rank);
    for (int32_t m = 0; m < view->groups.nmembers; m++)
        count_received(view, m, count_of(view->new_shape, cluster->rank));
    free(whole);
}

/* Fetch the new shard by its boxes; returns the number of received elements. */
static uint64_t fetch(const struct view *view, int64_t *out)
{
    const struct cluster *cluster = view->cluster;
    int64_t n = shd_reshard_fetch_count(view->step, cluster->shape, view->position);
    uint64_t received = 0;

    for (int64_t i = 0; i < n; i++) {
        struct shd_fetch box;

        shd_reshard_fetch(view->step, cluster->shape, view->position, i, &box);
        copy_box(out, view->new_shape, box.dest_offset, cluster->shards[box.source],
                 view->old_shape, box.source_offset, box.extent, cluster->rank);
        if (box.source != view->position)
            received += (uint64_t)count_of(box.extent, cluster->rank);
    }
    return received;
}

static void do_exchange(const struct view *view)
{
    view->cluster->received[view->position] += fetch(view, view->out);
}

static void (*const actions[SHD_RESHARD_NKINDS])(const struct view *) = {
    [SHD_RESHARD_SLICE] = do_slice,
    [SHD_RESHARD_MASK] = do_mask,
    [SHD_RESHARD_ALL_GATHER] = do_gather,
    [SHD_RESHARD_ALL_TO_ALL] = do_gather,
    [SHD_RESHARD_REDUCE_SCATTER] = do_reduce_scatter,
    [SHD_RESHARD_ALL_REDUCE] = do_all_reduce,
    [SHD_RESHARD_PERMUTE] = do_exchange,
    [SHD_RESHARD_EXCHANGE] = do_exchange,
};

static int is_movement(const struct shd_reshard_step *step)
{
    return step->kind != SHD_RESHARD_MASK && step->from.partial == step->to.partial;
}

/* Fetching a movement's boxes gives the same shard as carrying out its kind of step. */
static int check_fetch(const struct view *view, const int64_t *want, int64_t count)
{
    int64_t *out = malloc(((size_t)count + 1) * sizeof(*out));
    int same;

    if (!out)
        abort();
    memset(out, 0x7f, (size_t)count * sizeof(*out));
    fetch(view, out);
    same = !memcmp(out, want, (size_t)count * sizeof(*out));
    free(out);
    return same;
}

/* Carry out a step; false if its bytes or boxes differ from the planned ones. */
static int run_step(struct cluster *cluster, const struct shd_reshard_step *step)
{
    struct view view = {.step = step, .cluster = cluster};
    int64_t *outs[DEVICES_MAX];
    uint64_t total = 0;
    int right = !shd_groups_init(&view.groups, step->from.mesh, step->axes, step->naxes, NULL);

    shd_sharding_shard_shape(&step->from, cluster->shape, view.old_shape);
    shd_sharding_shard_shape(&step->to, cluster->shape, view.new_shape);

    int64_t count = count_of(view.new_shape, cluster->rank);

    for (int32_t p = 0; p < cluster->ndevices; p++) {
        uint64_t before = cluster->received[p];

        view.position = p;
        view.group = shd_groups_find(&view.groups, p);
        view.member = shd_groups_member(&view.groups, p);
        view.out = outs[p] = calloc((size_t)count + 1, sizeof(*outs[p]));
        if (!outs[p])
            abort();
        actions[step->kind](&view);
        if (is_movement(step))
            right &= check_fetch(&view, outs[p], count);
        right &= shd_reshard_step_received(step, cluster->shape, SHD_I8, p) ==
                 cluster->received[p] - before;
        total += cluster->received[p] - before;
    }
    for (int32_t p = 0; p < cluster->ndevices; p++) {
        free(cluster->shards[p]);
        cluster->shards[p] = outs[p];
    }
    return right && total == step->received_bytes;
}

/* The number of a device among the `n` devices over which its value is a partial sum. */
static int32_t partial_rank(const struct shd_sharding *sharding, int32_t position, int32_t *n)
{
    int32_t rank = 0;

    *n = 1;
    for (size_t a = 0; a < shd_mesh_naxes(sharding->mesh); a++) {
        if (!(sharding->partial >> a & 1))
            continue;
        rank = rank * shd_mesh_axis_size(sharding->mesh, a) +
               shd_mesh_coord(sharding->mesh, position, a);
        *n *= shd_mesh_axis_size(sharding->mesh, a);
    }
    return rank;
}

/* The part of a partial value that one of `n` devices holds; combined, the parts give the value. */
static int64_t share_of(int64_t value, int64_t element, int32_t rank, int32_t n, uint16_t op)
{
    int32_t whole = (int32_t)(element % n); /* the device whose part makes the combined value
                                             * right */
    int64_t sum = 0;

    if (op != SHD_SUM)
        return rank == whole ? value : value + (op == SHD_MAX ? -1 : 1) * ((element + rank) % 5);
    for (int32_t r = 0; r < n; r++)
        sum += r == whole ? 0 : (element + r * 3) % 11;
    return rank == whole ? value - sum : (element + rank * 3) % 11;
}

static void fill(struct cluster *cluster, const struct shd_sharding *sharding)
{
    int64_t extent[SHD_RANK_MAX];

    shd_sharding_shard_shape(sharding, cluster->shape, extent);
    for (int32_t p = 0; p < cluster->ndevices; p++) {
        int64_t index[SHD_RANK_MAX] = {0};
        int64_t offset[SHD_RANK_MAX];
        int64_t count = count_of(extent, cluster->rank);
        int32_t n;
        int32_t rank = partial_rank(sharding, p, &n);
        int64_t *shard = calloc((size_t)count + 1, sizeof(*shard));

        if (!shard)
            abort();
        shd_sharding_offset(sharding, cluster->shape, p, offset);
        for (int64_t i = 0; i < count; i++) {
            int64_t element = flat(cluster->shape, offset, index, cluster->rank);

            shard[i] = share_of(value_of(element), element, rank, n, sharding->partial_op);
            next_index(extent, index, cluster->rank);
        }
        cluster->shards[p] = shard;
    }
}

/* Whether the shards, combined over the partial axes, give the array. */
static int check_values(const struct cluster *cluster, const struct shd_sharding *sharding)
{
    int64_t extent[SHD_RANK_MAX];
    struct shd_groups groups;

    if (partial_groups(&groups, sharding))
        return 0;
    shd_sharding_shard_shape(sharding, cluster->shape, extent);
    for (int32_t p = 0; p < cluster->ndevices; p++) {
        int64_t index[SHD_RANK_MAX] = {0};
        int64_t offset[SHD_RANK_MAX];
        int64_t count = count_of(extent, cluster->rank);
        int32_t group = shd_groups_find(&groups, p);

        shd_sharding_offset(sharding, cluster->shape, p, offset);
        for (int64_t i = 0; i < count; i++) {
            int64_t value = cluster->shards[shd_groups_position(&groups, group, 0)][i];

            for (int32_t m = 1; m < groups.nmembers; m++)
                value = combine(sharding->partial_op, value,
                                cluster->shards[shd_groups_position(&groups, group, m)][i]);
            if (value != value_of(flat(cluster->shape, offset, index, cluster->rank)))
                return 0;
            next_index(extent, index, cluster->rank);
        }
    }
    return 1;
}

/* Elements of the new shards that their devices do not hold yet, counted device by device. */
static uint64_t count_missing(const struct shd_sharding *from, const struct shd_sharding *to,
                              const int64_t *shape)
{
    int64_t old_extent[SHD_RANK_MAX];
    int64_t extent[SHD_RANK_MAX];
    uint64_t missing = 0;

    shd_sharding_shard_shape(from, shape, old_extent);
    shd_sharding_shard_shape(to, shape, extent);
    for (int32_t p = 0; p < shd_mesh_size(from->mesh); p++) {
        int64_t old_start[SHD_RANK_MAX];
        int64_t start[SHD_RANK_MAX];
        int64_t held = 1;

        shd_sharding_offset(from, shape, p, old_start);
        shd_sharding_offset(to, shape, p, start);
        for (size_t d = 0; d < from->rank; d++) {
            int64_t low = start[d] > old_start[d] ? start[d] : old_start[d];
            int64_t stop = start[d] + extent[d];
            int64_t old_stop = old_start[d] + old_extent[d];
            int64_t high = stop < old_stop ? stop : old_stop;

            held *= high > low ? high - low : 0;
        }
        missing += (uint64_t)(count_of(extent, from->rank) - held);
    }
    return missing;
}

/* Whether both shardings give each device the same slices and are partial over the same axes,
 * except axes of one device. */
static int same_layout(const struct shd_sharding *a, const struct shd_sharding *b,
                       const int64_t *shape)
{
    const struct shd_mesh *mesh = a->mesh;

    for (int32_t p = 0; p < shd_mesh_size(mesh); p++) {
        for (size_t d = 0; d < a->rank; d++) {
            if (shd_sharding_index(a, d, p) != shd_sharding_index(b, d, p) ||
                shd_sharding_nshards(a, d) != shd_sharding_nshards(b, d) || shape[d] < 0)
                return 0;
        }
    }
    for (size_t i = 0; i < shd_mesh_naxes(mesh); i++) {
        if (shd_mesh_axis_size(mesh, i) > 1 && (a->partial >> i & 1) != (b->partial >> i & 1))
            return 0;
    }
    return 1;
}

/* Carry out a plan and check its values, bytes and layout; NULL, or the first thing that is
 * wrong. */
static const char *run_plan(const struct shd_reshard_plan *plan, const struct shd_sharding *from,
                            const struct shd_sharding *to, const int64_t *shape)
{
    struct cluster cluster = {shape, from->rank, shd_mesh_size(from->mesh), {NULL}, {0}};
    const struct shd_sharding *at = from;
    const char *wrong = NULL;
    uint64_t total = 0;

    fill(&cluster, from);
    for (size_t i = 0; i < plan->nsteps && !wrong; i++) {
        if (!same_layout(at, &plan->steps[i].from, shape))
            wrong = "a step does not start where the one before ends";
        else if (!run_step(&cluster, &plan->steps[i]))
            wrong = "a step's bytes or boxes";
        total += plan->steps[i].received_bytes;
        at = &plan->steps[i].to;
    }
    if (!wrong && !same_layout(at, to, shape))
        wrong = "the plan ends elsewhere";
    if (!wrong && !check_values(&cluster, to))
        wrong = "the values";
    if (!wrong && total != plan->received_bytes)
        wrong = "the total";
    for (int32_t p = 0; p < cluster.ndevices; p++) {
        if (!wrong && shd_reshard_received(plan, shape, p) != cluster.received[p])
            wrong = "what a device receives";
        free(cluster.shards[p]);
    }
    if (!wrong && shd_reshard_cost(from, to, shape, SHD_I8) != plan->received_bytes)
        wrong = "the cost is not the plan's";
    if (!wrong && !from->partial && plan->received_bytes != count_missing(from, to, shape) &&
        !to->partial)
        wrong = "bytes move that need not";
    return wrong;
}

/* Random cases */

static struct shd_mesh *random_mesh(void)
{
    int32_t sizes[NAMES_MAX];
    size_t naxes = 1 + random_below(5);
    struct shd_mesh *mesh = NULL;
    int32_t product = 1;

    for (size_t a = 0; a < naxes; a++) {
        sizes[a] = (int32_t)(1 + random_below(4));
        if (product * sizes[a] > 32)
            sizes[a] = 1;
        product *= sizes[a];
    }
    if (shd_mesh_create(&mesh, axis_names, sizes, naxes, NULL))
        abort();
    return mesh;
}

static int random_case(int number)
{
    struct shd_mesh *mesh = random_mesh();
    size_t rank = 1 + random_below(3);
    struct shd_sharding from = random_sharding(mesh, rank, number % 2 ? 30 : 0);
    struct shd_sharding to = random_sharding(mesh, rank, number % 4 == 3 ? 20 : 0);
    static const uint16_t ops[] = {SHD_SUM, SHD_SUM, SHD_MAX, SHD_MIN};
    int64_t shape[SHD_RANK_MAX];
    struct shd_reshard_plan plan;
    struct shd_error err = {0};
    const char *wrong;

    if (from.partial)
        from.partial_op = ops[random_below(4)];
    if (from.partial_op != SHD_SUM) /* only sums can be made partial */
        to.partial &= from.partial;
    if (to.partial)
        to.partial_op = from.partial_op;
    for (size_t d = 0; d < rank; d++) {
        shape[d] = common_multiple(shd_sharding_nshards(&from, d), shd_sharding_nshards(&to, d));
        shape[d] *= random_below(40) ? 1 + random_below(2) : 0;
    }
    if (shd_reshard_build(&plan, &from, &to, shape, SHD_I8, &err))
        wrong = err.text;
    else
        wrong = run_plan(&plan, &from, &to, shape);
    if (wrong) {
        char texts[4][160];

        shd_mesh_print(mesh, texts[0], sizeof(texts[0]));
        shd_sharding_print(&from, texts[1], sizeof(texts[1]));
        shd_sharding_print(&to, texts[2], sizeof(texts[2]));
        shd_shape_print(texts[3], sizeof(texts[3]), shape, rank);
        diag("case %d, mesh %s, shape %s: %s -> %s: %s", number, texts[0], texts[3], texts[1],
             texts[2], wrong);
    }
    shd_mesh_destroy(mesh);
    return wrong == NULL;
}

static void test_random(void)
{
    int ncases = small_size() ? CASES / 8 : CASES;
    int nfailed = 0;

    random_state = 20240607;
    diag("seed %llu", (unsigned long long)random_state);
    for (int i = 0; i < ncases && nfailed < 5; i++)
        nfailed += !random_case(i);
    ok(nfailed == 0, "random: right values, the planned bytes, the least possible");
}

/* Chosen cases */

static struct shd_mesh *mesh; /* a=2, b=4, c=4, d=1 */

static int parse(struct shd_sharding *out, const char *text, const char *partial, size_t rank)
{
    struct shd_spec *spec;
    int status = shd_spec_parse(&spec, text, NULL);

    if (status)
        return status;
    status = shd_sharding_bind(out, mesh, spec, rank, NULL);
    shd_spec_destroy(spec);
    for (; !status && *partial; partial++)
        out->partial = (uint16_t)(out->partial | 1U << (*partial - 'a'));
    return status;
}

static void test_kinds(void)
{
    static const struct {
        const char *from;
        const char *from_partial;
        const char *to;
        const char *to_partial;
        const char *kinds; /* first letters: s slice, G gather, A all-to-all, R reduce-scatter, L
                            * all-reduce, m mask, p permute, x exchange */
        uint64_t bytes;    /* received, of an array of 64 x 64 bytes */
    } cases[] = {
        {"[a]", "", "[a]", "", "", 0},
        {"[]", "", "[[a, b], c]", "", "s", 0},
        {"[a]", "", "[[a, b]]", "", "s", 0},
        {"[d]", "", "[]", "d", "", 0},
        {"[[a, d]]", "", "[null, d]", "", "G", 32 * 2048},
        {"[a]", "", "[]", "", "G", 32 * 2048},
        {"[[b, a]]", "", "[b]", "", "G", 32 * 512},
        {"[[a, b]]", "", "[b]", "", "x", 32 * (1024 - 128 * 2 / 2)},
        {"[a, b]", "", "[]", "", "x", 32 * (4096 - 512)}, /* the two gathers of the alternative
                                                           * need more memory */
        {"[a]", "", "[null, a]", "", "A", 32 * 1024},
        {"[[a, b]]", "", "[a, b]", "", "A", 32 * 384},
        {"[[a, b]]", "", "[null, [a, b]]", "", "A", 32 * 448},
        {"[[a, b]]", "", "[null, [b, a]]", "", "x", 32 * 448},
        {"[a]", "", "[null, [a, b]]", "", "x", 32 * 256},
        {"[a]", "", "[null, [b, a]]", "", "sA", 32 * 256},
        {"[a]", "", "[b, a]", "", "x", 32 * (512 - 256)},
        {"[b]", "", "[c]", "", "p", 24 * 1024},
        {"[b, c]", "", "[c, b]", "", "p", 24 * 256},
        {"[a]", "", "[null, b]", "", "sG", 32 * 512},
        {"[]", "a", "[]", "", "L", 32 * 4096},
        {"[b]", "a", "[b]", "", "L", 32 * 1024},
        {"[]", "ab", "[]", "", "L", 4 * 2 * 7 * 4096},
        {"[]", "a", "[a]", "", "R", 32 * 2048},
        {"[b]", "a", "[[b, a]]", "", "R", 32 * 512},
        {"[]", "ab", "[a, b]", "", "RR", 32 * (4096 - 512)},
        {"[]", "ab", "[[b, a]]", "", "R", 32 * (4096 - 512)},
        {"[]", "ab", "[a]", "", "RL", 32 * 2048 + 2 * 24 * 2048},
        {"[]", "a", "[null, b]", "", "sL", 32 * 1024},
        {"[]", "a", "[b, a]", "", "sR", 32 * 512},
        {"[]", "a", "[[b, a]]", "", "sR", 32 * 512},
        {"[]", "a", "[[a, b]]", "", "sRp", 32 * 512 + 24 * 512},
        {"[a]", "c", "[null, a]", "", "Rx", 32 * 1536 + 32 * 1792},
        {"[]", "ac", "[]", "a", "L", 2 * 24 * 4096},
        {"[b]", "a", "[]", "a", "G", 32 * 3072},
        {"[]", "", "[]", "a", "m", 0},
        {"[a]", "", "[]", "a", "Gm", 32 * 2048},
    };
    static const char letters[] = "smGARLpx"; /* by kind */
    const int64_t shape[] = {64, 64};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct shd_sharding from;
        struct shd_sharding to;
        struct shd_reshard_plan plan;
        char kinds[SHD_RESHARD_STEPS_MAX + 1] = "";

        if (parse(&from, cases[i].from, cases[i].from_partial, 2) ||
            parse(&to, cases[i].to, cases[i].to_partial, 2) ||
            shd_reshard_build(&plan, &from, &to, shape, SHD_I8, NULL)) {
            ok(0, "%s to %s: build", cases[i].from, cases[i].to);
            continue;
        }
        for (size_t s = 0; s < plan.nsteps; s++)
            kinds[s] = letters[plan.steps[s].kind];
        ok(!strcmp(kinds, cases[i].kinds) && plan.received_bytes == cases[i].bytes,
           "%s partial {%s} to %s: '%s', %llu bytes", cases[i].from, cases[i].from_partial,
           cases[i].to, kinds, (unsigned long long)plan.received_bytes);

        const char *wrong = run_plan(&plan, &from, &to, shape);

        ok(!wrong, "%s partial {%s} to %s: %s", cases[i].from, cases[i].from_partial, cases[i].to,
           wrong ? wrong : "right");
    }
}

/* Two axes swap dimensions; their sizes divide each other in some cases and not in others.  The
 * cost, which is worked out from digits of coordinates where sizes divide, equals a count device
 * by device. */
static void test_sizes(void)
{
    static const struct shd_dim_axes dims[][2] = {
        {{1, {0}}, {1, {1}}},    {{1, {1}}, {1, {0}}},    {{2, {0, 1}}, {0, {0}}},
        {{2, {1, 0}}, {0, {0}}}, {{0, {0}}, {2, {0, 1}}},
    };
    enum { N = sizeof(dims) / sizeof(dims[0]) };
    size_t nwrong = 0;

    for (int32_t i = 0; i < 25 * N * N; i++) {
        const int32_t sizes[] = {2 + i % 5, 2 + i / 5 % 5};
        const int64_t shape[] = {2 * sizes[0] * sizes[1], 3 * sizes[0] * sizes[1]};
        struct shd_sharding from, to;
        struct shd_mesh *odd = NULL;

        if (shd_mesh_create(&odd, axis_names, sizes, 2, NULL))
            abort();
        shd_sharding_init(&from, odd, 2);
        shd_sharding_init(&to, odd, 2);
        for (size_t d = 0; d < 2; d++) {
            from.dims[d] = dims[i / 25 % N][d];
            to.dims[d] = dims[i / 25 / N][d];
        }
        nwrong += shd_reshard_cost(&from, &to, shape, SHD_I8) != count_missing(&from, &to, shape);
        shd_mesh_destroy(odd);
    }
    ok(nwrong == 0, "sizes: axes of 2 to 6 that swap: bytes equal a count by device");
}

static void test_errors(void)
{
    const int64_t shape[] = {64, 64};
    const int64_t odd[] = {64, 6};
    const int64_t huge[] = {INT64_C(1) << 31, INT64_C(1) << 31};
    struct shd_reshard_plan plan = {.nsteps = 77};
    struct shd_sharding from;
    struct shd_sharding to;

    ok(!parse(&from, "[a]", "", 2) && !parse(&to, "[null, b]", "", 2), "errors: parse");
    ok(shd_reshard_build(&plan, &from, &to, odd, SHD_I8, NULL) == SHD_EINDIVISIBLE,
       "errors: indivisible after");
    ok(shd_reshard_build(&plan, &to, &from, odd, SHD_I8, NULL) == SHD_EINDIVISIBLE,
       "errors: indivisible before");
    ok(shd_reshard_cost(&to, &from, odd, SHD_I8) == UINT64_MAX, "errors: no plan has no cost");
    ok(shd_reshard_build(&plan, &from, &to, huge, SHD_I64, NULL) == SHD_ERANGE,
       "errors: an array too large");
    ok(shd_reshard_build(&plan, &from, &to, huge, SHD_I8, NULL) == SHD_ERANGE,
       "errors: too many bytes move");
    to.rank = 1;
    ok(shd_reshard_build(&plan, &from, &to, shape, SHD_I8, NULL) == SHD_EINVAL,
       "errors: other rank");
    to.rank = 2;
    from.partial = 1;
    ok(shd_reshard_build(&plan, &from, &to, shape, SHD_I8, NULL) == SHD_EINVAL,
       "errors: an axis that shards and is partial");
    from.partial = to.partial = 4;
    from.partial_op = SHD_MAX;
    ok(shd_reshard_build(&plan, &from, &to, shape, SHD_I8, NULL) == SHD_EINVAL,
       "errors: another operation");
    from.partial = 0;
    from.partial_op = 0;
    to.partial_op = SHD_MAX;
    ok(shd_reshard_build(&plan, &from, &to, shape, SHD_I8, NULL) == SHD_EUNSUPPORTED,
       "errors: partial by another operation than a sum");
    ok(plan.nsteps == 77, "errors: output untouched");
}

static void test_bound(void)
{
    static const struct {
        const char *from;
        const char *from_partial;
        const char *to;
        const char *to_partial;
        uint64_t bytes; /* received, of an array of 64 x 64 bytes on a=2, b=4, c=4 */
        uint64_t largest;
    } cases[] = {
        {"[a]", "", "[]", "", 32 * 2048, 2048},
        {"[[a, b]]", "", "[b]", "", 32 * (1024 - 128 * 2 / 2), 1024},
        {"[]", "", "[]", "a", 0, 0},
        {"[a]", "", "[]", "a", 0, 0},
        {"[]", "a", "[]", "", 4096 * (2 + 32 - 2), 4096},
        {"[]", "abc", "[]", "", 4096 * (32 + 32 - 2), 4096},
        {"[]", "a", "[a]", "", 4096 * (2 + 16 - 2), 2048},
        {"[b]", "a", "[null, b]", "", 4096 * (2 + 8 - 1) - 4096 / 4, 1024},
        {"[]", "ac", "[]", "a", 2 * 4096 * (4 + 16 - 2), 4096},
    };
    const int64_t shape[] = {64, 64};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct shd_sharding from;
        struct shd_sharding to;
        struct shd_reshard_bound bound = {0};
        int parsed = !parse(&from, cases[i].from, cases[i].from_partial, 2) &&
                     !parse(&to, cases[i].to, cases[i].to_partial, 2);

        ok(parsed && !shd_reshard_bound(&bound, &from, &to, shape, SHD_I8, NULL, NULL) &&
               bound.received_bytes == cases[i].bytes && bound.largest_bytes == cases[i].largest,
           "bound: %s partial {%s} to %s: %llu, by one device %llu", cases[i].from,
           cases[i].from_partial, cases[i].to, (unsigned long long)bound.received_bytes,
           (unsigned long long)bound.largest_bytes);
    }
}

static void test_options(void)
{
    const int64_t shape[] = {64, 64};
    struct shd_reshard_opts opts = {.memory_bytes = UINT64_MAX};
    struct shd_reshard_plan plan = {.nsteps = 77};
    struct shd_sharding from;
    struct shd_sharding to;

    ok(!parse(&from, "[a, b]", "", 2) && !parse(&to, "[]", "", 2), "options: parse");
    ok(!shd_reshard_build(&plan, &from, &to, shape, SHD_I8, NULL) && plan.nsteps == 1 &&
           plan.peak_bytes == 512 + 4096,
       "options: none: within the memory of before and after");
    ok(!shd_reshard_build_with(&plan, &from, &to, shape, SHD_I8, &opts, NULL) && plan.nsteps == 2 &&
           plan.steps[1].kind == SHD_RESHARD_ALL_GATHER && plan.peak_bytes > 512 + 4096,
       "options: any memory: named collectives");
    opts.memory_bytes = 4096;
    ok(shd_reshard_build_with(&plan, &from, &to, shape, SHD_I8, &opts, NULL) == SHD_EDEVMEM &&
           plan.nsteps == 2,
       "options: too little memory");

    opts = (struct shd_reshard_opts){
        .memory_bytes = UINT64_MAX, .ntiers = 2, .tiers = {{4, 1, 1e9}, {0, 1, 1e9}}};
    ok(!shd_reshard_build_with(&plan, &from, &to, shape, SHD_I8, &opts, NULL) && plan.nsteps == 2,
       "links: slow to answer: 1 + 2 rounds of collectives sooner than 7 messages");
    opts.tiers[0].latency_s = opts.tiers[1].latency_s = 0;
    ok(!shd_reshard_build_with(&plan, &from, &to, shape, SHD_I8, &opts, NULL) && plan.nsteps == 1,
       "links: of equal times the fewest steps");
    for (size_t i = 0; i < 2; i++) {
        struct shd_reshard_plan way;
        struct shd_reshard_figures figures;

        ok(!shd_reshard_candidate(&way, i, &from, &to, shape, SHD_I8, &opts, NULL) &&
               !shd_reshard_measure(&figures, &way, shape, &opts, NULL) && way.nsteps == 2 - i &&
               figures.seconds > 0 && figures.largest_sent_bytes == 7 * 512,
           "links: way %zu", i);
    }
    ok(shd_reshard_candidate(&plan, 2, &from, &to, shape, SHD_I8, &opts, NULL) == SHD_ENOTFOUND,
       "links: no third way");
    opts.tiers[0].ndevices = 0;
    ok(shd_reshard_build_with(&plan, &from, &to, shape, SHD_I8, &opts, NULL) == SHD_EINVAL,
       "links: a near tier of all");
    opts.tiers[0].ndevices = 4;
    opts.tiers[1].ndevices = 6;
    ok(shd_reshard_build_with(&plan, &from, &to, shape, SHD_I8, &opts, NULL) == SHD_EINVAL,
       "links: groups across groups");
    opts.tiers[1] = (struct shd_link_tier){8, 0, 0};
    ok(shd_reshard_build_with(&plan, &from, &to, shape, SHD_I8, &opts, NULL) == SHD_EINVAL,
       "links: no speed");
}

/* The holder that sends a box: each holder in turn, or the nearest one. */
static void test_senders(void)
{
    const int64_t shape[] = {64, 64};
    struct shd_reshard_opts opts = {.ntiers = 2, .tiers = {{16, 0, 1e9}, {0, 0, 1e8}}};
    struct shd_reshard_figures figures = {0};
    struct shd_reshard_plan plan;
    struct shd_sharding from;
    struct shd_sharding to;

    ok(!parse(&from, "[b]", "", 2) && !parse(&to, "[c]", "", 2), "senders: parse");
    ok(!shd_reshard_build(&plan, &from, &to, shape, SHD_I8, NULL) &&
           !shd_reshard_measure(&figures, &plan, shape, NULL, NULL) && figures.nmessages == 24 &&
           figures.largest_sent_bytes == 1024,
       "senders: no device sends twice (24 need a shard, 32 have it)");
    ok(!parse(&from, "[null, b]", "", 2) && !parse(&to, "[a, b]", "", 2), "senders: parse");
    ok(!shd_reshard_build_with(&plan, &from, &to, shape, SHD_I8, &opts, NULL) &&
           plan.received_bytes == 0,
       "senders: a slice is free");
    ok(!parse(&from, "[c]", "", 2) && !parse(&to, "[[a, b]]", "", 2), "senders: parse");
    ok(!shd_reshard_build_with(&plan, &from, &to, shape, SHD_I8, &opts, NULL) &&
           !shd_reshard_measure(&figures, &plan, shape, &opts, NULL) &&
           figures.entering_bytes[0] == 0,
       "senders: both halves of the mesh have all");
}

/* The figures of an all-reduce on links of two tiers, worked out by hand.  The first tier joins
 * pairs of neighbouring devices; with `by_ids` axis a runs along the pairs, else axis b does. */
static void test_figures(void)
{
    const char *const names[] = {"a", "b"};
    const int32_t sizes[] = {2, 4}, ids[] = {0, 2, 4, 6, 1, 3, 5, 7};
    const int64_t shape[] = {64, 64};
    static const struct {
        bool by_ids;
        uint16_t axis;
        uint64_t nmessages, near_bytes, far_bytes; /* messages of all devices; bytes that enter a
                                                    * device or a pair */
        double rounds;
    } cases[] = {
        {false, 0, 8 * 2, 0, 4096, 2},
        {false, 1, 8 * 6, 2048, 4096, 4},
        {true, 0, 8 * 2, 4096, 0, 2},
        {true, 1, 8 * 6, 0, 6144, 4},
    };
    struct shd_reshard_opts opts = {.ntiers = 2, .tiers = {{2, 1e-6, 1e9}, {0, 1e-5, 1e8}}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct shd_reshard_figures f = {0};
        struct shd_reshard_plan plan;
        struct shd_sharding from, to;
        struct shd_mesh *near = NULL;
        double far = (double)cases[i].far_bytes / 1e8, close = (double)cases[i].near_bytes / 1e9;
        double seconds = cases[i].rounds * (far > 0 ? 1e-5 : 1e-6) + (far > close ? far : close);

        if (!ok(!shd_mesh_create_with_ids(&near, names, sizes, 2, cases[i].by_ids ? ids : NULL,
                                          NULL),
                "figures: mesh"))
            continue;
        shd_sharding_init(&from, near, 2);
        shd_sharding_init(&to, near, 2);
        from.partial = (uint16_t)(1U << cases[i].axis);
        bool measured = !shd_reshard_build(&plan, &from, &to, shape, SHD_I8, NULL) &&
                        !shd_reshard_measure(&f, &plan, shape, &opts, NULL);

        ok(measured && plan.nsteps == 1 && plan.steps[0].kind == SHD_RESHARD_ALL_REDUCE &&
               f.nmessages == cases[i].nmessages && f.entering_bytes[0] == 8 * cases[i].far_bytes &&
               f.seconds > seconds * (1 - 1e-9) && f.seconds < seconds * (1 + 1e-9),
           "figures, row %zu: %llu messages, %llu B between pairs, %.3g s, not %.3g", i,
           (unsigned long long)f.nmessages, (unsigned long long)f.entering_bytes[0], f.seconds,
           seconds);
        shd_mesh_destroy(near);
    }
}

static void test_words(void)
{
    const int64_t shape[] = {64, 64};
    static const char want[] =
        "step 1: slice to [{}, {b}] partial sum over {a}: local\n"
        "step 2: all-reduce over a to [{}, {b}]: 32768 B (32.0 KiB)\n"
        "received: 32768 B (32.0 KiB) by all devices, equal to the lower bound\n"
        "one device: receives up to 1024 B (1.00 KiB), sends up to 1024 B (1.00 KiB), needs 5120 B "
        "(5.00 KiB) at once\n"
        "messages: 64\n";
    struct shd_reshard_figures figures;
    struct shd_reshard_bound bound;
    struct shd_reshard_plan plan;
    struct shd_sharding from;
    struct shd_sharding to;
    char text[1024] = "";
    char start[32];

    if (!ok(!parse(&from, "[]", "a", 2) && !parse(&to, "[null, b]", "", 2) &&
                !shd_reshard_build(&plan, &from, &to, shape, SHD_I8, NULL) &&
                !shd_reshard_bound(&bound, &from, &to, shape, SHD_I8, NULL, NULL) &&
                !shd_reshard_measure(&figures, &plan, shape, NULL, NULL),
            "words: plan"))
        return;
    ok(shd_reshard_describe(&plan, &bound, &figures, text, sizeof(text)) == strlen(text) &&
           !strcmp(text, want),
       "words: of a plan");
    ok(shd_reshard_describe(&plan, &bound, &figures, start, sizeof(start)) == strlen(text) &&
           !strncmp(text, start, sizeof(start) - 1) && start[sizeof(start) - 1] == '\0',
       "words: cut, the length is the whole text's");
    ok(shd_reshard_step_print(&plan.steps[1], text, sizeof(text)) == strlen(text) &&
           !strcmp(text, "all-reduce over a to [{}, {b}]: 32768 B (32.0 KiB)"),
       "words: of a step");
}

/* The cost of meshes of a million devices is worked out as fast as that of small ones. */
static void test_large(void)
{
    const char *const names[] = {"x", "y", "z"};
    const int32_t sizes[] = {100, 100, 100};
    const int64_t shape[] = {1000000, 1000000};
    struct shd_sharding from;
    struct shd_sharding to;
    struct shd_mesh *large = NULL;
    uint64_t sum = 0;

    if (!ok(!shd_mesh_create(&large, names, sizes, 3, NULL), "large: mesh"))
        return;
    shd_sharding_init(&from, large, 2);
    shd_sharding_init(&to, large, 2);
    from.dims[0] = (struct shd_dim_axes){2, {0, 1}};
    to.dims[1] = (struct shd_dim_axes){2, {0, 2}};
    for (int i = 0; i < 10000; i++)
        sum += shd_reshard_cost(&from, &to, shape, SHD_BF16);
    /* A shard has 1e8 elements, 1e4 of which its device holds already. */
    ok(sum == UINT64_C(10000) * 2 * (100000000 - 10000) * 1000000, "large: a million devices");
    shd_mesh_destroy(large);
}

/* Draw a sharding with random axes on random dimensions, which need not divide the array evenly. */
static void draw_uneven(struct shd_sharding *out, const struct shd_mesh *on, size_t rank)
{
    shd_sharding_init(out, on, rank);
    out->uneven = true;
    for (size_t a = 0; a < shd_mesh_naxes(on); a++) {
        struct shd_dim_axes *dim = &out->dims[random_below((uint32_t)rank)];

        if (random_below(4))
            dim->axes[dim->naxes++] = (uint8_t)a;
    }
}

/* Shards that do not divide evenly: all received elements are sent by a device and lie in boxes. */
static void test_uneven(void)
{
    int wrong = 0;

    for (int i = 0; i < 500; i++) {
        const int32_t sizes[] = {1 + (int32_t)random_below(4), 1 + (int32_t)random_below(5),
                                 1 + (int32_t)random_below(3)};
        const int64_t shape[] = {1 + random_below(13), 1 + random_below(13)};
        struct shd_sharding from, to;
        struct shd_reshard_plan plan;
        struct shd_reshard_figures figures;
        struct shd_mesh *on = NULL;
        uint64_t received = 0, sent = 0;

        if (shd_mesh_create(&on, axis_names, sizes, 3, NULL))
            continue;
        draw_uneven(&from, on, 2);
        draw_uneven(&to, on, 2);
        wrong += shd_reshard_build(&plan, &from, &to, shape, SHD_I8, NULL) != SHD_OK;
        wrong += shd_reshard_measure(&figures, &plan, shape, NULL, NULL) != SHD_OK;
        for (int32_t p = 0; p < shd_mesh_size(on); p++)
            for (size_t s = 0; s < plan.nsteps; s++) {
                received += shd_reshard_step_received(&plan.steps[s], shape, SHD_I8, p);
                sent += shd_reshard_step_sent(&plan.steps[s], shape, SHD_I8, p);
            }
        wrong += received != plan.received_bytes || sent != received;
        shd_mesh_destroy(on);
    }
    ok(wrong == 0, "500 reshards that do not divide: what is received is planned, and sent");
}

int main(void)
{
    const char *const names[] = {"a", "b", "c", "d"};
    const int32_t sizes[] = {2, 4, 4, 1};

    plan(0);
    if (!ok(!shd_mesh_create(&mesh, names, sizes, 4, NULL), "mesh"))
        return done();
    test_kinds();
    test_sizes();
    test_errors();
    test_bound();
    test_options();
    test_senders();
    test_figures();
    test_words();
    test_large();
    test_uneven();
    test_random();
    shd_mesh_destroy(mesh);
    return done();
}

/* Tests shd/reshard_figures.h on random reshards of up to 5 axes and 64 devices, with partial
 * axes, and other meshes over the same and over different devices: each plan is walked in one
 * thread with integers and compared with the bound, the memory and an even load of the senders.
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

enum { AXES_MAX = 5, DEVICES_MAX = 64, IDS_MAX = 2 * DEVICES_MAX, CASES = 2000 };

static const char *const axis_names[2][AXES_MAX] = {{"a", "b", "c", "d", "e"},
                                                    {"v", "w", "x", "y", "z"}};

/* ---- arrays ---- */

static const int64_t zeros[SHD_RANK_MAX];

/* A box of one row-major array, copied into another array. */
struct boxes {
    size_t rank;
    const int64_t *extent;
    int64_t *out;
    const int64_t *out_shape, *out_offset;
    const int64_t *in;
    const int64_t *in_shape, *in_offset;
};

static void copy(const struct boxes *b, int add)
{
    int64_t index[SHD_RANK_MAX] = {0};

    if (count_of(b->extent, b->rank) == 0)
        return;
    do {
        int64_t *out = &b->out[flat(b->out_shape, b->out_offset, index, b->rank)];
        int64_t value = b->in[flat(b->in_shape, b->in_offset, index, b->rank)];

        *out = add ? *out + value : value;
    } while (next_index(b->extent, index, b->rank));
}

/* ---- a walk ---- */

/* The shards of every device, and the elements that each has sent and received. */
struct cluster {
    const int64_t *shape;
    size_t rank;
    int64_t *shards[IDS_MAX]; /* by device id */
    uint64_t received[IDS_MAX];
    uint64_t sent[IDS_MAX];
    uint64_t nmessages;
    const struct shd_mesh *mesh;           /* mesh of both shardings; NULL: the meshes differ */
    uint32_t crossed;                      /* mask of the mesh's axes that elements moved along */
    const struct shd_reshard_opts *opts;   /* NULL: no links */
    uint64_t entering[SHD_LINK_TIERS_MAX]; /* elements that enter the groups of a tier from
                                            * outside */
};

struct walk {
    struct cluster *cluster;
    const struct shd_reshard_step *step;
    int64_t old_shape[SHD_RANK_MAX];
    int64_t new_shape[SHD_RANK_MAX];
    int64_t *outs[IDS_MAX];
};

static int32_t coord_of(const struct shd_mesh *mesh, int32_t device_id, size_t axis)
{
    return shd_mesh_coord(mesh, shd_mesh_find_device(mesh, device_id), axis);
}

static void transfer(struct cluster *c, int32_t source, int32_t dest, uint64_t n)
{
    if (source == dest)
        return;
    c->received[dest] += n;
    c->sent[source] += n;
    c->nmessages++;
    for (size_t a = 0; c->mesh && a < shd_mesh_naxes(c->mesh); a++)
        c->crossed |=
            coord_of(c->mesh, source, a) != coord_of(c->mesh, dest, a) ? UINT32_C(1) << a : 0;
    for (size_t t = 0; c->opts && t < c->opts->ntiers; t++) {
        int32_t near = c->opts->tiers[t].ndevices;

        c->entering[t] += near > 0 && source / near != dest / near ? n : 0;
    }
}

/* Fetch the boxes of a step; they must fill the new shard exactly once and name the right
 * devices. */
static int walk_boxes(struct walk *w, int32_t position)
{
    const struct shd_reshard_step *step = w->step;
    struct cluster *c = w->cluster;
    int32_t id = shd_mesh_device_id(step->to.mesh, position);
    int64_t n = shd_reshard_fetch_count(step, c->shape, position);
    int64_t filled = 0;

    for (int64_t i = 0; i < n; i++) {
        struct shd_fetch box;

        shd_reshard_fetch(step, c->shape, position, i, &box);

        int32_t source = shd_mesh_device_id(step->from.mesh, box.source);

        if (!c->shards[source] || box.own != (source == id))
            return 0;
        copy(&(struct boxes){c->rank, box.extent, w->outs[id], w->new_shape, box.dest_offset,
                             c->shards[source], w->old_shape, box.source_offset},
             0);
        transfer(c, source, id, (uint64_t)count_of(box.extent, c->rank));
        filled += count_of(box.extent, c->rank);
    }
    return filled == count_of(w->new_shape, c->rank);
}

/* Sum the members' shards, then keep the position's own part along the step's dimension. */
static int walk_sum(struct walk *w, int32_t position)
{
    const struct shd_reshard_step *step = w->step;
    struct cluster *c = w->cluster;
    int32_t id = shd_mesh_device_id(step->to.mesh, position);
    int64_t offset[SHD_RANK_MAX] = {0};
    int64_t whole = count_of(w->old_shape, c->rank);
    struct shd_groups groups;

    if (shd_groups_init(&groups, step->from.mesh, step->axes, step->naxes, NULL))
        return 0;

    int32_t group = shd_groups_find(&groups, position);
    int32_t member = shd_groups_member(&groups, position);
    int64_t n = groups.nmembers;
    int64_t own = whole / n + (member < whole % n);

    if (step->kind == SHD_RESHARD_REDUCE_SCATTER)
        offset[step->dim] = member * w->new_shape[step->dim];
    for (int32_t m = 0; m < n; m++) {
        int32_t peer = shd_mesh_device_id(step->from.mesh, shd_groups_position(&groups, group, m));

        copy(&(struct boxes){c->rank, w->new_shape, w->outs[id], w->new_shape, zeros,
                             c->shards[peer], w->old_shape, offset},
             m > 0);
        transfer(c, peer, id, (uint64_t)own);
        if (step->kind == SHD_RESHARD_ALL_REDUCE)
            transfer(c, peer, id, (uint64_t)(whole / n + (m < whole % n)));
    }
    return 1;
}

static int walk_mask(struct walk *w, int32_t position)
{
    const struct shd_reshard_step *step = w->step;
    int32_t id = shd_mesh_device_id(step->to.mesh, position);
    int64_t count = count_of(w->new_shape, w->cluster->rank);

    for (size_t i = 0; i < step->naxes; i++) {
        if (shd_mesh_coord(step->from.mesh, position, step->axes[i]) != 0)
            return 1;
    }
    memcpy(w->outs[id], w->cluster->shards[id], (size_t)count * sizeof(*w->outs[id]));
    return 1;
}

static int walk_position(struct walk *w, int32_t position)
{
    switch (w->step->kind) {
    case SHD_RESHARD_MASK:
        return walk_mask(w, position);
    case SHD_RESHARD_REDUCE_SCATTER:
    case SHD_RESHARD_ALL_REDUCE:
        return walk_sum(w, position);
    default:
        return walk_boxes(w, position);
    }
}

static int walk_step(struct cluster *c, const struct shd_reshard_step *step)
{
    struct walk w = {.cluster = c, .step = step};
    uint64_t sent[IDS_MAX];
    int right = 1;

    memcpy(sent, c->sent, sizeof(sent));
    shd_sharding_shard_shape(&step->from, c->shape, w.old_shape);
    shd_sharding_shard_shape(&step->to, c->shape, w.new_shape);
    for (int32_t p = 0; p < shd_mesh_size(step->to.mesh) && right; p++) {
        int32_t id = shd_mesh_device_id(step->to.mesh, p);
        uint64_t before = c->received[id];

        w.outs[id] = calloc((size_t)count_of(w.new_shape, c->rank) + 1, sizeof(int64_t));
        if (!w.outs[id])
            abort();
        right = walk_position(&w, p) &&
                shd_reshard_step_received(step, c->shape, SHD_I8, p) == c->received[id] - before;
    }
    for (int32_t p = 0; p < shd_mesh_size(step->from.mesh) && right; p++) {
        int32_t id = shd_mesh_device_id(step->from.mesh, p);

        right = shd_reshard_step_sent(step, c->shape, SHD_I8, p) == c->sent[id] - sent[id];
    }
    for (int32_t id = 0; id < IDS_MAX; id++) {
        free(c->shards[id]);
        c->shards[id] = w.outs[id];
    }
    return right;
}

/* ---- values ---- */

/* The number of a position along the partial axes. */
static int64_t part_number(const struct shd_sharding *s, int32_t position)
{
    int64_t number = 0;

    for (size_t a = 0; a < shd_mesh_naxes(s->mesh); a++) {
        if (s->partial >> a & 1)
            number = number * shd_mesh_axis_size(s->mesh, a) + shd_mesh_coord(s->mesh, position, a);
    }
    return number;
}

static int64_t nparts_of(const struct shd_sharding *s, uint32_t axes)
{
    int64_t n = 1;

    for (size_t a = 0; a < shd_mesh_naxes(s->mesh); a++)
        n *= axes >> a & 1 ? shd_mesh_axis_size(s->mesh, a) : 1;
    return n;
}

static void fill(struct cluster *c, const struct shd_sharding *from)
{
    int64_t extent[SHD_RANK_MAX];
    int64_t n = nparts_of(from, from->partial);

    shd_sharding_shard_shape(from, c->shape, extent);
    for (int32_t p = 0; p < shd_mesh_size(from->mesh); p++) {
        int64_t index[SHD_RANK_MAX] = {0};
        int64_t offset[SHD_RANK_MAX];
        int64_t count = count_of(extent, c->rank);
        int64_t part = part_number(from, p);
        int64_t *shard = calloc((size_t)count + 1, sizeof(*shard));

        if (!shard)
            abort();
        shd_sharding_offset(from, c->shape, p, offset);
        for (int64_t i = 0; i < count; i++) {
            int64_t element = flat(c->shape, offset, index, c->rank);

            /* Part k holds element + k, except part 0, which makes the sum right. */
            shard[i] = part > 0 ? element + part : value_of(element);
            for (int64_t k = 1; part == 0 && k < n; k++)
                shard[i] -= element + k;
            next_index(extent, index, c->rank);
        }
        c->shards[shd_mesh_device_id(from->mesh, p)] = shard;
    }
}

/* Whether the shards of `to`, summed over the partial axes, give the array. */
static int right_values(const struct cluster *c, const struct shd_sharding *to)
{
    int64_t extent[SHD_RANK_MAX];
    struct shd_groups groups;

    if (partial_groups(&groups, to))
        return 0;
    shd_sharding_shard_shape(to, c->shape, extent);
    for (int32_t p = 0; p < shd_mesh_size(to->mesh); p++) {
        int64_t index[SHD_RANK_MAX] = {0};
        int64_t offset[SHD_RANK_MAX];
        int64_t count = count_of(extent, c->rank);
        int32_t group = shd_groups_find(&groups, p);

        shd_sharding_offset(to, c->shape, p, offset);
        for (int64_t i = 0; i < count; i++) {
            int64_t sum = 0;

            for (int32_t m = 0; m < groups.nmembers; m++) {
                int32_t id = shd_mesh_device_id(to->mesh, shd_groups_position(&groups, group, m));

                if (!c->shards[id])
                    return 0;
                sum += c->shards[id][i];
            }
            if (sum != value_of(flat(c->shape, offset, index, c->rank)))
                return 0;
            next_index(extent, index, c->rank);
        }
    }
    return 1;
}

/* ---- random cases ---- */

/* The devices of the second mesh, relative to the first. */
enum devices { SAME_MESH, SAME_DEVICES, SHUFFLED, SOME_OTHERS, ALL_OTHERS, NDEVICES_KINDS };

static const char *const devices_names[NDEVICES_KINDS] = {"the same mesh", "the same devices",
                                                          "the same devices in another order",
                                                          "some other devices", "other devices"};

static void random_ids(int32_t *ids, int32_t n, enum devices devices)
{
    int32_t first = devices == ALL_OTHERS ? DEVICES_MAX : devices == SOME_OTHERS ? n / 2 : 0;

    for (int32_t i = 0; i < n; i++)
        ids[i] = first + i;
    for (int32_t i = n; devices == SHUFFLED && i-- > 1;) {
        uint32_t j = random_below((uint32_t)i + 1);
        int32_t swap = ids[i];

        ids[i] = ids[j];
        ids[j] = swap;
    }
}

static struct shd_mesh *random_mesh(int32_t ndevices_max, const char *const *names,
                                    enum devices devices)
{
    int32_t ids[DEVICES_MAX];
    int32_t sizes[AXES_MAX];
    size_t naxes = 1 + random_below(AXES_MAX);
    struct shd_mesh *mesh = NULL;
    int32_t product = 1;

    for (size_t a = 0; a < naxes; a++) {
        sizes[a] = (int32_t)(1 + random_below(4));
        if (random_below(8) == 0)
            sizes[a] = 8;
        if (product * sizes[a] > ndevices_max)
            sizes[a] = 1;
        product *= sizes[a];
    }
    random_ids(ids, product, devices);
    if (shd_mesh_create_with_ids(&mesh, names, sizes, naxes, ids, NULL))
        abort();
    return mesh;
}

struct random_case {
    struct shd_mesh *mesh, *other;
    struct shd_sharding from, to;
    int64_t shape[SHD_RANK_MAX];
    size_t rank;
    enum devices devices;
    struct shd_reshard_opts opts;
};

static void random_links(struct shd_reshard_opts *opts)
{
    static const int32_t sizes[] = {2, 3, 4, 8};
    int32_t n = sizes[random_below(4)];

    opts->ntiers = 2 + random_below(2);
    for (size_t t = 0; t < opts->ntiers; t++) {
        opts->tiers[t] =
            (struct shd_link_tier){n, 1e-6 * (double)(1 + t * 9), 1e9 / (double)(1 + t * 7)};
        n *= 2;
    }
    opts->tiers[opts->ntiers - 1].ndevices = 0;
}

/* Every way is tried, so the fewest bytes win also where steps slice along unused axes. */
static double seconds_of(const void *arg, const struct shd_reshard_step *step, const int64_t *shape,
                         enum shd_dtype dtype)
{
    (void)arg;
    (void)shape;
    (void)dtype;
    return 1e-6 + 1e-9 * (double)step->received_bytes;
}

/* Remove the masked axes from a sharding. */
static void remove_axes(struct shd_sharding *s, uint32_t axes)
{
    s->partial = (uint16_t)(s->partial & ~axes);
    for (size_t d = 0; d < s->rank; d++) {
        struct shd_dim_axes dim = {.naxes = 0};

        for (size_t i = 0; i < s->dims[d].naxes; i++)
            if (!(axes >> s->dims[d].axes[i] & 1))
                dim.axes[dim.naxes++] = s->dims[d].axes[i];
        s->dims[d] = dim;
    }
}

/* Exclude random axes, of which neither sharding has one then.  The first dimension divides by all
 * unused axes and sums are frequent, as slicing along unused axes pays before an all-reduce. */
static void exclude_axes(struct random_case *c)
{
    uint32_t excluded = random_below(UINT32_C(1) << shd_mesh_naxes(c->mesh));

    c->from = random_sharding(c->mesh, c->rank, 60);
    remove_axes(&c->from, excluded);
    remove_axes(&c->to, excluded);
    c->opts.seconds = seconds_of;
    c->opts.excluded_axes = (uint16_t)excluded;
    c->shape[0] = nparts_of(&c->from, ~(shd_sharding_axes(&c->from) | c->from.partial));
}

static void case_init(struct random_case *c)
{
    memset(c, 0, sizeof(*c));
    c->devices = random_below(2) ? SAME_MESH : (enum devices)random_below(NDEVICES_KINDS);
    c->rank = 1 + random_below(3);
    c->mesh = random_mesh(DEVICES_MAX, axis_names[0], SAME_MESH);
    c->other = c->mesh;
    if (c->devices != SAME_MESH)
        c->other = random_mesh(c->devices == SAME_DEVICES ? shd_mesh_size(c->mesh) : DEVICES_MAX,
                               axis_names[1], c->devices);
    c->from = random_sharding(c->mesh, c->rank, random_below(3) ? 0 : 30);
    c->to = random_sharding(c->other, c->rank, random_below(10) ? 0 : 20);
    for (size_t d = 0; d < c->rank; d++)
        c->shape[d] = 1;
    if (c->other == c->mesh && random_below(2) == 0)
        exclude_axes(c);
    else if (random_below(4) == 0)
        random_links(&c->opts);
    for (size_t d = 0; d < c->rank; d++) {
        c->shape[d] *=
            common_multiple(shd_sharding_nshards(&c->from, d), shd_sharding_nshards(&c->to, d));
        c->shape[d] *= random_below(40) ? 1 + random_below(2) : 0;
    }
}

static void case_fini(struct random_case *c)
{
    if (c->other != c->mesh)
        shd_mesh_destroy(c->other);
    shd_mesh_destroy(c->mesh);
}

/* ---- what must hold ---- */

/* Whether partial sums are reduced; *become: whether axes become partial. */
static int sums(const struct random_case *c, int *become)
{
    uint32_t kept = c->mesh == c->other ? c->from.partial & c->to.partial : 0;

    *become = nparts_of(&c->to, c->to.partial & ~kept) > 1;
    return nparts_of(&c->from, c->from.partial & ~kept) > 1;
}

/* Elements of the new shards that their device does not hold, counted device by device, or for
 * device `only` (-1: all). */
static uint64_t count_missing(const struct random_case *c, int32_t only)
{
    int64_t old_extent[SHD_RANK_MAX];
    int64_t extent[SHD_RANK_MAX];
    uint64_t missing = 0;

    shd_sharding_shard_shape(&c->from, c->shape, old_extent);
    shd_sharding_shard_shape(&c->to, c->shape, extent);
    for (int32_t p = 0; p < shd_mesh_size(c->other); p++) {
        int32_t old = shd_mesh_find_device(c->mesh, shd_mesh_device_id(c->other, p));
        int64_t old_start[SHD_RANK_MAX];
        int64_t start[SHD_RANK_MAX];
        int64_t held = old >= 0;

        if (only >= 0 && p != only)
            continue;
        if (old >= 0)
            shd_sharding_offset(&c->from, c->shape, old, old_start);
        shd_sharding_offset(&c->to, c->shape, p, start);
        for (size_t d = 0; old >= 0 && d < c->rank; d++) {
            int64_t low = start[d] > old_start[d] ? start[d] : old_start[d];
            int64_t stop = start[d] + extent[d];
            int64_t old_stop = old_start[d] + old_extent[d];
            int64_t high = stop < old_stop ? stop : old_stop;

            held *= high > low ? high - low : 0;
        }
        missing += (uint64_t)(count_of(extent, c->rank) - held);
    }
    return missing;
}

static int holds_same(const struct shd_sharding *s, size_t rank, int32_t p, int32_t q)
{
    for (size_t d = 0; d < rank; d++) {
        if (shd_sharding_index(s, d, p) != shd_sharding_index(s, d, q))
            return 0;
    }
    for (size_t a = 0; a < shd_mesh_naxes(s->mesh); a++) {
        if (s->partial >> a & 1 && shd_mesh_coord(s->mesh, p, a) != shd_mesh_coord(s->mesh, q, a))
            return 0;
    }
    return 1;
}

/* Whether the holders of each old shard share its boxes evenly in an exchange: no holder sends
 * more than the mean, rounded up, plus one box if the meshes differ. */
static const char *check_senders(const struct random_case *c, const struct shd_reshard_step *step)
{
    static uint32_t nboxes[DEVICES_MAX];
    int32_t n = shd_mesh_size(step->from.mesh);

    memset(nboxes, 0, sizeof(nboxes));
    for (int32_t p = 0; p < shd_mesh_size(step->to.mesh); p++) {
        for (int64_t i = 0; i < shd_reshard_fetch_count(step, c->shape, p); i++) {
            struct shd_fetch box;

            shd_reshard_fetch(step, c->shape, p, i, &box);
            nboxes[box.source] += !box.own;
        }
    }
    for (int32_t p = 0; p < n; p++) {
        uint32_t most = 0;
        uint32_t sum = 0;
        uint32_t nholders = 0;

        for (int32_t q = 0; q < n; q++) {
            if (!holds_same(&step->from, c->rank, p, q))
                continue;
            nholders++;
            sum += nboxes[q];
            most = nboxes[q] > most ? nboxes[q] : most;
        }
        if (most >
            (sum + nholders - 1) / nholders +
                (c->devices == SHUFFLED || c->devices == SOME_OTHERS || c->devices == SAME_DEVICES))
            return "a sender has more than its share";
    }
    return NULL;
}

/* The innermost tier of links that two devices share. */
static size_t distance(const struct shd_reshard_step *step, int32_t a, int32_t b)
{
    size_t t = 0;

    while (t < SHD_LINK_TIERS_MAX && step->near[t] && a / step->near[t] != b / step->near[t])
        t++;
    return t;
}

/* Whether each box is fetched from one of its nearest holders. */
static const char *check_near(const struct random_case *c, const struct shd_reshard_step *step)
{
    for (int32_t p = 0; p < shd_mesh_size(step->to.mesh); p++) {
        int32_t id = shd_mesh_device_id(step->to.mesh, p);

        for (int64_t i = 0; i < shd_reshard_fetch_count(step, c->shape, p); i++) {
            struct shd_fetch box;
            size_t far;

            shd_reshard_fetch(step, c->shape, p, i, &box);
            far = distance(step, id, shd_mesh_device_id(step->from.mesh, box.source));
            for (int32_t q = 0; !box.own && q < shd_mesh_size(step->from.mesh); q++) {
                if (holds_same(&step->from, c->rank, q, box.source) &&
                    distance(step, id, shd_mesh_device_id(step->from.mesh, q)) < far)
                    return "a nearer holder is passed by";
            }
        }
    }
    return NULL;
}

static int ngrouped; /* cases whose bound of a group was checked */

static const char *check_plan(const struct random_case *c, const struct shd_reshard_plan *plan,
                              struct cluster *cluster)
{
    const struct shd_reshard_opts *opts = c->opts.ntiers ? &c->opts : NULL;
    struct shd_reshard_figures figures;
    const char *wrong = NULL;
    uint64_t total = 0;
    uint64_t largest[2] = {0, 0};
    int uneven = 0;

    fill(cluster, &c->from);
    for (size_t i = 0; i < plan->nsteps; i++) {
        if (!walk_step(cluster, &plan->steps[i]))
            return "a step's bytes or boxes";
        if (plan->steps[i].kind == SHD_RESHARD_PERMUTE ||
            plan->steps[i].kind == SHD_RESHARD_EXCHANGE)
            wrong = opts ? check_near(c, &plan->steps[i]) : check_senders(c, &plan->steps[i]);
        if (wrong)
            return wrong;
    }
    if (!right_values(cluster, &c->to))
        return "the values";
    if (cluster->crossed & c->opts.excluded_axes)
        return "elements move along an excluded axis";
    for (int32_t id = 0; id < IDS_MAX; id++) {
        total += cluster->received[id];
        largest[0] = cluster->received[id] > largest[0] ? cluster->received[id] : largest[0];
        largest[1] = cluster->sent[id] > largest[1] ? cluster->sent[id] : largest[1];
        if (shd_reshard_received(plan, c->shape, id) != cluster->received[id])
            return "what a device receives";
    }
    if (total != plan->received_bytes)
        return "the total";
    if (shd_reshard_measure(&figures, plan, c->shape, opts, NULL))
        return "no figures";
    if (figures.received_bytes != total || figures.largest_received_bytes != largest[0] ||
        figures.largest_sent_bytes != largest[1] || figures.nmessages < cluster->nmessages)
        return "the figures";
    for (size_t i = 0; i < plan->nsteps; i++) /* an all-reduce does not tell which device has the
                                               * odd elements */
        uneven |= plan->steps[i].kind == SHD_RESHARD_ALL_REDUCE;
    for (size_t t = 0; t < c->opts.ntiers && !uneven; t++) {
        if (figures.entering_bytes[t] != cluster->entering[t])
            return "what enters a group";
    }
    return opts && total > 0 && !(figures.seconds > 0) ? "no time" : NULL;
}

/* Mark the elements of which a device of the group has a shard. */
static void mark(unsigned char *marks, unsigned char bit, const struct shd_sharding *s,
                 const struct random_case *c, int32_t near, int32_t group)
{
    int64_t extent[SHD_RANK_MAX];

    shd_sharding_shard_shape(s, c->shape, extent);
    for (int32_t p = 0; p < shd_mesh_size(s->mesh); p++) {
        int64_t index[SHD_RANK_MAX] = {0};
        int64_t offset[SHD_RANK_MAX];

        if (shd_mesh_device_id(s->mesh, p) / near != group || count_of(extent, c->rank) == 0)
            continue;
        shd_sharding_offset(s, c->shape, p, offset);
        do {
            marks[flat(c->shape, offset, index, c->rank)] |= bit;
        } while (next_index(extent, index, c->rank));
    }
}

/* Count the elements that must enter each group of devices, element by element, and compare with
 * the bound. */
static const char *check_entering(const struct random_case *c, const struct shd_reshard_plan *plan)
{
    int64_t nelements = count_of(c->shape, c->rank);
    unsigned char *marks = malloc((size_t)nelements + 1);
    struct shd_reshard_bound bound;
    struct shd_reshard_figures figures;
    const char *wrong = NULL;
    int status = shd_reshard_bound(&bound, &c->from, &c->to, c->shape, SHD_I8, &c->opts, NULL);

    if (!marks)
        abort();
    if (status != SHD_OK && status != SHD_EUNSUPPORTED)
        wrong = "no bound of groups";
    if (!status && shd_reshard_measure(&figures, plan, c->shape, &c->opts, NULL))
        wrong = "no figures";
    for (size_t t = 0; t < c->opts.ntiers && !status && !wrong; t++) {
        int32_t near = c->opts.tiers[t].ndevices;
        uint64_t entering = 0;

        for (int32_t group = 0; near > 0 && group <= IDS_MAX / near; group++) {
            memset(marks, 0, (size_t)nelements);
            mark(marks, 1, &c->from, c, near, group);
            mark(marks, 2, &c->to, c, near, group);
            for (int64_t i = 0; i < nelements; i++)
                entering += marks[i] == 2;
        }
        if (entering != bound.entering_bytes[t])
            wrong = "the bound of groups";
        else if (figures.entering_bytes[t] < entering)
            wrong = "less than the bound enters groups";
    }
    ngrouped += c->opts.ntiers > 0 && !status;
    free(marks);
    return wrong;
}

static const char *check_bound(const struct random_case *c, const struct shd_reshard_plan *plan)
{
    struct shd_reshard_bound bound;
    int become;
    int sum = sums(c, &become);

    if (shd_reshard_bound(&bound, &c->from, &c->to, c->shape, SHD_I8, NULL, NULL))
        return "no bound";
    if (plan->received_bytes < bound.received_bytes)
        return "less than the bound";
    if (become || sum)
        return NULL;
    if (bound.received_bytes != count_missing(c, -1))
        return "the bound";
    for (int32_t p = 0; p < shd_mesh_size(c->other); p++) {
        uint64_t least = shd_reshard_bound_at(&c->from, &c->to, c->shape, SHD_I8, p);

        if (least != count_missing(c, p) || least > bound.largest_bytes)
            return "the bound of a device";
        if (!c->opts.ntiers &&
            shd_reshard_received(plan, c->shape, shd_mesh_device_id(c->other, p)) != least)
            return "a device receives unneeded elements";
    }
    if (c->opts.ntiers && check_entering(c, plan))
        return check_entering(c, plan);
    return !c->opts.ntiers && plan->received_bytes != bound.received_bytes ? "above the bound"
                                                                           : NULL;
}

static void tell(const struct random_case *c, int number, const char *wrong)
{
    char texts[5][160];

    shd_mesh_print(c->mesh, texts[0], sizeof(texts[0]));
    shd_mesh_print(c->other, texts[1], sizeof(texts[1]));
    shd_sharding_print(&c->from, texts[2], sizeof(texts[2]));
    shd_sharding_print(&c->to, texts[3], sizeof(texts[3]));
    shd_shape_print(texts[4], sizeof(texts[4]), c->shape, c->rank);
    diag("case %d, %s: mesh %s to %s, shape %s, %zu tiers: %s -> %s: %s", number,
         devices_names[c->devices], texts[0], texts[1], texts[4], c->opts.ntiers, texts[2],
         texts[3], wrong);
}

/* A plan needs no more than the first operand and the last result.  Exceptions are sums whose
 * shards do not divide, and zeros where axes become partial. */
static const char *check_memory(const struct random_case *c, const struct shd_reshard_plan *plan,
                                int *nover)
{
    int64_t old_shape[SHD_RANK_MAX];
    int64_t new_shape[SHD_RANK_MAX];
    uint64_t peak = 0;
    uint64_t limit;
    int become;
    int sum = sums(c, &become);

    shd_sharding_shard_shape(&c->from, c->shape, old_shape);
    shd_sharding_shard_shape(&c->to, c->shape, new_shape);
    limit = (uint64_t)(count_of(old_shape, c->rank) + count_of(new_shape, c->rank));
    for (size_t i = 0; i < plan->nsteps; i++) {
        uint64_t bytes;

        shd_sharding_shard_shape(&plan->steps[i].from, c->shape, old_shape);
        shd_sharding_shard_shape(&plan->steps[i].to, c->shape, new_shape);
        bytes = (uint64_t)(count_of(old_shape, c->rank) + count_of(new_shape, c->rank));
        peak = bytes > peak ? bytes : peak;
    }
    if (peak != plan->peak_bytes)
        return "the peak";
    if (peak <= limit)
        return NULL;
    *nover += 1;
    return sum || become ? NULL : "over the memory";
}

static const char *run_case(const struct random_case *c, struct shd_error *err, int *nover)
{
    struct shd_reshard_plan plan;
    struct cluster cluster = {.shape = c->shape,
                              .rank = c->rank,
                              .mesh = c->other == c->mesh ? c->mesh : NULL,
                              .opts = c->opts.ntiers ? &c->opts : NULL};
    const char *wrong;

    if (shd_reshard_build_with(&plan, &c->from, &c->to, c->shape, SHD_I8, &c->opts, err))
        return err->text;
    wrong = check_plan(c, &plan, &cluster);
    for (int32_t id = 0; id < IDS_MAX; id++)
        free(cluster.shards[id]);
    if (!wrong)
        wrong = check_bound(c, &plan);
    return wrong ? wrong : check_memory(c, &plan, nover);
}

int main(void)
{
    int ncases = small_size() ? CASES / 8 : CASES;
    int nfailed = 0;
    int nover = 0;

    plan(0);
    random_state = 20261121;
    diag("seed %llu", (unsigned long long)random_state);
    for (int i = 0; i < ncases && nfailed < 5; i++) {
        struct random_case c;
        struct shd_error err = {0};
        const char *wrong;

        case_init(&c);
        wrong = run_case(&c, &err, &nover);
        if (wrong)
            tell(&c, i, wrong);
        nfailed += wrong != NULL;
        case_fini(&c);
    }
    ok(ngrouped > ncases / 40, "%d bounds of groups of devices", ngrouped);
    ok(nfailed == 0, "right values, at the bound, within the memory, senders balanced");
    diag("%d of %d, all with partial axes, need more than the first operand and the last result",
         nover, ncases);
    return done();
}

/* Finding and creating groups (group.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/group.h"

#include <inttypes.h>
#include <shd/group.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "run/device.h"
#include "run/mailbox.h"

/* In place of a number of axes: the group belongs to a pair of positions, or to a channel. */
#define PAIR_NAXES UINT32_MAX
#define CHANNEL_NAXES (UINT32_MAX - 1)

/* A cached seat of a device, by its request: axes in order (4 bits each), or the two positions of a
 * pair. */
struct device_seat {
    uint64_t packed;
    uint32_t naxes; /* PAIR_NAXES: a pair; CHANNEL_NAXES: a channel between two positions */
    struct run_seat seat;
};

/* Index of groups by axes: only the first member to request a group lists the others. */
struct axes_group {
    uint64_t packed; /* as in a seat */
    uint32_t naxes;
    int32_t id; /* among the groups over these axes */
    struct run_group *group;
};

/* Multiplicative hashing by 2^64 divided by the golden ratio (Knuth, The Art of Computer
 * Programming, volume 3, 6.4); the upper, best mixed bits are folded into the lower ones, which
 * select the slot of a map. */
static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint64_t hash_members(const int32_t *members, uint32_t nmembers)
{
    uint64_t hash = nmembers;

    for (uint32_t m = 0; m < nmembers; m++)
        hash = mix(hash, (uint32_t)members[m]);
    return hash;
}

static void destroy_group(const struct run *run, struct run_group *group)
{
    if (!group)
        return;
    if (group->away)
        run->away->calls->leave(group->away);
    free(group->members);
    free(group->devices);
    free(group->calls);
    mailbox_destroy(group->mailbox);
    free(group->part);
    free(group);
}

static struct run_group *create_group(struct run *run, const int32_t *members, uint32_t nmembers,
                                      uint64_t hash)
{
    struct run_group *group = calloc(1, sizeof(*group));
    uint32_t nhere = 0;

    if (!group)
        return NULL;
    group->nmembers = nmembers;
    group->members = malloc(nmembers * sizeof(*group->members));
    group->devices = malloc(nmembers * sizeof(struct shd_device *));
    group->calls = calloc(nmembers, sizeof(struct coll_call *));
    if (!group->members || !group->devices || !group->calls) {
        destroy_group(run, group);
        return NULL;
    }
    group->hash = hash;
    for (uint32_t m = 0; m < nmembers; m++) {
        group->members[m] = members[m];
        group->devices[m] = &run->devices[members[m]];
        nhere += group->devices[m]->here;
    }
    wait_barrier_init(&group->barrier, &run->board, nhere);
    return group;
}

/* Join a group with its members that are away. */
static bool join_away(struct run *run, struct run_group *group)
{
    if (group->barrier.nmembers == group->nmembers)
        return true;
    group->away = run->away->calls->join(run->away, group);
    return group->away != NULL;
}

/* Reserve room for one more group in each member's list.  Called with the run's lock held. */
static bool reserve_lists(struct run_group *group)
{
    for (uint32_t m = 0; m < group->nmembers; m++) {
        struct shd_device *dev = group->devices[m];

        if (!array_make_room(&dev->groups, dev->ngroups, sizeof *dev->groups))
            return false;
    }
    return true;
}

/* Called with the run's lock held, which also guards which members have ended already.  False: no
 * memory. */
static bool link_group(struct run *run, struct run_group *group)
{
    if (!array_make_room(&run->groups, run->ngroups, sizeof(struct run_group *)) ||
        !map_add(&run->group_map, group->hash, run->ngroups))
        return false;
    for (uint32_t m = 0; m < group->nmembers; m++) {
        struct shd_device *dev = group->devices[m];

        dev->groups[dev->ngroups++] = group;
        if (atomic_load(&dev->state) != DEVICE_LIVE)
            wait_lose_member(&group->barrier);
    }
    run->groups[run->ngroups++] = group;
    return true;
}

/* Called with the run's lock held.  NULL: no memory. */
static struct run_group *find_or_create(struct run *run, const int32_t *members, uint32_t nmembers,
                                        bool channel)
{
    uint64_t hash = hash_members(members, nmembers);
    struct map_walk walk = map_find(&run->group_map, hash);
    struct run_group *group;
    uint32_t i;

    while ((i = map_next(&walk)) != MAP_NONE) {
        group = run->groups[i];
        if (group->hash == hash && group->nmembers == nmembers && channel == !!group->mailbox &&
            !memcmp(group->members, members, nmembers * sizeof(*members)))
            return group;
    }
    group = create_group(run, members, nmembers, hash);
    if (group && channel)
        group->mailbox = mailbox_create();
    if (!group || !reserve_lists(group) || (channel ? !group->mailbox : !join_away(run, group)) ||
        !link_group(run, group)) {
        destroy_group(run, group);
        return NULL;
    }
    return group;
}

/* Store the seat of `member` in a group; `group` NULL means that there was no memory for it. */
static int take_seat(struct run_seat *out, struct run_group *group, uint32_t member,
                     uint32_t nmembers, struct shd_error *err)
{
    if (!group)
        return shd_error_set(err, SHD_ENOMEM, "no memory for a group of %" PRIu32 " devices",
                             nmembers);
    *out = (struct run_seat){group, member};
    return SHD_OK;
}

/* Check that every position is in the mesh and listed once, and that the device is among them, as
 * *member. */
static int check_list(const struct shd_device *dev, const int32_t *members, uint32_t nmembers,
                      uint32_t *member, struct shd_error *err)
{
    int32_t ndevices = dev->run->ndevices;
    unsigned char *seen = calloc((size_t)ndevices, 1);
    int status = SHD_OK;

    if (!seen)
        return shd_error_set(err, SHD_ENOMEM, "no memory to check a group");
    for (uint32_t m = 0; m < nmembers && status == SHD_OK; m++) {
        int32_t position = members[m];

        if (position < 0 || position >= ndevices)
            status = shd_error_set(err, SHD_EINVAL,
                                   "a group has device %" PRId32 " in a mesh of %" PRId32, position,
                                   ndevices);
        else if (seen[position]++)
            status =
                shd_error_set(err, SHD_EINVAL, "a group has device %" PRId32 " twice", position);
        else if (position == dev->position)
            *member = m;
    }
    if (status == SHD_OK && !seen[dev->position])
        status = shd_error_set(
            err, SHD_EINVAL, "device %" PRId32 " is not in the group it asked for", dev->position);
    free(seen);
    return status;
}

static int list_or_channel(struct run_seat *out, struct shd_device *dev, const int32_t *members,
                           uint32_t nmembers, bool channel, struct shd_error *err)
{
    uint32_t member = 0;
    int status = check_list(dev, members, nmembers, &member, err);
    struct run_group *group;

    if (status != SHD_OK)
        return status;
    pthread_mutex_lock(&dev->run->lock);
    group = find_or_create(dev->run, members, nmembers, channel);
    pthread_mutex_unlock(&dev->run->lock);
    return take_seat(out, group, member, nmembers, err);
}

int run_group_of_list(struct run_seat *out, struct shd_device *dev, const int32_t *members,
                      uint32_t nmembers, struct shd_error *err)
{
    return list_or_channel(out, dev, members, nmembers, false, err);
}

static bool find_seat(struct run_seat *out, const struct shd_device *dev, uint64_t packed,
                      uint32_t naxes)
{
    struct map_walk walk = map_find(&dev->seat_map, mix(naxes, packed));
    uint32_t i;

    while ((i = map_next(&walk)) != MAP_NONE) {
        if (dev->seats[i].packed == packed && dev->seats[i].naxes == naxes) {
            *out = dev->seats[i].seat;
            return true;
        }
    }
    return false;
}

static int keep_seat(struct shd_device *dev, uint64_t packed, uint32_t naxes, struct run_seat seat,
                     struct shd_error *err)
{
    if (!array_make_room(&dev->seats, dev->nseats, sizeof(*dev->seats)) ||
        !map_add(&dev->seat_map, mix(naxes, packed), dev->nseats))
        return shd_error_set(err, SHD_ENOMEM, "no memory for a place in a group");
    dev->seats[dev->nseats++] = (struct device_seat){packed, naxes, seat};
    return SHD_OK;
}

/* The group with number `id`, found by its list of members.  Called with the run's lock held.
 * NULL: no memory. */
static struct run_group *list_group(struct run *run, const struct shd_groups *groups, int32_t id)
{
    int32_t *members = malloc((size_t)groups->nmembers * sizeof(*members));
    struct run_group *group = NULL;

    for (int32_t m = 0; members && m < groups->nmembers; m++)
        members[m] = shd_groups_position(groups, id, m);
    if (members)
        group = find_or_create(run, members, (uint32_t)groups->nmembers, false);
    free(members);
    return group;
}

/* The group with number `id` among those over these axes.  Called with the run's lock held.  NULL:
 * no memory. */
static struct run_group *group_over_axes(struct run *run, const struct shd_groups *groups,
                                         int32_t id, uint64_t packed, uint32_t naxes)
{
    uint64_t hash = mix(mix(naxes, packed), (uint32_t)id);
    struct map_walk walk = map_find(&run->axes_map, hash);
    struct run_group *group;
    uint32_t i;

    while ((i = map_next(&walk)) != MAP_NONE) {
        const struct axes_group *g = &run->by_axes[i];

        if (g->packed == packed && g->naxes == naxes && g->id == id)
            return g->group;
    }
    group = list_group(run, groups, id);
    if (!group || !array_make_room(&run->by_axes, run->nby_axes, sizeof(*run->by_axes)) ||
        !map_add(&run->axes_map, hash, run->nby_axes))
        return NULL;
    run->by_axes[run->nby_axes++] = (struct axes_group){packed, naxes, id, group};
    return group;
}

static int seat_over_axes(struct run_seat *out, struct shd_device *dev,
                          const struct shd_groups *groups, uint64_t packed, uint32_t naxes,
                          struct shd_error *err)
{
    int32_t id = shd_groups_find(groups, dev->position);
    struct run_group *group;

    pthread_mutex_lock(&dev->run->lock);
    group = group_over_axes(dev->run, groups, id, packed, naxes);
    pthread_mutex_unlock(&dev->run->lock);
    return take_seat(out, group, (uint32_t)shd_groups_member(groups, dev->position),
                     (uint32_t)groups->nmembers, err);
}

int run_group_over_axes(struct run_seat *out, struct shd_device *dev, const uint8_t *axes,
                        size_t naxes, struct shd_error *err)
{
    uint64_t packed = 0;
    struct shd_groups groups;
    int status;

    status = shd_groups_init(&groups, dev->run->mesh, axes, naxes, err);
    if (status != SHD_OK)
        return status;
    for (size_t i = 0; i < naxes; i++)
        packed = packed << 4 | axes[i];
    if (find_seat(out, dev, packed, (uint32_t)naxes))
        return SHD_OK;
    status = seat_over_axes(out, dev, &groups, packed, (uint32_t)naxes, err);
    if (status == SHD_OK)
        status = keep_seat(dev, packed, (uint32_t)naxes, *out, err);
    return status;
}

static int pair_or_channel(struct run_seat *out, struct shd_device *dev, int32_t from, int32_t to,
                           uint32_t naxes, struct shd_error *err)
{
    uint64_t packed = (uint64_t)(uint32_t)from << 32 | (uint32_t)to;
    int32_t members[2] = {from, to};
    int status;

    if (find_seat(out, dev, packed, naxes))
        return SHD_OK;
    /* a device that sends to itself uses a group of one */
    status = list_or_channel(out, dev, members, naxes == CHANNEL_NAXES && from == to ? 1 : 2,
                             naxes == CHANNEL_NAXES, err);
    if (status == SHD_OK)
        status = keep_seat(dev, packed, naxes, *out, err);
    return status;
}

int run_group_of_pair(struct run_seat *out, struct shd_device *dev, int32_t from, int32_t to,
                      struct shd_error *err)
{
    return pair_or_channel(out, dev, from, to, PAIR_NAXES, err);
}

int run_group_of_channel(struct run_seat *out, struct shd_device *dev, int32_t from, int32_t to,
                         struct shd_error *err)
{
    return pair_or_channel(out, dev, from, to, CHANNEL_NAXES, err);
}

void run_group_fini_seats(struct shd_device *dev)
{
    free(dev->seats);
    map_fini(&dev->seat_map);
    free(dev->groups);
    dev->groups = NULL;
}

void run_group_fini_all(struct run *run)
{
    for (uint32_t i = 0; i < run->ngroups; i++)
        destroy_group(run, run->groups[i]);
    free(run->groups);
    map_fini(&run->group_map);
    free(run->by_axes);
    map_fini(&run->axes_map);
}

void run_device_end(struct shd_device *dev, enum device_state state)
{
    struct run *run = dev->run;

    pthread_mutex_lock(&run->lock);
    atomic_store(&dev->state, state);
    for (size_t i = 0; i < dev->ngroups; i++) {
        wait_lose_member(&dev->groups[i]->barrier);
        wait_signal(&dev->groups[i]->event);
    }
    pthread_mutex_unlock(&run->lock);
    if (atomic_fetch_sub(&run->nlive, 1) == 1)
        wait_signal(&run->ended);
}

void run_group_call_off(struct run *run, enum run_verdict verdict)
{
    int goes_on = RUN_GOES_ON;

    (void)atomic_compare_exchange_strong(&run->board.called_off, &goes_on, verdict);
    if (verdict == RUN_STUCK)
        atomic_store(&run->settled, true);
    pthread_mutex_lock(&run->lock);
    for (uint32_t i = 0; i < run->ngroups; i++) {
        wait_poke(&run->groups[i]->barrier);
        wait_signal(&run->groups[i]->event);
    }
    pthread_mutex_unlock(&run->lock);
}

struct run_group *run_group_channel(struct run *run, int32_t from, int32_t to)
{
    const int32_t members[2] = {from, to};
    struct run_group *group;

    pthread_mutex_lock(&run->lock);
    group = find_or_create(run, members, 2, true);
    pthread_mutex_unlock(&run->lock);
    return group;
}

/* Layouts that share all but ZeRO and the order of the mesh's axes (space.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "search/space.h"

/* ---- orders ---- */

/* Whether two orders differ only in the place of axes with one device. */
static bool is_same_order(const struct layout *layout, const uint8_t *a, const uint8_t *b)
{
    int i = 0, j = 0;

    for (;;) {
        while (i < SPACE_AXES && layout->value[a[i]] == 1)
            i++;
        while (j < SPACE_AXES && layout->value[b[j]] == 1)
            j++;
        if (i == SPACE_AXES || j == SPACE_AXES)
            return i == j;
        if (a[i++] != b[j++])
            return false;
    }
}

int32_t space_next_order(const struct space *space, const struct layout *layout, int32_t order)
{
    for (int32_t o = order; o < SPACE_ORDERS; o++) {
        bool listed = !space_allows(space, SPACE_ORDER, o);

        for (int32_t before = 0; before < o && !listed; before++)
            listed = space_allows(space, SPACE_ORDER, before) &&
                     is_same_order(layout, space_order(o), space_order(before));
        if (!listed)
            return o;
    }
    return -1;
}

/* ---- ZeRO ---- */

/* Whether the replicas that ZeRO shards over are axes of the mesh.  With ep above 1 the axes are
 * the replicas that hold a layer's experts together, and the groups of these.  ZeRO shards over
 * both axes or over the groups alone; over the former alone, which leaves experts whole, only if
 * shards is ranged.  With ep of 1 any part of the replicas can be an axis. */
static bool are_axes(const struct space *space, const struct layout *layout, int32_t shards)
{
    int32_t dp = layout->value[SPACE_DP], ep = layout->value[SPACE_EP];

    return ep == 1 || shards == dp || shards == dp / ep ||
           (shards == ep && space_is_ranged(space, SPACE_SHARDS));
}

/* Whether ZeRO can shard over so many devices. */
static bool can_shard(const struct space *space, const struct layout *layout, int32_t shards)
{
    int32_t dp = layout->value[SPACE_DP];

    return shards > dp ? layout->value[SPACE_EP] == 1
                       : dp % shards == 0 && are_axes(space, layout, shards);
}

/* The next number of devices that ZeRO may shard over, below `shards`; 0: none. */
static int32_t next_shards(const struct layout *layout, int32_t shards)
{
    int32_t dp = layout->value[SPACE_DP];

    if (shards > dp)
        return dp;
    do
        shards--;
    while (shards > 0 && dp % shards != 0);
    return shards;
}

static int32_t most_shards(const struct layout *layout)
{
    int32_t cp = layout->value[SPACE_CP];

    return cp > 1 ? layout->value[SPACE_DP] * cp : layout->value[SPACE_DP];
}

static bool has_zero(const struct space *s, const struct layout *layout, int32_t zero,
                     int32_t shards)
{
    return (zero > 0) == (shards > 1) && (zero == 0 || can_shard(s, layout, shards)) &&
           space_allows(s, SPACE_ZERO, zero) && space_allows(s, SPACE_SHARDS, shards);
}

/* ---- both ---- */

uint32_t space_members(const struct space *space, const struct layout *layout)
{
    uint32_t norders = 0, n = 0;

    for (int32_t o = 0; (o = space_next_order(space, layout, o)) >= 0; o++)
        norders++;
    for (int32_t zero = 0; zero <= 3; zero++)
        for (int32_t shards = most_shards(layout); shards > 0; shards = next_shards(layout, shards))
            n += has_zero(space, layout, zero, shards);
    return n * norders;
}

int space_list_members(struct layout **out, uint32_t *n, const struct space *space,
                       const struct layout *layout, struct shd_error *err)
{
    struct layout own = *layout, *members = calloc(space_members(space, layout), sizeof *members);
    uint32_t nmembers = 0;

    if (!members)
        return shd_error_set(err, SHD_ENOMEM, "no memory for layouts");
    for (int32_t zero = 0; zero <= 3; zero++)
        for (int32_t shards = most_shards(layout); shards > 0;
             shards = next_shards(layout, shards)) {
            if (!has_zero(space, layout, zero, shards))
                continue;
            own.value[SPACE_ZERO] = zero;
            own.value[SPACE_SHARDS] = shards;
            for (int32_t o = 0; (o = space_next_order(space, layout, o)) >= 0; o++) {
                own.value[SPACE_ORDER] = o;
                members[nmembers++] = own;
            }
        }
    *out = members;
    *n = nmembers;
    return SHD_OK;
}

static bool append_members(struct layout **layouts, size_t *n, const struct space *space,
                           const struct space_set *set, struct shd_error *err)
{
    struct layout *members = NULL;
    uint32_t nmembers = 0;
    bool failed = space_list_members(&members, &nmembers, space, &set->layout, err) != SHD_OK;

    for (uint32_t k = 0; !failed && k < nmembers; k++) {
        failed = !array_make_room(layouts, *n, sizeof **layouts);
        if (!failed)
            (*layouts)[(*n)++] = members[k];
    }
    free(members);
    return !failed;
}

int space_list(struct layout **out, size_t *n, const struct space *space, struct shd_error *err)
{
    struct layout *layouts = NULL;
    struct space_set *sets;
    size_t nsets, nlayouts = 0;
    bool failed = false;
    int status = space_list_sets(&sets, &nsets, space, err);

    if (status != SHD_OK)
        return status;
    for (size_t i = 0; i < nsets && !failed; i++)
        failed = !append_members(&layouts, &nlayouts, space, &sets[i], err);
    free(sets);
    if (failed) {
        free(layouts);
        return shd_error_set(err, SHD_ENOMEM, "no memory for %zu layouts", nlayouts);
    }
    *out = layouts;
    *n = nlayouts;
    return SHD_OK;
}

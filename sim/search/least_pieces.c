/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "search/least_pieces.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/map.h"

/* The choices that sets of layouts differ in, and their least pieces too. */
static const enum space_choice choices[] = {SPACE_TP,       SPACE_CP,   SPACE_DP,
                                            SPACE_EP,       SPACE_SP,   SPACE_METHOD,
                                            SPACE_PRODUCTS, SPACE_FOLD, SPACE_ZERO, SPACE_ORDER};
#define NCHOICES (sizeof choices / sizeof choices[0])

struct key {
    int32_t values[NCHOICES];
    int32_t microbatches;
};

struct entry {
    struct key key;
    uint32_t *of; /* pieces of the layouts */
    uint32_t n;
    struct piece piece;
};

struct least {
    const struct subject *subject;
    struct pieces *pieces;
    struct entry *entries;
    uint32_t n, nread;
    struct map numbers; /* by hash of the key */
};

struct least *least_create(const struct subject *subject, struct pieces *pieces)
{
    struct least *least = calloc(1, sizeof *least);

    if (least) {
        least->subject = subject;
        least->pieces = pieces;
    }
    return least;
}

void least_destroy(struct least *least)
{
    if (!least)
        return;
    for (uint32_t i = 0; i < least->n; i++)
        free(least->entries[i].of);
    free(least->entries);
    map_fini(&least->numbers);
    free(least);
}

/* ---- finding ---- */

static struct key key_of(const struct subject *subject, const struct layout *layout)
{
    struct key key = {.microbatches =
                          (int32_t)attempt_microbatches(subject, layout, ATTEMPT_REPLICAS)};

    for (size_t c = 0; c < NCHOICES; c++)
        key.values[c] = layout->value[choices[c]];
    return key;
}

/* Ask for the pieces of a set's layouts with a stage of ZeRO; false: no memory. */
static bool ask(struct least *least, struct entry *entry, const struct layout *set)
{
    struct layout *members;
    struct shd_error err;
    bool good = true;
    uint32_t n;

    if (space_list_members(&members, &n, &least->subject->space, set, &err) != SHD_OK)
        return false;
    entry->of = calloc((size_t)n + 1, sizeof *entry->of);
    good = entry->of;
    for (uint32_t k = 0; k < n && good; k++) {
        if (members[k].value[SPACE_ZERO] != set->value[SPACE_ZERO] ||
            members[k].value[SPACE_ORDER] != set->value[SPACE_ORDER])
            continue;
        entry->of[entry->n] = pieces_find_alike(least->pieces, &members[k]);
        good = entry->of[entry->n++] != UINT32_MAX;
    }
    free(members);
    return good;
}

uint32_t least_find(struct least *least, const struct layout *layout)
{
    struct key key = key_of(least->subject, layout);
    uint64_t hash = hash_bytes(HASH_BEGIN, &key, sizeof key);
    struct map_walk walk = map_find(&least->numbers, hash);
    uint32_t i;

    while ((i = map_next(&walk)) != MAP_NONE)
        if (memcmp(&least->entries[i].key, &key, sizeof key) == 0)
            return i;
    if (!array_make_room32(&least->entries, least->n, sizeof *least->entries))
        return UINT32_MAX;
    least->entries[least->n] = (struct entry){.key = key};
    if (!map_add(&least->numbers, hash, least->n))
        return UINT32_MAX;
    i = least->n++;
    return ask(least, &least->entries[i], layout) ? i : UINT32_MAX;
}

/* ---- reading ---- */

static void read_entry(const struct least *least, struct entry *entry)
{
    for (uint32_t k = 0; k < entry->n; k++) {
        const struct piece *piece = pieces_get(least->pieces, entry->of[k]);
        static const struct piece none;

        if (k == 0)
            entry->piece = piece->failed ? none : *piece;
        else
            piece_lower(&entry->piece, piece->failed ? &none : piece);
    }
}

void least_read(struct least *least)
{
    while (least->nread < least->n)
        read_entry(least, &least->entries[least->nread++]);
}

const struct piece *least_get(const struct least *least, uint32_t number)
{
    return least->entries[number].n > 0 ? &least->entries[number].piece : NULL;
}

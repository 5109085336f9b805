/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "capture/hlo_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

void hlo_names_fini(struct hlo_names *names)
{
    free(names->slots);
    *names = (struct hlo_names){.slots = NULL};
}

static size_t length(struct hlo_piece name)
{
    return (size_t)(name.end - name.at);
}

/* The slot with the name, or the free slot for it. */
static struct hlo_name *slot_of(const struct hlo_names *names, struct hlo_piece name,
                                uint32_t scope)
{
    uint64_t hash = hash_bytes(hash_bytes(HASH_BEGIN, &scope, sizeof scope), name.at, length(name));
    size_t at = (size_t)(hash ^ hash >> 32) & (names->nslots - 1);

    for (;; at = (at + 1) & (names->nslots - 1)) {
        struct hlo_name *slot = &names->slots[at];

        if (!slot->name.at || (slot->scope == scope && length(slot->name) == length(name) &&
                               !memcmp(slot->name.at, name.at, length(name))))
            return slot;
    }
}

static bool widen(struct hlo_names *names)
{
    struct hlo_names wider = {.nslots = names->nslots ? names->nslots * 2 : 64, .n = names->n};

    if (names->n < names->nslots / 2)
        return true;
    wider.slots = calloc(wider.nslots, sizeof *wider.slots);
    if (!wider.slots)
        return false;
    for (size_t i = 0; i < names->nslots; i++)
        if (names->slots[i].name.at)
            *slot_of(&wider, names->slots[i].name, names->slots[i].scope) = names->slots[i];
    free(names->slots);
    *names = wider;
    return true;
}

bool hlo_names_put(struct hlo_names *names, struct hlo_piece name, uint32_t scope, uint32_t number)
{
    struct hlo_name *slot;

    if (!widen(names))
        return false;
    slot = slot_of(names, name, scope);
    names->n += !slot->name.at;
    *slot = (struct hlo_name){name, scope, number};
    return true;
}

uint32_t hlo_names_find(const struct hlo_names *names, struct hlo_piece name, uint32_t scope)
{
    const struct hlo_name *slot = names->nslots ? slot_of(names, name, scope) : NULL;

    return slot && slot->name.at ? slot->number : HLO_NO_NUMBER;
}

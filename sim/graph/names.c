/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* The slot of a name, or the empty slot for it; the table must have one. */
static const char **slot_of(const struct graph_names *names, const char *name)
{
    uint32_t mask = names->nslots - 1, at = (uint32_t)hash_bytes(HASH_BEGIN, name, strlen(name)) & mask;

    while (names->slots[at] && strcmp(names->slots[at], name) != 0)
        at = (at + 1) & mask;
    return &names->slots[at];
}

void graph_names_fini(struct graph_names *names)
{
    free(names->slots);
    *names = (struct graph_names){.slots = NULL};
}

bool graph_names_has(const struct graph_names *names, const char *name)
{
    return names->n > 0 && *slot_of(names, name) != NULL;
}

static bool grow(struct graph_names *names)
{
    struct graph_names more = {.nslots = names->nslots ? 2 * names->nslots : 16, .n = names->n};

    more.slots = calloc(more.nslots, sizeof *more.slots);
    if (!more.slots)
        return false;
    for (uint32_t i = 0; i < names->nslots; i++)
        if (names->slots[i])
            *slot_of(&more, names->slots[i]) = names->slots[i];
    free(names->slots);
    *names = more;
    return true;
}

bool graph_names_add(struct graph_names *names, const char *name)
{
    if (names->n >= names->nslots / 2 && !grow(names))
        return false;
    *slot_of(names, name) = name;
    names->n++;
    return true;
}

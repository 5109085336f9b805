/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "program/descs.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

_Static_assert(sizeof(union kern_desc) % sizeof(uint64_t) == 0, "descriptions are hashed by words");

const union kern_desc *program_descs_keep(struct program_descs *set, const union kern_desc *desc)
{
    uint64_t hash = hash_words(HASH_BEGIN, desc, sizeof *desc / sizeof(uint64_t));
    struct map_walk walk = map_find(&set->numbers, hash);
    union kern_desc *kept;
    uint32_t i;

    while ((i = map_next(&walk)) != MAP_NONE)
        if (set->descs[i] == desc || memcmp(set->descs[i], desc, sizeof *desc) == 0)
            return set->descs[i];
    if (!array_make_room(&set->descs, set->ndescs, sizeof *set->descs))
        return NULL;
    kept = malloc(sizeof *kept);
    if (!kept || !map_add(&set->numbers, hash, set->ndescs)) {
        free(kept);
        return NULL;
    }
    memcpy(kept, desc, sizeof *kept);
    set->descs[set->ndescs++] = kept;
    return kept;
}

void program_descs_fini(struct program_descs *set)
{
    for (uint32_t i = 0; i < set->ndescs; i++)
        free(set->descs[i]);
    free(set->descs);
    map_fini(&set->numbers);
}

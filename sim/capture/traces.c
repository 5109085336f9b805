/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "capture/traces.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

void traces_init(struct traces *traces)
{
    *traces = (struct traces){.world = 0};
}

void traces_fini(struct traces *traces)
{
    for (uint32_t i = 0; i < traces->nranks; i++)
        free(traces->ranks[i].file);
    for (uint32_t i = 0; i < traces->ngroups; i++)
        free(traces->groups[i].ids);
    for (uint32_t i = 0; i < traces->nwords; i++)
        free(traces->words[i]);
    free(traces->ranks);
    free(traces->groups);
    free(traces->words);
    free(traces->calls);
    free(traces->group_index.slots);
    free(traces->word_index.slots);
    traces_init(traces);
}

static int no_memory(struct shd_error *err)
{
    return shd_error_set(err, SHD_ENOMEM, "no memory for a trace");
}

/* Room for one more item of `size` bytes behind the first n.  SHD_ENOMEM. */
static int grow(void *items, uint32_t n, size_t size, struct shd_error *err)
{
    return n < UINT32_MAX / 2 && array_make_room(items, n, size) ? SHD_OK : no_memory(err);
}

/* ---- hash tables ---- */

typedef uint64_t (*hash_fn)(const struct traces *traces, uint32_t item);

static void put(struct traces_index *index, uint64_t hash, uint32_t item)
{
    uint32_t at = (uint32_t)hash & (index->nslots - 1);

    while (index->slots[at])
        at = (at + 1) & (index->nslots - 1);
    index->slots[at] = item + 1;
}

/* Make room for one more than n items, at most half full. */
static int widen(struct traces_index *index, const struct traces *traces, uint32_t n, hash_fn hash,
                 struct shd_error *err)
{
    struct traces_index wider = {.nslots = index->nslots ? index->nslots * 2 : 64};

    if (n < index->nslots / 2)
        return SHD_OK;
    wider.slots = calloc(wider.nslots, sizeof *wider.slots);
    if (!wider.slots)
        return no_memory(err);
    for (uint32_t i = 0; i < n; i++)
        put(&wider, hash(traces, i), i);
    free(index->slots);
    *index = wider;
    return SHD_OK;
}

static uint64_t hash_word(const struct traces *traces, uint32_t item)
{
    return hash_bytes(HASH_BEGIN, traces->words[item], strlen(traces->words[item]));
}

static uint64_t hash_ids(const int32_t *ids, uint32_t n, uint32_t name)
{
    return hash_bytes(hash_bytes(HASH_BEGIN, &name, sizeof name), ids, n * sizeof *ids);
}

static uint64_t hash_group(const struct traces *traces, uint32_t item)
{
    const struct traces_group *group = &traces->groups[item];

    return hash_ids(group->ids, group->n, group->name);
}

/* ---- adding ---- */

int traces_add_rank(struct traces *traces, const char *file, int32_t rank, struct shd_error *err)
{
    struct traces_rank added = {.rank = rank};
    int status = grow(&traces->ranks, traces->nranks, sizeof *traces->ranks, err);

    if (status != SHD_OK)
        return status;
    added.file = strdup(file);
    if (!added.file)
        return no_memory(err);
    traces->ranks[traces->nranks++] = added;
    return SHD_OK;
}

static int append_word(struct traces *traces, struct json_piece word, struct shd_error *err)
{
    int status = grow(&traces->words, traces->nwords, sizeof *traces->words, err);
    char *copy;

    if (status == SHD_OK)
        status = widen(&traces->word_index, traces, traces->nwords, hash_word, err);
    if (status != SHD_OK)
        return status;
    copy = strndup(word.at, word.length);
    if (!copy)
        return no_memory(err);
    traces->words[traces->nwords] = copy;
    put(&traces->word_index, hash_word(traces, traces->nwords), traces->nwords);
    traces->nwords++;
    return SHD_OK;
}

int traces_add_word(uint32_t *out, struct traces *traces, struct json_piece word,
                    struct shd_error *err)
{
    const struct traces_index *index = &traces->word_index;
    uint64_t hash = hash_bytes(HASH_BEGIN, word.at, word.length);
    int status = traces->nwords ? SHD_OK : append_word(traces, (struct json_piece){"", 0}, err);

    if (status != SHD_OK)
        return status;
    for (uint32_t at = (uint32_t)hash & (index->nslots - 1); index->slots[at];
         at = (at + 1) & (index->nslots - 1))
        if (json_piece_is(word, traces->words[index->slots[at] - 1])) {
            *out = index->slots[at] - 1;
            return SHD_OK;
        }
    status = append_word(traces, word, err);
    *out = traces->nwords - 1;
    return status;
}

static int by_id(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return (x > y) - (x < y);
}

static bool find_group(uint32_t *out, const struct traces *traces, const int32_t *ids, uint32_t n,
                       uint32_t name)
{
    const struct traces_index *index = &traces->group_index;
    uint64_t hash = hash_ids(ids, n, name);

    if (!index->nslots)
        return false;
    for (uint32_t at = (uint32_t)hash & (index->nslots - 1); index->slots[at];
         at = (at + 1) & (index->nslots - 1)) {
        const struct traces_group *group = &traces->groups[index->slots[at] - 1];

        *out = index->slots[at] - 1;
        if (group->n == n && group->name == name && !memcmp(group->ids, ids, n * sizeof *ids))
            return true;
    }
    return false;
}

int traces_add_group(uint32_t *out, struct traces *traces, const int32_t *ids, uint32_t n,
                     uint32_t name, struct shd_error *err)
{
    struct traces_group group = {.n = n, .name = name};
    int status;

    group.ids = calloc((size_t)n + 1, sizeof *group.ids);
    if (!group.ids)
        return no_memory(err);
    memcpy(group.ids, ids, n * sizeof *ids);
    qsort(group.ids, n, sizeof *group.ids, by_id);
    if (find_group(out, traces, group.ids, n, name)) {
        free(group.ids);
        return SHD_OK;
    }
    status = grow(&traces->groups, traces->ngroups, sizeof *traces->groups, err);
    if (status == SHD_OK)
        status = widen(&traces->group_index, traces, traces->ngroups, hash_group, err);
    if (status != SHD_OK) {
        free(group.ids);
        return status;
    }
    traces->groups[traces->ngroups] = group;
    put(&traces->group_index, hash_group(traces, traces->ngroups), traces->ngroups);
    *out = traces->ngroups++;
    return SHD_OK;
}

int traces_add_call(struct traces *traces, const struct traces_call *call, struct shd_error *err)
{
    int status = grow(&traces->calls, traces->ncalls, sizeof *traces->calls, err);

    if (status != SHD_OK)
        return status;
    traces->calls[traces->ncalls] = *call;
    traces->calls[traces->ncalls].rank = traces->nranks - 1;
    traces->ncalls++;
    return SHD_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "capture/traces.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/order.h"

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
    map_fini(&traces->group_index);
    map_fini(&traces->word_index);
    traces_init(traces);
}

static int no_memory(struct shd_error *err)
{
    return shd_error_set(err, SHD_ENOMEM, "no memory for a trace");
}

static uint64_t hash_ids(const int32_t *ids, uint32_t n, uint32_t name)
{
    return hash_bytes(hash_bytes(HASH_BEGIN, &name, sizeof name), ids, n * sizeof *ids);
}

/* ---- adding ---- */

int traces_add_rank(struct traces *traces, const char *file, int32_t rank, struct shd_error *err)
{
    struct traces_rank added = {.rank = rank};

    if (!array_make_room32(&traces->ranks, traces->nranks, sizeof *traces->ranks) ||
        !(added.file = strdup(file)))
        return no_memory(err);
    traces->ranks[traces->nranks++] = added;
    return SHD_OK;
}

static int append_word(struct traces *traces, struct json_piece word, struct shd_error *err)
{
    char *copy = strndup(word.at, word.length);

    if (!copy || !array_make_room32(&traces->words, traces->nwords, sizeof *traces->words) ||
        !map_add(&traces->word_index, hash_bytes(HASH_BEGIN, word.at, word.length),
                 traces->nwords)) {
        free(copy);
        return no_memory(err);
    }
    traces->words[traces->nwords++] = copy;
    return SHD_OK;
}

int traces_add_word(uint32_t *out, struct traces *traces, struct json_piece word,
                    struct shd_error *err)
{
    int status = traces->nwords ? SHD_OK : append_word(traces, (struct json_piece){"", 0}, err);
    struct map_walk walk =
        map_find(&traces->word_index, hash_bytes(HASH_BEGIN, word.at, word.length));

    if (status != SHD_OK)
        return status;
    while ((*out = map_next(&walk)) != MAP_NONE)
        if (json_piece_is(word, traces->words[*out]))
            return SHD_OK;
    status = append_word(traces, word, err);
    *out = traces->nwords - 1;
    return status;
}

static bool find_group(uint32_t *out, const struct traces *traces, const int32_t *ids, uint32_t n,
                       uint32_t name)
{
    struct map_walk walk = map_find(&traces->group_index, hash_ids(ids, n, name));

    while ((*out = map_next(&walk)) != MAP_NONE) {
        const struct traces_group *group = &traces->groups[*out];

        if (group->n == n && group->name == name && !memcmp(group->ids, ids, n * sizeof *ids))
            return true;
    }
    return false;
}

int traces_add_group(uint32_t *out, struct traces *traces, const int32_t *ids, uint32_t n,
                     uint32_t name, struct shd_error *err)
{
    struct traces_group group = {.n = n, .name = name};

    group.ids = calloc((size_t)n + 1, sizeof *group.ids);
    if (!group.ids)
        return no_memory(err);
    memcpy(group.ids, ids, n * sizeof *ids);
    qsort(group.ids, n, sizeof *group.ids, order_int32);
    if (find_group(out, traces, group.ids, n, name)) {
        free(group.ids);
        return SHD_OK;
    }
    if (!array_make_room32(&traces->groups, traces->ngroups, sizeof *traces->groups) ||
        !map_add(&traces->group_index, hash_ids(group.ids, n, name), traces->ngroups)) {
        free(group.ids);
        return no_memory(err);
    }
    traces->groups[traces->ngroups] = group;
    *out = traces->ngroups++;
    return SHD_OK;
}

int traces_add_call(struct traces *traces, const struct traces_call *call, struct shd_error *err)
{
    if (!array_make_room32(&traces->calls, traces->ncalls, sizeof *traces->calls))
        return no_memory(err);
    traces->calls[traces->ncalls] = *call;
    traces->calls[traces->ncalls].rank = traces->nranks - 1;
    traces->ncalls++;
    return SHD_OK;
}

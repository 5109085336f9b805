/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "capture/capture.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

void capture_init(struct capture *capture)
{
    *capture = (struct capture){.title = NULL};
}

static void free_groups(struct capture_groups *groups)
{
    free(groups->first);
    free(groups->ids);
    free(groups->name);
}

void capture_fini(struct capture *capture)
{
    for (uint32_t i = 0; i < capture->ngroups; i++)
        free_groups(&capture->groups[i]);
    for (uint32_t i = 0; i < capture->ncollectives; i++) {
        free(capture->collectives[i].name);
        free(capture->collectives[i].where);
    }
    for (uint32_t i = 0; i < capture->nnotes; i++)
        free(capture->notes[i]);
    free(capture->groups);
    free(capture->collectives);
    free(capture->notes);
    free(capture->traced);
    free(capture->title);
    capture_init(capture);
}

static int no_memory(struct shd_error *err)
{
    return shd_error_set(err, SHD_ENOMEM, "no memory for what was captured");
}

int capture_add_groups(uint32_t *out, struct capture *capture, uint32_t ngroups, size_t nids,
                       struct shd_error *err)
{
    struct capture_groups groups = {.ngroups = ngroups};

    if (!array_make_room32(&capture->groups, capture->ngroups, sizeof *capture->groups))
        return no_memory(err);
    groups.first = calloc((size_t)ngroups + 1, sizeof *groups.first);
    groups.ids = calloc(nids ? nids : 1, sizeof *groups.ids);
    if (!groups.first || !groups.ids) {
        free_groups(&groups);
        return shd_error_set(err, SHD_ENOMEM, "no memory for %u groups of devices", ngroups);
    }
    *out = capture->ngroups;
    capture->groups[capture->ngroups++] = groups;
    return SHD_OK;
}

void capture_drop_groups(struct capture *capture)
{
    free_groups(&capture->groups[--capture->ngroups]);
}

int capture_add(struct capture *capture, const struct capture_collective *collective,
                struct shd_error *err)
{
    if (!array_make_room32(&capture->collectives, capture->ncollectives,
                           sizeof *capture->collectives)) {
        free(collective->name);
        free(collective->where);
        return no_memory(err);
    }
    capture->collectives[capture->ncollectives++] = *collective;
    return SHD_OK;
}

int capture_notev(struct capture *capture, struct shd_error *err, const char *fmt, va_list args)
{
    struct text text = TEXT_INIT;
    int status = SHD_OK;

    text_addv(&text, fmt, args);
    for (uint32_t i = 0; i < capture->nnotes; i++)
        if (!strcmp(capture->notes[i], text_get(&text))) {
            text_fini(&text);
            return SHD_OK;
        }
    if (!array_make_room32(&capture->notes, capture->nnotes, sizeof *capture->notes))
        status = no_memory(err);
    else if (!(capture->notes[capture->nnotes] = text_take(&text)))
        status = shd_error_set(err, SHD_ENOMEM, "no memory for a note");
    capture->nnotes += status == SHD_OK;
    text_fini(&text);
    return status;
}

int capture_note(struct capture *capture, struct shd_error *err, const char *fmt, ...)
{
    va_list args;
    int status;

    va_start(args, fmt);
    status = capture_notev(capture, err, fmt, args);
    va_end(args);
    return status;
}

uint32_t capture_size_of(const struct capture_groups *groups, uint32_t group)
{
    return groups->first[group + 1] - groups->first[group];
}

uint32_t capture_group_size(const struct capture_groups *groups)
{
    uint32_t most = 0;

    for (uint32_t g = 0; g < groups->ngroups; g++)
        most = capture_size_of(groups, g) > most ? capture_size_of(groups, g) : most;
    return most;
}

bool capture_groups_equal_size(const struct capture_groups *groups)
{
    for (uint32_t g = 1; g < groups->ngroups; g++)
        if (capture_size_of(groups, g) != groups->first[1])
            return false;
    return true;
}

/* The schedules there are, in the order of their invention.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "timetable/table.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>

#include "base/nearest.h"

const struct timetable_schedule *const timetable_schedules[] = {
    &timetable_gpipe,      &timetable_one_f_one_b, &timetable_interleaved_1f1b,
    &timetable_looped_bfs, &timetable_zb_h1,       &timetable_interleaved_zero_bubble,
    &timetable_zbv,        &timetable_dualpipev,   NULL,
};

static const char *skip_dashes(const char *s)
{
    while (*s == '-' || *s == '_')
        s++;
    return s;
}

/* What follows a name in a longer one: "" where they are the same, "ZeroBubble" for "zbv"; NULL: it
 * does not begin so. */
static const char *behind(const char *whole, const char *name)
{
    for (;; whole++, name++) {
        whole = skip_dashes(whole);
        name = skip_dashes(name);
        if (!*name)
            return whole;
        if (tolower((unsigned char)*whole) != tolower((unsigned char)*name))
            return NULL;
    }
}

/* What schedules are called elsewhere, and no name here begins with. */
static const struct {
    const char *called, *name;
} other_names[] = {
    {"zero-bubble", "ZBH1"},
    {"pipedream-flush", "1F1B"},
    {"one-forward-one-backward", "1F1B"},
    {"breadth-first", "LoopedBFS"},
    {"bfs", "LoopedBFS"},
    {"virtual-pipeline", "Interleaved1F1B"},
    {"vpp", "Interleaved1F1B"},
    {"fill-drain", "GPipe"},
};

/* The name here of what is called otherwise elsewhere; NULL: none is. */
static const char *name_of(const char *called)
{
    for (size_t i = 0; i < sizeof other_names / sizeof other_names[0]; i++) {
        const char *rest = behind(other_names[i].called, called);

        if (rest && !*rest)
            return other_names[i].name;
    }
    return NULL;
}

static int did_you_mean(const char *name, const char *meant, struct shd_error *err)
{
    return shd_error_set(err, SHD_ENOTFOUND, "there is no schedule '%.60s'; did you mean '%s'?",
                         name, meant);
}

static int not_found(const char *name, struct shd_error *err)
{
    char hint[NEAREST_HINT_MAX], names[160] = "";
    size_t length = 0;
    struct nearest near;

    if (name_of(name))
        return did_you_mean(name, name_of(name), err);
    nearest_init(&near, name);
    for (size_t i = 0; timetable_schedules[i]; i++) {
        const char *known = timetable_schedules[i]->name;

        if (*name && behind(known, name))
            return did_you_mean(name, known, err);
        nearest_add(&near, known);
        if (length < sizeof names)
            length += (size_t)snprintf(names + length, sizeof names - length, "%s%s",
                                       length ? ", " : "", known);
    }
    nearest_hint(&near, hint, sizeof hint);
    return shd_error_set(err, SHD_ENOTFOUND, "there is no schedule '%.60s'%s%s", name,
                         *hint ? hint : "; expected one of ", *hint ? "" : names);
}

int timetable_find(const struct timetable_schedule **out, const char *name, struct shd_error *err)
{
    for (size_t i = 0; timetable_schedules[i]; i++) {
        const char *rest = behind(timetable_schedules[i]->name, name);

        if (rest && !*rest) {
            *out = timetable_schedules[i];
            return SHD_OK;
        }
    }
    return not_found(name, err);
}

/* The schedules there are, in the order of their invention.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "timetable/table.h"

#include <ctype.h>
#include <stddef.h>

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

static bool same_name(const char *a, const char *b)
{
    for (;;) {
        a = skip_dashes(a);
        b = skip_dashes(b);
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return false;
        if (!*a)
            return true;
        a++;
        b++;
    }
}

int timetable_find(const struct timetable_schedule **out, const char *name, struct shd_error *err)
{
    char hint[NEAREST_HINT_MAX];
    struct nearest near;

    nearest_init(&near, name);
    for (size_t i = 0; timetable_schedules[i]; i++) {
        if (same_name(timetable_schedules[i]->name, name)) {
            *out = timetable_schedules[i];
            return SHD_OK;
        }
        nearest_add(&near, timetable_schedules[i]->name);
    }
    return shd_error_set(err, SHD_ENOTFOUND, "there is no schedule '%.60s'%s", name,
                         nearest_hint(&near, hint, sizeof hint));
}

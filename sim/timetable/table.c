/* The list of schedules, and finding schedules by name and by flags.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "timetable/table.h"

#include <ctype.h>

#include "base/nearest.h"

#define ADDRESS(name) &name,
const struct timetable_schedule *const timetable_schedules[] = {TIMETABLE_TABLE(ADDRESS) NULL};

/* ---- by flags ---- */

bool timetable_is_made_for(const struct timetable_schedule *schedule, int64_t nstages)
{
    return nstages == schedule->stages_per_rank ||
           (nstages > schedule->stages_per_rank && schedule->flags & TIMETABLE_ANY_STAGES);
}

const struct timetable_schedule *timetable_made_for(enum timetable_flag flag, int64_t nstages)
{
    for (size_t i = 0; timetable_schedules[i]; i++)
        if (timetable_schedules[i]->flags & flag &&
            timetable_is_made_for(timetable_schedules[i], nstages))
            return timetable_schedules[i];
    return NULL;
}

void timetable_names(struct text *out, unsigned all, unsigned none, const char *last)
{
    const char *before = NULL;
    bool several = false;

    for (size_t i = 0; timetable_schedules[i]; i++) {
        const struct timetable_schedule *schedule = timetable_schedules[i];

        if ((schedule->flags & all) != all || schedule->flags & none)
            continue;
        if (before)
            text_addf(out, "%s%s", several ? ", " : "", before);
        several |= before != NULL;
        before = schedule->name;
    }
    if (before)
        text_addf(out, "%s%s", several ? last : "", before);
}

/* ---- by name ---- */

static const char *skip_dashes(const char *s)
{
    while (*s == '-' || *s == '_')
        s++;
    return s;
}

/* The rest of `whole` after `name`, ignoring case, '-' and '_': "" if the two are equal,
 * "ZeroBubble" after "zbv"; NULL if `whole` does not begin with `name`. */
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

static bool is_same(const char *known, const char *name)
{
    const char *rest = behind(known, name);

    return rest && !*rest;
}

static bool is_called(const struct timetable_schedule *schedule, const char *name)
{
    for (size_t i = 0; i < TIMETABLE_OTHER_NAMES_MAX && schedule->other_names[i]; i++)
        if (is_same(schedule->other_names[i], name))
            return true;
    return false;
}

static int not_found(const char *name, struct shd_error *err)
{
    struct text names = TEXT_INIT;
    struct nearest near;

    nearest_init(&near, name);
    for (size_t i = 0; timetable_schedules[i]; i++) {
        const char *known = timetable_schedules[i]->name;

        if (*name && (is_called(timetable_schedules[i], name) || behind(known, name)))
            return shd_error_set(err, SHD_ENOTFOUND,
                                 "there is no schedule '%.60s'; did you mean '%s'?", name, known);
        nearest_add(&near, known);
    }
    if (!near.best)
        timetable_names(&names, 0, 0, ", ");
    shd_error_set(err, SHD_ENOTFOUND, "there is no schedule '%.60s'%s%s", name,
                  near.best ? nearest_hint(&near).text : "; expected one of ", text_get(&names));
    text_fini(&names);
    return SHD_ENOTFOUND;
}

int timetable_find(const struct timetable_schedule **out, const char *name, struct shd_error *err)
{
    for (size_t i = 0; timetable_schedules[i]; i++)
        if (is_same(timetable_schedules[i]->name, name)) {
            *out = timetable_schedules[i];
            return SHD_OK;
        }
    return not_found(name, err);
}

int timetable_find_in(const struct timetable_schedule **out, const char *name,
                      enum timetable_flag flag, const char *system, struct shd_error *err)
{
    const struct timetable_schedule *found;
    struct text names = TEXT_INIT;

    if (timetable_find(&found, name, NULL) == SHD_OK && found->flags & flag) {
        *out = found;
        return SHD_OK;
    }
    timetable_names(&names, flag, 0, " or ");
    shd_error_set(err, SHD_EUNSUPPORTED, "%s has no schedule %.40s; expected %s", system, name,
                  text_get(&names));
    text_fini(&names);
    return SHD_EUNSUPPORTED;
}

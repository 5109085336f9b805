/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "import/job.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"

void import_job_init(struct import_job *job)
{
    *job = (struct import_job){.tensor = 1,
                               .stages = 1,
                               .context = 1,
                               .expert_devices = 1,
                               .replicas = 1,
                               .shards = -1,
                               .recompute_layers = 1,
                               .betas = {0.9, 0.999},
                               .eps = 1e-8};
    text_init(&job->left_out);
}

void import_job_fini(struct import_job *job)
{
    text_fini(&job->left_out);
}

const struct import_option *import_option_find(const struct import_option *table, const char *name)
{
    for (; table->name; table++)
        if (!strcmp(table->name, name))
            return table;
    return NULL;
}

void import_job_leave_out(struct import_job *job, const struct import_option *table,
                          const char *name, struct place place, struct diag *diag)
{
    char hint[NEAREST_HINT_MAX];
    struct nearest near;

    nearest_init(&near, name);
    for (; table->name; table++)
        nearest_add(&near, table->name);
    if (nearest_is_slip(&near))
        diag_error(diag, place, "there is no option '%.60s'%s", name,
                   nearest_hint(&near, hint, sizeof hint));
    else
        text_addf(&job->left_out, " %s", name);
}

/* ---- values ---- */

static void set_int(void *at, const struct import_option *o, const char *value, struct place place,
                    struct diag *diag)
{
    char *end;
    long long number;

    errno = 0;
    number = strtoll(value, &end, 10);
    if (end == value || *end || errno || number < o->min || number > INT32_MAX)
        diag_error(diag, place, "%s is '%.60s'; expected a whole number of at least %" PRId64,
                   o->name, value, o->min);
    else
        *(int64_t *)at = number;
}

static void set_fraction(void *at, const struct import_option *o, const char *value,
                         struct place place, struct diag *diag)
{
    char *end;
    double number = strtod(value, &end);

    if (end == value || *end || !isfinite(number) || number < 0)
        diag_error(diag, place, "%s is '%.60s'; expected a number of at least 0", o->name, value);
    else
        *(double *)at = number;
}

static void set_word(const char **at, const struct import_option *o, const char *value,
                     struct place place, struct diag *diag)
{
    struct text all = TEXT_INIT;

    for (size_t i = 0; o->words && o->words[i]; i++) {
        text_addf(&all, "%s%s", i ? ", " : "", o->words[i]);
        if (!strcmp(o->words[i], value)) {
            *at = o->words[i];
            text_fini(&all);
            return;
        }
    }
    diag_error(diag, place, "%s is '%.60s'; expected one of %s", o->name, value, text_get(&all));
    text_fini(&all);
}

static void set_flag(bool *at, const struct import_option *o, const char *value, struct place place,
                     struct diag *diag)
{
    if (!value || !strcmp(value, "true"))
        *at = true;
    else if (!strcmp(value, "false"))
        *at = false;
    else
        diag_error(diag, place, "%s is '%.60s'; expected true or false", o->name, value);
}

void import_job_set(struct import_job *job, const struct import_option *option, const char *value,
                    struct place place, struct diag *diag)
{
    void *at = (char *)job + option->offset;

    if (option->refused)
        diag_error(diag, place, "%s: %s", option->name, option->refused);
    else if (option->type == IMPORT_FLAG)
        set_flag(at, option, value, place, diag);
    else if (!value)
        diag_error(diag, place, "%s has no value", option->name);
    else if (option->type == IMPORT_INT)
        set_int(at, option, value, place, diag);
    else if (option->type == IMPORT_FRACTION)
        set_fraction(at, option, value, place, diag);
    else
        set_word(at, option, value, place, diag);
}

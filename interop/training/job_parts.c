/* Checks that a job's model divides over its devices, in the words of the job's own options.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/words.h"
#include "training/job.h"

#define FIELD(name) offsetof(struct import_job, name)

static const struct {
    size_t whole, parts; /* fields of struct import_job */
    const char *what;
} divided[] = {{FIELD(heads), FIELD(tensor), "attention heads"},
               {FIELD(d_ff), FIELD(tensor), "widths of the mlp"},
               {FIELD(experts), FIELD(expert_devices), "experts"}};

static int64_t value_of(const struct import_job *job, size_t field)
{
    return *(const int64_t *)(const void *)((const char *)job + field);
}

/* The option that gave a field; NULL: none. */
static const struct import_given *find_given(const struct import_job *job, size_t field)
{
    for (size_t i = 0; i < job->noptions; i++)
        if (job->options[i].field == field)
            return &job->options[i];
    return NULL;
}

struct place import_job_place(const struct import_job *job, size_t field)
{
    const struct import_given *given = find_given(job, field);

    return given ? given->place : job->end;
}

struct place import_job_place_of(const struct import_job *job, const size_t *fields)
{
    for (; *fields; fields++)
        if (find_given(job, *fields))
            return import_job_place(job, *fields);
    return job->end;
}

struct place import_job_place_named(const struct import_job *job, const char *names)
{
    size_t length;

    for (const char *at = names, *name; (name = words_next(&at, &length));)
        for (size_t i = 0; i < job->noptions; i++)
            if (strlen(job->options[i].name) == length &&
                !strncmp(job->options[i].name, name, length))
                return job->options[i].place;
    return job->end;
}

void import_job_check_parts(const struct import_job *job, struct diag *diag)
{
    for (size_t i = 0; i < sizeof divided / sizeof *divided; i++) {
        int64_t whole = value_of(job, divided[i].whole), parts = value_of(job, divided[i].parts);
        const struct import_given *by = find_given(job, divided[i].parts);
        const struct import_given *of = find_given(job, divided[i].whole);

        if (!by || parts < 1 || whole % parts == 0)
            continue;
        diag_error(diag, by->place,
                   "%s %" PRId64 " does not divide the %" PRId64 " %s%s%s; expected a divisor",
                   by->name, parts, whole, divided[i].what, of ? " of " : "", of ? of->name : "");
    }
}

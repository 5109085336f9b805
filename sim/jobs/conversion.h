/* conversion.h - a file of another system, its options or its rules, as a scenario.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef JOBS_CONVERSION_H
#define JOBS_CONVERSION_H

#include "base/file_kind.h"
#include "import/job.h"
#include "import/rules.h"

/* A system, which has one of the two readers. */
struct conversion_source {
    const char *name;
    enum file_kind kind;
    void (*read_job)(struct import_job *job, struct place first, const char *text,
                     struct diag *diag);
    void (*read_rules)(struct import_rules *rules, struct place first, const char *text,
                       size_t length, struct diag *diag);
};

#define IMPORT_GIVEN_MAX 100
#define IMPORT_FILES_MAX 16 /* beside a script */

struct conversion {
    const struct conversion_source *source;
    const char *path, *output;
    const char *given[IMPORT_GIVEN_MAX]; /* "NAME=VALUE" for the variables of a script */
    size_t ngiven;
    struct import_file with[IMPORT_FILES_MAX]; /* files that a script reads, with their texts */
    size_t nwith;
    bool allow_unknown;
    struct import_request request;
    int64_t vocab; /* 0: as in the file */
};

/* Read the file, and print the scenario; returns the exit status. */
int conversion_run(struct conversion *conversion);

#endif /* JOBS_CONVERSION_H */

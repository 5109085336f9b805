/* conversion.h - convert a file of another system (options or sharding rules) to a scenario.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COMMAND_CONVERSION_H
#define COMMAND_CONVERSION_H

#include "base/file_kind.h"
#include "rules/rules.h"
#include "training/job.h"

/* A system; exactly one of the two readers is set. */
struct conversion_source {
    const char *name;
    enum file_kind kind;
    void (*read_job)(struct import_job *job, struct place first, const char *text,
                     struct diag *diag);
    void (*read_rules)(struct import_rules *rules, struct place first, const char *text,
                       size_t length, struct diag *diag);
};

extern const struct conversion_source conversion_sources[]; /* ended by one without a name */

/* NULL: unknown name. */
const struct conversion_source *conversion_source_find(const char *name);

/* The system whose job a file describes, by the file's content; NULL: unknown, or sharding rules
 * instead of a job. */
const struct conversion_source *conversion_source_guess(const char *text, size_t length);

/* Whether a text of that system launches a program that is known by its name, or has its options.
 */
bool conversion_launches(const struct conversion_source *source, const char *path,
                         const struct text *text);

#define IMPORT_GIVEN_MAX 100
#define IMPORT_FILES_MAX 16 /* beside a script */

struct conversion {
    const struct conversion_source *source;
    const char *path, *output;
    const char *given[IMPORT_GIVEN_MAX]; /* "NAME=VALUE" for the variables of a script */
    size_t ngiven;
    struct import_file with[IMPORT_FILES_MAX]; /* files that a script reads, with their texts */
    size_t nwith;
    bool allow_unknown, force; /* force: overwrite an existing file */
    struct import_request request;
    int64_t vocab; /* 0: as in the file */
};

/* Make the scenario of a job from the text of its file.  `fn` (may be NULL) is called for each given
 * option, in order, while it returns true.  Errors go to `diag`. */
typedef bool (*conversion_option_fn)(void *arg, const struct import_given *option);
struct conversion_taker {
    conversion_option_fn fn;
    void *arg;
};
void conversion_of_job(struct conversion *conversion, const struct text *file, struct text *out,
                       const struct conversion_taker *taker, struct diag *diag);

/* Read the file, and print the scenario; returns the exit status. */
int conversion_run(struct conversion *conversion);

#endif /* COMMAND_CONVERSION_H */

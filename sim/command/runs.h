/* runs.h - results kept in a SQLite database, a row for each result as JSON.
 *
 * Listed figures are read from the JSON, so that list and result cannot disagree.  Several programs
 * may use one file; a program that finds it locked gives up after two seconds.
 *
 * Errors of the file (no such, not a database, locked, broken, no room on the disk) are
 * SHD_ESYSTEM, with the path and what to do in the message.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COMMAND_RUNS_H
#define COMMAND_RUNS_H

#include <stdint.h>

#include <shd/error.h>

#include "base/text.h"

struct runs; /* opaque */

/* A run as listed.  Strings belong to the database and last as long as the call. */
struct runs_row {
    int64_t id;       /* from 1 */
    const char *time; /* "2026-01-31 12:00:00", UTC */
    const char *scenario, *strategy, *mode, *version;
    int64_t devices;
    double received, peak;     /* bytes: of all devices; of the device with the highest peak */
    double replayed, modelled; /* seconds of a step; below 0: unknown */
    double model_flops; /* of a step; equal for runs of one model and step; below 0: unknown */
};

/* Called for each row; a status other than SHD_OK ends the listing and is returned. */
typedef int (*runs_fn)(void *context, const struct runs_row *row);

/* Default file: $XDG_DATA_HOME/shardsim/runs.db, else below ~/.local/share.  SHD_ENOMEM;
 * SHD_ESYSTEM: neither XDG_DATA_HOME nor HOME is set. */
SHD_MUST_CHECK int runs_default_path(struct text *out, struct shd_error *err);

/* Open a database; `create` makes the file, and the folders above it, if there is none. */
SHD_MUST_CHECK int runs_open(struct runs **out, const char *path, bool create,
                             struct shd_error *err);
void runs_close(struct runs *runs); /* NULL is allowed */

/* Add a result, an object of schema shardsim.result/2, with the current time and the program's
 * version, and store its id in *id.  Added results are kept only after runs_commit(). */
SHD_MUST_CHECK int runs_add(struct runs *runs, int64_t *id, const struct text *json,
                            const char *version, struct shd_error *err);
SHD_MUST_CHECK int runs_commit(struct runs *runs, struct shd_error *err);

/* Call `fn` for all runs, the oldest first. */
SHD_MUST_CHECK int runs_each(struct runs *runs, runs_fn fn, void *context, struct shd_error *err);

/* Call `fn` for one run; SHD_ENOTFOUND: no run has this id. */
SHD_MUST_CHECK int runs_find(struct runs *runs, int64_t id, runs_fn fn, void *context,
                             struct shd_error *err);

/* Append the JSON of a run; errors as runs_find(). */
SHD_MUST_CHECK int runs_json(struct runs *runs, int64_t id, struct text *out,
                             struct shd_error *err);

#endif /* COMMAND_RUNS_H */

/* runs_table.h - stored runs as a table as wide as the screen.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COMMAND_RUNS_TABLE_H
#define COMMAND_RUNS_TABLE_H

#include "command/runs.h"

/* Print all runs, or the runs of `ids` (nids > 0), compared with the first.  Errors of runs_each() and
 * runs_find(). */
SHD_MUST_CHECK int runs_table(struct text *out, struct runs *runs, const int64_t *ids, size_t nids,
                              struct shd_error *err);

#endif /* COMMAND_RUNS_TABLE_H */

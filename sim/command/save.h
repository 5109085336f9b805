/* save.h - --save of run, plan and compare: results are stored in a database of runs.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COMMAND_SAVE_H
#define COMMAND_SAVE_H

#include "base/log.h"
#include "report/result.h"
#include "command/runs.h"

struct save {
    bool wanted;
    const char *path; /* NULL: the default */
    struct text opened;
    struct runs *runs; /* NULL: not open */
    int64_t first, last;
};

/* Open the file, if `wanted`, before anything runs; an error is logged.  CMD_OK or CMD_CANNOT.
 */
int save_begin(struct save *save, struct log *log);

/* Save a result; an error is logged.  CMD_OK or CMD_CANNOT. */
int save_result(struct save *save, const struct result *result, struct log *log);

/* Commit the saved results, unless `stopped`, and close. */
int save_end(struct save *save, bool stopped, struct log *log);

#endif /* COMMAND_SAVE_H */

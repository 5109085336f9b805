/* Saving results in a database of runs (save.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "command/save.h"

#include <inttypes.h>

#include "command/command.h"
#include "run/ranks/ranks.h"

static int tell(struct log *log, int status, const struct shd_error *err)
{
    log_error(log, "cannot store the results: %s", err->text);
    return cmd_exit_of(status);
}

int save_begin(struct save *save, struct log *log)
{
    struct shd_error err;
    int status = SHD_OK;

    save->wanted = save->wanted && ranks_me() == 0; /* rank 0 has the results of all ranks */
    if (!save->wanted)
        return CMD_OK;
    text_init(&save->opened);
    if (save->path)
        text_add(&save->opened, save->path);
    else
        status = runs_default_path(&save->opened, &err);
    if (status == SHD_OK && save->opened.failed)
        status = shd_error_set(&err, SHD_ENOMEM, "no memory for a path");
    if (status == SHD_OK)
        status = runs_open(&save->runs, text_get(&save->opened), true, &err);
    if (status == SHD_OK)
        return CMD_OK;
    text_fini(&save->opened);
    return tell(log, status, &err);
}

int save_result(struct save *save, const struct result *result, struct log *log)
{
    struct text text = TEXT_INIT;
    struct json_out json;
    struct shd_error err;
    int64_t id = 0;
    int status;

    if (!save->runs)
        return CMD_OK;
    json_out_init_text(&json, &text, JSON_OUT_COMPACT);
    status = result_json(result, &json, &err);
    if (status == SHD_OK) {
        text.failed |= json_out_fini(&json) != SHD_OK;
        status = runs_add(save->runs, &id, &text, PACKAGE_VERSION, &err);
    }
    text_fini(&text);
    if (status != SHD_OK)
        return tell(log, status, &err);
    save->last = id;
    if (!save->first)
        save->first = id;
    return CMD_OK;
}

int save_end(struct save *save, bool stopped, struct log *log)
{
    struct shd_error err;
    int status = SHD_OK;

    if (!save->runs)
        return CMD_OK;
    if (!stopped)
        status = runs_commit(save->runs, &err);
    if (status == SHD_OK && !stopped && save->first == save->last && save->first)
        log_note(log, "stored as run %" PRId64 " in %s", save->first, text_get(&save->opened));
    else if (status == SHD_OK && !stopped && save->first)
        log_note(log, "stored as runs %" PRId64 " to %" PRId64 " in %s", save->first, save->last,
                 text_get(&save->opened));
    runs_close(save->runs);
    save->runs = NULL;
    text_fini(&save->opened);
    return status == SHD_OK ? CMD_OK : tell(log, status, &err);
}

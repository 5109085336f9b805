/* Converting a file of another system to a scenario (conversion.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "jobs/conversion.h"

#include <stdio.h>

#include "base/file.h"
#include "jobs/command.h"

/* Whether something in the file is not known here, or is planned otherwise, which the first lines
 * name. */
static bool convert_job(const struct conversion *o, const struct text *file, struct text *out,
                        struct diag *diag)
{
    struct import_job job;
    bool unknown;

    import_job_init(&job);
    job.size = o->request.model;
    job.devices = o->request.devices;
    job.batch = o->request.batch;
    job.seq = o->request.seq;
    job.given = o->given;
    job.ngiven = o->ngiven;
    job.files = o->with;
    job.nfiles = o->nwith;
    job.tokenizer_vocab = o->vocab;
    o->source->read_job(&job, (struct place){o->path, 1, 1}, text_get(file), diag);
    import_job_print(&job, o->source->name, out, diag);
    unknown = job.unknown.length > 0 || job.unsaid.length > 0;
    import_job_fini(&job);
    return unknown;
}

static void convert_rules(const struct conversion *o, const struct text *file, struct text *out,
                          struct diag *diag)
{
    struct import_rules rules;

    import_rules_init(&rules, &o->request);
    rules.request.from = o->source->name;
    o->source->read_rules(&rules, (struct place){o->path, 1, 1}, text_get(file), file->length,
                          diag);
    import_rules_print(&rules, out, diag);
    import_rules_fini(&rules);
}

/* Rules are in any Python. */
static bool refuse(const struct conversion *o, const struct text *file, struct diag *diag)
{
    if (o->source->read_rules) {
        enum file_kind kind = file_kind_guess(text_get(file), file->length);

        if (kind == FILE_PYTHON || kind == FILE_RULES || kind == FILE_GIN)
            return false;
    }
    return file_kind_refuse(diag, o->path, text_get(file), file->length, o->source->kind);
}

static int convert(const struct conversion *o, const struct text *file)
{
    struct diag diag = DIAG_INIT;
    struct text out = TEXT_INIT;
    bool unknown = false;
    int status;

    if (!refuse(o, file, &diag)) {
        if (o->source->read_rules)
            convert_rules(o, file, &out, &diag);
        else
            unknown = convert_job(o, file, &out, &diag);
    }
    if (out.failed)
        diag_no_memory(&diag);
    diag_write(&diag, stderr);
    status = diag.nerrors ? cmd_exit_of_input(&diag) : cmd_write(o->output, &out);
    if (status == CMD_OK && unknown && !o->allow_unknown)
        status = CMD_FAILED;
    text_fini(&out);
    diag_fini(&diag);
    return status;
}

/* Read a whole file to a text of its own; what is wrong is told.  An exit status. */
static int read_file(struct text *out, const char *path)
{
    struct shd_error err;
    int status;

    text_init(out);
    status = file_read(out, path, IMPORT_JOB_BYTES_MAX, &err);
    if (status == SHD_OK)
        return CMD_OK;
    cmd_error("%s: %s", path, err.text);
    return status == SHD_ENOMEM ? CMD_CANNOT : CMD_USAGE;
}

int conversion_run(struct conversion *o)
{
    struct text file, with[IMPORT_FILES_MAX];
    int status = read_file(&file, o->path);

    for (size_t i = 0; i < o->nwith; i++) {
        int one = read_file(&with[i], o->with[i].path);

        o->with[i].text = text_get(&with[i]);
        status = status == CMD_OK ? one : status;
    }
    if (status == CMD_OK)
        status = convert(o, &file);
    text_fini(&file);
    for (size_t i = 0; i < o->nwith; i++)
        text_fini(&with[i]);
    return status;
}

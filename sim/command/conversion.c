/* Converting a file of another system to a scenario (conversion.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "command/conversion.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "command/command.h"

const struct conversion_source conversion_sources[] = {
    {"easydel", FILE_RULES, NULL, import_easydel},
    {"eformer", FILE_RULES, NULL, import_easydel},
    {"megatron", FILE_MEGATRON, import_megatron, NULL},
    {"sglang", FILE_SERVER, import_sglang, NULL},
    {"t5x", FILE_GIN, NULL, import_t5x},
    {"torchtitan", FILE_TORCHTITAN, import_torchtitan, NULL},
    {"vllm", FILE_SERVER, import_vllm, NULL},
    {NULL, FILE_UNKNOWN, NULL, NULL},
};

const struct conversion_source *conversion_source_find(const char *name)
{
    const struct conversion_source *s = conversion_sources;

    while (s->name && strcmp(s->name, name) != 0)
        s++;
    return s->name ? s : NULL;
}

const struct conversion_source *conversion_source_guess(const char *text, size_t length)
{
    enum file_kind kind = file_kind_guess(text, length);

    for (const struct conversion_source *s = conversion_sources; s->name; s++)
        if (s->read_job && s->kind == kind &&
            (kind != FILE_SERVER || memmem(text, length, s->name, strlen(s->name))))
            return s;
    return NULL;
}

bool conversion_launches(const struct conversion_source *source, const char *path,
                         const struct text *text)
{
    struct diag faults = DIAG_INIT;
    struct import_job job;
    bool launches = false;

    import_job_init(&job);
    source->read_job(&job, (struct place){path, 1, 1}, text_get(text), &faults);
    if (source->kind == FILE_MEGATRON)
        launches = job.known_program; /* other programs share Megatron's option names */
    else if (source->kind == FILE_SERVER)
        launches = job.launched;
    for (size_t i = 0; source->kind == FILE_TORCHTITAN && i < job.noptions && !launches; i++)
        launches = !job.options[i].unplanned;
    import_job_fini(&job);
    diag_fini(&faults);
    return launches;
}

/* Returns whether something in the file is not known here, or is planned otherwise, which the first
 * lines name. */
static bool convert_job(const struct conversion *o, const struct text *file, struct text *out,
                        const struct conversion_taker *taker, struct diag *diag)
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
    for (size_t i = 0; taker && i < job.noptions && taker->fn(taker->arg, &job.options[i]); i++)
        ;
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
            unknown = convert_job(o, file, &out, NULL, &diag);
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

/* Read a whole file to a text of its own. */
static int read_file(struct text *out, const char *path, struct diag *diag)
{
    struct shd_error err;
    int status;

    text_init(out);
    status = file_read(out, path, IMPORT_JOB_BYTES_MAX, &err);
    if (status != SHD_OK)
        diag_failure(diag, (struct place){path, 0, 0}, status, "%s", err.text);
    return status;
}

/* Read the files that a script reads; free their texts with free_with() either way. */
static void read_with(struct conversion *o, struct text with[IMPORT_FILES_MAX], struct diag *diag)
{
    for (size_t i = 0; i < o->nwith; i++) {
        read_file(&with[i], o->with[i].path, diag);
        o->with[i].text = text_get(&with[i]);
    }
}

static void free_with(struct conversion *o, struct text with[IMPORT_FILES_MAX])
{
    for (size_t i = 0; i < o->nwith; i++) {
        text_fini(&with[i]);
        o->with[i].text = NULL;
    }
}

void conversion_of_job(struct conversion *o, const struct text *file, struct text *out,
                       const struct conversion_taker *taker, struct diag *diag)
{
    struct text with[IMPORT_FILES_MAX];

    read_with(o, with, diag);
    if (diag->nerrors == 0)
        convert_job(o, file, out, taker, diag);
    if (out->failed)
        diag_no_memory(diag);
    free_with(o, with);
}

int conversion_run(struct conversion *o)
{
    struct text file, with[IMPORT_FILES_MAX];
    struct diag diag = DIAG_INIT;
    int status = cmd_check_new(o->output, o->force);

    if (status != CMD_OK)
        return status;
    read_file(&file, o->path, &diag);
    read_with(o, with, &diag);
    diag_write(&diag, stderr);
    status = diag.nerrors ? cmd_exit_of_input(&diag) : convert(o, &file);
    diag_fini(&diag);
    text_fini(&file);
    free_with(o, with);
    return status;
}

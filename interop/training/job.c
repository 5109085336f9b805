/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "training/job.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/decimal.h"
#include "base/nearest.h"
#include "base/words.h"

const char *import_next_name(const char **at, size_t *length, bool *opens)
{
    const char *c = *at ? *at : "", *from;
    bool opened = false;

    for (; *c && !isalnum((unsigned char)*c); c++)
        opened |= *c == '[';
    from = c;
    while (isalnum((unsigned char)*c) || *c == '.' || *c == '_')
        c++;
    *at = c;
    *length = (size_t)(c - from);
    if (opens)
        *opens = opened;
    return *length > 0 ? from : NULL;
}

void import_job_init(struct import_job *job)
{
    *job = (struct import_job){.tensor = 1,
                               .stages = 1,
                               .context = 1,
                               .expert_devices = 1,
                               .replicas = 1,
                               .shards = -1,
                               .every = 1,
                               .server = {.tensor = 1,
                                          .replicas = 1,
                                          .stages = 1,
                                          .batch_parts = 1,
                                          .cache_parts = 1,
                                          .prefill_parts = 1,
                                          .expert_devices = 1},
                               .recompute_layers = 1,
                               .mtp_weight = 0.1, /* Megatron-LM's own */
                               .offload_fraction = 1,
                               .recompute_every = 1,
                               .first_less = 1,
                               .last_less = 1,
                               .bf16_first = 1,
                               .bf16_last = 1,
                               .betas = {0.9, 0.999},
                               .eps = 1e-8};
}

void import_job_fini(struct import_job *job)
{
    const struct import_text *const texts[] = {&job->layer_freq,       &job->window_size,
                                               &job->every_layer,      &job->converters,
                                               &job->fp8_filter,       &job->modules,
                                               &job->rampup,           &job->batches,
                                               &job->tokenizer,        &job->tokenizer_model,
                                               &job->merge_file,       &job->model_name,
                                               &job->flavor,           &job->schedule_name,
                                               &job->stage_layout,     &job->stage_modules,
                                               &job->split_points,     &job->offload_modules,
                                               &job->server.model,     &job->server.length,
                                               &job->server.transfer,  &job->server.quantization,
                                               &job->server.balancing, &job->server.memory,
                                               &job->compiled_parts};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]->text);
    for (size_t i = 0; i < job->noptions; i++) {
        free(job->options[i].name);
        free(job->options[i].value);
    }
    free(job->options);
    text_fini(&job->stage_layers);
    text_fini(&job->recompute_modules);
    text_fini(&job->offload_values);
    text_fini(&job->products);
    text_fini(&job->unsaid);
    text_fini(&job->scenario);
    text_fini(&job->left_out);
    text_fini(&job->unknown);
    text_fini(&job->taken);
    text_fini(&job->notes);
    text_fini(&job->programs);
    text_fini(&job->unread);
}

const struct import_option *import_option_find(const struct import_option *table, const char *name)
{
    const struct import_option *of_all = NULL;

    for (; table->name; table++) {
        size_t length = strlen(table->name);

        if (words_has(table->name, name))
            return table;
        if (strchr(".-", table->name[length - 1]) && !strncmp(table->name, name, length))
            of_all = table;
    }
    return of_all;
}

/* Append all names of a table, each ended by a NUL. */
static void add_names(struct text *out, const struct import_option *table)
{
    size_t length;

    for (; table->name; table++)
        for (const char *at = table->name, *name; (name = words_next(&at, &length));) {
            text_add_bytes(out, name, length);
            text_add_char(out, '\0');
        }
}

void import_job_unplanned(struct import_job *job, const char *name, const char *why)
{
    for (size_t i = job->noptions; i-- > 0;)
        if (!strcmp(job->options[i].name, name)) {
            job->options[i].unplanned = why;
            return;
        }
}

void import_job_unknown(struct import_job *job, const struct import_option *table, const char *name,
                        struct place place, struct diag *diag)
{
    struct text names = TEXT_INIT;
    struct nearest near;

    nearest_init(&near, name);
    add_names(&names, table);
    for (size_t at = 0; at < names.length; at += strlen(names.data + at) + 1)
        nearest_add(&near, names.data + at);
    if (nearest_is_slip(&near))
        diag_error(diag, place, "unknown option '%.60s'%s", name, nearest_hint(&near).text);
    else
        text_addf(&job->unknown, " %s", name);
    import_job_note(job, name, "", place, place, diag);
    import_job_unplanned(job, name, "it is not known here");
    job->unknown.failed |= names.failed;
    text_fini(&names);
}

/* ---- values ---- */

static void set_int(void *at, const struct import_option *o, const char *value, struct place place,
                    struct diag *diag)
{
    char *end;
    long long number;

    errno = 0;
    number = strtoll(value, &end, 10);
    if (end != value && !*end && (errno || number > INT32_MAX))
        diag_error(diag, place, "%s is '%.60s'; expected a whole number from %" PRId64 " to %d",
                   o->name, value, o->min, INT32_MAX);
    else if (end == value || *end || number < o->min)
        diag_error(diag, place, "%s is '%.60s'; expected a whole number of at least %" PRId64,
                   o->name, value, o->min);
    else
        *(int64_t *)at = number;
}

static void set_fraction(void *at, const struct import_option *o, const char *value,
                         struct place place, struct diag *diag)
{
    char *end;
    double number = decimal_read(value, &end);

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

static void set_text(struct import_text *at, const char *value, struct place place,
                     struct diag *diag)
{
    struct text text = TEXT_INIT;

    free(at->text);
    *at = (struct import_text){.place = place};
    if (!value)
        return;
    text_add(&text, value);
    at->text = text_take(&text);
    if (!at->text)
        diag_no_memory(diag);
}

/* Whether a value is one of the words that are planned anyway. */
static bool is_planned(const struct import_option *o, const char *value)
{
    for (size_t i = 0; value && o->words && o->words[i]; i++)
        if (!strcmp(o->words[i], value))
            return true;
    return false;
}

static void refuse(const struct import_option *o, const char *name, const char *value,
                   struct place place, struct diag *diag)
{
    if (!is_planned(o, value))
        diag_error(diag, place, "%.60s%s%.60s: %s", name, value ? " " : "", value ? value : "",
                   o->refused);
}

static void add_unsaid(struct import_job *job, const struct import_option *option, const char *name,
                       const char *value)
{
    if (is_planned(option, value))
        return;
    text_addf(&job->unsaid, "# Planned differently, %.60s: %s.\n", name, option->refused);
    import_job_unplanned(job, name, option->refused);
}

void import_job_note(struct import_job *job, const char *name, const char *value,
                     struct place name_place, struct place place, struct diag *diag)
{
    struct import_given made = {strdup(name), strdup(value), name_place, place, NULL, 0};
    struct import_given *item = NULL;
    size_t i = 0;

    while (i < job->noptions && strcmp(job->options[i].name, name) != 0)
        i++;
    if (i < job->noptions || array_make_room(&job->options, job->noptions, sizeof *job->options))
        item = &job->options[i];
    if (!item || !made.name || !made.value) {
        free(made.name);
        free(made.value);
        diag_no_memory(diag);
        return;
    }
    if (i < job->noptions) {
        free(item->name);
        free(item->value);
    } else {
        job->noptions++;
    }
    *item = made;
}

/* Note of which field an option is the number, if the option was noted. */
static void note_field(struct import_job *job, const char *name, size_t field)
{
    for (size_t i = 0; i < job->noptions; i++)
        if (!strcmp(job->options[i].name, name))
            job->options[i].field = field;
}

void import_job_set(struct import_job *job, const struct import_option *table,
                    const struct import_option *option, const char *name, const char *value,
                    struct place place, struct diag *diag)
{
    void *at = (char *)job + option->offset;

    job->said[option - table] = true;
    if (option->type != IMPORT_QUIET && !job->assumes)
        import_job_note(job, name, value ? value : "",
                        job->name_place.file ? job->name_place : place, place, diag);
    job->name_place.file = NULL;
    if (option->type == IMPORT_INT)
        note_field(job, name, option->offset);
    if (option->type == IMPORT_QUIET)
        text_addf(&job->left_out, " %s", name);
    else if (option->type == IMPORT_UNSAID)
        add_unsaid(job, option, name, value);
    else if (option->refused)
        refuse(option, name, value, place, diag);
    else if (option->type == IMPORT_FLAG)
        set_flag(at, option, value, place, diag);
    else if (option->type == IMPORT_HINT)
        set_text(at, value, place, diag);
    else if (!value)
        diag_error(diag, place, "%s has no value", option->name);
    else if (option->type == IMPORT_INT)
        set_int(at, option, value, place, diag);
    else if (option->type == IMPORT_LIMIT && !strcmp(value, "inf"))
        *(double *)at = 0;
    else if (option->type == IMPORT_FRACTION || option->type == IMPORT_LIMIT)
        set_fraction(at, option, value, place, diag);
    else if (option->type == IMPORT_TEXT || option->type == IMPORT_LIST)
        set_text(at, value, place, diag);
    else
        set_word(at, option, value, place, diag);
}

/* Whether an option of another row gave the same field, as of a key that moved. */
static bool is_said_elsewhere(const struct import_job *job, const struct import_option *table,
                              const struct import_option *option)
{
    for (size_t i = 0; table[i].name; i++)
        if (job->said[i] && table[i].offset == option->offset && !table[i].refused &&
            table[i].type != IMPORT_QUIET)
            return true;
    return false;
}

void import_job_take_standards(struct import_job *job, const struct import_option *table,
                               struct diag *diag)
{
    job->assumes = true;
    for (size_t i = 0; table[i].name; i++)
        if (table[i].standard && !job->said[i] && !is_said_elsewhere(job, table, &table[i])) {
            import_job_set(job, table, &table[i], table[i].name, table[i].standard, job->end, diag);
            text_addf(&job->taken, " %s %s", table[i].name, table[i].standard);
        }
    job->assumes = false;
}

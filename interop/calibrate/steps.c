/* Reading measured steps (steps.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "calibrate/steps.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/file.h"
#include "base/file_kind.h"
#include "query/train_step_trial.h"

#define FILE_BYTES_MAX ((size_t)64 << 20)

/* A row that was read, but not planned yet. */
struct row {
    json_t *json;
    const char *set; /* of the row, or of the file */
    size_t of_set;   /* index of the row in its set, */
    size_t set_rows; /* and the set's number of rows */
    int line;
};

struct rows {
    struct row *items;
    size_t n;
};

static double measured(const json_t *row)
{
    return json_number_value(json_object_get(json_object_get(row, "measured"), "step_seconds"));
}

/* Whether a row is valid, and of this cluster. */
static bool check(const json_t *row, struct steps_file *file, struct place place, struct diag *diag)
{
    const json_t *in = json_object_get(row, "in");
    const json_t *seconds = json_object_get(json_object_get(row, "measured"), "step_seconds");
    const char *hardware = json_string_value(json_object_get(in, "hardware"));

    if (!json_is_object(row) || !json_is_object(in) ||
        !json_is_object(json_object_get(row, "measured"))) {
        diag_error(diag, place, "not a measured step; expected an object with `in` and `measured`");
        return false;
    }
    if (!hardware) {
        diag_error(diag, place, "in.hardware is not a string; expected the name of a cluster");
        return false;
    }
    if (strcmp(hardware, file->hardware_name) != 0 || !seconds) {
        file->left_out++;
        return false;
    }
    if (!json_is_number(seconds) || !(measured(row) > 0)) {
        diag_error(diag, place,
                   "measured.step_seconds is not a valid time; expected seconds above 0");
        return false;
    }
    return true;
}

static void number_rows(struct rows *rows)
{
    for (size_t i = 0; i < rows->n; i++)
        for (size_t k = 0; k < i && rows->items[i].of_set == 0; k++)
            if (!strcmp(rows->items[i - 1 - k].set, rows->items[i].set))
                rows->items[i].of_set = rows->items[i - 1 - k].of_set + 1;
    for (size_t i = 0; i < rows->n; i++)
        for (size_t k = i; k < rows->n; k++)
            if (!strcmp(rows->items[k].set, rows->items[i].set))
                rows->items[i].set_rows = rows->items[k].of_set + 1;
}

static void add_line(struct rows *rows, const char *line, size_t length, struct steps_file *file,
                     const char *fallback, struct place place, struct diag *diag)
{
    json_error_t error;
    json_t *json = json_loadb(line, length, JSON_REJECT_DUPLICATES, &error);
    struct row *items;

    if (!json) {
        place.column = error.column > 0 ? error.column : 1;
        diag_error(diag, place, "not JSON: %s", error.text);
        return;
    }
    if (!check(json, file, place, diag)) {
        json_decref(json);
        return;
    }
    if (!array_make_room(&rows->items, rows->n, sizeof *rows->items)) {
        json_decref(json);
        diag_no_memory(diag);
        return;
    }
    items = rows->items;
    items[rows->n] = (struct row){.json = json, .line = place.line};
    items[rows->n].set = json_string_value(json_object_get(json, "set"));
    if (!items[rows->n].set)
        items[rows->n].set = fallback;
    rows->n++;
}

static void read_lines(struct rows *rows, const struct text *text, struct steps_file *file,
                       const char *fallback, struct diag *diag)
{
    struct place place = {file->path, 0, 1};

    for (const char *line = text_get(text), *end = line + text->length; line < end;) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        size_t length = (size_t)((stop ? stop : end) - line);

        place.line++;
        if (strspn(line, " \t\r") < length)
            add_line(rows, line, length, file, fallback, place, diag);
        line += length + 1;
    }
}

/* Whether a row is among `rows` evenly spaced rows of its set. */
static bool is_taken(const struct row *row, size_t rows)
{
    return rows == 0 || row->set_rows <= rows ||
           (row->of_set + 1) * rows / row->set_rows > row->of_set * rows / row->set_rows;
}

static void plan(struct samples *samples, const struct row *row, const struct steps_file *file,
                 struct diag *diag)
{
    const char *id = json_string_value(json_object_get(row->json, "id"));
    struct sample s = {.set = samples_set(samples, row->set), .measured_s = measured(row->json)};
    struct train_step_trial asked;
    struct shd_error err;
    struct text name = TEXT_INIT;
    int status;

    if (id)
        text_add(&name, id);
    else
        text_addf(&name, "line %d", row->line);
    s.id = text_take(&name);
    s.step = calloc(1, sizeof *s.step);
    if (s.set == SIZE_MAX || !s.id || !s.step) {
        free(s.id);
        free(s.step);
        diag_no_memory(diag);
        return;
    }
    status = train_step_trial_init(&asked, json_object_get(row->json, "in"), file->hardware, &err);
    if (status != SHD_OK) {
        diag_failure(diag, (struct place){file->path, row->line, 1}, status, "%s", err.text);
        free(s.id);
        free(s.step);
        return;
    }
    *s.step = asked.variant;
    asked.variant = (struct variant){.file = NULL};
    train_step_trial_fini(&asked);
    s.hardware = s.step->trial.hardware;
    s.parameters = program_parameters(s.step->trial.program);
    if (!samples_add(samples, &s))
        diag_no_memory(diag);
}

/* The file's name without folder and extension. */
static char *set_name(const char *path)
{
    const char *base = file_name(path), *point = strrchr(base, '.');

    return strndup(base, point && point > base ? (size_t)(point - base) : strlen(base));
}

int steps_read(struct samples *samples, struct steps_file *file, struct diag *diag)
{
    size_t before = diag->nerrors;
    struct text text = TEXT_INIT;
    struct rows rows = {.n = 0};
    char *fallback = set_name(file->path);
    struct shd_error err;
    int status = file_read(&text, file->path, FILE_BYTES_MAX, &err);

    if (status != SHD_OK)
        diag_failure(diag, (struct place){file->path, 0, 0}, status, "%s", err.text);
    else if (!fallback)
        diag_no_memory(diag);
    else if (!file_kind_refuse(diag, file->path, text_get(&text), text.length, FILE_STEPS))
        read_lines(&rows, &text, file, fallback, diag);
    number_rows(&rows);
    for (size_t i = 0; i < rows.n; i++) {
        if (is_taken(&rows.items[i], file->rows))
            plan(samples, &rows.items[i], file, diag);
        json_decref(rows.items[i].json);
    }
    free(rows.items);
    free(fallback);
    text_fini(&text);
    return diag_status(diag, before);
}

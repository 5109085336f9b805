/* Baselines printed as text and parsed back.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/yaml.h"
#include "check/baseline.h"
#include "check/baseline_fields.h"

#define FINDINGS "accepted"
#define GIVEN "given"
#define LINES "written"
#define BY "shardsim" /* the program's version */
#define WORDS "read_with"
#define FIGURES "figures"
#define HEADER_BEGIN "# What 'shardsim check' expects of "
#define HEADER_END "; 'shardsim check --update' accepts changes."

static void print_field(const void *item, const struct baseline_field *f, struct text *out)
{
    const char *at = (const char *)item + f->offset;
    uint128 number;

    text_addf(out, "%s: ", f->key);
    if (f->is_text) {
        yaml_print_string(out, *(char *const *)at);
        return;
    }
    memcpy(&number, at, sizeof number);
    text_add(out, UINT128_DIGITS(number));
}

static void print_list(const char *key, const void *items, size_t n, size_t size,
                       const struct baseline_field *fields, struct text *out)
{
    text_addf(out, "    %s:%s\n", key, n ? "" : " []");
    for (size_t i = 0; i < n; i++) {
        text_add(out, "      - {");
        for (const struct baseline_field *f = fields; f->key; f++) {
            text_add(out, f == fields ? "" : ", ");
            print_field((const char *)items + i * size, f, out);
        }
        text_add(out, "}\n");
    }
}

/* Print given options as a map, one key a line. */
static void print_given(const struct baseline *b, struct text *out)
{
    if (!b->has_given)
        return;
    text_addf(out, "    " GIVEN ":%s\n", b->ngiven ? "" : " {}");
    for (size_t i = 0; i < b->ngiven; i++) {
        text_addf(out, "      %s: ", b->given[i].key);
        yaml_print_string(out, b->given[i].value);
        text_add(out, "\n");
    }
}

/* Seconds are printed to the nanosecond. */
static void print_figures(const struct baseline *b, struct text *out)
{
    text_add(out, "    " FIGURES ":\n");
    for (enum figure_id id = 0; id < NFIGURES; id++) {
        const struct figure_value *v = &b->figures.values[id];

        if (!figure_table[id].kept || !v->known)
            continue;
        if (figure_is_whole(id))
            text_addf(out, "      %s: %s\n", figure_table[id].key, UINT128_DIGITS(v->whole));
        else
            text_addf(out, "      %s: %.9f\n", figure_table[id].key, v->number);
    }
}

static void print_one(const struct baseline *b, struct text *out)
{
    text_add(out, "  - name: ");
    yaml_print_string(out, b->name);
    text_add(out, "\n    mesh: ");
    yaml_print_string(out, b->mesh);
    text_add(out, "\n");
    print_given(b, out);
    if (b->has_lines)
        print_list(LINES, b->lines, b->nlines, sizeof *b->lines, baseline_line_fields, out);
    print_figures(b, out);
    print_list("arrays", b->arrays, b->narrays, sizeof *b->arrays, baseline_array_fields, out);
    print_list("collectives", b->collectives, b->ncollectives, sizeof *b->collectives,
               baseline_collective_fields, out);
    text_addf(out, "    %s:%s\n", FINDINGS, b->nfindings ? "" : " []");
    for (size_t i = 0; i < b->nfindings; i++) {
        text_add(out, "      - ");
        yaml_print_string(out, b->findings[i]);
        text_add(out, "\n");
    }
}

void baseline_print(const struct baseline *list, size_t count, const struct baseline_head *head,
                    struct text *out)
{
    text_add(out, HEADER_BEGIN);
    escape_add(out, head->of); /* may contain a newline */
    text_addf(out, HEADER_END "\nversion: %d\n" BY ": '%s'\n", BASELINE_VERSION, head->by);
    if (head->nwords > 0)
        text_add(out, WORDS ":\n");
    for (size_t i = 0; i < head->nwords; i++) {
        text_add(out, "  - ");
        yaml_print_string(out, head->words[i]);
        text_add(out, "\n");
    }
    text_addf(out, "strategies:%s\n", count ? "" : " []");
    for (size_t i = 0; i < count; i++)
        print_one(&list[i], out);
}

bool baseline_is_own(const struct text *text)
{
    const char *line = text_get(text), *name = line + strlen(HEADER_BEGIN);
    size_t length = strcspn(line, "\n"), end = strlen(HEADER_END);

    return length > strlen(HEADER_BEGIN) + end &&
           !strncmp(line, HEADER_BEGIN, (size_t)(name - line)) &&
           !strncmp(line + length - end, HEADER_END, end);
}

/* ---- reading ---- */

static const struct yaml_node *find(const struct yaml_node *map, const char *key,
                                    enum yaml_kind kind, struct diag *diag)
{
    const struct yaml_node *node = map->kind == YAML_MAP ? yaml_find(map, key) : NULL;

    if (!node && map->kind == YAML_MAP && !strcmp(key, "sharding"))
        node = yaml_find(map, "lies"); /* the key in older baselines */
    if (node && node->kind == kind)
        return node;
    diag_error(diag, node ? node->place : map->place, "no '%s' in the form of a baseline", key);
    return NULL;
}

static void read_text(char **out, const struct yaml_node *map, const char *key, struct diag *diag)
{
    const struct yaml_node *node = find(map, key, YAML_TEXT, diag);

    *out = strdup(node ? node->text : "");
    if (!*out)
        diag_no_memory(diag);
}

static uint128 read_number(const struct yaml_node *map, const char *key, struct diag *diag)
{
    const struct yaml_node *node = find(map, key, YAML_TEXT, diag);
    uint128 number = 0;

    if (node && !uint128_parse(&number, node->text))
        diag_error(diag, node->place, "%s is '%s'; expected a whole number", key, node->text);
    return number;
}

static void read_fields(void *item, const struct baseline_field *fields,
                        const struct yaml_node *map, struct diag *diag)
{
    for (; fields->key; fields++) {
        char *at = (char *)item + fields->offset;
        uint128 number;

        if (fields->is_text) {
            read_text((char **)at, map, fields->key, diag);
            continue;
        }
        number = read_number(map, fields->key, diag);
        memcpy(at, &number, sizeof number);
    }
}

/* Read the items of a list; items with errors are kept, zeroed where unread. */
static void *read_list(size_t *count, const struct yaml_node *map, const char *key, size_t size,
                       const struct baseline_field *fields, struct diag *diag)
{
    const struct yaml_node *list = find(map, key, YAML_LIST, diag);
    char *items = list ? calloc(list->nitems + 1, size) : NULL;

    for (size_t i = 0; items && i < list->nitems; i++)
        read_fields(items + i * size, fields, list->items[i], diag);
    *count = items ? list->nitems : 0;
    if (list && !items)
        diag_no_memory(diag);
    return items;
}

/* Read given options; older baselines have none. */
static void read_given(struct baseline *b, const struct yaml_node *map, struct diag *diag)
{
    bool is_there = map->kind == YAML_MAP && yaml_find(map, GIVEN);
    const struct yaml_node *given = is_there ? find(map, GIVEN, YAML_MAP, diag) : NULL;

    b->has_given = is_there;
    for (size_t i = 0; given && i < given->nitems; i++) {
        const struct yaml_node *node = given->items[i];

        if (node->kind != YAML_TEXT)
            diag_error(diag, node->place, "the given options could not be read");
        else if (baseline_add_given(b, given->keys[i]->text, node->text,
                                    (struct place){NULL, 0, 0}) != SHD_OK)
            diag_no_memory(diag);
    }
}

/* The keys of version 1, some of which mean another figure today. */
static const struct old_key {
    const char *key;
    enum figure_id id;
} old_totals[] = {{"received_bytes", FIGURE_RECEIVED},
                  {"received_bytes_most", FIGURE_RECEIVED_MOST},
                  {"peak_memory_bytes", FIGURE_PEAK_TOTAL},
                  {"peak_memory_bytes_most", FIGURE_PEAK_MOST},
                  {"flops", FIGURE_FLOPS},
                  {"flops_most", FIGURE_FLOPS_MOST}};
#define OLD_MODELLED "modelled"

/* Read the figures of a strategy of version 1; the oldest have no modelled step. */
static void read_old_figures(struct baseline *b, const struct yaml_node *map, struct diag *diag)
{
    bool is_there = map->kind == YAML_MAP && yaml_find(map, OLD_MODELLED);
    const struct yaml_node *modelled = is_there ? find(map, OLD_MODELLED, YAML_MAP, diag) : NULL;

    for (size_t i = 0; i < sizeof old_totals / sizeof *old_totals; i++)
        figures_set_whole(&b->figures, old_totals[i].id, read_number(map, old_totals[i].key, diag));
    if (!modelled)
        return;
    figures_set_number(&b->figures, FIGURE_MODELLED_STEP,
                       (double)read_number(modelled, "step_ns", diag) * 1e-9);
    figures_set_whole(&b->figures, FIGURE_MODELLED_MEMORY,
                      read_number(modelled, "memory_bytes", diag));
}

static void read_figure(struct baseline *b, const char *key, const struct yaml_node *map,
                        struct diag *diag)
{
    const struct yaml_node *node = yaml_find(map, key);
    enum figure_id id = 0;
    char *end = NULL;
    double seconds = node->kind == YAML_TEXT ? strtod(node->text, &end) : -1;

    while (id < NFIGURES && (!figure_table[id].kept || strcmp(figure_table[id].key, key) != 0))
        id++;
    if (id == NFIGURES)
        diag_error(diag, node->place, "'%s' is not a figure of baselines", key);
    else if (figure_is_whole(id))
        figures_set_whole(&b->figures, id, read_number(map, key, diag));
    else if (end && end != node->text && !*end && isfinite(seconds) && seconds >= 0)
        figures_set_number(&b->figures, id, seconds);
    else
        diag_error(diag, node->place, "%s is not a number of seconds", key);
}

static void read_figures(struct baseline *b, const struct yaml_node *map, struct diag *diag)
{
    const struct yaml_node *figures = find(map, FIGURES, YAML_MAP, diag);

    for (size_t i = 0; figures && i < figures->nitems; i++)
        read_figure(b, figures->keys[i]->text, figures, diag);
}

static void read_one(struct baseline *b, const struct yaml_node *map, int version,
                     struct diag *diag)
{
    const struct yaml_node *findings = find(map, FINDINGS, YAML_LIST, diag);

    read_text(&b->name, map, "name", diag);
    read_text(&b->mesh, map, "mesh", diag);
    read_given(b, map, diag);
    b->has_lines = map->kind == YAML_MAP && yaml_find(map, LINES);
    if (b->has_lines)
        b->lines = read_list(&b->nlines, map, LINES, sizeof *b->lines, baseline_line_fields, diag);
    (version == 1 ? read_old_figures : read_figures)(b, map, diag);
    b->arrays =
        read_list(&b->narrays, map, "arrays", sizeof *b->arrays, baseline_array_fields, diag);
    b->collectives = read_list(&b->ncollectives, map, "collectives", sizeof *b->collectives,
                               baseline_collective_fields, diag);
    for (size_t i = 0; findings && i < findings->nitems; i++) {
        const struct yaml_node *node = findings->items[i];

        if (node->kind != YAML_TEXT)
            diag_error(diag, node->place, "an accepted finding could not be read");
        else if (baseline_add_finding(b, node->text) != SHD_OK)
            diag_no_memory(diag);
    }
}

static void read_words(struct baseline_file *file, const struct yaml_node *root, struct diag *diag)
{
    bool is_there = yaml_find(root, WORDS);
    const struct yaml_node *list = is_there ? find(root, WORDS, YAML_LIST, diag) : NULL;

    file->words = list ? calloc(list->nitems + 1, sizeof *file->words) : NULL;
    if (list && !file->words)
        diag_no_memory(diag);
    for (size_t i = 0; file->words && i < list->nitems; i++) {
        const struct yaml_node *node = list->items[i];

        if (node->kind != YAML_TEXT)
            diag_error(diag, node->place, "expected an option, e.g. 'devices=64'");
        else if ((file->words[file->nwords] = strdup(node->text)) != NULL)
            file->nwords++;
        else
            diag_no_memory(diag);
    }
}

static void read_file(struct baseline_file *file, const struct yaml_node *root, struct diag *diag)
{
    const struct yaml_node *list;

    uint128 version = read_number(root, "version", diag);

    if (version < 1 || version > BASELINE_VERSION) {
        diag_error(diag, root->place, "not a baseline of version 1 to %d", BASELINE_VERSION);
        return;
    }
    file->version = (int)version;
    if (yaml_find(root, BY))
        read_text(&file->by, root, BY, diag);
    read_words(file, root, diag);
    list = find(root, "strategies", YAML_LIST, diag);
    if (!list)
        return;
    file->list = calloc(list->nitems + 1, sizeof *file->list);
    if (!file->list) {
        diag_no_memory(diag);
        return;
    }
    file->count = list->nitems;
    for (size_t i = 0; i < list->nitems; i++) {
        read_one(&file->list[i], list->items[i], file->version, diag);
        file->list[i].by = file->by;
    }
}

int baseline_parse(struct baseline_file *out, const char *path, const struct text *text,
                   struct diag *diag)
{
    struct baseline_file file = {.list = NULL};
    size_t before = diag->nerrors;
    struct yaml_doc *doc;
    int status =
        yaml_doc_parse(&doc, (struct place){path, 1, 1}, text_get(text), text->length, diag);

    if (status != SHD_OK)
        return status;
    read_file(&file, yaml_doc_root(doc), diag);
    yaml_doc_destroy(doc);
    if (diag->nerrors == before) {
        *out = file;
        return SHD_OK;
    }
    baseline_file_fini(&file);
    return diag_status(diag, before);
}

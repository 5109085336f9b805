/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "check/baseline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "report/result.h"
#include "report/traffic.h"
#include "check/baseline_fields.h"

#define ARRAY(key, is_text)                                 \
    {                                                       \
#key, is_text, offsetof(struct baseline_array, key) \
    }
#define COLLECTIVE(key, is_text)                                 \
    {                                                            \
#key, is_text, offsetof(struct baseline_collective, key) \
    }
const struct baseline_field baseline_array_fields[] = {
    ARRAY(kind, true),   ARRAY(name, true),   ARRAY(sharding, true),
    ARRAY(count, false), ARRAY(bytes, false), {NULL, false, 0},
};

const struct baseline_field baseline_collective_fields[] = {
    COLLECTIVE(phase, true),
    COLLECTIVE(op, true),
    COLLECTIVE(axes, true),
    COLLECTIVE(where, true),
    COLLECTIVE(groups, false),
    COLLECTIVE(group_size, false),
    COLLECTIVE(count, false),
    COLLECTIVE(operand_bytes, false),
    COLLECTIVE(result_bytes, false),
    COLLECTIVE(received_bytes, false),
    {NULL, false, 0},
};

#define LINE(key)                                       \
    {                                                   \
#key, true, offsetof(struct baseline_line, key) \
    }
const struct baseline_field baseline_line_fields[] = {LINE(key), LINE(value), {NULL, false, 0}};

static const char *const phase_names[] = {"forward", "backward", "optimizer"};

static void free_fields(void *item, const struct baseline_field *fields)
{
    for (; fields->key; fields++)
        if (fields->is_text)
            free(*(char **)((char *)item + fields->offset));
}

static int compare_fields(const void *a, const void *b, const struct baseline_field *f)
{
    for (; f->key; f++) {
        const char *x = (const char *)a + f->offset, *y = (const char *)b + f->offset;
        uint128 m, n;

        if (f->is_text) {
            int by_text = strcmp(*(char *const *)x, *(char *const *)y);

            if (by_text)
                return by_text;
            continue;
        }
        memcpy(&m, x, sizeof m);
        memcpy(&n, y, sizeof n);
        if (m != n)
            return m < n ? -1 : 1;
    }
    return 0;
}

static int compare_arrays(const void *a, const void *b)
{
    return compare_fields(a, b, baseline_array_fields);
}

static int compare_collectives(const void *a, const void *b)
{
    return compare_fields(a, b, baseline_collective_fields);
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Append a zeroed item of `size` bytes; `array` points to the pointer to the items. */
static void *append(void *array, size_t *count, size_t size)
{
    char *items;

    if (!array_make_room(array, *count, size))
        return NULL;
    memcpy(&items, array, sizeof items);
    return memset(items + (*count)++ * size, 0, size);
}

static char *any_layer(const char *name)
{
    struct text text = TEXT_INIT;

    text_add_any_layer(&text, name);
    return text_take(&text);
}

int baseline_add_array(struct baseline *b, const char *kind, const char *name, const char *sharding,
                       uint64_t bytes, struct place place)
{
    struct baseline_array made = {strdup(kind), any_layer(name), strdup(sharding), 1, bytes, place};
    struct baseline_array *item = NULL;

    if (made.kind && made.name && made.sharding) {
        for (size_t i = 0; i < b->narrays; i++) {
            struct baseline_array *a = &b->arrays[i];

            made.count = a->count;
            if (compare_arrays(a, &made) == 0) {
                a->count++;
                free_fields(&made, baseline_array_fields);
                return SHD_OK;
            }
        }
        made.count = 1;
        item = append(&b->arrays, &b->narrays, sizeof *item);
    }
    if (item)
        *item = made;
    else
        free_fields(&made, baseline_array_fields);
    return item ? SHD_OK : SHD_ENOMEM;
}

int baseline_add_given(struct baseline *b, const char *key, const char *value, struct place place)
{
    struct baseline_given made = {strdup(key), strdup(value), place};
    struct baseline_given *item =
        made.key && made.value ? append(&b->given, &b->ngiven, sizeof *item) : NULL;

    b->has_given = true;
    if (item) {
        *item = made;
        return SHD_OK;
    }
    free(made.key);
    free(made.value);
    return SHD_ENOMEM;
}

int baseline_add_line(struct baseline *b, const char *key, const char *value,
                      struct place key_place, struct place place)
{
    struct baseline_line made = {strdup(key), strdup(value), key_place, place};
    struct baseline_line *item =
        made.key && made.value ? append(&b->lines, &b->nlines, sizeof *item) : NULL;

    b->has_lines = true;
    if (item)
        *item = made;
    else
        free_fields(&made, baseline_line_fields);
    return item ? SHD_OK : SHD_ENOMEM;
}

int baseline_add_finding(struct baseline *b, const char *finding)
{
    char *copy = strdup(finding);
    char **item = copy ? append(&b->findings, &b->nfindings, sizeof *item) : NULL;

    if (item)
        *item = copy;
    else
        free(copy);
    return item ? SHD_OK : SHD_ENOMEM;
}

static int add_collectives(struct baseline *b, const struct traffic *t)
{
    for (size_t r = 0; r < t->nrows; r++) {
        const struct traffic_row *row = &t->rows[r];
        struct baseline_collective *c = append(&b->collectives, &b->ncollectives, sizeof *c);

        if (!c)
            return SHD_ENOMEM;
        *c = (struct baseline_collective){strdup(phase_names[row->phase]),
                                          strdup(row->op),
                                          strdup(row->axes),
                                          strdup(row->where),
                                          row->groups,
                                          row->group_size,
                                          row->count,
                                          row->operand_bytes,
                                          row->result_bytes,
                                          row->received_bytes};
        if (!c->phase || !c->op || !c->axes || !c->where)
            return SHD_ENOMEM;
    }
    return SHD_OK;
}

int baseline_init(struct baseline *out, const char *strategy, const struct record *r,
                  struct shd_error *err)
{
    struct result result = {.scenario = "", .strategy = strategy, .record = r};
    struct traffic traffic;
    int status;

    *out = (struct baseline){.name = strdup(strategy)};
    status = traffic_init(&traffic, r, err);
    if (status != SHD_OK)
        return status;
    status = figures_set(&out->figures, &result, &traffic, err);
    out->mesh = strdup(text_get(&out->figures.values[FIGURE_MESH].text));
    if (status == SHD_OK && (!out->name || !out->mesh || add_collectives(out, &traffic) != SHD_OK))
        status = shd_error_set(err, SHD_ENOMEM, "no memory for the baseline");
    traffic_fini(&traffic);
    return status;
}

void baseline_set_modelled(struct baseline *b, const struct record *r)
{
    figures_set_step(&b->figures, r, 0);
}

bool baseline_has_same(const struct baseline *a, const struct baseline *b, enum figure_id id)
{
    const struct figure_value *x = &a->figures.values[id], *y = &b->figures.values[id];

    if (!x->known || !y->known)
        return true;
    if (figure_table[id].origin == FIGURE_MODELLED)
        return fabs(x->number - y->number) <= BASELINE_CLOSE * fmax(x->number, y->number);
    return x->whole == y->whole;
}

void baseline_keep_close(struct baseline *is, const struct baseline *was)
{
    for (enum figure_id id = 0; id < NFIGURES; id++)
        if (figure_table[id].kept && figure_table[id].origin == FIGURE_MODELLED &&
            was->figures.values[id].known && baseline_has_same(is, was, id)) {
            is->figures.values[id].number = was->figures.values[id].number;
            is->figures.values[id].whole = was->figures.values[id].whole;
        }
}

void baseline_sort(struct baseline *b)
{
    if (b->narrays)
        qsort(b->arrays, b->narrays, sizeof *b->arrays, compare_arrays);
    if (b->ncollectives)
        qsort(b->collectives, b->ncollectives, sizeof *b->collectives, compare_collectives);
    if (b->nfindings)
        qsort(b->findings, b->nfindings, sizeof *b->findings, compare_texts);
}

void baseline_fini(struct baseline *b)
{
    for (size_t i = 0; i < b->narrays; i++)
        free_fields(&b->arrays[i], baseline_array_fields);
    for (size_t i = 0; i < b->ncollectives; i++)
        free_fields(&b->collectives[i], baseline_collective_fields);
    for (size_t i = 0; i < b->nfindings; i++)
        free(b->findings[i]);
    for (size_t i = 0; i < b->nlines; i++)
        free_fields(&b->lines[i], baseline_line_fields);
    for (size_t i = 0; i < b->ngiven; i++) {
        free(b->given[i].key);
        free(b->given[i].value);
    }
    free(b->given);
    free(b->lines);
    free(b->arrays);
    free(b->collectives);
    free(b->findings);
    free(b->name);
    free(b->mesh);
    figures_fini(&b->figures);
    *b = (struct baseline){.name = NULL};
}

void baseline_file_fini(struct baseline_file *file)
{
    for (size_t i = 0; i < file->count; i++)
        baseline_fini(&file->list[i]);
    free(file->list);
    free(file->by);
    for (size_t i = 0; i < file->nwords; i++)
        free(file->words[i]);
    free(file->words);
    *file = (struct baseline_file){.list = NULL};
}

struct baseline *baseline_find(const struct baseline_file *file, const char *strategy)
{
    for (size_t i = 0; i < file->count; i++)
        if (!strcmp(file->list[i].name, strategy))
            return &file->list[i];
    return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "store/baseline.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "report/modelled.h"
#include "report/traffic.h"
#include "store/baseline_fields.h"

#define ARRAY(key, is_text)                                 \
    {                                                       \
#key, is_text, offsetof(struct baseline_array, key) \
    }
#define COLLECTIVE(key, is_text)                                 \
    {                                                            \
#key, is_text, offsetof(struct baseline_collective, key) \
    }
#define TOTAL(key)                                         \
    {                                                      \
#key, false, offsetof(struct baseline_totals, key) \
    }

#define MODELLED(key)                                        \
    {                                                        \
#key, false, offsetof(struct baseline_modelled, key) \
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

const struct baseline_field baseline_total_fields[] = {
    TOTAL(received_bytes),
    TOTAL(received_bytes_most),
    TOTAL(peak_memory_bytes),
    TOTAL(peak_memory_bytes_most),
    TOTAL(flops),
    TOTAL(flops_most),
    {NULL, false, 0},
};

const struct baseline_field baseline_modelled_fields[] = {
    MODELLED(step_ns),
    MODELLED(memory_bytes),
    {NULL, false, 0},
};

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

static void set_total(uint128 *all, uint128 *most, const struct record *r, const uint128 *rows)
{
    *all = record_sum(r, rows);
    *most = record_balance_of(r, rows).max;
}

int baseline_init(struct baseline *out, const char *strategy, const struct record *r,
                  struct shd_error *err)
{
    struct baseline_totals *t = &out->totals;
    struct traffic traffic;
    char mesh[256];
    int status;

    *out = (struct baseline){.name = strdup(strategy)};
    shd_mesh_print(r->program->asked_mesh, mesh, sizeof mesh);
    out->mesh = strdup(mesh);
    if (!out->name || !out->mesh)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the baseline");
    set_total(&t->received_bytes, &t->received_bytes_most, r, r->received_bytes);
    set_total(&t->peak_memory_bytes, &t->peak_memory_bytes_most, r, r->peak_bytes);
    set_total(&t->flops, &t->flops_most, r, r->flops);
    status = traffic_init(&traffic, r, err);
    if (status != SHD_OK)
        return status;
    status = add_collectives(out, &traffic);
    traffic_fini(&traffic);
    return status == SHD_OK ? status : shd_error_set(err, status, "no memory for the baseline");
}

void baseline_set_modelled(struct baseline *b, const struct record *r)
{
    struct modelled_figures figures;

    if (!r->modelled)
        return;
    modelled_figures_of(&figures, r, 0);
    b->modelled.step_ns = (uint128)r->modelled->timeline->step_ns;
    b->modelled.memory_bytes = (uint128)figures.memory_bytes;
}

bool baseline_is_close(uint128 a, uint128 b)
{
    uint128 more = a > b ? a : b;

    return (double)(more - (a > b ? b : a)) <= BASELINE_CLOSE * (double)more;
}

void baseline_keep_close(struct baseline *is, const struct baseline *was)
{
    if (baseline_is_close(is->modelled.step_ns, was->modelled.step_ns) &&
        baseline_is_close(is->modelled.memory_bytes, was->modelled.memory_bytes))
        is->modelled = was->modelled;
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
    for (size_t i = 0; i < b->ngiven; i++) {
        free(b->given[i].key);
        free(b->given[i].value);
    }
    free(b->given);
    free(b->arrays);
    free(b->collectives);
    free(b->findings);
    free(b->name);
    free(b->mesh);
    *b = (struct baseline){.name = NULL};
}

void baseline_file_fini(struct baseline_file *file)
{
    for (size_t i = 0; i < file->count; i++)
        baseline_fini(&file->list[i]);
    free(file->list);
    *file = (struct baseline_file){NULL, 0};
}

struct baseline *baseline_find(const struct baseline_file *file, const char *strategy)
{
    for (size_t i = 0; i < file->count; i++)
        if (!strcmp(file->list[i].name, strategy))
            return &file->list[i];
    return NULL;
}

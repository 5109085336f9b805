/* A modelled step's time by kinds of layers (layer_times.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/layer_times.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "report/table.h"

#define OPTIMIZER 2 /* phase of an op, see program/program.h */

/* ---- kinds ---- */

/* The array's name within the name of an op on its sum or gradient: in "grad(NAME)",
 * "opt/sum/NAME". */
static const char *array_of(const char *name)
{
    static const char *const before[] = {"grad(", "opt/sum/"};

    for (size_t i = 0; i < sizeof before / sizeof before[0]; i++)
        if (strncmp(name, before[i], strlen(before[i])) == 0)
            name += strlen(before[i]);
    return name;
}

/* The first part of a name, or where a number follows it, the number and the part behind; of
 * several arrays in one transfer ("loss and 1 more") that of the first. */
static void add_kind(struct text *out, const struct program_op *op)
{
    const char *name = array_of(op->name), *number = strchr(name, '/');
    size_t digits = number ? strspn(number + 1, "0123456789") : 0;

    if (op->phase == OPTIMIZER) {
        text_add(out, "optimizer");
        return;
    }
    if (digits > 0 && number[1 + digits] == '/') {
        text_add_bytes(out, name, (size_t)(number - name));
        text_add(out, "/*/");
        name = number + digits + 2;
    }
    text_add_bytes(out, name, strcspn(name, "/.) "));
}

static struct layer_time *find(struct layer_times *t, struct text *name)
{
    struct layer_time *layer;

    for (uint32_t i = 0; i < t->nlayers; i++)
        if (strcmp(text_get(&t->layers[i].name), text_get(name)) == 0)
            return &t->layers[i];
    layer = &t->layers[t->nlayers++];
    text_init(&layer->name);
    text_join(&layer->name, name);
    return layer;
}

static void add_op(struct layer_times *t, const struct record *record, uint32_t i,
                   struct text *name)
{
    static const enum layer_bound bounds[RECORD_NBOUNDS] = {[RECORD_BY_COMPUTE] = LAYER_COMPUTE,
                                                            [RECORD_BY_MEMORY] = LAYER_MEMORY,
                                                            [RECORD_BY_LAUNCH] = LAYER_LAUNCH,
                                                            [RECORD_BY_TILES] = LAYER_TILES};
    const struct record_modelled *m = record->modelled;
    const struct program_op *op = &record->program->ops[i];
    struct layer_time *layer;

    if (m->op_ns[i] == 0 && m->exposed_ns[i] == 0)
        return;
    text_clear(name);
    add_kind(name, op);
    layer = find(t, name);
    layer->bound_ns[program_communicates(op) ? LAYER_NETWORK : LAYER_HOST] += m->exposed_ns[i];
    if (program_is_beside(op))
        layer->hidden_ns += m->op_ns[i] > m->exposed_ns[i] ? m->op_ns[i] - m->exposed_ns[i] : 0;
    else
        layer->bound_ns[bounds[m->bound[i]]] += m->op_ns[i];
}

/* ---- all of them ---- */

int64_t layer_time_ns(const struct layer_time *layer)
{
    int64_t ns = 0;

    for (int b = 0; b < LAYER_NBOUNDS; b++)
        ns += layer->bound_ns[b];
    return ns;
}

const char *layer_time_bound(const struct layer_time *layer)
{
    static const char *const names[LAYER_NBOUNDS] = {"compute", "memory",  "launch",
                                                     "tiles",   "network", "host"};
    int most = 0;

    for (int b = 1; b < LAYER_NBOUNDS; b++)
        if (layer->bound_ns[b] > layer->bound_ns[most])
            most = b;
    return names[most];
}

static int by_time(const void *left, const void *right)
{
    const struct layer_time *a = left, *b = right;
    int64_t x = layer_time_ns(a), y = layer_time_ns(b);

    return x > y ? -1 : x < y ? 1 : strcmp(text_get(&a->name), text_get(&b->name));
}

int layer_times_init(struct layer_times *out, const struct record *record, struct shd_error *err)
{
    const struct program *program = record->program;
    struct text name = TEXT_INIT;
    bool failed;

    *out = (struct layer_times){.step_ns = record->modelled->timeline->step_ns};
    out->layers = calloc((size_t)program->nops + 1, sizeof *out->layers);
    if (!out->layers)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the times of layers");
    for (uint32_t i = program->first_op; i < program->nops; i++)
        add_op(out, record, i, &name);
    failed = name.failed;
    for (uint32_t i = 0; i < out->nlayers; i++)
        failed |= out->layers[i].name.failed;
    text_fini(&name);
    out->nbounds = LAYER_HOST;
    for (uint32_t i = 0; i < out->nlayers; i++)
        if (out->layers[i].bound_ns[LAYER_HOST] > 0)
            out->nbounds = LAYER_NBOUNDS;
    qsort(out->layers, out->nlayers, sizeof *out->layers, by_time);
    return failed ? shd_error_set(err, SHD_ENOMEM, "no memory for the times of layers") : SHD_OK;
}

void layer_times_fini(struct layer_times *times)
{
    for (uint32_t i = 0; i < times->nlayers; i++)
        text_fini(&times->layers[i].name);
    free(times->layers);
    times->layers = NULL;
}

/* ---- in words ---- */

const char *const layer_time_heads[LAYER_NBOUNDS] = {"compute", "memory",  "launch",
                                                     "tiles",   "exposed", "host"};
const char *const layer_time_more[2] = {"overlapped", "of step"};

static void add_row(struct table *table, const struct layer_time *layer,
                    const struct layer_times *times)
{
    table_add(table, "%s", text_get(&layer->name));
    for (int b = 0; b < times->nbounds; b++)
        table_add(table, "%s", units_print_seconds((double)layer->bound_ns[b] * 1e-9).text);
    table_add(table, "%s", units_print_seconds((double)layer->hidden_ns * 1e-9).text);
    table_add(table, "%.1f %%",
              times->step_ns > 0 ? 100 * (double)layer_time_ns(layer) / (double)times->step_ns : 0);
    table_add(table, "%s", layer_time_bound(layer));
}

void layer_times_text(const struct layer_times *times, size_t columns, struct text *out)
{
    struct table table;

    text_add(out, "\n"
                  "layers        of the busiest device: kernels by their bound, and transfers\n");
    table_init(&table, times->nbounds == LAYER_NBOUNDS ? "lrrrRrrRrl" : "lrrrRrRrl");
    table_add(&table, "kind");
    for (int b = 0; b < times->nbounds; b++)
        table_add(&table, "%s", layer_time_heads[b]);
    for (int i = 0; i < 2; i++)
        table_add(&table, "%s", layer_time_more[i]);
    table_add(&table, "bound by");
    for (uint32_t i = 0; i < times->nlayers; i++)
        add_row(&table, &times->layers[i], times);
    table_print_within(&table, 2, columns, out);
    table_fini(&table);
}

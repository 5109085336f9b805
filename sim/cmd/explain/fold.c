/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "cmd/explain/fold.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- keys ---- */

static void add_array(struct text *key, const struct program *program, uint32_t buffer)
{
    const struct program_buffer *b = &program->buffers[buffer];

    text_add(key, "|");
    program_add_sharding(program, &b->sharding, key);
    for (uint32_t d = 0; d < b->rank; d++)
        text_addf(key, " %" PRId64, b->local[d]);
}

static void add_arrays(struct text *key, const struct program *program, const struct program_op *op)
{
    for (uint32_t k = 0; k < op->ninputs; k++)
        add_array(key, program, op->inputs[k]);
    for (uint32_t k = 0; k < op->noutputs; k++)
        add_array(key, program, op->outputs[k]);
    if (op->kind == PROGRAM_RESHARD) {
        text_add(key, "|");
        text_add_any_layer(key, program->buffers[op->inputs[0]].name);
    }
}

/* Whether an op is a merged collective of several arrays.  Which layers' arrays it merges varies,
 * so its key leaves the arrays out. */
static bool is_shared(const struct program_op *op)
{
    return op->kind == PROGRAM_RESHARD && op->noutputs > 1;
}

/* Key of an op: equal for ops that are folded together. */
static char *key_of(const struct program *program, const struct program_op *op)
{
    uint8_t axes[SHD_MESH_AXES_MAX];
    char names[256] = "";
    struct text key = TEXT_INIT;

    program_axes_print(program, axes, (uint32_t)program_op_axes(op, axes), names, sizeof names);
    text_addf(&key, "%d %d %d %d %s %s|", (int)op->phase, (int)op->part, (int)op->again,
              (int)op->kind, program_step_name(op), names);
    if (!is_shared(op)) {
        text_add_any_layer(&key, op->name);
        add_arrays(&key, program, op);
    }
    if (op->kind == PROGRAM_KERNEL)
        text_addf(&key, "|%" PRIu64, op->dense_flops);
    return text_take(&key);
}

const char *fold_layer(const char *name, size_t *length)
{
    for (const char *c = name; *c; c++) {
        size_t n = c == name || c[-1] == '/' ? strspn(c, "0123456789") : 0;

        if (n > 0 && (c[n] == '/' || c[n] == '\0')) {
            *length = n;
            return c;
        }
    }
    *length = 0;
    return NULL;
}

static int64_t layer_of(const struct program_op *op)
{
    size_t length;
    const char *digits = is_shared(op) ? NULL : fold_layer(op->name, &length);

    return digits ? strtoll(digits, NULL, 10) : -1;
}

/* ---- entries ---- */

struct item {
    char *key;
    uint32_t op;
    int64_t layer;
};

static int by_key(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    int order = strcmp(x->key, y->key);

    return order ? order : x->op < y->op ? -1 : x->op > y->op;
}

/* Whether an op may join an entry whose latest op is of layer `latest`: not two ops of one layer.
 * Ops without a layer join only if each stage, or each bundle of arrays, has its own. */
static bool fits(const struct program *program, const struct item *item, int64_t latest)
{
    const struct program_op *op = &program->ops[item->op];

    if (item->layer >= 0)
        return item->layer != latest;
    return program->nstages > 1 || is_shared(op);
}

static void add_op(struct fold_entry *e, const struct item *item)
{
    if (e->nops++ == 0) {
        e->op = item->op;
        e->lowest = e->highest = item->layer;
    }
    e->lowest = item->layer < e->lowest ? item->layer : e->lowest;
    e->highest = item->layer > e->highest ? item->layer : e->highest;
}

/* Make entries from items sorted by by_key(); `latest` has room for a layer per entry. */
static void make_entries(struct fold *fold, const struct program *program, const struct item *items,
                         int64_t *latest)
{
    uint32_t first = 0; /* first entry with this key */

    for (uint32_t i = 0; i < program->nops; i++) {
        uint32_t e;

        if (i > 0 && strcmp(items[i - 1].key, items[i].key) != 0)
            first = fold->n;
        e = first;
        while (e < fold->n && !fits(program, &items[i], latest[e]))
            e++;
        fold->n += e == fold->n;
        add_op(&fold->entries[e], &items[i]);
        latest[e] = items[i].layer;
        fold->entry_of[items[i].op] = e;
    }
}

int fold_init(struct fold *out, const struct program *program, struct shd_error *err)
{
    size_t n = (size_t)program->nops + 1; /* never 0 */
    struct item *items = calloc(n, sizeof *items);
    int64_t *latest = calloc(n, sizeof *latest);
    bool all = items && latest;

    out->n = 0;
    out->entries = calloc(n, sizeof *out->entries);
    out->entry_of = calloc(n, sizeof *out->entry_of);
    all = all && out->entries && out->entry_of;
    for (uint32_t i = 0; i < program->nops && all; i++) {
        items[i] = (struct item){key_of(program, &program->ops[i]), i, layer_of(&program->ops[i])};
        all = items[i].key != NULL;
    }
    if (all) {
        qsort(items, program->nops, sizeof *items, by_key);
        make_entries(out, program, items, latest);
    }
    for (uint32_t i = 0; i < program->nops && items; i++)
        free(items[i].key);
    free(items);
    free(latest);
    if (all)
        return SHD_OK;
    fold_fini(out);
    return shd_error_set(err, SHD_ENOMEM, "no memory to fold equal layers");
}

void fold_fini(struct fold *fold)
{
    free(fold->entries);
    free(fold->entry_of);
    fold->entries = NULL;
    fold->entry_of = NULL;
    fold->n = 0;
}

const struct fold_entry *fold_entry(const struct fold *fold, uint32_t op)
{
    return &fold->entries[fold->entry_of[op]];
}

bool fold_leads(const struct fold *fold, uint32_t op)
{
    return fold_entry(fold, op)->op == op;
}

void fold_add_layers(const struct fold_entry *e, struct text *out)
{
    int64_t span = e->highest - e->lowest + 1;

    if (span == 1) {
        text_addf(out, "%" PRId64, e->lowest);
        return;
    }
    if (e->nops < span)
        text_addf(out, "%" PRIu32 " of ", e->nops);
    text_addf(out, "%" PRId64 "..%" PRId64, e->lowest, e->highest);
}

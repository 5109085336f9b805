/* The arrays of a scenario that rules can name (array_names.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/show/array_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/hash.h"
#include "base/json_out.h"
#include "base/units.h"
#include "report/table.h"

static void named_fini(struct array_name *row)
{
    text_fini(&row->name);
    text_fini(&row->shape);
    text_fini(&row->sharding);
    text_fini(&row->by);
}

static bool same_text(const struct text *a, const struct text *b)
{
    return !strcmp(text_get(a), text_get(b));
}

static bool alike(const struct array_name *a, const struct array_name *b)
{
    return a->kind == b->kind && a->bytes == b->bytes && same_text(&a->name, &b->name) &&
           same_text(&a->shape, &b->shape) && same_text(&a->sharding, &b->sharding) &&
           same_text(&a->by, &b->by);
}

static uint64_t hash_text(uint64_t hash, const struct text *text)
{
    return hash_bytes(hash, text_get(text), strlen(text_get(text)) + 1);
}

/* The place in the index of an equal row, or a free place. */
static size_t *find_row(const struct array_names *names, const struct array_name *row)
{
    uint64_t at = hash_text(hash_text(HASH_BEGIN, &row->name), &row->shape);

    for (at = hash_text(hash_text(at, &row->sharding), &row->by);; at++) {
        size_t *place = &names->index[at % (2 * names->room)];

        if (*place == 0 || alike(&names->rows[*place - 1], row))
            return place;
    }
}

static bool grow_rows(struct array_names *names)
{
    size_t room = names->room * 2 + 16;
    struct array_name *rows = realloc(names->rows, room * sizeof *rows);
    size_t *index = calloc(2 * room, sizeof *index);

    names->rows = rows ? rows : names->rows;
    if (!rows || !index) {
        free(index);
        return false;
    }
    free(names->index);
    names->index = index;
    names->room = room;
    for (size_t i = 0; i < names->n; i++)
        *find_row(names, &rows[i]) = i + 1;
    return true;
}

/* Takes the row's texts. */
static void add_row(struct array_names *names, struct array_name *row)
{
    size_t *place;

    names->failed |=
        row->name.failed || row->shape.failed || row->sharding.failed || row->by.failed;
    if (names->n == names->room && !grow_rows(names)) {
        names->failed = true;
        named_fini(row);
        return;
    }
    place = find_row(names, row);
    if (*place > 0) {
        names->rows[*place - 1].count++;
        named_fini(row);
        return;
    }
    row->count = 1;
    names->rows[names->n++] = *row;
    *place = names->n;
}

/* By name and rank; of equals the first in the program. */
static int compare_buffers(const void *a, const void *b)
{
    const struct program_buffer *x = *(const struct program_buffer *const *)a;
    const struct program_buffer *y = *(const struct program_buffer *const *)b;
    int order = strcmp(x->name, y->name);

    if (order == 0)
        order = (x->rank > y->rank) - (x->rank < y->rank);
    return order ? order : (x > y) - (x < y);
}

/* All buffers of a program, in the order above.  NULL: no memory. */
static const struct program_buffer **sorted_buffers(const struct program *program)
{
    const struct program_buffer **sorted = calloc((size_t)program->nbuffers + 1, sizeof(void *));

    for (uint32_t i = 0; sorted && i < program->nbuffers; i++)
        sorted[i] = &program->buffers[i];
    if (sorted)
        qsort(sorted, program->nbuffers, sizeof(void *), compare_buffers);
    return sorted;
}

/* The first buffer that holds an array of this name and rank: as it is made, or comes.  NULL: none.
 */
static const struct program_buffer *buffer_of(const struct program_buffer *const *sorted,
                                              uint32_t n, const struct graph_node *node)
{
    uint32_t low = 0, high = n;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = strcmp(sorted[middle]->name, node->name);

        if (order < 0 || (order == 0 && sorted[middle]->rank < node->rank))
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && sorted[low]->rank == node->rank && !strcmp(sorted[low]->name, node->name)
               ? sorted[low]
               : NULL;
}

/* The array that comes to a place which a constraint may name. */
static const struct graph_node *array_at(const struct graph *graph, uint32_t i)
{
    while (graph->nodes[i].op == GRAPH_CONSTRAINT)
        i = graph->nodes[i].inputs[0];
    return &graph->nodes[i];
}

/* NULL: nothing that a rule can name, or not asked for. */
static const char *kind_of(const struct graph_node *node, bool all)
{
    static const char *const phases[] = {"other activation", "backward array", "optimizer array"};

    if (node->op == GRAPH_PARAM)
        return "parameter";
    if (node->op == GRAPH_INPUT && node->phase == GRAPH_FORWARD)
        return "input";
    if (node->op == GRAPH_CONSTRAINT && node->phase == GRAPH_FORWARD)
        return "place";
    return all ? phases[node->phase] : NULL;
}

/* Add the rule or option that asked for a sharding; without one the partitioner chose it. */
static void add_reason(struct text *out, const struct model_shardings *s, uint32_t node)
{
    const struct scenario_rule *rule = s->rules[node];

    if (rule)
        text_addf(out, "'%s', line %d", rule->pattern, rule->place.line);
    else if (s->nodes[node])
        text_add(out, "axes, zero or auto");
    else
        text_add(out, "placed");
}

static uint64_t bytes_of(const struct shd_sharding *sharding, const struct program_buffer *b)
{
    int64_t local[SHD_RANK_MAX];
    uint64_t bytes = shd_dtype_size(b->dtype);

    shd_sharding_shard_shape(sharding, b->shape, local);
    for (uint32_t d = 0; d < b->rank; d++)
        bytes *= (uint64_t)local[d];
    return bytes;
}

static void add_node(struct array_names *names, const struct trial *trial,
                     const struct program_buffer *const *sorted, uint32_t i, bool all)
{
    const struct graph_node *node = &trial->graph->nodes[i];
    const struct program_buffer *b =
        buffer_of(sorted, trial->program->nbuffers, array_at(trial->graph, i));
    const struct shd_sharding *sharding = trial->shardings.nodes[i];
    struct array_name row = {.kind = kind_of(node, all),
                             .name = TEXT_INIT,
                             .shape = TEXT_INIT,
                             .sharding = TEXT_INIT,
                             .by = TEXT_INIT};

    if (!b || !row.kind)
        return; /* without a buffer it is part of another op */
    if (!sharding)
        sharding = &b->sharding;
    text_add_any_layer(&row.name, node->name);
    for (uint32_t d = 0; d < node->rank; d++)
        text_addf(&row.shape, "%s%s %lld", d ? ", " : "", trial->graph->dims[node->dims[d]].name,
                  (long long)b->shape[d]);
    program_add_sharding(trial->program, sharding, &row.sharding);
    add_reason(&row.by, &trial->shardings, i);
    row.bytes = bytes_of(sharding, b);
    add_row(names, &row);
}

static int by_kind(const struct array_names *names, const char *kind, struct table *table)
{
    int n = 0;

    for (size_t i = 0; i < names->n; i++) {
        const struct array_name *row = &names->rows[i];
        struct text by = TEXT_INIT;

        if (strcmp(row->kind, kind) != 0)
            continue;
        escape_add(&by, text_get(&row->by));
        table_add(table, "%s", text_get(&row->name));
        if (row->count > 1)
            table_add(table, "%ux", row->count);
        else
            table_add(table, "%s", "");
        table_add(table, "%s", text_get(&row->shape));
        table_add(table, "%s", text_get(&row->sharding));
        table_add(table, "%s", units_print_bytes(row->bytes).text);
        table_add(table, "%s", text_get(&by));
        text_fini(&by);
        n++;
    }
    return n;
}

static const struct {
    const char *kind, *title;
} kinds[] = {{"parameter", "parameters: named by `params`"},
             {"input", "inputs: by `axes` and `constraints`"},
             {"place", "named activations: by `constraints`"},
             {"other activation", "other activations"},
             {"backward array", "backward"},
             {"optimizer array", "optimizer"}};

/* A model without its own loss gets one, made of its outputs and a "ct" input that the model does
 * not name. */
static bool has_cotangent(const struct array_names *names)
{
    for (size_t i = 0; i < names->n; i++) {
        const char *name = text_get(&names->rows[i].name);

        if (!strcmp(names->rows[i].kind, "input") && !strncmp(name, "ct", 2) &&
            (!name[2] || name[2] == '/'))
            return true;
    }
    return false;
}

void array_names_text(const struct array_names *names, size_t columns, struct text *out)
{
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        struct table table;

        table_init(&table, "lrllrl");
        table_heads(&table, "||shape|sharding|a device|by");
        if (by_kind(names, kinds[k].kind, &table) > 0) {
            text_addf(out, "%s%s\n", out->length ? "\n" : "", kinds[k].title);
            table_print_within(&table, 2, columns, out);
        }
        if (!strcmp(kinds[k].kind, "input") && has_cotangent(names))
            text_add(out, "  ct weighs the outputs: the loss is the sum of out * ct\n");
        table_fini(&table);
    }
}

void array_names_json(const struct array_names *names, struct text *text)
{
    struct json_out out;

    json_out_init_text(&out, text, JSON_OUT_PRETTY);
    json_out_begin_array(&out);
    for (size_t i = 0; i < names->n; i++) {
        const struct array_name *row = &names->rows[i];

        json_out_begin_flat_object(&out);
        json_out_key_string(&out, "kind", row->kind);
        json_out_key_string(&out, "name", text_get(&row->name));
        json_out_key_uint(&out, "count", row->count);
        json_out_key_string(&out, "shape", text_get(&row->shape));
        json_out_key_string(&out, "sharding", text_get(&row->sharding));
        json_out_key_uint(&out, "bytes_of_device", row->bytes);
        json_out_key_string(&out, "by", text_get(&row->by));
        json_out_end_object(&out);
    }
    json_out_end_array(&out);
    json_out_newline(&out);
    (void)json_out_fini(&out); /* a lack of memory is in the text */
}

void array_names_init(struct array_names *out, const struct trial *trial, bool all)
{
    const struct program_buffer **sorted = sorted_buffers(trial->program);

    *out = (struct array_names){.failed = !sorted};
    for (uint32_t i = 0; sorted && i < trial->graph->nnodes; i++)
        add_node(out, trial, sorted, i, all);
    free(sorted);
}

void array_names_fini(struct array_names *names)
{
    for (size_t i = 0; i < names->n; i++)
        named_fini(&names->rows[i]);
    free(names->rows);
    free(names->index);
}

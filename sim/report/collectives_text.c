/* The collectives of a step as a text table (collectives_text.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/collectives_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "base/wrap.h"
#include "report/table.h"

#define ROWS_MAX 12 /* longer tables are folded: with their reasons they fill a screen */

/* A printed row, which stands for one or more rows of the traffic. */
struct fold {
    const struct traffic_row *most; /* the row that moves most bytes */
    size_t nrows;
    uint64_t count, least_operand, most_operand;
    uint128 received;
};

static bool alike(const struct traffic_row *a, const struct traffic_row *b)
{
    return a->phase == b->phase && !strcmp(a->op, b->op) && !strcmp(a->axes, b->axes) &&
           a->groups == b->groups && a->group_size == b->group_size;
}

static void add_row(struct fold *fold, const struct traffic_row *row)
{
    bool first = fold->nrows++ == 0;

    if (first || row->received_bytes > fold->most->received_bytes)
        fold->most = row;
    if (first || row->operand_bytes < fold->least_operand)
        fold->least_operand = row->operand_bytes;
    if (first || row->operand_bytes > fold->most_operand)
        fold->most_operand = row->operand_bytes;
    fold->count += row->count;
    fold->received += row->received_bytes;
}

/* Fill folds[traffic->nrows], in the order in which their first rows come; returns how many. */
static size_t fold_rows(struct fold *folds, const struct traffic *traffic, bool all)
{
    size_t n = 0;

    for (size_t r = 0; r < traffic->nrows; r++) {
        size_t at = all ? n : 0;

        while (at < n && !alike(folds[at].most, &traffic->rows[r]))
            at++;
        n += at == n;
        add_row(&folds[at], &traffic->rows[r]);
    }
    return n;
}

/* "1.75 MiB", or "128 B to 1.75 MiB". */
static void add_operand(struct table *table, const struct fold *fold)
{
    struct units_text least = units_print_bytes(fold->least_operand),
                      most = units_print_bytes(fold->most_operand);

    if (!strcmp(least.text, most.text))
        table_add(table, "%s", most.text);
    else
        table_add(table, "%s to %s", least.text, most.text);
}

static void add_table(const struct fold *folds, size_t n, size_t width, struct text *out)
{
    static const char *const heads[] = {"",       "phase", "op",      "axes",
                                        "groups", "count", "operand", "received"};
    struct table table;

    table_init(&table, "rlllRrrr");
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
        table_add(&table, "%s", heads[i]);
    for (size_t i = 0; i < n; i++) {
        const struct traffic_row *row = folds[i].most;

        table_add(&table, "%zu", i + 1);
        table_add(&table, "%s", program_phase_name(row->phase));
        table_add(&table, "%s", row->op);
        table_add(&table, "%s", row->axes);
        table_add(&table, "%ux%u", row->groups, row->group_size);
        table_add(&table, "%" PRIu64, folds[i].count);
        add_operand(&table, &folds[i]);
        table_add(&table, "%s", units_print_bytes(folds[i].received).text);
    }
    table_print_within(&table, 1, width, out);
    table_fini(&table);
}

static void add_why(const struct fold *folds, size_t n, size_t width, struct text *out)
{
    size_t indent = n > 9 ? 5 : 4;

    text_add(out, "\nwhy\n");
    for (size_t i = 0; i < n; i++) {
        struct text line = TEXT_INIT;

        text_add(&line, folds[i].most->why);
        if (folds[i].nrows > 1)
            text_addf(&line, "; and %zu more like it", folds[i].nrows - 1);
        text_addf(out, " %*zu  ", n > 9 ? 2 : 1, i + 1);
        wrap_add(out, width, indent, indent, text_get(&line));
        text_drop(out, &line);
    }
}

void collectives_text(const struct traffic *traffic, bool all, size_t width, struct text *out)
{
    struct fold *folds;
    size_t n;

    if (traffic->nrows == 0) {
        text_add(out, "\nNothing is communicated.\n");
        return;
    }
    folds = calloc(traffic->nrows, sizeof *folds);
    if (!folds) {
        out->failed = true;
        return;
    }
    n = fold_rows(folds, traffic, all || traffic->nrows <= ROWS_MAX);
    text_add(out,
             "\ncollectives   operand: bytes on one device; received: in total, count times\n");
    add_table(folds, n, width, out);
    if (n < traffic->nrows)
        text_addf(out, "  %zu kinds of collectives, folded by phase, op and axes; -v lists all\n",
                  traffic->nrows);
    add_why(folds, n, width, out);
    free(folds);
}

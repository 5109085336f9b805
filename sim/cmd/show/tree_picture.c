/* Drawing a model's parameters on a mesh as bars (tree_picture.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/show/tree_picture.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "draw/bars.h"

#define ROWS_MAX 40 /* rows drawn */
#define SPEC_TEXT_MAX 256
#define WARNINGS_MAX 3 /* warnings printed below */
#define NOTES_MAX (3 + WARNINGS_MAX)

enum { WHOLE, DEVICE, NQUANTITIES };

/* Arrays whose names differ only in numbers of layers, and whose specs are equal. */
struct row {
    struct text name, bytes[NQUANTITIES];
    uint128 values[NQUANTITIES];
    uint32_t count;
    size_t first; /* in the tree */
};

struct rows {
    struct row *rows;
    size_t n;
    uint64_t left_out_bytes; /* on a device, of rows that are not drawn */
};

/* "layers.*.mlp.up  [dp, tp]": numbers between dots or slashes are those of layers. */
static void add_name(struct text *out, const struct tree_layout *l, size_t leaf)
{
    const char *name = shd_tree_leaf(l->tree, leaf)->name;
    char spec[SPEC_TEXT_MAX];

    for (const char *c = name; *c;) {
        size_t digits = strspn(c, "0123456789");
        bool begins = c == name || c[-1] == '.' || c[-1] == '/';

        if (digits > 0 && begins && (c[digits] == '.' || c[digits] == '/' || !c[digits])) {
            text_add_char(out, '*');
            c += digits;
        } else {
            text_add_char(out, *c++);
        }
    }
    shd_spec_print(l->specs[leaf], SHD_SPEC_YAML, spec, sizeof spec);
    text_addf(out, "  %s", spec);
}

static void add_leaf(struct rows *r, const struct tree_layout *l, size_t leaf)
{
    const struct shd_leaf_stats *stats = &l->analysis->leaves[leaf];
    struct row *row;
    size_t i = 0;

    add_name(&r->rows[r->n].name, l, leaf);
    while (strcmp(text_get(&r->rows[i].name), text_get(&r->rows[r->n].name)) != 0)
        i++;
    row = &r->rows[i];
    if (i == r->n) {
        row->first = leaf;
        r->n++;
    } else {
        text_clear(&r->rows[r->n].name);
    }
    row->count++;
    row->values[WHOLE] += stats->bytes;
    row->values[DEVICE] += stats->shard_bytes;
}

static int by_device_bytes(const void *left, const void *right)
{
    const struct row *a = left, *b = right;

    if (a->values[DEVICE] != b->values[DEVICE])
        return a->values[DEVICE] > b->values[DEVICE] ? -1 : 1;
    return a->first < b->first ? -1 : 1;
}

static int by_place(const void *left, const void *right)
{
    const struct row *a = left, *b = right;

    return a->first < b->first ? -1 : a->first > b->first;
}

/* The largest rows, in the order of the tree; the others' texts are freed with all. */
static size_t choose(struct rows *r)
{
    size_t shown = r->n < ROWS_MAX ? r->n : ROWS_MAX;

    qsort(r->rows, r->n, sizeof *r->rows, by_device_bytes);
    for (size_t i = shown; i < r->n; i++)
        r->left_out_bytes += (uint64_t)r->rows[i].values[DEVICE];
    qsort(r->rows, shown, sizeof *r->rows, by_place);
    return shown;
}

/* ---- the picture ---- */

static void add_notes(struct text notes[NOTES_MAX], size_t *n, const struct tree_layout *l,
                      const struct rows *r, size_t shown)
{
    const struct shd_analysis *a = l->analysis;
    const char *line = text_get(&l->warnings);

    text_addf(&notes[(*n)++],
              "%zu arrays, %s in total; a device receives %s to all-gather all weights once.",
              a->nleaves, units_print_bytes(a->total_bytes).text,
              units_print_bytes(a->gather_bytes).text);
    text_add(&notes[(*n)++],
             "All bars share one scale from 0. Framed: replicated on every device.");
    if (shown < r->n)
        text_addf(&notes[(*n)++], "Not drawn: %zu smaller rows, %s on a device.", r->n - shown,
                  units_print_bytes(r->left_out_bytes).text);
    for (int w = 0; w < WARNINGS_MAX && *line; w++) {
        size_t length = strcspn(line, "\n");

        text_addf(&notes[(*n)++], "Warning: %.*s.", (int)length, line);
        line += length + (line[length] != '\0');
    }
}

static void draw(struct text *out, const struct tree_layout *l, struct rows *r, const char **names,
                 struct bars_bar *bars)
{
    static const char *const quantities[] = {"whole", "per device"};
    struct text title = TEXT_INIT, notes[NOTES_MAX] = {TEXT_INIT};
    const char *note_texts[NOTES_MAX];
    size_t shown = choose(r), nnotes = 0;
    struct bars drawing = {.names = names,
                           .nrows = shown,
                           .quantities = quantities,
                           .nquantities = NQUANTITIES,
                           .one_scale = true,
                           .bars = bars,
                           .notes = note_texts};
    char mesh[SPEC_TEXT_MAX];

    for (size_t i = 0; i < shown; i++) {
        struct row *row = &r->rows[i];

        if (row->count > 1)
            text_addf(&row->name, "  x%" PRIu32, row->count);
        names[i] = text_get(&row->name);
        for (int q = 0; q < NQUANTITIES; q++) {
            text_add(&row->bytes[q], units_print_bytes(row->values[q]).text);
            bars[i * NQUANTITIES + (size_t)q] =
                (struct bars_bar){(double)row->values[q], text_get(&row->bytes[q]),
                                  q == DEVICE && row->values[DEVICE] == row->values[WHOLE] &&
                                      shd_mesh_size(l->mesh) > 1,
                                  false};
            out->failed |= row->name.failed || row->bytes[q].failed;
        }
    }
    shd_mesh_print(l->mesh, mesh, sizeof mesh);
    text_addf(&title, "Parameters on mesh %s: %s on the fullest device", mesh,
              units_print_bytes(l->analysis->device_bytes).text);
    add_notes(notes, &nnotes, l, r, shown);
    for (size_t i = 0; i < nnotes; i++) {
        note_texts[i] = text_get(&notes[i]);
        out->failed |= notes[i].failed;
    }
    drawing.title = text_get(&title);
    drawing.nnotes = nnotes;
    out->failed |= title.failed;
    if (!out->failed)
        bars_draw_svg(&drawing, out);
    for (size_t i = 0; i < nnotes; i++)
        text_fini(&notes[i]);
    text_fini(&title);
}

int tree_picture(struct text *out, const struct tree_layout *layout, struct shd_error *err)
{
    size_t n = shd_tree_count(layout->tree);
    struct rows r = {.rows = calloc(n + 1, sizeof *r.rows)};
    const char **names = calloc(ROWS_MAX, sizeof *names);
    struct bars_bar *bars = calloc((size_t)ROWS_MAX * NQUANTITIES, sizeof *bars);

    out->failed |= !r.rows || !names || !bars;
    for (size_t i = 0; i < n && !out->failed; i++) {
        add_leaf(&r, layout, i);
        out->failed |= r.rows[r.n].name.failed || (r.n > 0 && r.rows[r.n - 1].name.failed);
    }
    if (!out->failed)
        draw(out, layout, &r, names, bars);
    for (size_t i = 0; r.rows && i <= n; i++) {
        text_fini(&r.rows[i].name);
        for (int q = 0; q < NQUANTITIES; q++)
            text_fini(&r.rows[i].bytes[q]);
    }
    free(r.rows);
    free(names);
    free(bars);
    return out->failed ? shd_error_set(err, SHD_ENOMEM, "no memory for the picture") : SHD_OK;
}

/* Heat map of bytes from device to device.  With many devices a cell adds up a block of consecutive
 * receivers and senders.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "base/literal.h"
#include "base/units.h"
#include "cost/plan.h"
#include "report/class_traffic.h"
#include "report/html.h"
#include "report/parts.h"

#define LEVELS 9        /* colour levels above zero */
#define READABLE_MAX 16 /* up to this many rows, cells show their numbers */
#define LABELLED 8      /* with more rows, every eighth column is labelled */

struct heat {
    const struct shd_mesh *mesh;
    uint32_t n;   /* rows and columns */
    int32_t each; /* devices of a row or column */
    int32_t ndevices;
    uint128 *cells; /* [receiver][sender] */
    uint128 most, total;
};

static void fill(struct heat *h, const uint128 *matrix)
{
    size_t n = (size_t)h->ndevices, each = (size_t)h->each;

    for (size_t r = 0; r < n; r++)
        for (size_t c = 0; c < n; c++)
            h->cells[r / each * h->n + c / each] += matrix[r * n + c];
    for (size_t i = 0; i < (size_t)h->n * h->n; i++) {
        h->total += h->cells[i];
        h->most = h->cells[i] > h->most ? h->cells[i] : h->most;
    }
}

/* Colour level of a cell, by bytes as printed, so that equal texts have equal colours. */
static int level_of(const struct heat *h, uint128 bytes)
{
    return bytes == 0 ? 0
                      : 1 + (int)floor((LEVELS - 1) *
                                       (units_printed_bytes(bytes) / units_printed_bytes(h->most)));
}

/* Label of a row: "3", or the first and last device of several. */
static void add_label(const struct heat *h, uint32_t i, struct text *out)
{
    int32_t first = (int32_t)i * h->each, last = first + h->each - 1;

    if (last >= h->ndevices)
        last = h->ndevices - 1;
    text_addf(out, "%d", (int)shd_mesh_device_id(h->mesh, first));
    if (last > first)
        text_addf(out, "\xe2\x80\x93%d", (int)shd_mesh_device_id(h->mesh, last));
}

static void print_scale(const struct heat *h, struct text *out)
{
    text_add(out, "<p class=scale aria-hidden=true>0 ");
    for (int level = 0; level <= LEVELS; level++)
        text_addf(out, "<i class=\"h%d\"></i>", level);
    text_add(out, " ");
    html_add_bytes(out, h->most);
    text_add(out, "</p>\n");
}

static void print_head(const struct heat *h, bool dense, struct text *out)
{
    text_add(out, "<thead><tr><th scope=col>to \\ from</th>");
    for (uint32_t c = 0; c < h->n; c++) {
        bool hidden = dense && c % LABELLED != 0;

        text_add(out, hidden ? "<th scope=col><span class=v>" : "<th scope=col><span>");
        add_label(h, c, out);
        text_add(out, "</span></th>");
    }
    text_add(out, "</tr></thead>\n");
}

static void print_row(const struct heat *h, uint32_t r, struct text *out)
{
    text_add(out, "<tr><th scope=row>");
    add_label(h, r, out);
    text_add(out, "</th>");
    for (uint32_t c = 0; c < h->n; c++) {
        uint128 bytes = h->cells[(size_t)r * h->n + c];

        text_addf(out, "<td class=h%d", level_of(h, bytes));
        if (bytes > 0)
            text_addf(out, " data-b=%s><span>", UINT128_DIGITS(bytes));
        else
            text_add(out, "><span>");
        if (bytes > 0)
            html_add_bytes(out, bytes);
        else
            text_add(out, "0");
        text_add(out, "</span></td>");
    }
    text_add(out, "</tr>\n");
}

static void print_heat(const struct heat *h, size_t id, struct text *out)
{
    bool dense = h->n > READABLE_MAX;

    print_scale(h, out);
    text_addf(
        out,
        "<div class=wide role=region aria-label=\"Heat map of strategy %zu\" tabindex=0>\n"
        "<table class=\"heat%s\" data-total=%s><caption>Bytes that a row's device%s receive%s "
        "from a column's, in a step: ",
        id, dense ? " dense" : "", UINT128_DIGITS(h->total), h->each > 1 ? "s" : "",
        h->each > 1 ? "" : "s");
    html_add_bytes(out, h->total);
    text_add(out, " in total.");
    if (h->each > 1)
        text_addf(out, " A cell is %d devices by %d.", (int)h->each, (int)h->each);
    if (dense)
        text_add(out, " Point at a cell for its number; arrow keys go from cell to cell.");
    text_add(out, "</caption>\n");
    print_head(h, dense, out);
    text_add(out, "<tbody>\n");
    for (uint32_t r = 0; r < h->n; r++)
        print_row(h, r, out);
    text_add(out, "</tbody></table></div>\n");
}

/* With too many devices for a matrix: bytes that one device of each class receives, by mesh
 * axes. */
static void print_classes(const struct class_traffic *t, const struct record *record, size_t id,
                          struct text *out)
{
    text_addf(out,
              "<div class=wide role=region aria-label=\"Traffic of strategy %zu\" tabindex=0>\n"
              "<table class=list data-total=%s><caption>Bytes that one device receives in a step. "
              "A row is a class of devices with equal traffic, a column the mesh axes of the "
              "senders.</caption>\n"
              "<thead><tr><th scope=col>devices</th>",
              id, UINT128_DIGITS(record_received(record)));
    for (uint32_t a = 0; a < t->naxes; a++) {
        text_add(out, "<th scope=col class=n>");
        literal_add_xml(out, t->axes[a]);
        text_add(out, "</th>");
    }
    text_add(out, "</tr></thead>\n<tbody>\n");
    for (uint32_t r = 0; r < t->nclasses; r++) {
        text_add(out, "<tr><th scope=row class=label>");
        literal_add_xml(out, t->classes[r]);
        text_add(out, "</th>");
        for (uint32_t a = 0; a < t->naxes; a++) {
            uint128 bytes = t->bytes[(size_t)r * t->naxes + a];

            text_addf(out, "<td class=n data-b=%s>",
                      UINT128_DIGITS(bytes * (uint32_t)record_row(record, r).ndevices));
            html_add_bytes(out, bytes);
            text_add(out, "</td>");
        }
        text_add(out, "</tr>\n");
    }
    text_add(out, "</tbody></table></div>\n");
}

static int print_matrix(const struct record *record, const uint128 *matrix, size_t id,
                        int32_t nrows, struct text *out, struct shd_error *err)
{
    struct heat h = {.mesh = record->program->asked_mesh, .ndevices = record->ndevices};
    bool folded;
    int status = heat_fold(h.mesh, matrix, h.ndevices > READABLE_MAX, id, out, &folded, err);

    if (status != SHD_OK || folded)
        return status;
    h.each = (h.ndevices + nrows - 1) / nrows;
    h.n = (uint32_t)((h.ndevices + h.each - 1) / h.each);
    h.cells = calloc((size_t)h.n * h.n, sizeof *h.cells);
    if (!h.cells)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the traffic of devices");
    fill(&h, matrix);
    if (h.total > 0)
        print_heat(&h, id, out);
    else
        text_add(out, "<p data-total=0>No traffic between devices.</p>\n");
    free(h.cells);
    return SHD_OK;
}

int heat_print(const struct result *result, size_t id, const struct page_room *room,
               struct text *out, struct shd_error *err)
{
    const struct record *record = result->record;
    uint128 *planned;
    int status;

    if (record->matrix)
        return print_matrix(record, record->matrix, id, room->heat_rows, out, err);
    if (record->ndevices > RECORD_MATRIX_MAX) {
        struct class_traffic t;

        status = class_traffic_init(&t, record, err);
        if (status == SHD_OK) {
            print_classes(&t, record, id, out);
            class_traffic_fini(&t);
        }
        return status;
    }
    planned = plan_matrix(record->program);
    if (!planned)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the traffic of devices");
    status = print_matrix(record, planned, id, room->heat_rows, out, err);
    free(planned);
    return status;
}

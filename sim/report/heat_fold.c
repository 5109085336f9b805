/* Bytes from device to device in a sentence or a few rows, where all devices receive alike.
 *
 * The pattern is found in the matrix itself: what a device receives depends only on how far apart
 * the sender is along each axis of the mesh, but for less than a thousandth of the most, as the few
 * bytes of a loss are of gradients.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>

#include "base/literal.h"
#include "report/html.h"
#include "report/parts.h"

#define ROWS_MAX 12 /* of a folded matrix */

struct fold {
    const struct shd_mesh *mesh;
    uint32_t n; /* devices */
    size_t naxes;
    uint128 *bytes;       /* [distance]: of a pair; a distance is the position of that many steps */
    uint128 *sums;        /* [distance]: of all pairs */
    uint128 total, small; /* differences up to `small` are left out */
    bool exact;           /* there are none */
};

/* Senders at equal distances, or all along the same axes. */
struct row {
    uint32_t distance; /* of the first one */
    uint32_t n;        /* senders of a device */
    bool all;          /* includes every sender along these axes */
    uint128 sum;       /* bytes that all devices receive from theirs */
};

/* The distance of a sender from a receiver: modulo the size of each axis. */
static uint32_t distance_of(const struct fold *f, uint32_t to, uint32_t from)
{
    int32_t there[SHD_MESH_AXES_MAX], steps[SHD_MESH_AXES_MAX];

    shd_mesh_coords(f->mesh, (int32_t)to, there);
    shd_mesh_coords(f->mesh, (int32_t)from, steps);
    for (size_t a = 0; a < f->naxes; a++) {
        steps[a] -= there[a];
        steps[a] += steps[a] < 0 ? shd_mesh_axis_size(f->mesh, a) : 0;
    }
    return (uint32_t)shd_mesh_position(f->mesh, steps);
}

/* Steps along an axis in a distance. */
static uint32_t steps_along(const struct fold *f, uint32_t distance, size_t axis)
{
    return (uint32_t)shd_mesh_coord(f->mesh, (int32_t)distance, axis);
}

static bool same_axes(const struct fold *f, uint32_t p, uint32_t q)
{
    for (size_t a = 0; a < f->naxes; a++)
        if ((steps_along(f, p, a) > 0) != (steps_along(f, q, a) > 0))
            return false;
    return true;
}

static bool is_alike(const struct fold *f, uint128 a, uint128 b)
{
    return (a > b ? a - b : b - a) <= f->small;
}

/* Whether the matrix is by distances alone; then these have their bytes. */
static bool fill(struct fold *f, const uint128 *matrix)
{
    size_t ncells = (size_t)f->n * f->n;

    f->exact = true;
    for (size_t i = 0; i < ncells; i++)
        f->small = matrix[i] / 1000 > f->small ? matrix[i] / 1000 : f->small;
    for (uint32_t from = 0; from < f->n; from++)
        f->bytes[distance_of(f, 0, from)] = matrix[from];
    for (size_t i = 0; i < ncells; i++) {
        uint32_t distance = distance_of(f, (uint32_t)(i / f->n), (uint32_t)(i % f->n));

        if (!is_alike(f, matrix[i], f->bytes[distance]))
            return false;
        f->exact &= matrix[i] == f->bytes[distance];
        f->sums[distance] += matrix[i];
        f->total += matrix[i];
    }
    return true;
}

/* The row that a distance begins: of all senders along the same axes, if their bytes are equal.  No
 * senders if an earlier row has them. */
static struct row row_of(const struct fold *f, uint32_t distance)
{
    struct row row = {distance, 0, true, 0};
    bool first = true;

    for (uint32_t d = 0; d < f->n; d++) {
        if (!same_axes(f, d, distance))
            continue;
        row.all &= is_alike(f, f->bytes[d], f->bytes[distance]);
        first &= d >= distance;
        row.n++;
        row.sum += f->sums[d];
    }
    if (!row.all)
        return (struct row){distance, 1, false, f->sums[distance]};
    if (!first)
        row.n = 0;
    return row;
}

/* Fill the rows; returns their number, or 0 where they are too many. */
static size_t fill_rows(struct row rows[ROWS_MAX], const struct fold *f)
{
    size_t n = 0;

    for (uint32_t d = 0; d < f->n; d++) {
        struct row row = f->bytes[d] > f->small ? row_of(f, d) : (struct row){0};

        if (row.n == 0)
            continue;
        if (n == ROWS_MAX)
            return 0;
        rows[n++] = row;
    }
    return n;
}

/* "tp", "the next along tp", "2 before along dp, 1 after along tp". */
static void add_senders(const struct fold *f, const struct row *row, struct text *out)
{
    const char *separator = "";

    for (size_t a = 0; a < f->naxes; a++) {
        uint32_t steps = steps_along(f, row->distance, a);
        uint32_t back = (uint32_t)shd_mesh_axis_size(f->mesh, a) - steps;

        if (steps == 0)
            continue;
        text_add(out, separator);
        separator = row->all ? "," : ", ";
        if (!row->all)
            text_addf(out, "%u %s along ", steps <= back ? steps : back,
                      steps <= back ? "after" : "before");
        literal_add_xml(out, shd_mesh_axis_name(f->mesh, a));
    }
}

static void print_left_out(const struct fold *f, struct text *out)
{
    if (f->exact)
        return;
    text_add(out, "<p>Differences of at most ");
    html_add_bytes(out, f->small);
    text_add(out, " are omitted, but included in totals.</p>\n");
}

/* Print a matrix of a single row, which covers all other devices, in a sentence. */
static void print_sentence(const struct fold *f, const struct row *row, struct text *out)
{
    text_addf(out, "<p data-total=%s data-b=%s>Each of the %u devices receives ",
              UINT128_DIGITS(f->total), UINT128_DIGITS(f->total), f->n);
    html_add_bytes(out, f->bytes[row->distance]);
    text_addf(out, " from %s other%s: ", row->n == 1 ? "the" : "each", row->n == 1 ? "" : " one");
    html_add_bytes(out, f->total);
    text_add(out, " in total.</p>\n");
    print_left_out(f, out);
}

static void print_table(const struct fold *f, const struct row *rows, size_t n, size_t id,
                        struct text *out)
{
    uint128 rest = f->total;

    text_addf(out,
              "<div class=wide role=region aria-label=\"Traffic of strategy %zu\" tabindex=0>\n"
              "<table class=list data-total=%s><caption>All devices receive equal traffic. A row "
              "is a class of senders, by their place along the mesh axes; ",
              id, UINT128_DIGITS(f->total));
    html_add_bytes(out, f->total);
    text_add(out, " in total.</caption>\n<thead><tr><th scope=col>from</th><th scope=col "
                  "class=n>devices</th><th scope=col class=n>each</th><th scope=col class=n>to all "
                  "devices</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < n; i++) {
        rest -= rows[i].sum;
        text_add(out, rows[i].all ? "<tr><th scope=row>all others along "
                                  : "<tr><th scope=row>the one ");
        add_senders(f, &rows[i], out);
        text_addf(out, "</th><td class=n>%u</td><td class=n>", rows[i].n);
        html_add_bytes(out, f->bytes[rows[i].distance]);
        text_addf(out, "</td><td class=n data-b=%s>", UINT128_DIGITS(rows[i].sum));
        html_add_bytes(out, rows[i].sum);
        text_add(out, "</td></tr>\n");
    }
    if (rest > 0) {
        text_addf(out, "<tr><th scope=row>others</th><td></td><td></td><td class=n data-b=%s>",
                  UINT128_DIGITS(rest));
        html_add_bytes(out, rest);
        text_add(out, "</td></tr>\n");
    }
    text_add(out, "</tbody></table></div>\n");
    print_left_out(f, out);
}

static bool print_fold(const struct fold *f, bool many, size_t id, struct text *out)
{
    struct row rows[ROWS_MAX];
    size_t n = fill_rows(rows, f);
    bool one = n == 1 && rows[0].n == f->n - 1;

    if (one)
        print_sentence(f, &rows[0], out);
    else if (n > 0 && many)
        print_table(f, rows, n, id, out);
    return one || (n > 0 && many);
}

int heat_fold(const struct shd_mesh *mesh, const uint128 *matrix, bool many, size_t id,
              struct text *out, bool *folded, struct shd_error *err)
{
    struct fold f = {
        .mesh = mesh, .n = (uint32_t)shd_mesh_size(mesh), .naxes = shd_mesh_naxes(mesh)};

    f.bytes = calloc((size_t)2 * f.n, sizeof *f.bytes);
    if (!f.bytes)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the traffic of devices");
    f.sums = f.bytes + f.n;
    *folded = fill(&f, matrix) && f.total > 0 && print_fold(&f, many, id, out);
    free(f.bytes);
    return SHD_OK;
}

/* Reports on the communication of another system's program (replay_report.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "capture/replay_report.h"

#include <stdlib.h>
#include <string.h>

#include "base/json_mesh.h"
#include "base/json_out.h"
#include "base/units.h"
#include "base/wrap.h"
#include "capture/axes.h"
#include "capture/sums.h"
#include "draw/layouts.h"
#include "report/table.h"
#include "report/traffic.h"

#define AXES_TEXT_MAX 256
#define NUMBER_WIDTH 3 /* of a row, in front of the table and of the places */

static const char *const phase_names[CAPTURE_NPHASES] = {"forward", "backward"};

static const char *axes_of_row(char *buf, size_t size, const struct replay_report *r,
                               const struct rows_row *row)
{
    if (!row->follows) {
        snprintf(buf, size, "no axis");
        return buf;
    }
    return axes_print(buf, size, r->mesh, row->axes);
}

/* ---- text ---- */

/* Say that groups of the program do not follow the mesh. */
static void add_strays(const struct replay_report *r, size_t width, struct text *out)
{
    struct text line = TEXT_INIT;
    char mesh[AXES_TEXT_MAX];
    size_t nstrays = 0;

    for (size_t i = 0; i < r->rows->nrows; i++)
        nstrays += !r->rows->rows[i].follows;
    if (r->mesh_is_inferred || nstrays == 0)
        return;
    text_addf(&line, "the groups of %zu of %zu rows follow no axis of this mesh", nstrays,
              r->rows->nrows);
    if (r->fitting) {
        shd_mesh_print(r->fitting, mesh, sizeof mesh);
        text_addf(&line, "; all follow the axes of %s, the default without --mesh", mesh);
    }
    text_add(out, "  note      ");
    wrap_join(out, width, 12, 12, &line);
}

static void add_head(const struct replay_report *r, size_t width, struct text *out)
{
    const struct capture *c = r->capture;
    char mesh[AXES_TEXT_MAX];
    struct text line = TEXT_INIT;
    uint64_t count = 0;

    for (size_t i = 0; i < r->rows->nrows; i++)
        count += r->rows->rows[i].count;
    text_addf(&line, "%s: %llu collectives in a step on %d devices, %s received in total", c->title,
              (unsigned long long)count, c->ndevices,
              units_print_bytes(r->rows->received_bytes).text);
    wrap_add(out, width, 0, 2, text_get(&line));
    text_clear(&line);
    shd_mesh_print(r->mesh, mesh, sizeof mesh);
    text_addf(&line, "%s%s", mesh,
              r->mesh_is_inferred ? " (inferred from the groups; name your axes with --mesh)" : "");
    text_add(out, "  mesh      ");
    wrap_add(out, width, 12, 12, text_get(&line));
    add_strays(r, width, out);
    for (uint32_t i = 0; i < c->nnotes; i++) {
        text_add(out, "  note      ");
        wrap_add(out, width, 12, 12, c->notes[i]);
    }
    out->failed |= line.failed;
    text_fini(&line);
}

static void add_rows(const struct replay_report *r, struct text *out)
{
    struct table table;
    char buf[AXES_TEXT_MAX];

    text_add(out,
             r->hardware
                 ? "\ncollectives   operand: of one device; received: in total; time: modelled\n"
                 : "\ncollectives   operand: bytes on one device; received: in total\n");
    table_init(&table, r->hardware ? "rllllrrrr" : "rllllrrr");
    table_heads(&table, "|phase|op|axes|groups|count|operand|received");
    if (r->hardware)
        table_add(&table, "time");
    for (size_t i = 0; i < r->rows->nrows; i++) {
        const struct rows_row *row = &r->rows->rows[i];
        const struct capture_groups *groups = &r->capture->groups[row->first->groups];

        table_add(&table, "%zu", i + 1);
        table_add(&table, "%s", phase_names[row->first->phase]);
        table_add(&table, "%s", row->first->op);
        table_add(&table, "%s", axes_of_row(buf, sizeof buf, r, row));
        table_add(&table, "%ux%u", groups->ngroups, capture_group_size(groups));
        table_add(&table, "%llu", (unsigned long long)row->count);
        table_add(&table, "%s", units_print_bytes(row->first->bytes).text);
        table_add(&table, "%s", units_print_bytes(row->received_bytes).text);
        if (r->hardware)
            table_add(&table, "%s", units_print_seconds(row->seconds).text);
    }
    table_print(&table, 0, out);
    table_fini(&table);
}

static void add_places(const struct replay_report *r, size_t width, struct text *out)
{
    bool any = false;

    for (size_t i = 0; i < r->rows->nrows; i++) {
        const struct rows_row *row = &r->rows->rows[i];
        struct text line = TEXT_INIT;

        if (row->first->where) {
            text_add(out, any ? "" : "\nmade of\n");
            any = true;
            text_addf(&line, "%s%s", row->first->where, row->first->async ? " (asynchronous)" : "");
            text_addf(out, "%*zu  ", NUMBER_WIDTH, i + 1);
            wrap_add(out, width, NUMBER_WIDTH + 2, NUMBER_WIDTH + 2, text_get(&line));
        }
        out->failed |= line.failed;
        text_fini(&line);
    }
}

/* Bytes of all rows that have the name which `name_of` gives, each name once. */
typedef const char *(*name_fn)(char *buf, size_t size, const struct replay_report *r,
                               const struct rows_row *row);

static const char *op_of_row(char *buf, size_t size, const struct replay_report *r,
                             const struct rows_row *row)
{
    (void)buf, (void)size, (void)r;
    return row->first->op;
}

static const char *phase_of_row(char *buf, size_t size, const struct replay_report *r,
                                const struct rows_row *row)
{
    (void)buf, (void)size, (void)r;
    return phase_names[row->first->phase];
}

/* Sum of the bytes of all rows with row i's name; 0 if an earlier row has the name. */
static uint128 sum_named(const struct replay_report *r, size_t i, name_fn name_of)
{
    char own[AXES_TEXT_MAX], other[AXES_TEXT_MAX];
    const char *name = name_of(own, sizeof own, r, &r->rows->rows[i]);
    uint128 sum = 0;

    for (size_t k = 0; k < r->rows->nrows; k++) {
        if (strcmp(name_of(other, sizeof other, r, &r->rows->rows[k]), name) != 0)
            continue;
        if (k < i)
            return 0;
        sum += r->rows->rows[k].received_bytes;
    }
    return sum;
}

static void add_sums(const struct replay_report *r, const char *title, name_fn name_of,
                     size_t width, struct text *out)
{
    char name[AXES_TEXT_MAX];
    struct text line = TEXT_INIT;

    for (size_t i = 0; i < r->rows->nrows; i++) {
        uint128 sum = sum_named(r, i, name_of);

        if (sum)
            text_addf(&line, "%s%s %s", line.length ? ", " : "",
                      name_of(name, sizeof name, r, &r->rows->rows[i]),
                      units_print_bytes(sum).text);
    }
    text_addf(out, "  %-10s", title);
    wrap_add(out, width, 12, 12, line.length ? text_get(&line) : "nothing");
    out->failed |= line.failed;
    text_fini(&line);
}

/* Which device receives most, and how much more than the mean. */
static int add_balance(const struct replay_report *r, struct text *out, struct shd_error *err)
{
    int32_t n = r->capture->ndevices, most = 0;
    uint128 *received = calloc((size_t)n, sizeof *received);
    double mean;
    int status;

    if (!received)
        return shd_error_set(err, SHD_ENOMEM, "no memory for %d devices", n);
    status = sums_by_device(received, r->capture, err);
    for (int32_t d = 1; d < n; d++)
        most = received[d] > received[most] ? d : most;
    mean = (double)r->rows->received_bytes / n;
    text_addf(out, "  balance   %.3f   mean / max over devices; device %d receives most, %s\n",
              received[most] ? mean / (double)received[most] : 1.0, most,
              units_print_bytes(received[most]).text);
    free(received);
    return status;
}

static void add_time(const struct replay_report *r, size_t width, struct text *out)
{
    struct text line = TEXT_INIT;

    text_addf(&line, "%s on %s for a device's collectives, one after the other, without overlap",
              units_print_seconds(r->rows->seconds).text, r->hardware->name);
    text_add(out, "\nmodelled    ");
    wrap_join(out, width, 12, 12, &line);
}

/* ---- beside our own program ---- */

struct kind_sums {
    uint64_t count;
    uint128 bytes;
};

static void sum_theirs(struct kind_sums *sums, const struct rows *rows)
{
    for (size_t i = 0; i < rows->nrows; i++) {
        sums[rows->rows[i].first->kind].count += rows->rows[i].count;
        sums[rows->rows[i].first->kind].bytes += rows->rows[i].received_bytes;
    }
}

/* Sum our program's bytes by kind of collective.  Fetching box by box counts as a permute, because
 * whole pieces go from device to device. */
static int sum_ours(struct kind_sums *sums, const struct record *record, struct shd_error *err)
{
    struct traffic traffic;
    int status = traffic_init(&traffic, record, err);

    for (size_t i = 0; status == SHD_OK && i < traffic.nrows; i++) {
        int kind = coll_kind_parse(traffic.rows[i].op);

        sums[kind < 0 ? COLL_PERMUTE : kind].count += traffic.rows[i].count;
        sums[kind < 0 ? COLL_PERMUTE : kind].bytes += traffic.rows[i].received_bytes;
    }
    if (status == SHD_OK)
        traffic_fini(&traffic);
    return status;
}

static void add_verdict(const struct replay_report *r, uint128 ours, size_t width, struct text *out)
{
    uint128 theirs = r->rows->received_bytes;
    struct units_text a = units_print_bytes(theirs), b = units_print_bytes(ours);
    struct text line = TEXT_INIT;

    if (r->beside->ndevices != r->capture->ndevices)
        text_addf(&line, "Bytes cannot be compared: the numbers of devices differ, %d and %d.",
                  r->capture->ndevices, r->beside->ndevices);
    else if (theirs == ours)
        text_addf(&line, "Both move the same bytes, %s.", a.text);
    else
        text_addf(&line, "%s moves %.1f %% more bytes than %s: %s and %s.",
                  theirs > ours ? r->capture->title : r->beside_name,
                  100.0 * (theirs > ours ? (double)theirs / (double)(ours ? ours : 1)
                                         : (double)ours / (double)(theirs ? theirs : 1)) -
                      100.0,
                  theirs > ours ? r->beside_name : r->capture->title,
                  theirs > ours ? a.text : b.text, theirs > ours ? b.text : a.text);
    wrap_join(out, width, 0, 0, &line);
}

static int add_beside(const struct replay_report *r, size_t width, struct text *out,
                      struct shd_error *err)
{
    struct kind_sums theirs[COLL_NKINDS] = {{0}}, ours[COLL_NKINDS] = {{0}};
    struct table table;
    int status = sum_ours(ours, r->beside, err);

    if (status != SHD_OK)
        return status;
    sum_theirs(theirs, r->rows);
    text_addf(out,
              "\n"
              "compared with %s as planned by shardsim\n",
              r->beside_name);
    table_init(&table, "lrrrr");
    table_heads(&table, "op|count|received|our count|our received");
    for (int kind = 0; kind < COLL_NKINDS; kind++) {
        if (!theirs[kind].count && !ours[kind].count)
            continue;
        table_add(&table, "%s", coll_kind_name((enum coll_kind)kind));
        table_add(&table, "%llu", (unsigned long long)theirs[kind].count);
        table_add(&table, "%s", units_print_bytes(theirs[kind].bytes).text);
        table_add(&table, "%llu", (unsigned long long)ours[kind].count);
        table_add(&table, "%s", units_print_bytes(ours[kind].bytes).text);
    }
    table_print(&table, 2, out);
    table_fini(&table);
    add_verdict(r, record_received(r->beside), width, out);
    return SHD_OK;
}

int replay_text(const struct replay_report *r, size_t width, struct text *out,
                struct shd_error *err)
{
    int status;

    add_head(r, width, out);
    if (r->rows->nrows > 0) {
        add_rows(r, out);
        add_places(r, width, out);
    }
    text_add(out, "\nreceived\n");
    add_sums(r, "by axis", axes_of_row, width, out);
    add_sums(r, "by op", op_of_row, width, out);
    add_sums(r, "by phase", phase_of_row, width, out);
    status = add_balance(r, out, err);
    if (status == SHD_OK && r->hardware)
        add_time(r, width, out);
    if (status == SHD_OK && r->beside)
        status = add_beside(r, width, out, err);
    if (status == SHD_OK && out->failed)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for the report");
    return status;
}

/* ---- JSON ---- */

static void write_axes(struct json_out *out, const struct replay_report *r, uint32_t axes)
{
    json_out_begin_flat_array(out);
    for (size_t a = 0; a < shd_mesh_naxes(r->mesh); a++)
        if (axes >> a & 1)
            json_out_string(out, shd_mesh_axis_name(r->mesh, a));
    json_out_end_array(out);
}

static void write_row(struct json_out *out, const struct replay_report *r,
                      const struct rows_row *row)
{
    const struct capture_groups *groups = &r->capture->groups[row->first->groups];

    json_out_begin_object(out);
    json_out_key_string(out, "op", row->first->op);
    json_out_key(out, "axes");
    if (row->follows)
        write_axes(out, r, row->axes);
    else
        json_out_null(out);
    json_out_key_uint(out, "group_size", capture_group_size(groups));
    json_out_key_uint(out, "groups", groups->ngroups);
    json_out_key_uint(out, "count", row->count);
    json_out_key_string(out, "phase", phase_names[row->first->phase]);
    json_out_key_uint(out, "operand_bytes", row->first->bytes);
    json_out_key_uint(out, "received_bytes", row->received_bytes);
    if (r->hardware)
        json_out_key_double(out, "modelled_seconds", row->seconds);
    json_out_key_bool(out, "asynchronous", row->first->async);
    json_out_key_uint(out, "line", (uint128)row->first->line);
    json_out_key_string(out, "name", row->first->name);
    json_out_key_string(out, "where", row->first->where);
    json_out_end_object(out);
}

static void write_sums(struct json_out *out, const struct replay_report *r, const char *key,
                       name_fn name_of)
{
    char name[AXES_TEXT_MAX];

    json_out_key_object(out, key);
    for (size_t i = 0; i < r->rows->nrows; i++) {
        uint128 sum = sum_named(r, i, name_of);

        if (sum)
            json_out_key_uint(out, name_of(name, sizeof name, r, &r->rows->rows[i]), sum);
    }
    json_out_end_object(out);
}

static int write_received(struct json_out *out, const struct replay_report *r,
                          struct shd_error *err)
{
    uint128 *received = calloc((size_t)r->capture->ndevices, sizeof *received);
    int status;

    if (!received)
        return shd_error_set(err, SHD_ENOMEM, "no memory for %d devices", r->capture->ndevices);
    status = sums_by_device(received, r->capture, err);
    json_out_key_object(out, "received_bytes");
    json_out_key_uint(out, "total", r->rows->received_bytes);
    json_out_key_flat_array(out, "per_device");
    for (int32_t d = 0; d < r->capture->ndevices; d++)
        json_out_uint(out, received[d]);
    json_out_end_array(out);
    write_sums(out, r, "by_axis", axes_of_row);
    write_sums(out, r, "by_op", op_of_row);
    write_sums(out, r, "by_phase", phase_of_row);
    json_out_end_object(out);
    free(received);
    return status;
}

static void write_beside(struct json_out *out, const struct replay_report *r)
{
    json_out_key_object(out, "beside");
    json_out_key_string(out, "scenario", r->beside_name);
    json_out_key_uint(out, "received_bytes", record_received(r->beside));
    json_out_end_object(out);
}

int replay_json(const struct replay_report *r, struct text *text, struct shd_error *err)
{
    struct json_out out;
    int status;

    json_out_init_text(&out, text, JSON_OUT_PRETTY);
    json_out_begin_object(&out);
    json_out_key_string(&out, "schema", "shardsim.replay/1");
    json_out_key_string(&out, "program", r->capture->title);
    json_out_key(&out, "mesh");
    json_mesh(&out, r->mesh);
    json_out_key_bool(&out, "mesh_is_inferred", r->mesh_is_inferred);
    json_out_key(&out, "fitting_mesh");
    if (r->fitting)
        json_mesh(&out, r->fitting);
    else
        json_out_null(&out);
    json_out_key_uint(&out, "devices", (uint128)r->capture->ndevices);
    json_out_key_array(&out, "collectives");
    for (size_t i = 0; i < r->rows->nrows; i++)
        write_row(&out, r, &r->rows->rows[i]);
    json_out_end_array(&out);
    status = write_received(&out, r, err);
    if (r->hardware) {
        json_out_key_string(&out, "hardware", r->hardware->name);
        json_out_key_double(&out, "modelled_seconds", r->rows->seconds);
    }
    if (r->beside)
        write_beside(&out, r);
    json_out_key_array(&out, "notes");
    for (uint32_t i = 0; i < r->capture->nnotes; i++)
        json_out_string(&out, r->capture->notes[i]);
    json_out_end_array(&out);
    json_out_end_object(&out);
    json_out_newline(&out);
    if (json_out_fini(&out) != SHD_OK && status == SHD_OK)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for JSON");
    return status;
}

/* ---- the matrix ---- */

int replay_matrix(const struct replay_report *r, struct figure *out, struct shd_error *err)
{
    size_t n = (size_t)r->capture->ndevices;
    uint128 *matrix;
    int status;

    if (n > LAYOUTS_MATRIX_MAX)
        return shd_error_set(err, SHD_ERANGE,
                             "a matrix of %zu devices is too large; the limit is %d devices", n,
                             LAYOUTS_MATRIX_MAX);
    matrix = calloc(n * n, sizeof *matrix);
    if (!matrix)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the matrix");
    status = sums_matrix(matrix, r->capture, err);
    out->title = figure_print(out, "%s: bytes from device to device in a step, %s in total",
                              r->capture->title, units_print_bytes(r->rows->received_bytes).text);
    if (status == SHD_OK)
        status = layouts_matrix(out, r->mesh, matrix, err);
    figure_add_note(out, "A row is a receiver, a column a sender; K is 1024 bytes.");
    free(matrix);
    return status;
}

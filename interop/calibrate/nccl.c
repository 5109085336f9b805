/* Reading logs of nccl-tests (nccl.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "calibrate/nccl.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/file.h"
#include "base/file_kind.h"
#include "calibrate/nccl_line.h"

#define FILE_BYTES_MAX ((size_t)16 << 20)
#define RANKS_MAX 1048576

struct table {
    const struct nccl_program *program; /* NULL: unknown */
    struct nccl_columns columns;
    int32_t nranks; /* from "nranks"; 0: unknown */
    int32_t listed; /* the highest rank in lines "# Rank", plus one */
    struct nccl_row *rows;
    int *lines;
    size_t n;
    size_t largest; /* the row with the largest size, whose figures have most digits */
    enum coll_kind kind;
};

struct log {
    struct samples *samples;
    const char *path, *hardware;
    struct diag *diag;
    struct table table; /* being read */
    size_t ntables;     /* with rows */
};

static struct place place_of(const struct log *log, size_t row)
{
    return (struct place){log->path, log->table.lines[row], 1};
}

/* ---- kind of collective ---- */

/* The ratio of busbw to algbw for n ranks. */
static double factor(enum coll_kind kind, double n)
{
    return (kind == COLL_ALL_REDUCE ? 2 : 1) * (n - 1) / n;
}

/* The ratio of a row's size to its operand's elements: 1 for an all-reduce, the number of ranks for
 * others; 0: unknown type. */
static double size_over_count(const struct nccl_row *row)
{
    double bytes = row->count * row->element_bytes;

    return bytes > 0 ? row->bytes / bytes : 0;
}

/* Guess the kind from the columns; false, with an error, if several kinds have such columns. */
static bool guess_kind(struct log *log)
{
    struct table *t = &log->table;
    const struct nccl_row *row = &t->rows[t->largest];
    double times = size_over_count(row), ratio = row->algbw > 0 ? row->busbw / row->algbw : 0;

    if (times == 1 && ratio > 1.05 && row->has_redop) {
        t->kind = COLL_ALL_REDUCE;
        return true;
    }
    if (times > 1 && row->has_redop) {
        t->kind = COLL_REDUCE_SCATTER;
        return true;
    }
    diag_error(log->diag, place_of(log, 0),
               "the collective of this table is unknown; add a line '# all_reduce_perf', '# "
               "all_gather_perf', '# reduce_scatter_perf' or '# alltoall_perf' before the table");
    return false;
}

static bool find_kind(struct log *log)
{
    struct table *t = &log->table;
    const struct nccl_row *row = &t->rows[t->largest];
    double times = size_over_count(row);
    bool reduces;

    if ((t->program && !t->program->is_fitted) || row->has_root) {
        diag_error(log->diag, place_of(log, 0),
                   "calibration does not support tables of %s; expected all_reduce_perf, "
                   "all_gather_perf, reduce_scatter_perf or alltoall_perf",
                   t->program ? t->program->name : "a collective with a root");
        return false;
    }
    if (!t->program)
        return guess_kind(log);
    t->kind = t->program->kind;
    reduces = t->kind == COLL_ALL_REDUCE || t->kind == COLL_REDUCE_SCATTER;
    if ((t->columns.redop < 0 || row->has_redop == reduces) &&
        (times == 0 || (times == 1) == (t->kind == COLL_ALL_REDUCE)))
        return true;
    diag_error(log->diag, place_of(log, t->largest),
               "size, count and redop of this row do not fit %s, the program that the log names",
               t->program->name);
    return false;
}

/* ---- number of ranks ---- */

/* The number of ranks from busbw / algbw; 0: too few digits, or one rank. */
static int32_t ranks_of_ratio(const struct table *t)
{
    const struct nccl_row *row = &t->rows[t->largest];
    double half = (t->kind == COLL_ALL_REDUCE ? 2 : 1) * row->algbw;
    double most = 1 - (row->busbw + 0.005) / (half - 0.005);
    double least = 1 - (row->busbw - 0.005) / (half + 0.005);
    double n = half > 0 ? 1 / (1 - row->busbw / half) : 0;

    /* Both figures are rounded to hundredths: the number of ranks is certain if no other rounds to
     * the same. */
    return half > 0.01 && most > 0 && n < RANKS_MAX && 1 / most - 1 / least < 1 ? (int32_t)lround(n)
                                                                                : 0;
}

/* The number of ranks; 0, with an error, if it is unknown or contradicts the columns. */
static int32_t find_ranks(const struct log *log)
{
    const struct table *t = &log->table;
    const struct nccl_row *row = &t->rows[t->largest];
    double times = size_over_count(row), ratio = row->algbw > 0 ? row->busbw / row->algbw : 0;
    int32_t n = t->nranks ? t->nranks : t->listed;

    if (n == 0 && t->kind != COLL_ALL_REDUCE && times >= 1 && times <= RANKS_MAX)
        n = (int32_t)times;
    if (n == 0)
        n = ranks_of_ratio(t);
    if (n == 0) {
        diag_error(log->diag, place_of(log, t->largest),
                   "the number of ranks is unknown; add a line '# nranks 8' before the table");
        return 0;
    }
    if (n == 1) {
        diag_error(
            log->diag, place_of(log, t->largest),
            "this table has one rank, so nothing is communicated; expected all ranks in one job "
            "(nccl-tests built with MPI=1, or -g 8)");
        return 0;
    }
    if (fabs(ratio / factor(t->kind, n) - 1) > 0.05 + 0.02 / (row->algbw > 0 ? row->algbw : 1) ||
        (t->kind != COLL_ALL_REDUCE && times > 0 && times != n)) {
        diag_error(log->diag, place_of(log, t->largest),
                   "busbw / algbw is %.3f, but %s of %" PRId32 " ranks has %.3f; check the number "
                   "of ranks",
                   ratio, coll_kind_name(t->kind), n, factor(t->kind, n));
        return 0;
    }
    return n;
}

/* ---- complete tables ---- */

static int make_set(const struct log *log, size_t *set, int32_t n)
{
    struct samples *samples = log->samples;
    struct diag *diag = log->diag;
    struct text name = TEXT_INIT;
    struct shd_error err;
    int status = SHD_OK;

    text_addf(&name, "%s of %" PRId32, coll_kind_name(log->table.kind), n);
    *set = name.failed ? SIZE_MAX : samples_set(samples, text_get(&name));
    text_fini(&name);
    if (*set == SIZE_MAX) {
        diag_no_memory(diag);
        return SHD_ENOMEM;
    }
    if (samples->sets[*set].hardware)
        return SHD_OK;
    status = hardware_find(&samples->sets[*set].hardware, log->hardware, NULL,
                           (struct place){.file = NULL}, diag);
    if (status == SHD_OK) {
        status = hardware_lay_out(samples->sets[*set].hardware, n, 1, NULL, &err);
        if (status != SHD_OK)
            diag_failure(diag, (struct place){.file = log->path}, status, "%s", err.text);
    }
    return status;
}

static void add_rows(const struct log *log, int32_t n)
{
    const struct table *t = &log->table;
    struct samples *samples = log->samples;
    struct diag *diag = log->diag;
    const char *const axis = "ranks";
    const uint8_t axes[] = {0};
    struct shd_mesh *mesh = NULL;
    struct shd_error err;
    size_t set;
    int status = make_set(log, &set, n);

    if (status == SHD_OK && shd_mesh_create(&mesh, &axis, &n, 1, &err) != SHD_OK)
        diag_no_memory(diag);
    for (size_t i = 0; i < t->n && mesh; i++) {
        struct text id = TEXT_INIT;
        struct sample s = {.set = set,
                           .kind = t->kind,
                           .hardware = samples->sets[set].hardware,
                           .measured_s = t->rows[i].us * 1e-6,
                           /* the size is that of the larger of operand and result */
                           .bytes = t->rows[i].bytes / (t->kind == COLL_ALL_GATHER ? n : 1)};

        text_addf(&id, "%.0f bytes", t->rows[i].bytes);
        s.id = text_take(&id);
        hardware_group_of(&s.group, s.hardware, mesh, axes, 1);
        if (!s.id || !samples_add(samples, &s))
            diag_no_memory(diag);
    }
    shd_mesh_destroy(mesh);
}

/* End the current table, if it has rows, and begin another. */
static void end_table(struct log *log)
{
    struct table *t = &log->table;
    int32_t n;

    if (t->n && find_kind(log)) {
        n = find_ranks(log);
        if (n > 0)
            add_rows(log, n);
    }
    log->ntables += t->n > 0;
    free(t->rows);
    free(t->lines);
    *t = (struct table){.columns = NCCL_COLUMNS_INIT};
}

/* ---- lines ---- */

static void bad_row(const struct log *log, int line)
{
    diag_error(log->diag, (struct place){log->path, line, 1},
               "not a row of nccl-tests; expected size, count, type, redop, root, time, algbw and "
               "busbw, as numbers, or the columns of the header line");
}

/* Whether algbw is size over time, to the printed digits; otherwise the columns are others. */
static bool fits(const struct nccl_row *row)
{
    double algbw = row->bytes / row->us * 1e-3;

    return fabs(row->algbw - algbw) <= 0.05 * algbw + 0.02;
}

static void add_row(struct log *log, const struct nccl_row *row, int line)
{
    struct table *t = &log->table;

    if (!array_make_room(&t->rows, t->n, sizeof *t->rows) ||
        !array_make_room(&t->lines, t->n, sizeof *t->lines)) {
        diag_no_memory(log->diag);
        return;
    }
    t->rows[t->n] = *row;
    t->lines[t->n] = line;
    if (row->bytes > t->rows[t->largest].bytes)
        t->largest = t->n;
    t->n++;
}

/* Add a row.  Rows of size 0 measure an empty call, which no model covers. */
static void take_row(struct log *log, const struct nccl_row *row, int line)
{
    if (row->bytes == 0)
        return;
    if (fits(row))
        add_row(log, row, line);
    else
        diag_error(log->diag, (struct place){log->path, line, 1},
                   "algbw is %.2f GB/s, but size / time is %.2f; expected times in microseconds "
                   "and nccl-tests' columns",
                   row->algbw, row->bytes / row->us * 1e-3);
}

/* Read a line that is neither a row nor column names. */
static void read_remark(struct log *log, const char *line)
{
    const struct nccl_program *program = nccl_line_program(line);
    int32_t ranks = nccl_line_ranks(line);
    const char *mark = strchr(line, '#'), *nranks = mark ? strstr(mark, "nranks") : NULL;
    long value = nranks ? strtol(nranks + strcspn(nranks, "0123456789"), NULL, 10) : 0;

    if (!program && !ranks && value <= 0 && !strstr(line, "nThread "))
        return;
    if (log->table.n)
        end_table(log);
    if (program)
        log->table.program = program;
    if (ranks > log->table.listed)
        log->table.listed = ranks;
    if (value > 0 && value <= RANKS_MAX)
        log->table.nranks = (int32_t)value;
}

/* Whether a line is a truncated row: it begins with a number, where rows are. */
static bool is_cut_row(const struct log *log, const char *line)
{
    size_t blank = strspn(line, " \t");

    return log->table.n && strspn(line + blank, "0123456789") > 0 &&
           strchr(" \t", line[blank + strspn(line + blank, "0123456789")]);
}

static void read_line(struct log *log, const char *line, int number)
{
    struct nccl_columns names;
    struct nccl_row row;

    switch (nccl_line_read(line, &log->table.columns, &row, &names)) {
    case NCCL_ROW:
        take_row(log, &row, number);
        return;
    case NCCL_BAD_ROW:
        bad_row(log, number);
        return;
    case NCCL_COLUMN_NAMES:
        if (log->table.n)
            end_table(log);
        log->table.columns = names;
        return;
    case NCCL_BAD_NAMES:
        diag_error(log->diag, (struct place){log->path, number, 1},
                   "columns time, algbw and busbw in this order are missing");
        return;
    default:
        if (is_cut_row(log, line))
            bad_row(log, number);
        else
            read_remark(log, line);
    }
}

static void read_lines(struct log *log, char *text)
{
    int line = 0;

    for (char *at = text; at && *at && !diag_is_full(log->diag) && !log->diag->no_memory;) {
        char *end = strchr(at, '\n');

        if (end)
            *end = '\0';
        read_line(log, at, ++line);
        at = end ? end + 1 : NULL;
    }
    if (log->table.n)
        end_table(log);
}

int nccl_read(struct samples *samples, const char *path, const char *hardware, struct diag *diag)
{
    size_t before = diag->nerrors;
    struct log log = {.samples = samples,
                      .path = path,
                      .hardware = hardware,
                      .diag = diag,
                      .table = {.columns = NCCL_COLUMNS_INIT}};
    struct text text = TEXT_INIT;
    struct shd_error err;
    int status = file_read(&text, path, FILE_BYTES_MAX, &err);

    if (status != SHD_OK)
        diag_failure(diag, (struct place){.file = path}, status, "%s", err.text);
    else if (!file_kind_refuse(diag, path, text_get(&text), text.length, FILE_NCCL))
        read_lines(&log, text.data);
    if (diag->nerrors == before && !diag->no_memory && log.ntables == 0)
        diag_error(diag, (struct place){.file = path},
                   "has no nccl-tests row; expected the table of sizes and times");
    free(log.table.rows);
    free(log.table.lines);
    text_fini(&text);
    return diag_status(diag, before);
}

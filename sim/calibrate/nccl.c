/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "calibrate/nccl.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/file_kind.h"

#define FILE_BYTES_MAX ((size_t)16 << 20)
#define RANKS_MAX 1048576
#define WORD_MAX 32
#define COLUMNS 8 /* up to busbw out of place */

enum { SIZE, COUNT, TYPE, REDOP, ROOT, TIME, ALGBW, BUSBW };

struct table {
    const char *path;
    enum coll_kind kind;
    int32_t nranks;      /* 0: not told */
    int32_t listed;      /* lines "# Rank" */
    struct sample *rows; /* size in `bytes`, time in measured_s, busbw over algbw in modelled_s */
    int *lines;
    size_t n;
};

static const struct {
    const char *perf;
    enum coll_kind kind;
} perfs[] = {{"all_reduce_perf", COLL_ALL_REDUCE},
             {"all_gather_perf", COLL_ALL_GATHER},
             {"reduce_scatter_perf", COLL_REDUCE_SCATTER},
             {"alltoall_perf", COLL_ALL_TO_ALL}};

/* ---- lines ---- */

static void read_remark(struct table *t, const char *line)
{
    const char *nranks = strstr(line, "nranks");
    long value = nranks ? strtol(nranks + strcspn(nranks, "0123456789"), NULL, 10) : 0;
    size_t blank = 1 + strspn(line + 1, " \t");

    for (size_t i = 0; i < sizeof perfs / sizeof *perfs; i++)
        if (strstr(line, perfs[i].perf))
            t->kind = perfs[i].kind;
    if (value > 0 && value <= RANKS_MAX)
        t->nranks = (int32_t)value;
    if (!strncmp(line + blank, "Rank ", 5) && t->listed < RANKS_MAX)
        t->listed++;
}

/* A number of a table; false: it is none, or not above 0. */
static bool number(double *out, const char *word)
{
    char *end;

    *out = strtod(word, &end);
    return end != word && !*end && isfinite(*out) && *out > 0;
}

static void read_row(struct table *t, const char *line, int number_of_line, struct diag *diag)
{
    struct place place = {t->path, number_of_line, 1};
    char words[COLUMNS][WORD_MAX];
    struct sample row = {.step = NULL}, *rows;
    double us, algbw, busbw;
    int *lines;
    int n = sscanf(line, "%31s %31s %31s %31s %31s %31s %31s %31s", words[0], words[1], words[2],
                   words[3], words[4], words[5], words[6], words[7]);

    if (n < COLUMNS || !number(&row.bytes, words[SIZE]) || !number(&us, words[TIME]) ||
        !number(&algbw, words[ALGBW]) || !number(&busbw, words[BUSBW])) {
        diag_error(diag, place,
                   "not a row of nccl-tests; expected size, count, type, redop, root, time, algbw "
                   "and busbw, in numbers above 0");
        return;
    }
    row.measured_s = us * 1e-6;
    row.modelled_s = busbw / algbw;
    rows = realloc(t->rows, (t->n + 1) * sizeof *rows);
    if (rows)
        t->rows = rows;
    lines = realloc(t->lines, (t->n + 1) * sizeof *lines);
    if (lines)
        t->lines = lines;
    if (!rows || !lines) {
        diag_no_memory(diag);
        return;
    }
    t->lines[t->n] = number_of_line;
    t->rows[t->n++] = row;
}

/* Lines of size 0 are there for the latency of nothing, which no model has. */
static bool is_empty(const char *line)
{
    size_t blank = strspn(line, " \t\r");

    return !line[blank] || (line[blank] == '0' && strchr(" \t", line[blank + 1]));
}

static void read_lines(struct table *t, char *text, struct diag *diag)
{
    int line = 0;

    for (char *at = text; at && *at;) {
        char *end = strchr(at, '\n');

        line++;
        if (end)
            *end = '\0';
        if (*at == '#')
            read_remark(t, at);
        else if (!is_empty(at))
            read_row(t, at, line, diag);
        at = end ? end + 1 : NULL;
    }
}

/* ---- the table as a whole ---- */

/* What busbw is over algbw among n ranks. */
static double factor(enum coll_kind kind, double n)
{
    return (kind == COLL_ALL_REDUCE ? 2 : 1) * (n - 1) / n;
}

/* How many ranks there were; 0, with an error: it is not told, or the rows have other ones. */
static int32_t find_ranks(const struct table *t, struct diag *diag)
{
    const struct sample *last = &t->rows[t->n - 1]; /* the largest size has most digits */
    int32_t n = t->nranks ? t->nranks : t->listed;
    struct place place = {t->path, t->lines[t->n - 1], 1};
    double ratio = last->modelled_s / (t->kind == COLL_ALL_REDUCE ? 2 : 1);

    if (n == 0 && ratio < 1)
        n = (int32_t)fmin(lround(1 / (1 - ratio)), RANKS_MAX);
    if (n < 2) {
        diag_error(diag, (struct place){.file = t->path},
                   "does not say how many ranks there are; expected a line '# nranks 8'");
        return 0;
    }
    if (fabs(last->modelled_s / factor(t->kind, n) - 1) > 0.05) {
        diag_error(diag, place,
                   "busbw is %.3f of algbw, which is not that of %s among %" PRId32
                   " ranks; expected %.3f",
                   last->modelled_s, coll_kind_name(t->kind), n, factor(t->kind, n));
        return 0;
    }
    return n;
}

static int make_set(struct samples *samples, size_t *set, const struct table *t, int32_t n,
                    const char *hardware, struct diag *diag)
{
    struct text name = TEXT_INIT;
    struct shd_error err;
    int status = SHD_OK;

    text_addf(&name, "%s of %" PRId32, coll_kind_name(t->kind), n);
    *set = name.failed ? SIZE_MAX : samples_set(samples, text_get(&name));
    text_fini(&name);
    if (*set == SIZE_MAX) {
        diag_no_memory(diag);
        return SHD_ENOMEM;
    }
    if (samples->sets[*set].hardware)
        return SHD_OK;
    status = hardware_find(&samples->sets[*set].hardware, hardware, NULL,
                           (struct place){.file = NULL}, diag);
    if (status == SHD_OK) {
        status = hardware_lay_out(samples->sets[*set].hardware, n, 1, NULL, &err);
        if (status != SHD_OK)
            diag_failure(diag, (struct place){.file = t->path}, status, "%s", err.text);
    }
    return status;
}

static void add_rows(struct samples *samples, struct table *t, int32_t n, const char *hardware,
                     struct diag *diag)
{
    const char *const axis = "ranks";
    const uint8_t axes[] = {0};
    struct shd_mesh *mesh = NULL;
    struct shd_error err;
    size_t set;
    int status = make_set(samples, &set, t, n, hardware, diag);

    if (status == SHD_OK && shd_mesh_create(&mesh, &axis, &n, 1, &err) != SHD_OK)
        diag_no_memory(diag);
    for (size_t i = 0; i < t->n && mesh; i++) {
        struct text id = TEXT_INIT;
        struct sample s = {.set = set,
                           .kind = t->kind,
                           .hardware = samples->sets[set].hardware,
                           .measured_s = t->rows[i].measured_s,
                           /* The size is of the larger of operand and result. */
                           .bytes = t->rows[i].bytes / (t->kind == COLL_ALL_GATHER ? n : 1)};

        text_addf(&id, "%.0f bytes", t->rows[i].bytes);
        s.id = text_take(&id);
        hardware_group_of(&s.group, s.hardware, mesh, axes, 1);
        if (!s.id || !samples_add(samples, &s))
            diag_no_memory(diag);
    }
    shd_mesh_destroy(mesh);
}

int nccl_read(struct samples *samples, const char *path, const char *hardware, struct diag *diag)
{
    size_t before = diag->nerrors;
    struct table t = {.path = path, .kind = COLL_ALL_REDUCE};
    struct text text = TEXT_INIT;
    struct shd_error err;
    int status = file_read(&text, path, FILE_BYTES_MAX, &err);
    int32_t n;

    if (status != SHD_OK)
        diag_failure(diag, (struct place){.file = path}, status, "%s", err.text);
    else if (!file_kind_refuse(diag, path, text_get(&text), text.length, FILE_NCCL))
        read_lines(&t, text.data, diag);
    if (diag->nerrors == before && !diag->no_memory && t.n == 0)
        diag_error(diag, (struct place){.file = path},
                   "has no row of nccl-tests; expected its table of sizes and times");
    if (diag->nerrors == before && !diag->no_memory) {
        n = find_ranks(&t, diag);
        if (n > 0)
            add_rows(samples, &t, n, hardware, diag);
    }
    free(t.rows);
    free(t.lines);
    text_fini(&text);
    return diag_status(diag, before);
}

/* Reading measured kernels (kernel_rows.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "calibrate/kernel_rows.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/hash.h"
#include "base/text.h"
#include "hardware/kernel_row.h"
#include "hardware/kernel_work.h"

#define LINE_MAX_BYTES 1024
#define COLUMNS_MAX 32
#define MICRO 1e-6

/* A table that is being read, and its line. */
struct table {
    struct kernel_tables *to;
    struct diag *diag;
    struct hardware served; /* the device, with the models that are fitted already */
    const char *file;
    int line;
    size_t ncolumns;
    char heads[LINE_MAX_BYTES], text[LINE_MAX_BYTES];
    const char *head[COLUMNS_MAX];
    const char *word[COLUMNS_MAX]; /* of the line */
    bool wrong;
};

static struct place here(const struct table *t)
{
    return (struct place){t->file, t->line, 1};
}

/* ---- columns ---- */

/* Cut a line at its commas; too many columns are counted on. */
static size_t split(const char **words, char *line)
{
    size_t n = 0;

    line[strcspn(line, "\r\n")] = '\0';
    for (char *at = line; at; n++) {
        char *comma = strchr(at, ',');

        if (comma)
            *comma = '\0';
        if (n < COLUMNS_MAX)
            words[n] = at;
        at = comma ? comma + 1 : NULL;
    }
    return n;
}

/* The word of a column; "" if there is none, which is told once a table. */
static const char *word_of(void *arg, const char *column)
{
    struct table *t = arg;

    for (size_t c = 0; c < t->ncolumns; c++)
        if (!strcmp(t->head[c], column))
            return t->word[c];
    if (!t->wrong)
        diag_error(t->diag, here(t), "the table has no column '%s'", column);
    t->wrong = true;
    return "";
}

/* A number of at least 0. */
static double number_of(void *arg, const char *column)
{
    struct table *t = arg;
    const char *word = word_of(t, column);
    char *end;
    double value = strtod(word, &end);

    if (!t->wrong && (end == word || *end || !isfinite(value) || value < 0)) {
        diag_error(t->diag, here(t), "%s is '%.40s'; expected a number of at least 0", column,
                   word);
        t->wrong = true;
    }
    return value;
}

/* ---- rows ---- */

static bool is_of_row(const struct kernel_samples *s, const struct kernel_row *row)
{
    return s->kernel == row->kernel && s->type == row->type && !strcmp(s->name, row->name);
}

/* The samples of a row's kernel, type and name, begun if it is the first; NULL: no memory, which is
 * told. */
static struct kernel_samples *samples_of(struct table *t, const struct kernel_row *row)
{
    struct kernel_tables *to = t->to;
    struct kernel_samples *items = to->items;

    for (size_t i = to->n; i-- > 0;)
        if (is_of_row(&to->items[i], row))
            return &to->items[i];
    if (to->n == to->room) {
        to->room = to->room ? 2 * to->room : 64;
        items = realloc(to->items, to->room * sizeof *items);
    }
    if (!items) {
        to->room = to->n;
        diag_no_memory(t->diag);
        return NULL;
    }
    to->items = items;
    items[to->n] = (struct kernel_samples){.kernel = row->kernel, .type = row->type};
    memcpy(items[to->n].name, row->name, sizeof row->name);
    items[to->n].peaks = kernel_work_peaks(to->hardware, row->type);
    return &items[to->n++];
}

static void add(struct table *t, const struct kernel_row *row, double seconds)
{
    struct kernel_samples *s = samples_of(t, row);

    if (!s)
        return;
    if (s->n == s->room) {
        size_t room = s->room ? 2 * s->room : 1024;
        struct kernel_sample *items = realloc(s->items, room * sizeof *items);

        if (!items) {
            diag_no_memory(t->diag);
            return;
        }
        s->items = items;
        s->room = room;
    }
    s->items[s->n++] =
        (struct kernel_sample){.sizes = row->sizes,
                               .seconds = seconds,
                               .others_s = kernel_row_copies_seconds(&t->served, row),
                               .count = row->count,
                               .shape = hash_bytes(HASH_BEGIN, (const char *)row->shape,
                                                   (size_t)row->nshape * sizeof *row->shape) >>
                                        8};
}

static void read_row(struct table *t, const struct kernel_table *kind)
{
    const struct kernel_columns columns = {.arg = t, .word = word_of, .number = number_of};
    double seconds = number_of(t, kind->time) * MICRO;
    struct kernel_row row;

    kernel_row_read(&row, kind, &columns);
    if (t->wrong)
        return;
    if (row.kernel < KERNEL_NKERNELS && row.type < KERNEL_NTYPES && !row.unlike && seconds > 0)
        add(t, &row, seconds);
    else
        t->to->left_out++;
}

/* ---- files ---- */

static bool next_line(struct table *t, char *out, gzFile file)
{
    if (!gzgets(file, out, LINE_MAX_BYTES))
        return false;
    t->line++;
    if (strchr(out, '\n') || gzeof(file))
        return true;
    diag_error(t->diag, here(t), "a line of more than %d bytes; expected a CSV table",
               LINE_MAX_BYTES - 1);
    return false;
}

static void read_lines(struct table *t, const struct kernel_table *kind, gzFile file)
{
    if (!next_line(t, t->heads, file))
        return;
    t->ncolumns = split(t->head, t->heads);
    if (t->ncolumns > COLUMNS_MAX) {
        diag_error(t->diag, here(t), "%zu columns; expected at most %d", t->ncolumns, COLUMNS_MAX);
        return;
    }
    while (!t->wrong && !t->diag->no_memory && next_line(t, t->text, file)) {
        size_t n = split(t->word, t->text);

        if (n == t->ncolumns)
            read_row(t, kind);
        else
            diag_error(t->diag, here(t), "%zu columns; expected %zu as in the first line", n,
                       t->ncolumns);
        t->wrong |= n != t->ncolumns;
    }
}

static void read_file(struct kernel_tables *to, const char *path, const struct kernel_table *kind,
                      struct diag *diag)
{
    struct table *t = calloc(1, sizeof *t);
    gzFile file = gzopen(path, "rb");
    int fault = Z_OK;

    if (t && file) {
        t->to = to;
        t->served = hardware_as_served(to->hardware);
        t->served.models = to->models;
        t->diag = diag;
        t->file = path;
        read_lines(t, kind, file);
        (void)gzerror(file, &fault);
        to->files++;
    }
    if (!t)
        diag_no_memory(diag);
    else if (!file || fault < 0)
        diag_error(diag, (struct place){path, 1, 1}, "cannot be read: %s",
                   file ? "it is damaged" : strerror(errno));
    if (file)
        gzclose(file);
    free(t);
}

/* Whether a table of a device is one of a cluster: "b200_sxm" is of "b200". */
static bool is_of(const char *cluster, const char *device, size_t length)
{
    size_t i = 0;

    while (i < length && cluster[i] &&
           (cluster[i] == device[i] || (cluster[i] == '-' && device[i] == '_')))
        i++;
    return i > 0 && (i == length || device[i] == '_' || device[i] == '-') &&
           (!cluster[i] || cluster[i] == '-');
}

/* The kind of the table with a file's name, if it is of the cluster's device. */
static const struct kernel_table *kind_of(const char *name, const char *cluster)
{
    for (const struct kernel_table *kind = kernel_row_tables; kind->name; kind++) {
        size_t length = strlen(kind->name);
        const char *dash = strrchr(name, '-');

        if (dash && !strncmp(dash + 1, kind->name, length) &&
            (!strcmp(dash + 1 + length, ".csv") || !strcmp(dash + 1 + length, ".csv.gz")) &&
            is_of(cluster, name, (size_t)(dash - name)))
            return kind;
    }
    return NULL;
}

static int by_kernel(const void *a, const void *b)
{
    const struct kernel_samples *x = a, *y = b;

    if (x->kernel != y->kernel)
        return x->kernel < y->kernel ? -1 : 1;
    if (x->type != y->type && !*x->name)
        return x->type < y->type ? -1 : 1;
    return strcmp(x->name, y->name);
}

int kernel_tables_read(struct kernel_tables *tables, const char *folder, bool copies,
                       struct diag *diag)
{
    size_t before = diag->nerrors;
    struct dirent **names = NULL;
    int n = scandir(folder, &names, NULL, alphasort);

    if (n < 0)
        diag_error(diag, (struct place){folder, 1, 1}, "cannot be read: %s", strerror(errno));
    for (int i = 0; i < n; i++) {
        const struct kernel_table *kind = kind_of(names[i]->d_name, tables->hardware->name);
        struct text path = TEXT_INIT;

        text_addf(&path, "%s/%s", folder, names[i]->d_name);
        if (path.failed)
            diag_no_memory(diag);
        else if (kind && kind->copies == copies)
            read_file(tables, text_get(&path), kind, diag);
        text_fini(&path);
        free(names[i]);
    }
    free(names);
    if (tables->n > 0)
        qsort(tables->items, tables->n, sizeof *tables->items, by_kernel);
    return diag_status(diag, before);
}

void kernel_tables_fini(struct kernel_tables *tables)
{
    for (size_t i = 0; i < tables->n; i++)
        free(tables->items[i].items);
    free(tables->items);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "search/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/hash.h"

#define HEAD "shardsim search journal "
#define HEAD_MAX 512 /* most bytes of the head line */
#define BYTES_MAX ((size_t)1 << 30)

struct row {
    struct layout layout;
    struct plan plan;
};

struct journal {
    const char *path;
    FILE *file;
    struct row *rows; /* sorted by layout */
    size_t nrows;
    int failure; /* errno of the first write that failed; 0: none */
};

#define FITS "fits"
#define TOO_BIG "too-big"

/* Figures in the order of a line. */
static const size_t fields[] = {offsetof(struct modelled_figures, step_s),
                                offsetof(struct modelled_figures, mfu),
                                offsetof(struct modelled_figures, mfu_causal_half),
                                offsetof(struct modelled_figures, hfu),
                                offsetof(struct modelled_figures, compute_s),
                                offsetof(struct modelled_figures, exposed_s),
                                offsetof(struct modelled_figures, bubble_s),
                                offsetof(struct modelled_figures, update_s),
                                offsetof(struct modelled_figures, tokens_per_s),
                                offsetof(struct modelled_figures, memory_bytes),
                                offsetof(struct modelled_figures, expected_error)};
#define NFIELDS (sizeof fields / sizeof fields[0])

static double *field_of(struct modelled_figures *figures, size_t k)
{
    return (double *)(void *)((char *)figures + fields[k]);
}

static uint64_t hash_of(const char *text, size_t length)
{
    return hash_bytes(HASH_BEGIN, text, length);
}

/* ---- lines ---- */

/* "4 16 1 ... fits 1 5.98 0.445 ... #0123456789abcdef" */
static void print_row(struct text *out, const struct row *row)
{
    struct modelled_figures figures = row->plan.figures;

    for (int c = 0; c < SPACE_NCHOICES; c++)
        text_addf(out, "%" PRId32 " ", row->layout.value[c]);
    text_addf(out, "%s %d", row->plan.state == VARIANT_FITS ? FITS : TOO_BIG, figures.fits);
    for (size_t k = 0; k < NFIELDS; k++)
        text_addf(out, " %a", *field_of(&figures, k));
    text_addf(out, " %" PRIx64, row->plan.program);
    text_addf(out, " #%016" PRIx64 "\n", hash_of(text_get(out), out->length));
}

/* The next word of a line, ended by a NUL in place of its blank; NULL: there is none. */
static char *word_of(char **at)
{
    char *word = *at, *end = strchr(word, ' ');

    if (!*word)
        return NULL;
    if (end)
        *end = '\0';
    *at = end ? end + 1 : word + strlen(word);
    return word;
}

static bool parse_int(int32_t *out, char **at)
{
    char *word = word_of(at), *end;
    long value = word ? strtol(word, &end, 10) : 0;

    if (!word || end == word || *end || value < INT32_MIN || value > INT32_MAX)
        return false;
    *out = (int32_t)value;
    return true;
}

static bool parse_double(double *out, char **at)
{
    char *word = word_of(at), *end;

    if (!word)
        return false;
    *out = strtod(word, &end);
    return end != word && !*end && isfinite(*out);
}

static bool parse_hash(uint64_t *out, char **at)
{
    char *word = word_of(at), *end;

    if (!word)
        return false;
    *out = strtoull(word, &end, 16);
    return end != word && !*end;
}

static bool parse_state(enum variant_outcome *out, char **at)
{
    const char *word = word_of(at);

    *out = word && !strcmp(word, FITS) ? VARIANT_FITS : VARIANT_TOO_BIG;
    return word && (*out == VARIANT_FITS || !strcmp(word, TOO_BIG));
}

/* Parse a line without its newline; modifies the line.  False: the line is damaged. */
static bool parse_row(struct row *out, char *line)
{
    char *hash = strrchr(line, '#'), *end;
    struct row row = {.plan.state = VARIANT_REFUSED};
    int32_t fits = 0;
    bool good;

    if (!hash || hash == line || strlen(hash) != 17 ||
        strtoull(hash + 1, &end, 16) != hash_of(line, (size_t)(hash - 1 - line)) || *end)
        return false;
    hash[-1] = '\0';
    good = true;
    for (int c = 0; c < SPACE_NCHOICES && good; c++)
        good = parse_int(&row.layout.value[c], &line);
    good = good && parse_state(&row.plan.state, &line) && parse_int(&fits, &line);
    for (size_t k = 0; k < NFIELDS && good; k++)
        good = parse_double(field_of(&row.plan.figures, k), &line);
    good = good && parse_hash(&row.plan.program, &line);
    row.plan.figures.fits = fits != 0;
    *out = row;
    return good && !*line;
}

/* ---- the head ---- */

/* Everything that a layout's plan depends on; a cluster counts by its file's content, not its
 * name. */
static const struct {
    const char *name, *what; /* in the head, and in the message about a difference */
} head_parts[] = {{"journal", "format"},
                  {"by", "version of the program"},
                  {"scenario", "scenario"},
                  {"cluster", "content of the cluster's file"},
                  {"devices", "count of devices"}};
#define NHEAD_PARTS (sizeof head_parts / sizeof head_parts[0])

static void print_head(struct text *out, const struct subject *subject)
{
    text_addf(out,
              HEAD "5, by %s, scenario %016" PRIx64 ", cluster %016" PRIx64 ", devices %" PRId64
                   "\n",
              PACKAGE_VERSION, hash_of(text_get(&subject->text), subject->text.length),
              subject->hardware->text_hash, subject->space.devices);
}

/* The first part in which a line differs from the expected head; NULL: the line is no head. */
static const char *find_other(const char *line, const char *head)
{
    for (size_t i = 0; i < NHEAD_PARTS; i++) {
        const char *is = strstr(line, head_parts[i].name),
                   *wanted = strstr(head, head_parts[i].name);
        size_t n = strcspn(wanted, ",\n");

        if (!is)
            return NULL;
        if (strncmp(is, wanted, n) != 0 || strcspn(is, ",\n") != n)
            return head_parts[i].what;
    }
    return NULL;
}

/* ---- reading ---- */

static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a, *y = b;

    return memcmp(&x->layout, &y->layout, sizeof x->layout);
}

static int damaged(const struct journal *j, size_t line, const char *what, struct shd_error *err)
{
    return shd_error_set(err, SHD_EINVAL,
                         "%s:%zu: %s; remove the file to start over, or name another", j->path,
                         line, what);
}

/* Each line ends with a newline; text after the last newline was cut short and is dropped. */
static int parse_rows(struct journal *j, char *text, size_t line, struct shd_error *err)
{
    char *end;

    for (; (end = strchr(text, '\n')); text = end + 1, line++) {
        if (!array_make_room(&j->rows, j->nrows, sizeof *j->rows))
            return shd_error_set(err, SHD_ENOMEM, "no memory for %s", j->path);
        *end = '\0';
        if (!parse_row(&j->rows[j->nrows], text))
            return damaged(j, line, "this line of the journal is damaged", err);
        j->nrows++;
    }
    return SHD_OK;
}

static int check_head(const struct journal *j, const char *text, const struct text *head,
                      struct shd_error *err)
{
    char line[HEAD_MAX], why[HEAD_MAX];
    const char *other = NULL;

    if (!strncmp(text, text_get(head), head->length))
        return SHD_OK;
    snprintf(line, sizeof line, "%.*s", (int)strcspn(text, "\n"), text);
    if (!strncmp(text, HEAD, strlen(HEAD)))
        other = find_other(line, text_get(head));
    if (!other)
        return damaged(j, 1, "this is not the journal of a search", err);
    snprintf(why, sizeof why, "this is the journal of another %s", other);
    return damaged(j, 1, why, err);
}

/* Read the rows of a file; *nbytes becomes the length of its whole lines. */
static int read_rows(struct journal *j, size_t *nbytes, const struct text *head,
                     struct shd_error *err)
{
    struct text text = TEXT_INIT;
    struct shd_error why;
    int status = file_read(&text, j->path, BYTES_MAX, &why);

    *nbytes = 0;
    if (status != SHD_OK)
        (void)shd_error_set(err, status, "%s: %s", j->path, why.text);
    for (size_t i = 0; i < text.length; i++)
        if (text.data[i] == '\n')
            *nbytes = i + 1;
    if (status == SHD_OK && text.length > 0 && memchr(text.data, '\0', text.length))
        status = damaged(j, 1, "this is not the journal of a search", err);
    if (status == SHD_OK && *nbytes == 0 &&
        strncmp(text_get(&text), text_get(head), text.length) !=
            0) /* not even a part of the head */
        status = damaged(j, 1, "this is not the journal of a search", err);
    if (status == SHD_OK && *nbytes > 0)
        status = check_head(j, text_get(&text), head, err);
    if (status == SHD_OK && *nbytes > 0)
        status = parse_rows(j, text.data + head->length, 2, err);
    text_fini(&text);
    return status;
}

/* Plan the first row's layout again: the figures must be equal to the last bit. */
static int plan_first(const struct journal *j, const struct subject *subject, struct shd_error *err)
{
    struct plan plan;
    struct shd_error why;
    int status = j->nrows ? plan_layout(&plan, subject, &j->rows[0].layout, &why) : SHD_OK;

    if (status != SHD_OK)
        return shd_error_set(err, status, "no memory for plans");
    if (j->nrows == 0)
        return SHD_OK;
    for (size_t k = 0; k < NFIELDS; k++)
        if (*field_of(&plan.figures, k) != *field_of(&j->rows[0].plan.figures, k))
            return damaged(j, 2,
                           "this layout is planned differently now: the program or the cluster's "
                           "file has changed",
                           err);
    return plan.state == j->rows[0].plan.state
               ? SHD_OK
               : damaged(j, 2, "this layout is planned differently now", err);
}

/* ---- writing ---- */

static int failed(const struct journal *j, struct shd_error *err)
{
    return shd_error_set(err, SHD_ESYSTEM, "cannot write %s: %s", j->path, strerror(errno));
}

/* Write a line.  A disk that is full ends the journal and not the search. */
static int put(struct journal *j, const struct text *text, struct shd_error *err)
{
    if (text->failed)
        return shd_error_set(err, SHD_ENOMEM, "no memory for a line of %s", j->path);
    if (!j->failure &&
        (fwrite(text_get(text), 1, text->length, j->file) != text->length || fflush(j->file) != 0))
        j->failure = errno;
    return SHD_OK;
}

int journal_check(const struct journal *j, struct shd_error *err)
{
    return !j || !j->failure ? SHD_OK
                             : shd_error_set(err, SHD_ESYSTEM,
                                             "cannot write %s: %s; the journal lacks plans of this "
                                             "search",
                                             j->path, strerror(j->failure));
}

int journal_add(struct journal *j, const struct layout *layout, const struct plan *plan,
                struct shd_error *err)
{
    struct text text = TEXT_INIT;
    struct row row = {*layout, *plan};
    int status;

    if (plan->state == VARIANT_REFUSED)
        return SHD_OK;
    print_row(&text, &row);
    status = put(j, &text, err);
    text_fini(&text);
    return status;
}

/* Open or create the file and lock it for this search alone; the system releases the lock when the
 * program ends, however that happens. */
static int take(struct journal *j, struct shd_error *err)
{
    int fd = open(j->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666), code;

    j->file = fd < 0 ? NULL : fdopen(fd, "r+");
    if (!j->file) {
        code = errno;
        if (fd >= 0)
            close(fd);
        errno = code;
        return failed(j, err);
    }
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return SHD_OK;
    if (errno == EWOULDBLOCK)
        return shd_error_set(
            err, SHD_ESYSTEM,
            "%s: another search is using it; wait for its end, or name another journal", j->path);
    return failed(j, err);
}

/* Continue after the whole lines of the file, or write a head. */
static int begin(struct journal *j, size_t nbytes, const struct text *head, struct shd_error *err)
{
    struct stat info;

    if (fstat(fileno(j->file), &info) < 0 ||
        (S_ISREG(info.st_mode) && ftruncate(fileno(j->file), (off_t)nbytes) < 0) ||
        (nbytes > 0 && fseek(j->file, (long)nbytes, SEEK_SET) != 0))
        return failed(j, err);
    return nbytes > 0 ? SHD_OK : put(j, head, err);
}

int journal_open(struct journal **out, const char *path, const struct subject *subject,
                 struct shd_error *err)
{
    struct journal *j = calloc(1, sizeof *j);
    struct text head = TEXT_INIT;
    size_t nbytes = 0;
    int status = SHD_OK;

    print_head(&head, subject);
    if (!j || head.failed)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for %s", path);
    else
        j->path = path;
    if (status == SHD_OK)
        status = take(j, err);
    if (status == SHD_OK)
        status = read_rows(j, &nbytes, &head, err);
    if (status == SHD_OK)
        status = plan_first(j, subject, err);
    if (status == SHD_OK)
        status = begin(j, nbytes, &head, err);
    text_fini(&head);
    if (status != SHD_OK) {
        journal_close(j);
        return status;
    }
    if (j->nrows > 1)
        qsort(j->rows, j->nrows, sizeof *j->rows, compare_rows);
    *out = j;
    return SHD_OK;
}

const struct plan *journal_find(const struct journal *j, const struct layout *layout)
{
    struct row key = {.layout = *layout};
    const struct row *row =
        j && j->nrows ? bsearch(&key, j->rows, j->nrows, sizeof *j->rows, compare_rows) : NULL;

    return row ? &row->plan : NULL;
}

void journal_close(struct journal *j)
{
    if (!j)
        return;
    if (j->file)
        (void)fclose(j->file); /* what could not be written is lost, as journal_check() tells */
    free(j->rows);
    free(j);
}

/* Parsing lines of nccl-tests logs (nccl_line.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "calibrate/nccl_line.h"
#include "base/decimal.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 16 /* columns that are read */
#define WORD_MAX 32
#define RANKS_MAX 1048576

/* ---- words ---- */

struct words {
    char at[WORDS_MAX][WORD_MAX];
    int n;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Split a line at blanks.  Words that are too long are cut, and then match no number or name. */
static void split(struct words *out, const char *line)
{
    out->n = 0;
    while (out->n < WORDS_MAX) {
        size_t length = 0;

        while (is_blank(*line))
            line++;
        if (!*line)
            return;
        for (; *line && !is_blank(*line); line++)
            if (length < WORD_MAX - 1)
                out->at[out->n][length++] = *line;
        out->at[out->n++][length] = '\0';
    }
}

static int find(const struct words *words, const char *name)
{
    for (int i = 0; i < words->n; i++)
        if (!strcmp(words->at[i], name))
            return i;
    return -1;
}

/* Read a number of at least 0. */
static bool number(double *out, const struct words *words, int column)
{
    char *end;

    if (column < 0 || column >= words->n)
        return false;
    *out = decimal_read(words->at[column], &end);
    return end != words->at[column] && !*end && isfinite(*out) && *out >= 0;
}

/* ---- rows ---- */

/* Bytes of an element by the type names of nccl-tests and rccl-tests; 0: unknown. */
static double element_bytes(const char *type)
{
    static const struct {
        const char *name;
        int bytes;
    } types[] = {{"int8", 1},     {"uint8", 1},    {"char", 1},     {"f8e4m3", 1},
                 {"f8e5m2", 1},   {"fp8_e4m3", 1}, {"fp8_e5m2", 1}, {"half", 2},
                 {"int", 4},      {"int32", 4},    {"uint32", 4},   {"float", 4},
                 {"bfloat16", 2}, {"int64", 8},    {"uint64", 8},   {"double", 8}};

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(type, types[i].name))
            return types[i].bytes;
    return 0;
}

/* Skip digits and the blanks after them; NULL if either is missing. */
static const char *past_whole(const char *at)
{
    size_t digits = strspn(at, "0123456789");

    return digits && is_blank(at[digits]) ? at + digits + strspn(at + digits, " \t") : NULL;
}

/* Find where two integers and a word begin, at the start of the line or after a character that
 * cannot be part of a number. */
static const char *find_row(const char *line, bool known_type)
{
    for (const char *at = line; *at; at++) {
        const char *behind;
        struct words words;

        if (!isdigit((unsigned char)*at) ||
            (at > line && (isalnum((unsigned char)at[-1]) || strchr("._-", at[-1]))))
            continue;
        behind = past_whole(at);
        behind = behind ? past_whole(behind) : NULL;
        if (!behind || !isalpha((unsigned char)*behind))
            continue;
        split(&words, behind);
        if (!known_type || element_bytes(words.at[0]))
            return at;
    }
    return NULL;
}

static bool read_row(struct nccl_row *row, const char *text, const struct nccl_columns *columns)
{
    struct words words;
    int root = columns->root;

    split(&words, text);
    if (!number(&row->bytes, &words, 0) || !number(&row->count, &words, 1) || words.n < 3 ||
        !number(&row->us, &words, columns->time) || !number(&row->algbw, &words, columns->algbw) ||
        !number(&row->busbw, &words, columns->busbw) || (row->bytes > 0 && row->us <= 0))
        return false;
    row->element_bytes = element_bytes(words.at[2]);
    row->has_redop = columns->redop >= 0 && strcmp(words.at[columns->redop], "none") != 0;
    row->has_root = root >= 0 && root < words.n && isdigit((unsigned char)*words.at[root]);
    return true;
}

/* ---- the names of the columns ---- */

static bool are_names(const struct words *words, int size)
{
    return size >= 0 && size + 1 < words->n && !strcmp(words->at[size + 1], "count") &&
           find(words, "busbw") > size;
}

static enum nccl_line read_names(struct nccl_columns *out, const struct words *words, int size)
{
    const char *const names[] = {"redop", "root", "time", "algbw", "busbw"};
    int at[5];

    for (int i = 0; i < 5; i++) {
        at[i] = find(words, names[i]);
        at[i] = at[i] > size ? at[i] - size : -1;
    }
    *out = (struct nccl_columns){at[0], at[1], at[2], at[3], at[4]};
    return out->time > 0 && out->algbw > out->time && out->busbw > out->algbw ? NCCL_COLUMN_NAMES
                                                                              : NCCL_BAD_NAMES;
}

/* ---- lines ---- */

enum nccl_line nccl_line_read(const char *line, const struct nccl_columns *columns,
                              struct nccl_row *row, struct nccl_columns *names)
{
    const char *text = find_row(line, true);
    struct words words;
    int size;

    if (text)
        return read_row(row, text, columns) ? NCCL_ROW : NCCL_BAD_ROW;
    text = strchr(line, '#');
    split(&words, text ? text + 1 : line);
    size = find(&words, "size");
    if (are_names(&words, size))
        return read_names(names, &words, size);
    /* an unknown type: the rest must then be as in a row */
    text = text ? NULL : find_row(line, false);
    return text && read_row(row, text, columns) ? NCCL_ROW : NCCL_OTHER;
}

const struct nccl_program *nccl_line_program(const char *line)
{
    static const struct nccl_program programs[] = {
        {"all_gather_perf", true, COLL_ALL_GATHER},
        {"all_reduce_perf", true, COLL_ALL_REDUCE},
        {"alltoall_perf", true, COLL_ALL_TO_ALL},
        {"reduce_scatter_perf", true, COLL_REDUCE_SCATTER},
        {.name = "all_reduce_bias_perf"},
        {.name = "alltoallv_perf"},
        {.name = "broadcast_perf"},
        {.name = "gather_perf"},
        {.name = "hypercube_perf"},
        {.name = "reduce_perf"},
        {.name = "scatter_perf"},
        {.name = "sendrecv_perf"}};
    const struct nccl_program *found = NULL;
    const char *last = line;

    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        for (const char *at = line; (at = strstr(at, programs[i].name)); at++)
            if ((at == line || (!isalnum((unsigned char)at[-1]) && at[-1] != '_')) && at >= last) {
                found = &programs[i];
                last = at;
            }
    return found;
}

int32_t nccl_line_ranks(const char *line)
{
    const char *at = strstr(line, "Rank ");
    unsigned long rank;
    char *end;

    if (!at)
        return 0;
    rank = strtoul(at + 5, &end, 10);
    if (end == at + 5 || rank >= RANKS_MAX)
        return 0;
    end += strspn(end, " \t");
    return !strncmp(end, "Group ", 6) || !strncmp(end, "Pid ", 4) ? (int32_t)rank + 1 : 0;
}

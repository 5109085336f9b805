/* Reads what `shardsim export` keeps in comments of a file because the other system has no option
 * for it, so that the file comes back as the scenario that it was made of:
 *
 * # shardsim: recompute.whole=false moe.routing=learned
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stddef.h>
#include <string.h>

#include "training/job.h"

#define BEGINS "# shardsim: "

static const char *const truths[] = {"false", "true", NULL};
static const char *const routings[] = {"auto", "learned", "uniform", NULL};
static const char *const gathered[] = {"again", "keep", NULL};

/* Options of a scenario that remarks have. */
static const struct {
    const char *option;
    size_t field; /* a const char *, of struct import_job */
    const char *const *words;
} remarks[] = {
    {"recompute.whole", offsetof(struct import_job, kept_whole), truths},
    {"moe.routing", offsetof(struct import_job, kept_routing), routings},
    {"gathered", offsetof(struct import_job, kept_gathered), gathered},
};

/* Set the field of "OPTION=VALUE"; false: there is no such option or value. */
static bool set(struct import_job *job, const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof remarks / sizeof *remarks; i++) {
        size_t n = strlen(remarks[i].option);

        if (length <= n || strncmp(word, remarks[i].option, n) != 0 || word[n] != '=')
            continue;
        for (const char *const *w = remarks[i].words; *w; w++)
            if (strlen(*w) == length - n - 1 && !strncmp(*w, word + n + 1, length - n - 1)) {
                *(const char **)(void *)((char *)job + remarks[i].field) = *w;
                return true;
            }
    }
    return false;
}

static void read_line(struct import_job *job, const char *line, size_t length, struct place place,
                      struct diag *diag)
{
    const char *at = line + strlen(BEGINS), *end = line + length, *word;

    while (at < end) {
        size_t n;

        at += strspn(at, " \t\r");
        word = at;
        n = strcspn(at, " \t\r\n");
        at += n;
        if (n == 0 || word >= end || set(job, word, n))
            continue;
        place.column = (int)(word - line) + 1;
        diag_error(diag, place,
                   "unknown remark '%.*s' in an exported comment; expected recompute.whole, "
                   "moe.routing or gathered with a value, or none",
                   n < 60 ? (int)n : 60, word);
    }
}

void import_job_read_remarks(struct import_job *job, struct place first, const char *text,
                             struct diag *diag)
{
    struct place place = first;

    for (place.column = 1; *text && !diag_is_full(diag); place.line++) {
        size_t length = strcspn(text, "\n");

        if (!strncmp(text, BEGINS, strlen(BEGINS)))
            read_line(job, text, length, place, diag);
        text += length + (text[length] == '\n');
    }
}

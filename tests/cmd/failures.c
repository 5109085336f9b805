/* Tests the program when a request for memory or a thread fails, or a file takes no more bytes: it
 * gives the same answer, or exits with status 3, a message, and nothing half-written.
 *
 * usage: failures [CASE...]           a sample of every case (or of those named), as TAP
 *        failures --whole [CASE...]   every request of every case, as a table in Markdown
 *        failures --at N CASE         the one try where request N fails, and what it printed
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"
#include "failures_cases.h"
#include "failures_try.h"
#include "../support/tap.h"

#define NSAMPLES 24       /* requests tried per case if only a sample is tried */
#define NSAMPLES_SMALL 8  /* the same for SHD_TEST_SIZE=small */
#define NWRITE_SAMPLES 64 /* byte counts tried per case if all requests are tried */

static const char *const way_names[FAILURES_NWAYS] = {"one request", "all from one on",
                                                      "files full"};

struct tally {
    uint64_t nrequests, ntried, nsame, ncannot, nwrong;
    char first_wrong[512];
};

/* ---- what is right ---- */

static bool same(const struct text *a, const struct text *b)
{
    return a->failed == b->failed && a->length == b->length &&
           memcmp(text_get(a), text_get(b), a->length) == 0;
}

static bool same_answer(const struct failure_case *c, const struct failures_outcome *good,
                        const struct failures_outcome *o)
{
    for (size_t f = 0; f < CASE_OUTPUTS_MAX && c->outputs[f]; f++)
        if (!same(&good->files[f], &o->files[f]))
            return false;
    return o->exit == good->exit && same(&good->out, &o->out);
}

/* Whether each output file has its old or its new contents. */
static bool files_are_whole(const struct failure_case *c, const struct failures_outcome *good,
                            const struct failures_outcome *o)
{
    for (size_t f = 0; f < CASE_OUTPUTS_MAX && c->outputs[f]; f++) {
        struct text before = {.failed = true};
        bool fine;

        for (size_t i = 0; i < CASE_INPUTS_MAX && c->inputs[i].path; i++)
            if (!strcmp(c->inputs[i].path, c->outputs[f])) {
                text_init(&before);
                text_add(&before, c->inputs[i].content);
            }
        fine = same(&o->files[f], &good->files[f]) || same(&o->files[f], &before);
        text_fini(&before);
        if (!fine)
            return false;
    }
    return true;
}

/* Whether a line refuses a question for lack of memory or of a thread: with the id, or without one
 * if memory lacked even for reading the question. */
static bool is_refusal(const char *line, const char *id, size_t id_length)
{
    static const char unknown[] = "{\"id\":null", refused[] = ",\"err\":{\"kind\":";

    if (!strncmp(line, id, id_length))
        line += id_length;
    else if (!strncmp(line, unknown, strlen(unknown)))
        line += strlen(unknown);
    else
        return false;
    if (strncmp(line, refused, strlen(refused)) != 0)
        return false;
    line += strlen(refused);
    return !strncmp(line, "\"no-memory\"", 11) || !strncmp(line, "\"system\"", 8);
}

/* Whether each question has its answer, in order, right or refused.  A final message may say that
 * the remaining questions stay unanswered. */
static bool answers_hold(const struct failures_outcome *good, const struct failures_outcome *o)
{
    const char *g = text_get(&good->out), *line = text_get(&o->out);

    for (; *g && *line; g += strcspn(g, "\n") + 1, line += strcspn(line, "\n") + 1) {
        size_t length = strcspn(line, "\n");

        if (line[length] != '\n' ||
            (strncmp(line, g, length + 1) != 0 && !is_refusal(line, g, strcspn(g, ","))))
            return false;
    }
    return !*line && (!*g || strstr(text_get(&o->err), "not answered"));
}

/* Whether TAP is a beginning of the right report, and ends with "Bail out!" if it is not whole. */
static bool tap_holds(const struct text *good, const struct text *out)
{
    const char *bail = strstr(text_get(out), "Bail out!");
    size_t whole = bail ? (size_t)(bail - text_get(out)) : out->length;

    return whole <= good->length && !memcmp(text_get(good), text_get(out), whole) &&
           (whole == 0 || text_get(out)[whole - 1] == '\n');
}

/* Whether the reports of the strategies before the failing one are whole, each followed by an
 * empty line. */
static bool reports_hold(const struct text *good, const struct text *out)
{
    size_t n = out->length;

    if (n == 0 || same(good, out))
        return true;
    return n < good->length && !memcmp(text_get(good), text_get(out), n) &&
           text_get(good)[n - 1] == '\n' && text_get(good)[n] == '\n';
}

/* Whether the output before the end with status 3 is right. */
static bool output_holds(const struct failure_case *c, const struct failures_outcome *good,
                         const struct failures_outcome *o)
{
    if (c->questions)
        return answers_hold(good, o);
    if (c->is_tap)
        return tap_holds(&good->out, &o->out);
    return reports_hold(&good->out, &o->out);
}

/* The fault of an outcome, or NULL; *cannot: the program ended with status 3, which is allowed. */
static const char *judge(const struct failure_case *c, enum failures_way way,
                         const struct failures_outcome *good, const struct failures_outcome *o,
                         bool *cannot)
{
    *cannot = o->exit == CMD_CANNOT;
    if (o->exit == -SIGALRM || o->exit == -SIGXCPU || o->exit == -SIGKILL)
        return "hangs";
    if (o->exit < 0)
        return "crashes";
    if (o->left_over)
        return "leaves a file behind";
    if (o->exit == good->exit)
        return same_answer(c, good, o) ? NULL : "gives another answer";
    if (!*cannot)
        return "has another exit status";
    if (o->err.length == 0)
        return "says nothing";
    if (!files_are_whole(c, good, o))
        return "leaves a file half-written";
    /* A full disk may cut a line in the middle, which the program cannot prevent. */
    return way == FILES_FULL || output_holds(c, good, o) ? NULL : "prints half an answer";
}

/* ---- all tries of a case ---- */

/* Try, judge and count; returns the number of requests. */
static uint64_t count(struct tally *t, const struct failure_case *c, enum failures_way way,
                      uint64_t at, const struct failures_outcome *good)
{
    struct failures_outcome o;
    bool cannot;
    const char *wrong;

    failures_try(&o, c, way, at);
    wrong = judge(c, way, good, &o, &cannot);
    t->ntried++;
    t->ncannot += !wrong && cannot;
    t->nsame += !wrong && !cannot;
    if (wrong && t->nwrong++ == 0)
        snprintf(t->first_wrong, sizeof t->first_wrong, "%" PRIu64 " %s (%d): %.200s", at, wrong,
                 o.exit, text_get(&o.err));
    if (wrong && getenv("FAILURES_TELL"))
        fprintf(stderr, "%s, %s %" PRIu64 " %s (%d): %.400s\n", c->name, way_names[way], at, wrong,
                o.exit, text_get(&o.err));
    failures_outcome_fini(&o);
    return o.nrequests;
}

static uint64_t largest_output(const struct failures_outcome *good)
{
    uint64_t most = good->out.length;

    for (size_t f = 0; f < CASE_OUTPUTS_MAX; f++)
        most = good->files[f].length > most ? good->files[f].length : most;
    return most;
}

static void try_some(struct tally *t, const struct failure_case *c, enum failures_way way,
                     const struct failures_outcome *good, uint64_t n, uint64_t nsamples)
{
    for (uint64_t i = 0; i < nsamples && i < n; i++)
        count(t, c, way, (n > nsamples ? i * n / nsamples : i) + (way != FILES_FULL), good);
}

static void try_case(struct tally *tallies, const struct failure_case *c, bool whole)
{
    uint64_t nsamples = small_size() ? NSAMPLES_SMALL : NSAMPLES;
    struct failures_outcome good;
    uint64_t nrequests;

    failures_try(&good, c, FAILS_ONCE, 0);
    nrequests = good.nrequests;
    for (enum failures_way way = 0; way < FAILURES_NWAYS; way++) {
        struct tally *t = &tallies[way];

        *t = (struct tally){.nrequests = way == FILES_FULL ? largest_output(&good) : nrequests};
        if (good.exit != c->exit) {
            t->nwrong++;
            snprintf(t->first_wrong, sizeof t->first_wrong, "not even without (%d): %.300s",
                     good.exit, text_get(&good.err));
        } else if (way == FILES_FULL) {
            try_some(t, c, way, &good, t->nrequests, whole ? NWRITE_SAMPLES : nsamples / 8);
        } else if (!whole) {
            try_some(t, c, way, &good, nrequests, nsamples);
        } else {
            /* Go on until no request fails; the number of requests varies slightly with the
             * threads. */
            uint64_t at = 0;

            do
                at++;
            while (count(t, c, way, at, &good) >= at || at < nrequests);
        }
    }
    failures_outcome_fini(&good);
}

/* ---- reports ---- */

static void tell_points(const struct failure_case *c, const struct tally *tallies)
{
    for (enum failures_way way = 0; way < FAILURES_NWAYS; way++) {
        const struct tally *t = &tallies[way];

        ok(t->nwrong == 0, "%s, %s: the same answer, or status 3", c->name, way_names[way]);
        if (t->nwrong)
            diag("%" PRIu64 " of %" PRIu64 " wrong; the first: %s", t->nwrong, t->ntried,
                 t->first_wrong);
    }
}

static const char table_head[] =
    "# Behaviour without memory\n\n"
    "Made by `tests/cmd/failures --whole`, which `make stress` runs: each command below is\n"
    "repeated for each of its requests for memory, mappings and threads, with only this one\n"
    "failing, and with this and all later ones failing; and with too little room for its output\n"
    "files. It must give the same answer, or end with status 3, a message and no half-written\n"
    "file. Any other result is wrong, including a crash or a hang.\n\n"
    "| case | what fails | requests | tried | same answer | status 3 | wrong |\n"
    "|---|---|--:|--:|--:|--:|--:|\n";

static void tell_rows(const struct failure_case *c, const struct tally *tallies)
{
    for (enum failures_way way = 0; way < FAILURES_NWAYS; way++) {
        const struct tally *t = &tallies[way];

        printf("| `%s` | %s | %" PRIu64 " | %" PRIu64 " | %" PRIu64 " | %" PRIu64 " | %" PRIu64
               " |\n",
               c->name, way_names[way], t->nrequests, t->ntried, t->nsame, t->ncannot, t->nwrong);
        if (t->nwrong)
            fprintf(stderr, "%s, %s: %s\n", c->name, way_names[way], t->first_wrong);
    }
    fflush(stdout);
}

static bool chosen(const struct failure_case *c, int argc, char **argv, int first)
{
    for (int i = first; i < argc; i++)
        if (!strcmp(argv[i], c->name))
            return true;
    return first >= argc;
}

static int tell_one(const char *at, const char *name)
{
    struct failures_outcome o;

    for (const struct failure_case *c = failure_cases; c->name; c++) {
        if (strcmp(c->name, name) != 0)
            continue;
        failures_try(&o, c, FAILS_ONCE, strtoull(at, NULL, 10));
        printf("%s%s%sexit %d after %" PRIu64 " requests\n", text_get(&o.out),
               text_get(&o.files[0]), text_get(&o.err), o.exit, o.nrequests);
        failures_outcome_fini(&o);
        return 0;
    }
    fprintf(stderr, "there is no case '%s'\n", name);
    return 1;
}

int main(int argc, char **argv)
{
    bool whole = argc > 1 && !strcmp(argv[1], "--whole");
    uint64_t nwrong = 0;
    int status;

#if defined(__SANITIZE_THREAD__)
    puts("1..0 # SKIP the thread sanitizer gets memory of its own by the calls that are to fail");
    return 0;
#endif
    failures_begin();
    if (argc == 4 && !strcmp(argv[1], "--at")) {
        status = tell_one(argv[2], argv[3]);
        failures_end();
        return status;
    }
    if (whole)
        fputs(table_head, stdout);
    else
        plan(0);
    for (const struct failure_case *c = failure_cases; c->name; c++) {
        struct tally tallies[FAILURES_NWAYS];

        if (!chosen(c, argc, argv, whole ? 2 : 1))
            continue;
        try_case(tallies, c, whole);
        (whole ? tell_rows : tell_points)(c, tallies);
        for (enum failures_way way = 0; way < FAILURES_NWAYS; way++)
            nwrong += tallies[way].nwrong;
    }
    failures_end();
    return whole ? nwrong > 0 : done();
}

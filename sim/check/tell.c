/* Printing the outcomes of `shardsim check` (check_tell.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "check/tell.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/escape.h"
#include "check/file.h"
#include "command/command.h"
#include "command/write.h"

bool check_is_on(const char *name)
{
    const char *value = getenv(name);

    return value && value[0] && strcmp(value, "0") != 0 && strcasecmp(value, "false") != 0;
}

void check_tell_fini(struct check_tell *t)
{
    for (size_t i = 0; i < t->noutcomes; i++)
        outcome_fini(&t->outcomes[i]);
    free(t->outcomes);
}

static int print_outcome(struct check_tell *t, const struct outcome *o)
{
    struct text tap = TEXT_INIT, annotation = TEXT_INIT;
    int exit;

    t->nfailures += outcome_is_failure(o->kind);
    t->nerrors += outcome_is_error(o->kind);
    outcome_print_tap(o, t->noutcomes, &tap);
    exit = cmd_put(&tap);
    if (check_is_on("GITHUB_ACTIONS")) {
        outcome_print_annotation(o, &annotation);
        fputs(text_get(&annotation), stderr);
        if (annotation.failed && exit == CMD_OK)
            exit = check_no_memory();
    }
    text_fini(&tap);
    text_fini(&annotation);
    return exit;
}

/* Room for the next outcome, which noutcomes does not count yet. */
static struct outcome *next_outcome(struct check_tell *t)
{
    return array_make_room(&t->outcomes, t->noutcomes, sizeof *t->outcomes)
               ? &t->outcomes[t->noutcomes]
               : NULL;
}

int check_tell_words(struct check_tell *t, enum outcome_kind kind, const char *file,
                     const char *suite, const char *name, const char *words)
{
    struct outcome *o = next_outcome(t);

    if (!o || !outcome_init(o, file, suite, name))
        return check_no_memory();
    t->noutcomes++;
    o->kind = kind;
    diag_error(&o->reasons, (struct place){file, 0, 0}, "%s", words);
    return o->reasons.no_memory ? check_no_memory() : print_outcome(t, o);
}

int check_tell_packed(struct check_tell *t, struct unpack *from)
{
    struct outcome *o = next_outcome(t);

    if (!o || !outcome_unpack(o, from))
        return check_no_memory();
    t->noutcomes++;
    return print_outcome(t, o);
}

static int write_junit(const struct check_tell *t)
{
    struct text text = TEXT_INIT;
    struct shd_error err;
    int status = SHD_OK;

    if (!t->junit)
        return CMD_OK;
    outcome_print_junit(t->outcomes, t->noutcomes, &text);
    status = store_write(t->junit, &text, &err);
    text_fini(&text);
    if (status != SHD_OK)
        cmd_error("%s", err.text);
    return status == SHD_OK ? CMD_OK : CMD_CANNOT;
}

int check_tell_stop(struct check_tell *t, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(t->why, sizeof t->why, fmt, args);
    va_end(args);
    cmd_error("%s", t->why);
    return CMD_CANNOT;
}

static void add_stop(const struct check_tell *t, int exit, struct text *out)
{
    text_add(out, "Bail out! ");
    if (exit == CMD_INTERRUPTED)
        text_add(out, "interrupted");
    else if (t->why[0])
        escape_add(out, t->why);
    else
        text_add(out, "cannot continue; see standard error");
    text_add(out, "\n");
}

int check_tell_end(struct check_tell *t, int exit)
{
    struct text end = TEXT_INIT;
    int written;

    if (exit == CMD_OK)
        text_addf(&end, "1..%zu\n", t->noutcomes);
    else
        add_stop(t, exit, &end);
    written = cmd_put_last(&end);
    text_fini(&end);
    if (exit == CMD_OK)
        exit = written;
    if (exit == CMD_OK)
        exit = write_junit(t);
    if (exit != CMD_OK)
        return exit;
    return t->nerrors ? CMD_USAGE : t->nfailures ? CMD_FAILED : CMD_OK;
}

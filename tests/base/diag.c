/* Tests base/diag.h: the order, number and text of messages, and lack of memory.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/diag.h"

#include <shd/error.h>

#include <string.h>

#include "../support/tap.h"

/* Whether the messages print as expected. */
static int prints(const struct diag *messages, const char *expected)
{
    struct text text = TEXT_INIT;

    diag_print(messages, &text);
    int same = strcmp(text_get(&text), expected) == 0;
    if (!same)
        diag("%s", text_get(&text));
    text_fini(&text);
    return same;
}

static void test_order(void)
{
    struct diag messages = DIAG_INIT;

    ok(prints(&messages, ""), "without a report, no output");
    diag_error(&messages, (struct place){"b", 1, 1}, "in b");
    diag_error(&messages, (struct place){"a", 10, 1}, "line %d", 10);
    diag_error(&messages, (struct place){"a", 9, 7}, "line 9, second");
    diag_error(&messages, (struct place){"a", 9, 2}, "line 9, first");
    diag_error(&messages, (struct place){"a", 9, 7}, "a line 9, third");
    diag_error(&messages, (struct place){"a", 9, 7}, "line 9, second");
    diag_error(&messages, (struct place){NULL, 0, 0}, "nowhere");
    diag_error(&messages, (struct place){"a", 0, 0}, "the whole");
    ok(messages.nerrors == 7, "a repeated message at one place counts once");
    ok(prints(&messages, "error: nowhere\n"
                         "a: error: the whole\n"
                         "a:9:2: error: line 9, first\n"
                         "a:9:7: error: line 9, second\n"
                         "a:9:7: error: a line 9, third\n"
                         "a:10:1: error: line 10\n"
                         "b:1:1: error: in b\n"),
       "sorted by file, line, column, then as reported");
    diag_fini(&messages);
    ok(messages.nerrors == 0 && prints(&messages, ""), "fini leaves it empty");
}

static void test_cap(void)
{
    struct diag messages = DIAG_INIT;
    struct text text = TEXT_INIT;

    for (int i = 0; i < DIAG_PRINT_MAX + 5; i++)
        diag_error(&messages, (struct place){"f", 3000 - i, 1}, "x");
    diag_print(&messages, &text);
    size_t nlines = 0;
    for (const char *c = text_get(&text); *c; c++)
        nlines += *c == '\n';
    ok(nlines == DIAG_PRINT_MAX + 1 && strstr(text_get(&text), "\nerror: and 5 more\n"),
       "twenty are printed, the others counted");
    for (int i = 0; i < 3000; i++)
        diag_error(&messages, (struct place){"f", i + 1, 1}, "y");
    text_clear(&text);
    diag_print(&messages, &text);
    ok(diag_is_full(&messages) && messages.nmessages == DIAG_KEPT_MAX &&
           strstr(text_get(&text), "\nerror: and more than 980 more\n"),
       "kept up to a limit");
    text_fini(&text);
    diag_fini(&messages);
}

static void test_text(void)
{
    struct diag messages = DIAG_INIT;
    char name[] = "f\nile";
    static char big[100000];

    memset(big, 'x', sizeof(big) - 1);
    diag_error(&messages, (struct place){name, 1, 2}, "a\nb\033[31m\xff\xc3\xa9\x7f");
    name[0] = 'Z';
    ok(prints(&messages, "f\\nile:1:2: error: a\\nb\\x1b[31m\\xff\xc3\xa9\\x7f\n"),
       "control and bad bytes are escaped; the file name is copied");
    diag_fini(&messages);
    diag_error(&messages, (struct place){"f", 1, 1}, "%s", big);
    ok(messages.nmessages == 1 && strlen(messages.messages[0].text) < 1100,
       "a long message is cut");
    diag_fini(&messages);
}

/* Lack of memory is the only message, because other faults may follow from it. */
static void test_no_memory(void)
{
    struct diag messages = DIAG_INIT, all = DIAG_INIT;

    ok(diag_status(&messages, 0) == SHD_OK, "status: nothing reported");
    diag_failure(&messages, (struct place){"f", 1, 2}, SHD_ERANGE, "%s", "too large");
    ok(prints(&messages, "f:1:2: error: too large\n"), "a failed call says why");
    ok(diag_status(&messages, 0) == SHD_EINVAL && diag_status(&messages, 1) == SHD_OK,
       "status: an error, and none since");
    diag_failure(&messages, (struct place){"f", 1, 2}, SHD_ENOMEM, "%s", "whatever");
    diag_append(&all, &messages);
    ok(prints(&all, "error: no memory left\n") && all.nerrors == 2,
       "a call without memory: nothing else is said, here or where it is reported on");
    ok(diag_status(&all, 2) == SHD_ENOMEM, "status: no memory, whenever that was");
    diag_fini(&messages);
    diag_fini(&all);
}

int main(void)
{
    plan(0);
    test_order();
    test_cap();
    test_text();
    test_no_memory();
    return done();
}

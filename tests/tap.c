/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int promised;
static int count;

/* Under the thread sanitizer. */
static void leave_out(const char *why)
{
    const char *sanitizer = getenv("SHD_SANITIZER");

    if (!sanitizer || strcmp(sanitizer, "thread") != 0)
        return;
    printf("1..0 # SKIP %s\n", why);
    exit(0);
}

void starts_no_threads(void)
{
    leave_out("it starts no threads, and nothing can race");
}

void same_threads_as_scenarios(void)
{
    leave_out("devices run here as they do in tests/scenarios.sh");
}

void plan(int ntests)
{
    /* A program that crashes must not lose the lines before the crash. */
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    promised = ntests;
    if (promised)
        printf("1..%d\n", promised);
}

int ok(int pass, const char *fmt, ...)
{
    va_list args;

    printf("%sok %d - ", pass ? "" : "not ", ++count);
    va_start(args, fmt);
    vprintf(fmt, args);
    va_end(args);
    putchar('\n');
    return pass;
}

void diag(const char *fmt, ...)
{
    char text[4096];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    fputs("# ", stdout);
    for (const char *p = text; *p; p++) {
        putchar(*p);
        if (*p == '\n' && p[1])
            fputs("# ", stdout);
    }
    putchar('\n');
}

int done(void)
{
    if (!promised)
        printf("1..%d\n", count);
    return 0;
}

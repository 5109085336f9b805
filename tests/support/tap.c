/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int promised;
static int count;

unsigned long from_env(const char *name, unsigned long otherwise)
{
    const char *text = getenv(name);

    return text ? strtoul(text, NULL, 10) : otherwise;
}

bool small_size(void)
{
    const char *size = getenv("SHD_TEST_SIZE");

    return size && !strcmp(size, "small");
}

bool sampled(unsigned every, unsigned long index)
{
    const char *tier = getenv("SHD_TEST_TIER");

    if (!tier || strcmp(tier, "change") != 0)
        return true;
    return (index + from_env("SHD_TEST_TURN", 0)) % every == 0;
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

/* Tests base/array.h: there is room for one more item at any count, with no more requests than
 * needed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>

#include "../support/tap.h"

/* Items keep their values when the array grows, whatever their size. */
static void test_items(void)
{
    struct wide {
        uint64_t n[5];
    } *wide = NULL;
    char *narrow = NULL;
    bool good = true;

    for (size_t n = 0; n < 1000; n++) {
        if (!array_make_room(&wide, n, sizeof *wide) || !array_make_room(&narrow, n, 1))
            exit(99);
        wide[n].n[4] = n;
        narrow[n] = (char)n;
    }
    for (size_t n = 0; n < 1000; n++)
        good &= wide[n].n[4] == n && narrow[n] == (char)n;
    ok(good, "a thousand items of 40 bytes and of one");
    free(wide);
    free(narrow);
}

/* The count may shrink, even to 0, and grow again. */
static void test_fewer(void)
{
    int *items = NULL;
    size_t n = 0;

    for (int turn = 0; turn < 5; turn++) {
        for (int i = 0; i < 100; i++) {
            if (!array_make_room(&items, n, sizeof *items))
                exit(99);
            items[n++] = i;
        }
        n = turn % 2 ? 0 : 37;
    }
    ok(items[36] == 36, "fewer, and more again");
    free(items);
}

/* An impossible request is refused and leaves the array unchanged. */
static void test_too_many(void)
{
    int *items = NULL, *before;

    if (!array_make_room(&items, 0, sizeof *items))
        exit(99);
    items[0] = 7;
    before = items;
    ok(!array_make_room(&items, (size_t)1 << 62, sizeof *items) && items == before && items[0] == 7,
       "more than there is room for in any memory");
    ok(!array_make_room(&items, ((size_t)1 << 63), 1) && items == before, "a count that overflows");
    free(items);
}

int main(void)
{
    plan(0);
    test_items();
    test_fewer();
    test_too_many();
    return done();
}

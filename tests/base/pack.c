/* Tests base/pack.h: what is packed unpacks to the same, and cut or damaged bytes are refused; and
 * the outcomes that report/outcome.h packs.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/pack.h"
#include "report/outcome.h"
#include "../support/tap.h"

static void test_values(void)
{
    struct text row = TEXT_INIT;
    struct unpack from;
    const char *string;
    double number = 0.1, back;

    pack_uint(&row, UINT64_MAX - 1);
    pack_string(&row, "a\nb");
    pack_string(&row, NULL);
    pack_string(&row, "");
    pack_bytes(&row, &number, sizeof number);
    unpack_init(&from, text_get(&row), row.length);
    ok(unpack_uint(&from) == UINT64_MAX - 1, "a number");
    string = unpack_string(&from);
    ok(string && !strcmp(string, "a\nb"), "a string");
    ok(!unpack_string(&from), "none");
    string = unpack_string(&from);
    ok(string && !*string, "an empty one");
    unpack_bytes(&from, &back, sizeof back);
    ok(back == number && !from.bad && from.at == from.end, "bytes, and no more");
    ok(unpack_uint(&from) == 0 && from.bad, "behind the end: 0, and bad");
    text_fini(&row);
}

static void test_cut(void)
{
    struct text row = TEXT_INIT;
    bool all = true;

    pack_string(&row, "four");
    for (size_t length = 0; length < row.length; length++) {
        char *exact = malloc(length + 1); /* no longer than the row: a sanitizer notices reading
                                           * past the end */
        struct unpack from;
        const char *string;

        if (!exact)
            abort();
        memcpy(exact, text_get(&row), length);
        exact = realloc(exact, length ? length : 1);
        unpack_init(&from, exact, length);
        string = unpack_string(&from);
        all &= from.bad && string && !*string;
        free(exact);
    }
    ok(all, "a string that was cut is \"\", and bad");
    text_fini(&row);
}

static void test_outcome(void)
{
    struct text row = TEXT_INIT, was = TEXT_INIT, is = TEXT_INIT;
    struct outcome outcome, back;
    struct unpack from;
    bool cut_fails = true;

    if (!outcome_init(&outcome, "a/b.yaml", "b.yaml", "tp"))
        abort();
    outcome.kind = OUTCOME_CHANGED;
    if (!outcome_set_note(&outcome, OUTCOME_PLANNED, "too large"))
        abort();
    diag_error(&outcome.reasons, (struct place){"a/b.yaml", 3, 4}, "layers/0/mlp is whole");
    diag_error(&outcome.reasons, (struct place){"a/b.yaml", 3, 4}, "layers/1/mlp is whole");
    diag_error(&outcome.reasons, (struct place){"other", 1, 1}, "another");
    diag_error(&outcome.reasons, (struct place){NULL, 0, 0}, "nowhere");
    outcome_pack(&outcome, &row);
    unpack_init(&from, text_get(&row), row.length);
    ok(outcome_unpack(&back, &from) && from.at == from.end, "an outcome");
    outcome_print_tap(&outcome, 7, &was);
    outcome_print_annotation(&outcome, &was);
    outcome_print_junit(&outcome, 1, &was);
    outcome_print_tap(&back, 7, &is);
    outcome_print_annotation(&back, &is);
    outcome_print_junit(&back, 1, &is);
    ok(!strcmp(text_get(&was), text_get(&is)), "says the same in every form");
    ok(back.reasons.nerrors == outcome.reasons.nerrors, "with as many errors");
    outcome_fini(&back);
    for (size_t length = 0; length < row.length; length++) {
        unpack_init(&from, text_get(&row), length);
        cut_fails &= !outcome_unpack(&back, &from);
    }
    ok(cut_fails, "a cut outcome is refused");
    outcome_fini(&outcome);
    text_fini(&row);
    text_fini(&was);
    text_fini(&is);
}

int main(void)
{
    plan(0);
    test_values();
    test_cut();
    test_outcome();
    return done();
}

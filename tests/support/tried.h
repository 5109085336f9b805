/* tried.h - builds a scenario's text; tried.c executes and verifies it, and compares the run with
 * its plan.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TESTS_TRIED_H
#define TESTS_TRIED_H

#include <stdbool.h>
#include <stddef.h>

#include "tap.h"
#include "trial/variant.h"

/* Build the first strategy of a text; false if the text is refused, with the reason as a
 * diagnostic; free it with variant_fini() either way. */
static inline bool tried_init(struct variant *out, const char *text, size_t length)
{
    struct text copy = TEXT_INIT;
    struct variant_ask ask = {
        .name = "test.yaml", .text = &copy, .extent = VARIANT_BUILT, .executes = true};
    struct shd_error err = {.text = ""};
    int status;

    *out = (struct variant){.file = NULL};
    text_add_bytes(&copy, text, length);
    status = variant_need(out, &ask, &err);
    if (status != SHD_OK)
        diag("%s", err.text);
    text_fini(&copy);
    return status == SHD_OK;
}

/* Execute, verify and compare with the plan, as two points; returns whether both hold. */
bool tried_check(struct variant *tried, const char *what);

#endif /* TESTS_TRIED_H */

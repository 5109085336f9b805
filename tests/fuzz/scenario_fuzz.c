/* Fuzzes scenario files with libFuzzer: any bytes are loaded or refused with a message, and a
 * loaded scenario prints as text that loads as the same scenario.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/scenario.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
    if (!holds)
        abort();
}

static void check_print(const struct scenario *scenario)
{
    struct text once = TEXT_INIT;
    struct text twice = TEXT_INIT;
    struct diag errors = DIAG_INIT;
    struct scenario_file *file = NULL;

    scenario_print(scenario, &once);
    require(scenario_parse(&file, "again", text_get(&once), once.length, NULL, 0, &errors) == 0);
    scenario_print(&file->scenarios[0], &twice);
    require(strcmp(text_get(&once), text_get(&twice)) == 0);
    scenario_file_destroy(file);
    diag_fini(&errors);
    text_fini(&once);
    text_fini(&twice);
}

/* The bytes up to a 0 are one --set; the other bytes are the file. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct diag errors = DIAG_INIT;
    struct text messages = TEXT_INIT;
    struct scenario_file *file = NULL;
    const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
    const char *text = zero ? (const char *)zero + 1 : (const char *)data;
    size_t length = size - (size_t)(text - (const char *)data);
    char *copy = zero ? strdup((const char *)data) : NULL; /* a copy: a sanitizer notices reading
                                                            * past its end */
    const char *set = copy;

    int status = scenario_parse(&file, "fuzz", text, length, &set, zero ? 1 : 0, &errors);
    diag_print(&errors, &messages);
    require((status == 0) == (file != NULL) && (status == 0) == (errors.nerrors == 0));
    for (size_t i = 0; file && i < file->nscenarios; i++)
        check_print(&file->scenarios[i]);
    scenario_file_destroy(file);
    diag_fini(&errors);
    text_fini(&messages);
    free(copy);
    return 0;
}

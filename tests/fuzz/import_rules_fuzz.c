/* Fuzzes lists of rules in Python or gin with libFuzzer: any bytes are read or refused with a
 * message, and the resulting scenario can be read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rules/rules.h"
#include "scenario/scenario.h"

#define MODEL \
    "{kind: transformer, layers: 2, d_model: 8, d_ff: 16, heads: 4, kv_heads: 2, vocab: 32, norm: rms}"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
    if (!holds)
        abort();
}

static void read(const char *text, size_t length, bool t5x)
{
    const struct import_request request = {.from = t5x ? "t5x" : "easydel",
                                           .model = MODEL,
                                           .devices = 8,
                                           .seq = 16,
                                           .batch = 64};
    struct diag errors = DIAG_INIT;
    struct text out = TEXT_INIT;
    struct import_rules rules;
    struct scenario_file *file = NULL;

    import_rules_init(&rules, &request);
    if (t5x)
        import_t5x(&rules, (struct place){"fuzz", 1, 1}, text, length, &errors);
    else
        import_easydel(&rules, (struct place){"fuzz", 1, 1}, text, length, &errors);
    import_rules_print(&rules, &out, &errors);
    require((out.length > 0) == (errors.nerrors == 0));
    if (errors.nerrors == 0)
        require(scenario_parse(&file, "made", text_get(&out), out.length, NULL, 0, &errors) ==
                SHD_OK);
    scenario_file_destroy(file);
    import_rules_fini(&rules);
    text_fini(&out);
    diag_fini(&errors);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    require(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    read(text, size, false);
    read(text, size, true);
    free(text);
    return 0;
}

/* Fuzzes rule files and names with libFuzzer: any text as a file of rules, matched against any
 * text as a name.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <shd/match.h>

#include "base/yaml.h"
#include "scenario/scenario.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
    if (!holds)
        abort();
}

static void match(const struct scenario_rule *rules, size_t nrules, const char *name)
{
    static const int64_t shape[] = {256, 256};
    struct shd_match_options options = shd_match_defaults();
    struct shd_leaf leaf = {name, SHD_F32, 2, shape, NULL};
    struct shd_rules *built = NULL;
    struct shd_match found;
    struct shd_error err;

    if (scenario_rules(&built, rules, nrules, &err) != SHD_OK)
        return;
    if (shd_match_leaf(&found, built, &leaf, &options, &err) == SHD_OK)
        require(found.rule < nrules && found.nentries <= 2);
    shd_rules_destroy(built);
}

/* The bytes up to a 0 are a name; the other bytes are the file. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct diag errors = DIAG_INIT;
    struct scenario_rule *rules = NULL;
    struct yaml_doc *doc = NULL;
    size_t nrules = 0;
    const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
    const char *text = zero ? (const char *)zero + 1 : (const char *)data;
    size_t length = size - (size_t)(text - (const char *)data);
    char *name = zero ? strdup((const char *)data) : NULL; /* a copy: a sanitizer notices reading
                                                            * past its end */
    struct place start = {"fuzz", 1, 1};

    if (yaml_doc_parse(&doc, start, text, length, &errors) == SHD_OK) {
        int status = scenario_read_rules(&rules, &nrules, yaml_doc_root(doc), &errors);

        require((status == SHD_OK) == (errors.nerrors == 0));
        match(rules, nrules, name ? name : "model/layers/0/mlp/up_proj/kernel");
    }
    scenario_free_rules(rules, nrules);
    yaml_doc_destroy(doc);
    diag_fini(&errors);
    free(name);
    return 0;
}

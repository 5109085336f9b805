/* Fuzzes partition specs with libFuzzer: any text is read or refused with a message; a spec prints
 * as text that reads as the same spec, in every notation.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <shd/sharding.h>
#include <shd/spec.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
    if (!holds)
        abort();
}

/* Whether every name can be quoted in the notation; other names are printed, but cannot be read
 * back. */
static bool has_plain_names(const struct shd_spec *spec)
{
    for (size_t e = 0; e < shd_spec_nentries(spec); e++)
        for (size_t a = 0; a < shd_spec_naxes(spec, e); a++)
            for (const char *c = shd_spec_axis(spec, e, a); *c; c++)
                if (!(*c >= 'a' && *c <= 'z') && *c != '_')
                    return false;
    return true;
}

static bool names_a_word(const struct shd_spec *spec)
{
    for (size_t e = 0; e < shd_spec_nentries(spec); e++)
        for (size_t a = 0; a < shd_spec_naxes(spec, e); a++)
            if (!strcmp(shd_spec_axis(spec, e, a), "null"))
                return true;
    return false;
}

static void check_print(const struct shd_spec *spec, enum shd_spec_notation notation)
{
    size_t length = shd_spec_print(spec, notation, NULL, 0);
    char *text = malloc(length + 1);
    struct shd_spec *again = NULL;

    require(text && shd_spec_print(spec, notation, text, length + 1) == length);
    require(strlen(text) == length);
    if (has_plain_names(spec) && !(notation == SHD_SPEC_YAML && names_a_word(spec))) {
        require(shd_spec_parse(&again, text, NULL) == SHD_OK && shd_spec_equal(spec, again));
        shd_spec_destroy(again);
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct shd_mesh *mesh;
    char *text = malloc(size + 1);
    struct shd_spec *spec = NULL;
    struct shd_sharding sharding;
    struct shd_error err;

    require(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    if (!mesh)
        require(shd_mesh_create(&mesh, (const char *const[]){"dp", "tp"}, (const int32_t[]){2, 4},
                                2, NULL) == SHD_OK);
    int status = shd_spec_parse(&spec, text, &err);
    require((status == SHD_OK) == (spec != NULL) && (status == SHD_OK || err.text[0]));
    if (spec) {
        check_print(spec, SHD_SPEC_PYTHON);
        check_print(spec, SHD_SPEC_YAML);
        check_print(spec, SHD_SPEC_JSON);
        if (shd_sharding_bind(&sharding, mesh, spec, shd_spec_nentries(spec), &err) == SHD_OK)
            require(shd_sharding_axes(&sharding) < 4);
    }
    shd_spec_destroy(spec);
    free(text);
    return 0;
}

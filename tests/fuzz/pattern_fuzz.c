/* Fuzzes lines of patterns, strict and as the original, and regular expressions with libFuzzer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <shd/pattern.h>
#include <shd/regex.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
    if (!holds)
        abort();
}

static void check_pattern(const char *text, const struct shd_mesh *mesh, const char *name)
{
    struct shd_pattern *late = NULL, *strict = NULL;
    const struct shd_spec *spec = NULL, *same = NULL;
    struct shd_error err;

    if (shd_pattern_create_strict(&strict, text, mesh, NULL, &err) == SHD_OK) {
        require(shd_pattern_create(&late, text, mesh, NULL, &err) == SHD_OK);
        if (shd_pattern_find(&spec, strict, name, &err) == SHD_OK)
            require(shd_pattern_find(&same, late, name, &err) == SHD_OK &&
                    shd_spec_equal(spec, same));
    } else if (shd_pattern_create(&late, text, mesh, NULL, &err) == SHD_OK) {
        (void)!shd_pattern_find(&spec, late, name, &err);
    }
    shd_pattern_destroy(late);
    shd_pattern_destroy(strict);
}

static void check_regex(const char *text, const char *subject)
{
    struct shd_regex *regex = NULL;
    struct shd_regex_match match;
    struct shd_error err;

    if (shd_regex_compile(&regex, text, &err) != SHD_OK) {
        require(err.text[0]);
        return;
    }
    (void)!shd_regex_search(&match, regex, subject, &err);
    shd_regex_destroy(regex);
}

/* The bytes up to a 0 are the searched text; the others are the pattern. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct shd_mesh *mesh;
    char *text = malloc(size + 1);
    size_t first;

    require(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    first = strlen(text);
    if (!mesh)
        require(shd_mesh_create(&mesh, (const char *const[]){"dp", "tp"}, (const int32_t[]){2, 4},
                                2, NULL) == SHD_OK);
    check_pattern(first < size ? text + first + 1 : text, mesh, first < size ? text : "mlp/wi");
    check_regex(first < size ? text + first + 1 : text, first < size ? text : "mlp/wi");
    free(text);
    return 0;
}

/* layout.h - shared by tests of the layout helpers: specs and trees from text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef LAYOUT_H
#define LAYOUT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <shd/mesh.h>
#include <shd/spec.h>

/* End the program if a test's own data is wrong. */
static inline void must(int status, const char *what)
{
    if (status) {
        printf("Bail out! %s: %d\n", what, status);
        exit(1);
    }
}

static inline struct shd_spec *spec_of(const char *text)
{
    struct shd_spec *spec = NULL;

    must(shd_spec_parse(&spec, text, NULL), text);
    return spec;
}

/* Print a spec as YAML, into one of four buffers in turn. */
static inline const char *text_of(const struct shd_spec *spec)
{
    static char texts[4][160];
    static unsigned next;
    char *text = texts[next++ % 4];

    if (!spec)
        return "none";
    shd_spec_print(spec, SHD_SPEC_YAML, text, sizeof(texts[0]));
    return text;
}

/* An axis of a mesh; a list of axes ends with a NULL name. */
struct test_axis {
    const char *name;
    int32_t size;
};

static inline struct shd_mesh *mesh_of(const struct test_axis *axes)
{
    const char *names[SHD_MESH_AXES_MAX];
    int32_t sizes[SHD_MESH_AXES_MAX];
    struct shd_mesh *mesh = NULL;
    size_t n = 0;

    for (; axes[n].name; n++) {
        names[n] = axes[n].name;
        sizes[n] = axes[n].size;
    }
    must(shd_mesh_create(&mesh, names, sizes, n, NULL), "a mesh");
    return mesh;
}

#endif /* LAYOUT_H */

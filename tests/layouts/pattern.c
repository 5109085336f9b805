/* Tests shd/pattern.h: lines of patterns are matched to names, and wrong ones are refused.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/pattern.h>

#include "../support/layout.h"
#include "../support/tap.h"

static const struct test_axis axes[] = {{"data", 2}, {"model", 2}, {NULL, 0}};

static const struct {
    const char *text, *fallback, *name;
    int status; /* status of looking up the name */
    const char *spec;
} names[] = {
    {"attention|mlp->data,hidden->model", NULL, "mlp/wi", SHD_OK, "[data]"},
    {"attention|mlp->data,hidden->model", NULL, "hidden/w", SHD_OK, "[model]"},
    {"attention|mlp->data,hidden->model", NULL, "norm", SHD_OK, "[]"},
    {"attention->data", "[model, null]", "norm", SHD_OK, "[model, null]"},
    {"a->data.model", NULL, "a", SHD_OK, "[data, model]"},
    {"a->..", NULL, "a", SHD_OK, "[null, null, null]"},
    {"a->", NULL, "a", SHD_OK, "[null]"},
    {"a->None", NULL, "a", SHD_OK, "[\"None\"]"},
    {"->data", NULL, "anything", SHD_OK, "[data]"},
    {"", NULL, "a", SHD_OK, "[]"},
    {"a", NULL, "a", SHD_OK, "[]"},
    {"a -> data", NULL, "a", SHD_OK, "[]"},
    {"a,b->data", NULL, "a", SHD_OK, "[]"},
    {"h->model,h->data", NULL, "h", SHD_OK, "[model]"},
    {"(q|k)->model", NULL, "q", SHD_EREGEX, NULL},
    {"q->data,(->model", NULL, "q", SHD_OK, "[data]"},
    {"q->data,(->model", NULL, "k", SHD_EREGEX, NULL},
};

static void test_names(const struct shd_mesh *mesh)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct shd_spec *fallback = names[i].fallback ? spec_of(names[i].fallback) : NULL;
        struct shd_pattern *pattern = NULL;
        const struct shd_spec *spec = NULL;

        must(shd_pattern_create(&pattern, names[i].text, mesh, fallback, NULL), names[i].text);
        shd_spec_destroy(fallback);

        int status = shd_pattern_find(&spec, pattern, names[i].name, NULL);

        ok(status == names[i].status && (status || !strcmp(text_of(spec), names[i].spec)),
           "'%s' on '%s': %s", names[i].text, names[i].name, text_of(spec));
        shd_pattern_destroy(pattern);
    }
}

static void test_bad(const struct shd_mesh *mesh)
{
    static const struct {
        const char *text;
        int status, strict_status;
    } rows[] = {
        {"a->b->c", SHD_EINVAL, SHD_EINVAL},
        {"mlp->data->", SHD_EINVAL, SHD_EINVAL},
        {"a->data,bad->x->y", SHD_EINVAL, SHD_EINVAL},
        {"a->data.model", SHD_OK, SHD_OK},
        {"a->nowhere", SHD_OK, SHD_ENOAXIS},
        {"a->data.data", SHD_OK, SHD_EDUPAXIS},
        {"a", SHD_OK, SHD_EINVAL},
        {"(->data", SHD_OK, SHD_EREGEX},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct shd_pattern *plain = NULL, *strict = NULL;

        ok(shd_pattern_create(&plain, rows[i].text, mesh, NULL, NULL) == rows[i].status &&
               !plain == !!rows[i].status,
           "create '%s'", rows[i].text);
        ok(shd_pattern_create_strict(&strict, rows[i].text, mesh, NULL, NULL) ==
                   rows[i].strict_status &&
               !strict == !!rows[i].strict_status,
           "create '%s', strict", rows[i].text);
        shd_pattern_destroy(plain);
        shd_pattern_destroy(strict);
    }
}

int main(void)
{
    struct shd_mesh *mesh = mesh_of(axes);
    struct shd_pattern *pattern = NULL;

    plan(0);
    test_names(mesh);
    test_bad(mesh);
    ok(shd_pattern_create(&pattern, "a->b", NULL, NULL, NULL) == SHD_ENOMESH && !pattern,
       "a mesh is needed");
    shd_pattern_destroy(NULL);
    shd_mesh_destroy(mesh);
    return done();
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <shd/pattern.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <shd/rules.h>
#include <shd/sharding.h>

struct shd_pattern {
    struct shd_rules *rules;
    struct shd_spec *fallback;
};

/* A pattern being read. */
struct reader {
    struct shd_pattern *pattern;
    const struct shd_mesh *mesh;
    bool strict;
};

/* Cut a piece off the front of *text, up to a mark or the end, and move *text behind the mark; at
 * the end it becomes NULL. */
static char *cut(char **text, const char *mark)
{
    char *piece = *text, *end = strstr(piece, mark);

    *text = end ? end + strlen(mark) : NULL;
    if (end)
        *end = '\0';
    return piece;
}

static size_t count_pieces(const char *text, const char *mark)
{
    size_t n = 1;

    for (const char *p = strstr(text, mark); p; p = strstr(p + strlen(mark), mark))
        n++;
    return n;
}

static int read_spec(struct shd_spec **out, char *text, struct shd_error *err)
{
    size_t n = count_pieces(text, ".");
    struct shd_spec_entry *entries = calloc(n, sizeof(*entries));
    const char **axes = calloc(n, sizeof(*axes));
    int status;

    if (entries && axes) {
        for (size_t e = 0; e < n; e++) {
            axes[e] = cut(&text, ".");
            entries[e] = (struct shd_spec_entry){&axes[e], 1};
        }
        status = shd_spec_create(out, entries, n, err);
    } else {
        status = shd_error_set(err, SHD_ENOMEM, "no memory for a pattern");
    }
    free(entries);
    free(axes);
    return status;
}

static int add_rules(struct reader *reader, char *expressions, const struct shd_spec *spec,
                     struct shd_error *err)
{
    struct shd_rules *rules = reader->pattern->rules;
    int status = SHD_OK;

    if (reader->strict) {
        struct shd_sharding sharding;

        status = shd_sharding_bind(&sharding, reader->mesh, spec, shd_spec_nentries(spec), err);
    }
    while (!status && expressions) {
        const char *expression = cut(&expressions, "|");

        status = reader->strict ? shd_rules_add(rules, expression, spec, err)
                                : shd_rules_add_late(rules, expression, spec, err);
    }
    return status;
}

/* Read a rule: expressions, an arrow, and a spec. */
static int read_part(struct reader *reader, char *part, struct shd_error *err)
{
    size_t n = count_pieces(part, "->");
    struct shd_spec *spec;

    if (n == 1 && !reader->strict)
        return SHD_OK;
    if (n != 2)
        return shd_error_set(err, SHD_EINVAL, "'%.100s' has %zu arrows instead of one", part,
                             n - 1);

    char *expressions = cut(&part, "->");
    int status = read_spec(&spec, part, err);

    if (!status) {
        status = add_rules(reader, expressions, spec, err);
        shd_spec_destroy(spec);
    }
    return status;
}

static int read_text(struct reader *reader, const char *text, struct shd_error *err)
{
    char *copy = strdup(text), *rest = copy;
    int status = SHD_OK;

    if (!copy)
        return shd_error_set(err, SHD_ENOMEM, "no memory for a pattern");
    while (!status && rest)
        status = read_part(reader, cut(&rest, ","), err);
    free(copy);
    return status;
}

static int create(struct shd_pattern **out, const char *text, const struct shd_mesh *mesh,
                  const struct shd_spec *fallback, bool strict, struct shd_error *err)
{
    struct reader reader = {NULL, mesh, strict};
    int status;

    if (!mesh)
        return shd_error_set(err, SHD_ENOMESH, "no mesh is given and none is in context");
    reader.pattern = calloc(1, sizeof(*reader.pattern));
    if (!reader.pattern)
        return shd_error_set(err, SHD_ENOMEM, "no memory for a pattern");
    status = shd_rules_create(&reader.pattern->rules, err);
    if (!status)
        status = fallback ? shd_spec_copy(&reader.pattern->fallback, fallback, err)
                          : shd_spec_create(&reader.pattern->fallback, NULL, 0, err);
    if (!status)
        status = read_text(&reader, text, err);
    if (status)
        shd_pattern_destroy(reader.pattern);
    else
        *out = reader.pattern;
    return status;
}

int shd_pattern_create(struct shd_pattern **out, const char *text, const struct shd_mesh *mesh,
                       const struct shd_spec *fallback, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, text))
        return SHD_EINVAL;
    return create(out, text, mesh, fallback, false, err);
}

int shd_pattern_create_strict(struct shd_pattern **out, const char *text,
                              const struct shd_mesh *mesh, const struct shd_spec *fallback,
                              struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, text))
        return SHD_EINVAL;
    return create(out, text, mesh, fallback, true, err);
}

void shd_pattern_destroy(struct shd_pattern *pattern)
{
    if (!pattern)
        return;
    shd_rules_destroy(pattern->rules);
    shd_spec_destroy(pattern->fallback);
    free(pattern);
}

int shd_pattern_find(const struct shd_spec **out, const struct shd_pattern *pattern,
                     const char *name, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, pattern, name))
        return SHD_EINVAL;

    size_t rule;
    int status = shd_rules_match(&rule, pattern->rules, name, err);

    if (status == SHD_ENOTFOUND)
        *out = pattern->fallback;
    else if (!status)
        *out = shd_rules_spec(pattern->rules, rule);
    return status == SHD_ENOTFOUND ? SHD_OK : status;
}

/* Resolving names of `partition_axis` (scenario/resolve.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "scenario/resolve.h"

#include <stdlib.h>
#include <string.h>

#include <shd/partition_axis.h>
#include <shd/shape.h>

#include "scenario/partition_axis_value.h"

static void create_axis(struct reader *r)
{
    struct scenario_partition_axis *p = &r->scenario->partition_axis;
    struct shd_axis_override overrides[SHD_NAXIS_FIELDS];
    struct shd_error err;

    for (size_t i = 0; i < p->nfields; i++) {
        const struct scenario_logical *f = &p->fields[i];
        enum shd_axis_kind kind = f->naxes == 0   ? SHD_AXIS_IS_NONE
                                  : f->naxes == 1 ? SHD_AXIS_IS_NAME
                                                  : SHD_AXIS_IS_TUPLE;

        overrides[i] = (struct shd_axis_override){f->name, {.kind = kind, .naxes = f->naxes}};
        for (size_t a = 0; a < f->naxes; a++)
            overrides[i].value.axes[a] = f->axes[a];
    }
    if (shd_partition_axis_create(&p->axis, overrides, p->nfields, &err) != SHD_OK)
        diag_failure(r->diag, scenario_place(r->scenario, "partition_axis"), err.status, "%s",
                     err.text);
}

/* Append the mesh axes of entry `e` of a spec to the `*n` axes in `axes`. */
static void find_entry(struct shd_spec_entry *entry, const char **axes, size_t *n,
                       const struct scenario *s, const struct shd_spec *spec, size_t e)
{
    *entry = (struct shd_spec_entry){axes + *n, 0};
    for (size_t a = 0; a < shd_spec_naxes(spec, e); a++)
        entry->naxes += partition_axis_find(axes + *n + entry->naxes, s, shd_spec_axis(spec, e, a));
    *n += entry->naxes;
}

static int resolve_spec(struct shd_spec **out, const struct scenario *s,
                        const struct shd_spec *spec, struct shd_error *err)
{
    struct shd_spec_entry entries[SHD_RANK_MAX];
    size_t n = 0;

    for (size_t e = 0; e < shd_spec_nentries(spec); e++)
        n += shd_spec_naxes(spec, e);
    const char **axes = calloc(n + 1, SHD_AXIS_VALUE_MAX * sizeof(*axes));
    if (!axes)
        return shd_error_set(err, SHD_ENOMEM, "no memory left to read this");
    n = 0;
    for (size_t e = 0; e < shd_spec_nentries(spec); e++)
        find_entry(&entries[e], axes, &n, s, spec, e);
    int status = shd_spec_create(out, entries, shd_spec_nentries(spec), err);
    free(axes);
    return status;
}

/* Replace the names in a rule's spec by mesh axes.  If that changes the spec, the written one is
 * kept, too. */
static void resolve_rule(struct reader *r, struct scenario_rule *rule)
{
    struct shd_spec *spec;
    struct shd_error err;

    if (resolve_spec(&spec, r->scenario, rule->spec, &err) != SHD_OK) {
        diag_failure(r->diag, rule->spec_place, err.status, "%s", err.text);
    } else if (shd_spec_equal(spec, rule->spec)) {
        shd_spec_destroy(spec);
    } else {
        rule->written = rule->spec;
        rule->spec = spec;
    }
}

/* Replace the names in an entry of `axes` by mesh axes. option_checks.c reports names that resolve
 * to more axes than a mesh can have. */
static void resolve_logical(struct reader *r, struct scenario_logical *logical)
{
    const char *found[SHD_AXIS_VALUE_MAX];
    char **axes = calloc(logical->naxes + 1, SHD_AXIS_VALUE_MAX * sizeof(*axes));
    size_t n = 0;
    bool good = axes != NULL, same = true;

    for (size_t a = 0; good && a < logical->naxes; a++) {
        size_t nfound = partition_axis_find(found, r->scenario, logical->axes[a]);

        same = same && nfound == 1 && found[0] == logical->axes[a];
        for (size_t i = 0; good && i < nfound; i++) {
            axes[n] = strdup(found[i]);
            good = axes[n++] != NULL;
        }
    }
    if (!good)
        value_no_memory(r);
    if (good && !same) {
        logical->written = logical->axes;
        logical->nwritten = logical->naxes;
        logical->axes = axes;
        logical->naxes = n;
        return;
    }
    while (n > 0)
        free(axes[--n]);
    free(axes);
}

void resolve_names(struct reader *r)
{
    struct scenario *s = r->scenario;

    if (!s->partition_axis.used)
        return;
    create_axis(r);
    if (!s->partition_axis.axis)
        return;
    for (size_t i = 0; i < s->nparams; i++)
        resolve_rule(r, &s->params[i]);
    for (size_t i = 0; i < s->nconstraints; i++)
        resolve_rule(r, &s->constraints[i]);
    for (size_t i = 0; i < s->nlogical; i++)
        resolve_logical(r, &s->logical[i]);
}

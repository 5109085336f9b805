/* Which products a layout rounds to fewer bits, in the words of another system (export.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "export/rounding.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/products.h"
#include "model/rule_match.h"

int export_check_products(const struct scenario *scenario, const char *system, unsigned recipes,
                          struct shd_error *err)
{
    const struct scenario_products *p = &scenario->products;
    const bool by_block = p->recipe == SCENARIO_BLOCKWISE || p->recipe == SCENARIO_MXFP8;
    const char *what = NULL;

    if (p->recipe == SCENARIO_NO_RECIPE)
        return SHD_OK;
    if (!(recipes >> p->recipe & 1))
        what = "products.recipe none, or a supported recipe";
    else if (!by_block && p->amax != SCENARIO_AMAX_LOCAL)
        what = "products.amax local (scales of each device's shard)";
    else if (p->block > 0)
        what = "products.block 0";
    else if (p->dispatch)
        what = "products.dispatch false";
    else if (p->kept != SCENARIO_KEPT_BY_RECIPE)
        what = "products.kept recipe";
    if (!what)
        return SHD_OK;
    return shd_error_set(err, SHD_EUNSUPPORTED,
                         "%s does not support this quantization of matmuls; expected %s", system,
                         what);
}

/* Add each product of the graph to the first group whose pattern is found in its name. */
static int sort_products(struct export_rounding *out, const struct graph *graph,
                         struct match *groups, struct diag *diag)
{
    for (uint32_t node = 0; node < graph->nnodes; node++) {
        const char *name = graph->nodes[node].name;
        const struct scenario_rule *group = NULL;
        bool rounded;
        int status;

        if (!model_is_product(&rounded, graph, node))
            continue;
        status = match_find(&group, groups, name, diag);
        if (status != SHD_OK)
            return status;
        if (!group)
            continue;
        struct export_rounding *r = &out[group - groups->rules];
        const char **first = rounded ? &r->rounded : &r->wide;

        *first = *first ? *first : name;
    }
    return SHD_OK;
}

int export_find_rounding(struct export_rounding *out, const struct graph *graph,
                         const struct scenario_rule *groups, size_t ngroups, struct shd_error *err)
{
    struct diag diag = DIAG_INIT;
    struct match match = MATCH_INIT;
    int status = match_init(&match, groups, ngroups, &diag);

    for (size_t g = 0; g < ngroups; g++)
        out[g] = (struct export_rounding){.wide = NULL};
    if (status == SHD_OK)
        status = sort_products(out, graph, &match, &diag);
    match_fini(&match);
    diag_fini(&diag);
    return status == SHD_OK ? SHD_OK
                            : shd_error_set(err, status, "the names of matmuls are not sorted");
}

int export_check_even(const struct export_rounding *rounding, size_t ngroups, const char *system,
                      struct shd_error *err)
{
    for (size_t g = 0; g < ngroups; g++)
        if (rounding[g].rounded && rounding[g].wide)
            return shd_error_set(err, SHD_EUNSUPPORTED,
                                 "%s quantizes '%.50s' and '%.50s' alike; expected both or neither "
                                 "in products.except",
                                 system, rounding[g].rounded, rounding[g].wide);
    return SHD_OK;
}

/* ---- by layers ---- */

#define NAME_BYTES 32 /* of a layer's pattern */

/* What is rounded nowhere, then a group for each layer, then all else. */
enum { HEAD, ROUTERS, LAYERS };

static int check_ends(const struct export_rounding *r, int64_t first, int64_t last, int64_t layers,
                      const char *system, struct shd_error *err)
{
    const char *rounded = r[HEAD].rounded ? r[HEAD].rounded : r[ROUTERS].rounded;
    const char *wide = r[LAYERS + layers].wide;

    for (int64_t l = first; l < layers - last; l++)
        wide = wide ? wide : r[LAYERS + l].wide;
    if (rounded)
        return shd_error_set(err, SHD_EUNSUPPORTED,
                             "%s does not quantize '%.50s'; add a pattern for it to "
                             "products.except",
                             system, rounded);
    if (wide)
        return shd_error_set(err, SHD_EUNSUPPORTED,
                             "%s quantizes '%.50s'; expected products.except to match all matmuls "
                             "of the first and last layers, and of no others",
                             system, wide);
    return SHD_OK;
}

/* Fill in the groups; the names are those of layers. */
static void set_groups(struct scenario_rule *groups, char (*names)[NAME_BYTES], int64_t layers)
{
    groups[HEAD].pattern = (char *)"^head$";
    groups[ROUTERS].pattern = (char *)"router$";
    for (int64_t l = 0; l < layers; l++) {
        snprintf(names[l], NAME_BYTES, "layers/%" PRId64 "/", l);
        groups[LAYERS + l].pattern = names[l];
    }
    groups[LAYERS + layers].pattern = (char *)"";
}

int export_find_wide_ends(int64_t *first, int64_t *last, const struct graph *graph, int64_t layers,
                          const char *system, struct shd_error *err)
{
    size_t n = (size_t)layers + LAYERS + 1;
    struct scenario_rule *groups = calloc(n, sizeof *groups);
    struct export_rounding *r = calloc(n, sizeof *r);
    char(*names)[NAME_BYTES] = calloc(n, sizeof *names);
    int status = SHD_ENOMEM;

    *first = *last = 0;
    if (groups && r && names) {
        set_groups(groups, names, layers);
        status = export_find_rounding(r, graph, groups, n, err);
    } else {
        status = shd_error_set(err, SHD_ENOMEM, "no memory for the names of layers");
    }
    if (status == SHD_OK)
        status = export_check_even(r, n, system, err);
    if (status == SHD_OK) {
        while (*first < layers && r[LAYERS + *first].wide)
            ++*first;
        while (*last < layers - *first && r[LAYERS + layers - 1 - *last].wide)
            ++*last;
        status = check_ends(r, *first, *last, layers, system, err);
    }
    free(groups);
    free(r);
    free(names);
    return status;
}

/* Functions bound to axis resources, and then to shapes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/partition.h"

#include <stdlib.h>
#include <string.h>

#include "run/params.h"

static int no_memory(struct shd_error *err)
{
    return shd_error_set(err, SHD_ENOMEM, "no memory for a partitioned function");
}

/* ---- shd_partition() ---- */

static void free_entries(struct shd_prefix *entries, size_t nentries)
{
    for (size_t e = 0; entries && e < nentries; e++) {
        free((char *)entries[e].path);
        shd_spec_destroy((struct shd_spec *)entries[e].spec);
    }
    free(entries);
}

static void free_side(struct partition_side *side)
{
    for (size_t i = 0; side->list && i < side->count; i++)
        free_entries((struct shd_prefix *)side->list[i].entries, side->list[i].nentries);
    free(side->list);
}

static int copy_entries(struct shd_resources *out, const struct shd_resources *from,
                        struct shd_error *err)
{
    struct shd_prefix *entries = calloc(from->nentries + 1, sizeof(*entries));

    *out = *from;
    out->entries = entries;
    if (!entries)
        return no_memory(err);
    for (size_t e = 0; e < from->nentries; e++) {
        struct shd_spec *spec = NULL;
        int status = SHD_OK;

        entries[e].path = strdup(from->entries[e].path);
        if (from->entries[e].spec)
            status = shd_spec_copy(&spec, from->entries[e].spec, err);
        entries[e].spec = spec;
        if (status != SHD_OK)
            return status;
        if (!entries[e].path)
            return no_memory(err);
    }
    return SHD_OK;
}

static int copy_side(struct partition_side *out, const struct shd_resources *from, size_t count,
                     struct shd_error *err)
{
    int status = SHD_OK;

    out->list = calloc(count + 1, sizeof(*out->list));
    if (!out->list)
        return no_memory(err);
    out->count = count;
    for (size_t i = 0; !status && i < count; i++)
        status = copy_entries(&out->list[i], &from[i], err);
    return status;
}

static int check_resources(const struct shd_partition_opts *opts, struct shd_error *err)
{
    for (size_t i = 0; i < opts->nargs; i++) {
        if (opts->args[i].is_static && (opts->args[i].nentries || opts->args[i].is_donated))
            return shd_error_set(err, SHD_EINVAL, "argument %zu is static and %s", i,
                                 opts->args[i].nentries ? "has specs" : "donated");
    }
    for (size_t i = 0; i < opts->nresults; i++) {
        if (opts->results[i].is_static || opts->results[i].is_donated)
            return shd_error_set(err, SHD_EINVAL, "result %zu is static or donated", i);
    }
    return SHD_OK;
}

int shd_partition(struct shd_partitioned **out, const struct shd_partition_opts *opts,
                  const struct shd_context *context, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, opts))
        return SHD_EINVAL;

    const struct shd_mesh *mesh;
    struct shd_partitioned *fn;
    int status = shd_context_mesh(&mesh, context, err);

    if (status == SHD_OK)
        status = check_resources(opts, err);
    if (status != SHD_OK)
        return status;
    fn = calloc(1, sizeof(*fn));
    if (!fn)
        return no_memory(err);
    fn->fn = opts->fn;
    fn->results_fn = opts->results_fn;
    fn->arg = opts->arg;
    fn->context = *context;
    status = copy_side(&fn->args, opts->args, opts->nargs, err);
    if (status == SHD_OK)
        status = copy_side(&fn->results, opts->results, opts->nresults, err);
    if (status == SHD_OK)
        *out = fn;
    else
        shd_partitioned_destroy(fn);
    return status;
}

void shd_partitioned_destroy(struct shd_partitioned *fn)
{
    if (!fn)
        return;
    free_side(&fn->args);
    free_side(&fn->results);
    free(fn);
}

/* ---- shd_compile() ---- */

static void free_trees(struct compiled_tree *trees, size_t count)
{
    for (size_t i = 0; trees && i < count; i++) {
        shd_tree_destroy(trees[i].tree);
        free(trees[i].specs);
        free(trees[i].shardings);
    }
    free(trees);
}

void shd_compiled_destroy(struct shd_compiled *fn)
{
    if (!fn)
        return;
    free_trees(fn->args, fn->fn->args.count);
    free_trees(fn->results, fn->fn->results.count);
    free(fn->constants);
    free(fn);
}

static int copy_tree(struct shd_tree *out, const struct shd_tree *tree, struct shd_error *err)
{
    int status = SHD_OK;

    for (size_t i = 0; !status && i < shd_tree_count(tree); i++)
        status = shd_tree_add(out, shd_tree_leaf(tree, i), err);
    return status;
}

/* Find and bind the specs of a complete tree's leaves. */
static int bind_tree(struct compiled_tree *t, const struct shd_resources *resources,
                     const struct shd_mesh *mesh, struct shd_error *err)
{
    size_t n = shd_tree_count(t->tree);
    int status;

    t->specs = calloc(n + 1, sizeof(*t->specs));
    t->shardings = calloc(n + 1, sizeof(*t->shardings));
    if (!t->specs || !t->shardings)
        return no_memory(err);
    status = shd_prefix_specs(t->specs, t->tree, resources->entries, resources->nentries, err);
    for (size_t i = 0; !status && i < n; i++)
        status =
            params_bind_leaf(&t->shardings[i], mesh, t->specs[i], shd_tree_leaf(t->tree, i), err);
    return status;
}

static int compile_args(struct shd_compiled *c, const struct shd_argument *args,
                        struct shd_error *err)
{
    const struct partition_side *side = &c->fn->args;
    int status = SHD_OK;

    for (size_t i = 0; !status && i < side->count; i++) {
        if (side->list[i].is_static != !args[i].tree)
            return shd_error_set(err, SHD_EINVAL, "argument %zu is %sstatic and has %s tree", i,
                                 args[i].tree ? "" : "not ", args[i].tree ? "a" : "no");
        c->constants[i] = args[i].constant;
        if (side->list[i].is_static)
            continue;
        status = shd_tree_create(&c->args[i].tree, err);
        if (status == SHD_OK)
            status = copy_tree(c->args[i].tree, args[i].tree, err);
        if (status == SHD_OK)
            status = bind_tree(&c->args[i], &side->list[i], c->fn->context.mesh, err);
    }
    return status;
}

static int compile_results(struct shd_compiled *c, const struct shd_argument *args,
                           struct shd_error *err)
{
    const struct partition_side *side = &c->fn->results;
    struct shd_tree **trees = calloc(side->count + 1, sizeof(struct shd_tree *));
    int status = trees ? SHD_OK : no_memory(err);

    for (size_t i = 0; !status && i < side->count; i++) {
        status = shd_tree_create(&c->results[i].tree, err);
        trees[i] = c->results[i].tree;
    }
    if (status == SHD_OK && c->fn->results_fn)
        status = c->fn->results_fn(trees, args, c->fn->arg, err);
    for (size_t i = 0; !status && i < side->count; i++)
        status = bind_tree(&c->results[i], &side->list[i], c->fn->context.mesh, err);
    free(trees);
    return status;
}

int shd_compile(struct shd_compiled **out, const struct shd_partitioned *fn,
                const struct shd_argument *args, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, fn) || !SHD_GIVEN_ARRAY(err, args, fn->args.count))
        return SHD_EINVAL;

    struct shd_compiled *c = calloc(1, sizeof(*c));
    int status = SHD_OK;

    if (!c)
        return no_memory(err);
    c->fn = fn;
    c->constants = calloc(fn->args.count + 1, sizeof(*c->constants));
    c->args = calloc(fn->args.count + 1, sizeof(*c->args));
    c->results = calloc(fn->results.count + 1, sizeof(*c->results));
    if (!c->constants || !c->args || !c->results)
        status = no_memory(err);
    if (status == SHD_OK)
        status = compile_args(c, args, err);
    if (status == SHD_OK)
        status = compile_results(c, args, err);
    if (status == SHD_OK)
        *out = c;
    else
        shd_compiled_destroy(c);
    return status;
}

const struct shd_tree *shd_compiled_result_tree(const struct shd_compiled *fn, size_t result)
{
    if (!fn)
        return NULL;
    return result < fn->fn->results.count ? fn->results[result].tree : NULL;
}

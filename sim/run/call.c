/* Calling a compiled function: arguments into their layouts, memory for results, the body.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "run/device.h"
#include "run/params.h"
#include "run/partition.h"
#include "run/relayout.h"

/* Data shared by all devices of a call.  Each device writes only the shards at its own position. */
struct calling {
    const struct shd_compiled *fn;
    struct shd_params *const *args;
    struct shd_params **results;
    /* [result][leaf]: the leaf of a donated argument whose memory it reuses */
    struct taken {
        struct shd_params *from; /* NULL: memory of its own */
        size_t leaf;
    } **taken;
};

struct shd_call {
    struct shd_device *dev;
    const struct calling *calling;
    void ***args; /* [argument][leaf]: the shard in the requested layout */
};

/* ---- before: checking arguments ---- */

static bool same_array(const struct shd_leaf *a, const struct shd_leaf *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           (a->rank == 0 || !memcmp(a->shape, b->shape, a->rank * sizeof(*a->shape)));
}

static int check_arg(const struct shd_compiled *fn, const struct shd_store *store,
                     struct shd_params *const *args, size_t i, struct shd_error *err)
{
    const struct shd_tree *tree = fn->args[i].tree;

    if (!tree || !args[i])
        return !tree && !args[i]
                   ? SHD_OK
                   : shd_error_set(err, SHD_EINVAL, "argument %zu is %s", i,
                                   tree ? "missing" : "static, and was fixed before");
    if (args[i]->store != store)
        return shd_error_set(err, SHD_EINVAL, "argument %zu is in another store", i);
    if (args[i]->nleaves != shd_tree_count(tree))
        return shd_error_set(err, SHD_EINVAL, "argument %zu has %zu arrays; compiled for %zu", i,
                             args[i]->nleaves, shd_tree_count(tree));
    for (size_t l = 0; l < args[i]->nleaves; l++) {
        const struct shd_leaf *leaf = shd_tree_leaf(tree, l),
                              *its = shd_tree_leaf(args[i]->tree, l);

        if (strcmp(leaf->name, its->name) || !same_array(leaf, its))
            return shd_error_set(err, SHD_EINVAL,
                                 "argument %zu: '%.100s' is not the array it was compiled for", i,
                                 leaf->name);
        if (!shd_params_is_placed(args[i], l))
            return shd_error_set(err, SHD_EINVAL, "argument %zu: '%.100s' is not on the devices", i,
                                 leaf->name);
    }
    return SHD_OK;
}

static int check_args(const struct shd_compiled *fn, const struct shd_store *store,
                      struct shd_params *const *args, struct shd_error *err)
{
    const struct partition_side *side = &fn->fn->args;
    int status = SHD_OK;

    if (!shd_mesh_equal(store->mesh, fn->fn->context.mesh))
        return shd_error_set(err, SHD_EINVAL, "the store and the function have different meshes");
    for (size_t i = 0; !status && i < side->count; i++)
        status = check_arg(fn, store, args, i, err);
    for (size_t i = 0; !status && i < side->count; i++)
        for (size_t j = 0; !status && j < side->count; j++)
            if (i != j && args[i] && args[i] == args[j] && side->list[i].is_donated)
                status = shd_error_set(err, SHD_EINVAL,
                                       "argument %zu is donated, and is argument %zu as well", i,
                                       j);
    return status;
}

/* ---- before: reusing memory for results ---- */

static bool is_taken(const struct calling *c, const struct shd_params *from, size_t leaf)
{
    for (size_t r = 0; r < c->fn->fn->results.count; r++)
        for (size_t l = 0; c->taken[r] && l < shd_tree_count(c->fn->results[r].tree); l++)
            if (c->taken[r][l].from == from && c->taken[r][l].leaf == leaf)
                return true;
    return false;
}

static bool may_take(const struct calling *c, size_t arg, size_t leaf, size_t result, size_t at)
{
    const struct compiled_tree *from = &c->fn->args[arg], *to = &c->fn->results[result];
    const struct shd_leaf *a = shd_tree_leaf(from->tree, leaf), *b = shd_tree_leaf(to->tree, at);

    return same_array(a, b) && shd_sharding_equal(&from->shardings[leaf], &to->shardings[at]) &&
           shd_sharding_equal(&from->shardings[leaf], &c->args[arg]->leaves[leaf].sharding) &&
           !is_taken(c, c->args[arg], leaf);
}

static struct taken find_taken(const struct calling *c, size_t result, size_t at)
{
    for (size_t a = 0; a < c->fn->fn->args.count; a++)
        for (size_t l = 0; c->fn->fn->args.list[a].is_donated && l < c->args[a]->nleaves; l++)
            if (may_take(c, a, l, result, at))
                return (struct taken){c->args[a], l};
    return (struct taken){NULL, 0};
}

static int prepare_results(struct calling *c, struct shd_store *store, struct shd_error *err)
{
    size_t nresults = c->fn->fn->results.count;
    int status = SHD_OK;

    c->taken = calloc(nresults + 1, sizeof(*c->taken));
    if (!c->taken)
        return shd_error_set(err, SHD_ENOMEM, "no memory for a call");
    for (size_t r = 0; !status && r < nresults; r++) {
        const struct compiled_tree *t = &c->fn->results[r];
        size_t nleaves = shd_tree_count(t->tree);

        c->taken[r] = calloc(nleaves + 1, sizeof(**c->taken));
        if (!c->taken[r])
            return shd_error_set(err, SHD_ENOMEM, "no memory for a call");
        for (size_t l = 0; l < nleaves; l++)
            c->taken[r][l] = find_taken(c, r, l);
        status = shd_params_create(&c->results[r], store, t->tree, t->specs, err);
    }
    return status;
}

/* ---- on each device ---- */

/* Copy an argument in another layout into the requested one; a donated argument is then freed at
 * once.
 */
static int bring_leaf(struct shd_call *call, size_t arg, size_t i, struct shd_error *err)
{
    const struct calling *c = call->calling;
    const struct compiled_tree *t = &c->fn->args[arg];
    const struct shd_leaf *leaf = shd_tree_leaf(t->tree, i);
    struct params_leaf *p = &c->args[arg]->leaves[i];
    void **own = &p->shards[call->dev->position];
    struct shd_local in = {*own, leaf->dtype, p->sharding, {0}}, out;
    int status;

    call->args[arg][i] = *own;
    if (shd_sharding_equal(&p->sharding, &t->shardings[i]))
        return SHD_OK;
    memcpy(in.shape, leaf->shape, leaf->rank * sizeof(*in.shape));
    status = shd_call_constrain(call, &out, &in, t->specs[i], err);
    if (status != SHD_OK)
        return status;
    call->args[arg][i] = out.data;
    if (c->fn->fn->args.list[arg].is_donated) {
        arena_free(&call->dev->arena, *own);
        *own = NULL;
    }
    return SHD_OK;
}

static int bring_args(struct shd_call *call, struct shd_error *err)
{
    const struct calling *c = call->calling;
    size_t nargs = c->fn->fn->args.count;
    int status = SHD_OK;

    call->args = calloc(nargs + 1, sizeof(*call->args));
    if (!call->args)
        return shd_error_set(err, SHD_ENOMEM, "no memory for a call");
    for (size_t a = 0; !status && a < nargs; a++) {
        if (!c->args[a])
            continue;
        call->args[a] = calloc(c->args[a]->nleaves + 1, sizeof(**call->args));
        if (!call->args[a])
            return shd_error_set(err, SHD_ENOMEM, "no memory for a call");
        for (size_t i = 0; !status && i < c->args[a]->nleaves; i++)
            status = bring_leaf(call, a, i, err);
    }
    return status;
}

/* Provide the memory of a result: that of a donated argument which it reuses, or new memory. */
static int open_result(struct shd_call *call, size_t result, size_t i, struct shd_error *err)
{
    const struct calling *c = call->calling;
    const struct taken *taken = &c->taken[result][i];
    struct params_leaf *p = &c->results[result]->leaves[i];
    void **own = &p->shards[call->dev->position];
    int status;

    if (taken->from) {
        void **theirs = &taken->from->leaves[taken->leaf].shards[call->dev->position];

        *own = *theirs;
        *theirs = NULL;
        return SHD_OK;
    }
    status = arena_alloc(&call->dev->arena, p->shard_bytes,
                         shd_tree_leaf(c->fn->results[result].tree, i)->name, own, err);
    if (status == SHD_OK)
        arena_keep(*own);
    return status;
}

static int open_results(struct shd_call *call, struct shd_error *err)
{
    const struct calling *c = call->calling;
    int status = SHD_OK;

    for (size_t r = 0; !status && r < c->fn->fn->results.count; r++)
        for (size_t i = 0; !status && i < c->results[r]->nleaves; i++)
            status = open_result(call, r, i, err);
    return status;
}

static int run_call(struct shd_device *dev, void *arg, struct shd_error *err)
{
    const struct calling *c = arg;
    struct shd_call call = {.dev = dev, .calling = c};
    int status = bring_args(&call, err);

    if (status == SHD_OK)
        status = open_results(&call, err);
    if (status == SHD_OK)
        status = c->fn->fn->fn(&call, c->fn->fn->arg, err);
    for (size_t a = 0; call.args && a < c->fn->fn->args.count; a++)
        free(call.args[a]);
    free(call.args);
    return status;
}

/* ---- after ---- */

static void use_up_donated(const struct calling *c)
{
    for (size_t a = 0; a < c->fn->fn->args.count; a++)
        for (size_t i = 0; c->fn->fn->args.list[a].is_donated && i < c->args[a]->nleaves; i++)
            params_drop(c->args[a], i);
}

static void fini_calling(struct calling *c, bool failed)
{
    for (size_t r = 0; r < c->fn->fn->results.count; r++) {
        if (c->taken)
            free(c->taken[r]);
        if (failed)
            shd_params_destroy(c->results[r]);
    }
    free(c->taken);
    free(c->results);
}

int shd_compiled_call(const struct shd_compiled *fn, struct shd_store *store,
                      struct shd_params *const *args, struct shd_params **results,
                      struct shd_run_stats *stats, struct shd_error *err)
{
    if (!SHD_GIVEN(err, fn, store) || !SHD_GIVEN_ARRAY(err, args, fn->fn->args.count) ||
        !SHD_GIVEN_ARRAY(err, results, fn->fn->results.count))
        return SHD_EINVAL;

    struct calling c = {.fn = fn, .args = args};
    int status = check_args(fn, store, args, err);

    if (status != SHD_OK)
        return status;
    c.results = calloc(fn->fn->results.count + 1, sizeof(struct shd_params *));
    if (!c.results)
        return shd_error_set(err, SHD_ENOMEM, "no memory for a call");
    status = prepare_results(&c, store, err);
    if (status == SHD_OK) {
        status = shd_store_run(store, run_call, &c, stats, err);
        use_up_donated(&c);
    }
    for (size_t r = 0; !status && r < fn->fn->results.count; r++)
        results[r] = c.results[r];
    fini_calling(&c, status != SHD_OK);
    return status;
}

/* ---- inside ---- */

struct shd_device *shd_call_device(const struct shd_call *call)
{
    if (!call)
        return NULL;
    return call->dev;
}

const struct shd_context *shd_call_context(const struct shd_call *call)
{
    if (!call)
        return NULL;
    return &call->calling->fn->fn->context;
}

static struct shd_local local_of(const struct compiled_tree *t, size_t i, void *data)
{
    const struct shd_leaf *leaf = shd_tree_leaf(t->tree, i);
    struct shd_local local = {.data = data, .dtype = leaf->dtype, .sharding = t->shardings[i]};

    memcpy(local.shape, leaf->shape, leaf->rank * sizeof(*local.shape));
    return local;
}

struct shd_local shd_call_arg(const struct shd_call *call, size_t arg, size_t leaf)
{
    if (!call)
        return (struct shd_local){0};

    const struct shd_compiled *fn = call->calling->fn;

    if (arg >= fn->fn->args.count || !call->args[arg] || leaf >= shd_tree_count(fn->args[arg].tree))
        return (struct shd_local){.data = NULL};
    return local_of(&fn->args[arg], leaf, call->args[arg][leaf]);
}

const void *shd_call_static(const struct shd_call *call, size_t arg)
{
    if (!call)
        return NULL;

    const struct shd_compiled *fn = call->calling->fn;

    return arg < fn->fn->args.count ? fn->constants[arg] : NULL;
}

struct shd_local shd_call_result(const struct shd_call *call, size_t result, size_t leaf)
{
    if (!call)
        return (struct shd_local){0};

    const struct shd_compiled *fn = call->calling->fn;

    if (result >= fn->fn->results.count || leaf >= shd_tree_count(fn->results[result].tree))
        return (struct shd_local){.data = NULL};
    return local_of(&fn->results[result], leaf,
                    call->calling->results[result]->leaves[leaf].shards[call->dev->position]);
}

int shd_call_constrain(struct shd_call *call, struct shd_local *out, const struct shd_local *in,
                       const struct shd_spec *spec, struct shd_error *err)
{
    if (!SHD_GIVEN(err, call, out, in))
        return SHD_EINVAL;

    struct shd_local made = *in;
    int64_t shard_shape[SHD_RANK_MAX];
    uint64_t bytes;
    int status;

    if (in->sharding.partial)
        return shd_error_set(err, SHD_EUNSUPPORTED, "a partial sum has no layout yet");
    status =
        params_bind(&made.sharding, in->sharding.mesh, spec, in->sharding.rank, in->shape, err);
    if (status == SHD_OK && shd_sharding_equal(&made.sharding, &in->sharding)) {
        *out = *in;
        return SHD_OK;
    }
    if (status != SHD_OK)
        return status;
    shd_sharding_shard_shape(&made.sharding, in->shape, shard_shape);
    status = shd_shape_bytes(&bytes, shard_shape, made.sharding.rank, in->dtype, err);
    if (status == SHD_OK)
        status = shd_device_alloc(call->dev, bytes, "with_sharding_constraint", &made.data, err);
    if (status == SHD_OK)
        status = relayout_run(call->dev, &in->sharding, &made.sharding, in->shape, in->dtype,
                              in->data, made.data, "with_sharding_constraint", err);
    if (status == SHD_OK)
        *out = made;
    return status;
}

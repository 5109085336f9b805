/* Tests wrong arguments of the C API: each gives an error, never a crash and never OK; and calls
 * that differ between devices fail the run even if the callers ignore the status.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/auto_shard.h>
#include <shd/chunk.h>
#include <shd/graph.h>
#include <shd/group.h>
#include <shd/params.h>
#include <shd/partition.h>
#include <shd/rank_order.h>
#include <shd/reshard.h>
#include <shd/run.h>
#include <shd/shape.h>
#include <shd/store.h>

#include <stdlib.h>
#include <string.h>

#include "../support/tap.h"

#define N 4
#define NO_TYPE ((enum shd_dtype)99)
#define NEGATIVE_TYPE ((enum shd_dtype)(-1))
#define NO_REDUCTION ((enum shd_reduce_op)99)

/* The arguments of one call of any kind; a test spoils one of them. */
struct asked {
    const char *axes;
    const void *in;
    void *out;
    uint64_t count;
    uint32_t root;
    enum shd_dtype dtype;
    enum shd_reduce_op op;
    const uint32_t *source;
};

typedef int (*call_fn)(struct shd_device *dev, const struct asked *a, struct shd_error *err);

static int all_reduce(struct shd_device *dev, const struct asked *a, struct shd_error *err)
{
    return shd_device_all_reduce(dev, a->axes, a->in, a->out, a->count, a->dtype, a->op, err);
}

static int all_gather(struct shd_device *dev, const struct asked *a, struct shd_error *err)
{
    return shd_device_all_gather(dev, a->axes, a->in, a->out, a->count, a->dtype, err);
}

static int reduce_scatter(struct shd_device *dev, const struct asked *a, struct shd_error *err)
{
    return shd_device_reduce_scatter(dev, a->axes, a->in, a->out, a->count, a->dtype, a->op, err);
}

static int all_to_all(struct shd_device *dev, const struct asked *a, struct shd_error *err)
{
    return shd_device_all_to_all(dev, a->axes, a->in, a->out, a->count, a->dtype, err);
}

static int permute(struct shd_device *dev, const struct asked *a, struct shd_error *err)
{
    return shd_device_permute(dev, a->axes, a->source, a->in, a->out, a->count, a->dtype, err);
}

static int broadcast(struct shd_device *dev, const struct asked *a, struct shd_error *err)
{
    return shd_device_broadcast(dev, a->axes, a->root, a->in, a->out, a->count, a->dtype, err);
}

static int gather(struct shd_device *dev, const struct asked *a, struct shd_error *err)
{
    return shd_device_gather(dev, a->axes, a->root, a->in, a->out, a->count, a->dtype, err);
}

static int reduce(struct shd_device *dev, const struct asked *a, struct shd_error *err)
{
    return shd_device_reduce(dev, a->axes, a->root, a->in, a->out, a->count, a->dtype, a->op, err);
}

static int scatter(struct shd_device *dev, const struct asked *a, struct shd_error *err)
{
    return shd_device_scatter(dev, a->axes, a->root, a->in, a->out, a->count, a->dtype, err);
}

/* Device 0 sends to device 1, device 2 to device 3. */
static int send_recv(struct shd_device *dev, const struct asked *a, struct shd_error *err)
{
    int32_t d = shd_device_position(dev);

    return d % 2 == 0 ? shd_device_send(dev, d + 1, a->in, a->count, a->dtype, err)
                      : shd_device_recv(dev, d - 1, a->out, a->count, a->dtype, err);
}

static const struct {
    const char *name;
    call_fn call;
    bool reduces, has_root, has_source, is_pair;
} kinds[] = {
    {"all-reduce", all_reduce, true, false, false, false},
    {"all-gather", all_gather, false, false, false, false},
    {"reduce-scatter", reduce_scatter, true, false, false, false},
    {"all-to-all", all_to_all, false, false, false, false},
    {"permute", permute, false, false, true, false},
    {"broadcast", broadcast, false, true, false, false},
    {"gather", gather, false, true, false, false},
    {"reduce", reduce, true, true, false, false},
    {"scatter", scatter, false, true, false, false},
    {"send and receive", send_recv, false, false, false, true},
};

#define NKINDS (sizeof kinds / sizeof kinds[0])

static const uint32_t around[N] = {1, 2, 3, 0};

static struct asked well(float *in, float *out)
{
    return (struct asked){NULL, in, out, 8, 0, SHD_F32, SHD_SUM, around};
}

/* A call of all devices with equal arguments, or with one device's arguments spoilt. */
struct run_of {
    size_t kind;
    void (*spoil)(struct asked *asked);
    bool one;     /* only the last device asks for something else */
    bool ignores; /* ignores the status of the call */
};

static int device(struct shd_device *dev, void *arg, struct shd_error *err)
{
    const struct run_of *run = arg;
    float in[8 * N] = {0}, out[8 * N] = {0};
    struct asked asked = well(in, out);
    int status;

    if (run->spoil && (!run->one || shd_device_position(dev) == N - 1))
        run->spoil(&asked);
    status = kinds[run->kind].call(dev, &asked, err);
    return run->ignores ? SHD_OK : status;
}

static int run_it(const struct run_of *run, struct shd_error *err)
{
    const char *names[] = {"x"};
    const int32_t sizes[] = {N};
    struct shd_mesh *mesh;
    int status;

    if (shd_mesh_create(&mesh, names, sizes, 1, NULL) != SHD_OK)
        abort();
    status = shd_run(mesh, device, (void *)(uintptr_t)run, NULL, NULL, err);
    shd_mesh_destroy(mesh);
    return status;
}

/* ---- the same wrong argument everywhere ---- */

static void no_type(struct asked *a)
{
    a->dtype = NO_TYPE;
}

static void negative_type(struct asked *a)
{
    a->dtype = NEGATIVE_TYPE;
}

static void uncomputed_type(struct asked *a)
{
    a->dtype = SHD_I8;
}

static void no_reduction(struct asked *a)
{
    a->op = NO_REDUCTION;
}

static void large_count(struct asked *a)
{
    a->count = UINT64_MAX / 2;
}

static void no_operand(struct asked *a)
{
    a->in = NULL;
}

static void no_result(struct asked *a)
{
    a->out = NULL;
}

static void no_root(struct asked *a)
{
    a->root = N;
}

static void no_sources(struct asked *a)
{
    a->source = NULL;
}

static void no_source(struct asked *a)
{
    static const uint32_t wrong[N] = {1, 2, 3, N};

    a->source = wrong;
}

static void no_axis(struct asked *a)
{
    a->axes = "y";
}

static const struct {
    const char *what;
    void (*spoil)(struct asked *asked);
    int status;
    bool reduces, has_root, has_source, not_pair; /* the kinds of calls that have the argument */
} wrongs[] = {
    {"a type that is none", no_type, SHD_EINVAL, false, false, false, false},
    {"a negative type", negative_type, SHD_EINVAL, false, false, false, false},
    {"a type that is not computed with", uncomputed_type, SHD_EUNSUPPORTED, true, false, false,
     false},
    {"a reduction that is none", no_reduction, SHD_EINVAL, true, false, false, false},
    {"a count that is too large", large_count, SHD_ERANGE, false, false, false, false},
    {"no operand", no_operand, SHD_EINVAL, false, false, false, false},
    {"no result", no_result, SHD_EINVAL, false, false, false, false},
    {"a root that is none", no_root, SHD_EINVAL, false, true, false, false},
    {"no sources", no_sources, SHD_EINVAL, false, false, true, false},
    {"a source that is none", no_source, SHD_EINVAL, false, false, true, false},
    {"an axis that is none", no_axis, SHD_ENOAXIS, false, false, false, true},
};

static bool has(size_t kind, size_t wrong)
{
    return (!wrongs[wrong].reduces || kinds[kind].reduces) &&
           (!wrongs[wrong].has_root || kinds[kind].has_root) &&
           (!wrongs[wrong].has_source || kinds[kind].has_source) &&
           (!wrongs[wrong].not_pair || !kinds[kind].is_pair);
}

static void test_wrong(void)
{
    for (size_t k = 0; k < NKINDS; k++) {
        struct run_of good = {k, NULL, false, false};

        ok(run_it(&good, NULL) == SHD_OK, "%s: right arguments are accepted", kinds[k].name);
        for (size_t w = 0; w < sizeof wrongs / sizeof wrongs[0]; w++) {
            struct run_of run = {k, wrongs[w].spoil, false, false};
            struct shd_error err = {.text = ""};
            int status;

            if (!has(k, w))
                continue;
            status = run_it(&run, &err);
            ok(status == wrongs[w].status && err.text[0], "%s, %s: %d, %s", kinds[k].name,
               wrongs[w].what, status, err.text);
        }
    }
}

/* ---- no mesh, no function, no such algorithm, no other device ---- */

static int nothing(struct shd_device *dev, void *arg, struct shd_error *err)
{
    (void)dev, (void)arg, (void)err;
    return SHD_OK;
}

static void test_no_mesh(struct shd_mesh *mesh)
{
    const struct shd_auto_options options = {.min_elements = 1};
    const struct shd_spec_entry no_axes = {0};
    const int32_t owners[N] = {0};
    const int64_t shape[] = {8};
    const char *unnamed[] = {NULL};
    const int32_t sizes[] = {2};
    struct shd_run_stats stats;
    struct shd_sharding sharding;
    struct shd_chunker chunker;
    struct shd_groups groups;
    struct shd_spec *spec;
    struct shd_store *store;
    struct shd_tree *tree;
    struct shd_error err;
    int64_t size;

    ok(shd_run(NULL, nothing, NULL, NULL, &stats, &err) == SHD_ENOMESH && stats.ndevices == 0,
       "a run: %s", err.text);
    shd_run_stats_fini(&stats);
    ok(shd_run(mesh, NULL, NULL, NULL, NULL, &err) == SHD_EINVAL, "a run: %s", err.text);
    ok(shd_store_create(&store, NULL, NULL, &err) == SHD_ENOMESH, "a store: %s", err.text);
    ok(shd_store_create(&store, mesh, NULL, NULL) == SHD_OK &&
           shd_store_run(store, NULL, NULL, NULL, &err) == SHD_EINVAL,
       "a run on a store: %s", err.text);
    shd_store_destroy(store);
    ok(shd_groups_init(&groups, NULL, NULL, 0, NULL) == SHD_ENOMESH &&
           shd_rank_order_groups(&groups, NULL, "x", NULL) == SHD_ENOMESH,
       "groups of no mesh");
    ok(shd_spec_create(&spec, NULL, 0, NULL) == SHD_OK &&
           shd_sharding_bind(&sharding, NULL, spec, 1, NULL) == SHD_ENOMESH &&
           shd_auto_shard_shape(&size, NULL, spec, shape, 1, NULL) == SHD_ENOMESH,
       "a sharding over no mesh");
    shd_spec_destroy(spec);
    if (shd_tree_create(&tree, NULL) != SHD_OK)
        abort();
    ok(shd_auto_spec(&spec, NULL, shape, 1, NULL, 0, &options, NULL) == SHD_ENOMESH &&
           shd_auto_shard(&spec, tree, NULL, &options, NULL) == SHD_ENOMESH,
       "specs for no mesh");
    shd_tree_destroy(tree);
    ok(shd_chunker_init(&chunker, NULL, owners, 0, NULL) == SHD_ENOMESH &&
           shd_data_mesh_size(&size, NULL, &no_axes, NULL) == SHD_ENOMESH,
       "chunks of no mesh");
    ok(shd_mesh_create(&mesh, unnamed, sizes, 1, &err) == SHD_EINVAL, "a mesh: %s", err.text);
}

static int send_to_self(struct shd_device *dev, void *arg, struct shd_error *err)
{
    float x = 0;

    return *(bool *)arg ? shd_device_send(dev, shd_device_position(dev), &x, 1, SHD_F32, err)
                        : shd_device_recv(dev, shd_device_position(dev), &x, 1, SHD_F32, err);
}

static void test_self(const struct shd_mesh *mesh)
{
    for (int sends = 0; sends < 2; sends++) {
        bool arg = sends;
        struct shd_error err = {.text = ""};

        ok(shd_run(mesh, send_to_self, &arg, NULL, NULL, &err) == SHD_EINVAL &&
               strstr(err.text, "device 0 sends to itself or receives from itself") == err.text,
           "alone: %s", err.text);
    }
}

static void test_algorithms(const struct shd_mesh *mesh)
{
    static const char *const cases[][2] = {
        {"all-reduce=best", "all-reduce has no algorithm 'best'; expected direct, "},
        {"permute=ring", "permute has no algorithm 'ring'; expected direct"},
        {"allreduce=ring", "no collective is called 'allreduce'; expected all-reduce, "},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct shd_run_opts opts = SHD_RUN_OPTS_INIT;
        struct shd_error err = {.text = ""};

        opts.algorithms = cases[i][0];
        ok(shd_run(mesh, nothing, NULL, &opts, NULL, &err) == SHD_EINVAL &&
               strstr(err.text, cases[i][1]) == err.text && err.text[strlen(err.text) - 1] != ' ',
           "%s", err.text);
    }
}

/* ---- one device asks for something else ---- */

static void other_type(struct asked *a)
{
    a->dtype = SHD_I32;
}

static void other_count(struct asked *a)
{
    a->count = 4;
}

static void other_reduction(struct asked *a)
{
    a->op = SHD_MAX;
}

static void other_root(struct asked *a)
{
    a->root = 1;
}

static void other_sources(struct asked *a)
{
    static const uint32_t back[N] = {3, 0, 1, 2};

    a->source = back;
}

static const struct {
    const char *what;
    void (*spoil)(struct asked *asked);
    bool reduces, has_root, has_source;
    const char *last, *first; /* the arguments that the message names for the last and the first
                               * device */
} others[] = {
    {"type", other_type, false, false, false, "of 8 int32", "of 8 float32"},
    {"count", other_count, false, false, false, "of 4 float32", "of 8 float32"},
    {"reduction", other_reduction, true, false, false, "to their max", "to their sum"},
    {"root", other_root, false, true, false, "with root 1", "with root 0"},
    {"sources", other_sources, false, false, true, "with other sources", "with other sources"},
};

/* The message names both devices and their arguments. */
static void test_mismatch(void)
{
    for (size_t k = 0; k < NKINDS; k++)
        for (size_t o = 0; o < sizeof others / sizeof others[0]; o++) {
            if ((others[o].reduces && !kinds[k].reduces) ||
                (others[o].has_root && !kinds[k].has_root) ||
                (others[o].has_source && !kinds[k].has_source))
                continue;
            for (int ignores = 0; ignores < 2; ignores++) {
                struct run_of run = {k, others[o].spoil, true, ignores};
                struct shd_error err = {.text = ""};
                int status = run_it(&run, &err);
                const char *where = strstr(err.text, "where");

                ok(status == SHD_EMISMATCH && where && strstr(err.text, "device 3") == err.text &&
                       strstr(where, kinds[k].is_pair ? "device 2" : "device 0") &&
                       strstr(err.text, others[o].last) && strstr(where, others[o].first),
                   "%s, another %s%s: %s", kinds[k].name, others[o].what,
                   ignores ? ", ignored" : "", err.text);
            }
        }
}

/* ---- types, shapes, parameters, graphs ---- */

static void test_types(void)
{
    const int64_t shape[] = {4};
    uint64_t bytes = 7;

    ok(shd_dtype_size(NO_TYPE) == 0 && shd_dtype_size(NEGATIVE_TYPE) == 0, "no type has no size");
    ok(!strcmp(shd_dtype_name(NO_TYPE), "no type") &&
           !strcmp(shd_dtype_name(NEGATIVE_TYPE), "no type"),
       "and no name");
    ok(shd_shape_bytes(&bytes, shape, 1, NO_TYPE, NULL) == SHD_EINVAL && bytes == 7,
       "an array of no type has no bytes");
}

static void test_reshard(const struct shd_mesh *mesh)
{
    const int64_t shape[] = {8};
    struct shd_sharding from, to;
    struct shd_reshard_plan p;

    shd_sharding_init(&from, mesh, 1);
    to = from;
    to.dims[0] = (struct shd_dim_axes){1, {0}};
    ok(shd_reshard_build(&p, &to, &from, shape, NO_TYPE, NULL) == SHD_EINVAL &&
           shd_reshard_build(&p, &to, &from, shape, NEGATIVE_TYPE, NULL) == SHD_EINVAL,
       "a reshard of no type");
}

static void test_params(const struct shd_mesh *mesh)
{
    const int64_t shape[] = {4};
    const struct shd_leaf leaf = {.name = "w", .dtype = SHD_F32, .rank = 1, .shape = shape};
    struct shd_leaf typeless = leaf;
    struct shd_tree *tree;
    struct shd_store *store;
    struct shd_params *params;
    float host[4] = {1, 2, 3, 4};
    const void *none[] = {NULL};
    void *out[] = {NULL};

    typeless.name = "t";
    typeless.dtype = NO_TYPE;
    if (shd_tree_create(&tree, NULL) != SHD_OK || shd_tree_add(tree, &leaf, NULL) != SHD_OK ||
        shd_store_create(&store, mesh, NULL, NULL) != SHD_OK ||
        shd_params_create(&params, store, tree, NULL, NULL) != SHD_OK)
        abort();
    ok(shd_tree_add(tree, &typeless, NULL) == SHD_EINVAL && shd_tree_count(tree) == 1,
       "a leaf of no type");
    ok(shd_params_shard(params, NULL, NULL) == SHD_EINVAL &&
           shd_params_shard(params, none, NULL) == SHD_EINVAL &&
           shd_params_shard_leaf(params, 0, NULL, NULL) == SHD_EINVAL,
       "placed from no memory");
    ok(shd_params_shard_leaf(params, 1, host, NULL) == SHD_EINVAL &&
           shd_params_shard_leaf(params, SIZE_MAX, host, NULL) == SHD_EINVAL,
       "no such leaf to place");
    ok(shd_params_gather_leaf(params, 0, host, NULL) == SHD_EINVAL, "gathered before it is placed");
    ok(shd_params_shard_leaf(params, 0, host, NULL) == SHD_OK, "placed");
    ok(shd_params_gather(params, NULL, NULL) == SHD_EINVAL &&
           shd_params_gather(params, out, NULL) == SHD_EINVAL &&
           shd_params_gather_leaf(params, 1, host, NULL) == SHD_EINVAL,
       "gathered into no memory, or no such leaf");
    ok(!shd_params_sharding(params, 1) && !shd_params_is_placed(params, 1) &&
           !shd_params_shard_at(params, 1, 0) && !shd_params_shard_at(params, 0, N) &&
           !shd_params_shard_at(params, 0, -1) && shd_params_shard_at(params, 0, N - 1),
       "leaves and devices out of range have no sharding or shard");
    ok(shd_store_live_bytes(store, N) == 0 && shd_store_live_bytes(store, -1) == 0 &&
           shd_store_live_bytes(store, 0) == sizeof host,
       "devices out of range hold 0 bytes");
    shd_params_destroy(params);
    shd_store_destroy(store);
    shd_tree_destroy(tree);
}

static struct shd_graph *new_graph(void)
{
    struct shd_graph *graph;

    if (shd_graph_create(&graph, NULL) != SHD_OK)
        abort();
    shd_graph_dim(graph, "b", 4);
    return graph;
}

static void test_graph(void)
{
    struct shd_graph *graph = new_graph();
    struct shd_error err;
    int32_t x;

    ok(shd_graph_input(graph, "x", NO_TYPE, "b") == SHD_GRAPH_NONE &&
           shd_graph_status(graph, &err) == SHD_EUNSUPPORTED,
       "graph: an input of no type: %s", err.text);
    shd_graph_destroy(graph);
    graph = new_graph();
    ok(shd_graph_param(graph, "w", SHD_I8, "b") == SHD_GRAPH_NONE &&
           shd_graph_status(graph, &err) == SHD_EUNSUPPORTED,
       "graph: a type that is not computed with: %s", err.text);
    shd_graph_destroy(graph);
    graph = new_graph();
    x = shd_graph_input(graph, "x", SHD_F32, "b");
    ok(shd_graph_reduce(graph, "r", NO_REDUCTION, x, "") == SHD_GRAPH_NONE &&
           shd_graph_status(graph, &err) == SHD_EINVAL,
       "graph: a reduction that is none: %s", err.text);
    shd_graph_destroy(graph);
    graph = new_graph();
    ok(shd_graph_einsum(graph, "y", 0, 77, "b") == SHD_GRAPH_NONE &&
           shd_graph_status(graph, &err) == SHD_EINVAL,
       "graph: an operand that is none: %s", err.text);
    shd_graph_destroy(graph);
}

/* Every name that is not of letters, digits, '_' and '.' is an error of the graph. */
static void test_names(void)
{
    static const char *const names[] = {NULL, "", "a b", "w/q", "x,y", "h[b]", "\xc3\xa4"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        for (int what = 0; what < 3; what++) {
            struct shd_graph *graph = new_graph();
            int32_t x = shd_graph_input(graph, "x", SHD_F32, "b");
            struct shd_error err = {.text = ""};

            if (what == 0)
                shd_graph_dim(graph, names[i], 4);
            else if (what == 1)
                shd_graph_param(graph, names[i], SHD_F32, "b");
            else
                shd_graph_constraint(graph, names[i], x);
            ok(shd_graph_status(graph, &err) == SHD_EINVAL && strstr(err.text, "is not a name"),
               "graph: %s", err.text);
            shd_graph_destroy(graph);
        }
}

/* A sharding that was only cleared, or that has an axis beyond the mesh's. */
static void test_shardings(const struct shd_mesh *mesh)
{
    const int64_t shape[] = {8};
    struct shd_sharding good, cleared, odd;
    struct shd_reshard_plan p;
    struct shd_error err;

    memset(&cleared, 0, sizeof cleared);
    shd_sharding_init(&good, mesh, 1);
    odd = good;
    odd.dims[0] = (struct shd_dim_axes){1, {3}};
    ok(shd_reshard_build(&p, &cleared, &good, shape, SHD_F32, &err) == SHD_EINVAL &&
           strstr(err.text, "'from'"),
       "a reshard: %s", err.text);
    ok(shd_reshard_build(&p, &good, &odd, shape, SHD_F32, &err) == SHD_EINVAL &&
           strstr(err.text, "'to'"),
       "a reshard: %s", err.text);
    ok(shd_reshard_cost(&cleared, &cleared, shape, SHD_F32) == UINT64_MAX &&
           shd_sharding_check(&odd, shape, NULL) == SHD_EINVAL,
       "a cost and a check of what is no sharding");
}

int main(void)
{
    const char *names[] = {"x"};
    const int32_t sizes[] = {N};
    struct shd_mesh *mesh;

    plan(0);
    if (shd_mesh_create(&mesh, names, sizes, 1, NULL) != SHD_OK)
        abort();
    test_wrong();
    test_no_mesh(mesh);
    test_self(mesh);
    test_algorithms(mesh);
    test_mismatch();
    test_types();
    test_reshard(mesh);
    test_params(mesh);
    test_graph();
    test_names();
    test_shardings(mesh);
    shd_mesh_destroy(mesh);
    return done();
}

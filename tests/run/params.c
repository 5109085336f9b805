/* Tests shd/prefix.h, shd/store.h, shd/params.h and shd/partition.h: trees of parameters on device
 * memory, and functions over them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include <shd/analyze.h>
#include <shd/match.h>
#include <shd/params.h>
#include <shd/partition.h>

#include "../support/layout.h"
#include "../support/tap.h"

#define LEAVES_MAX 32
#define HIDDEN 64
#define MLP 192
#define VOCAB 256

/* ---- a Llama-like tree, scaled down ---- */

static void add(struct shd_tree *tree, const char *name, int64_t a, int64_t b)
{
    int64_t shape[] = {a, b};
    const char *axes[] = {a == VOCAB ? "vocab"
                          : a == MLP ? "mlp"
                                     : "embed",
                          b == VOCAB ? "vocab"
                          : b == MLP ? "mlp"
                                     : "heads"};
    struct shd_leaf leaf = {name, SHD_F32, b ? 2 : 1, shape, b ? axes : NULL};

    must(shd_tree_add(tree, &leaf, NULL), name);
}

static void add_layer(struct shd_tree *tree, int layer)
{
    static const struct {
        const char *name;
        int64_t a, b;
    } arrays[] = {
        {"input_layernorm/scale", HIDDEN, 0},         {"self_attn/q_proj/kernel", HIDDEN, HIDDEN},
        {"self_attn/k_proj/kernel", HIDDEN, 16},      {"self_attn/v_proj/kernel", HIDDEN, 16},
        {"self_attn/o_proj/kernel", HIDDEN, HIDDEN},  {"mlp/gate_proj/kernel", HIDDEN, MLP},
        {"mlp/up_proj/kernel", HIDDEN, MLP},          {"mlp/down_proj/kernel", MLP, HIDDEN},
        {"post_attention_layernorm/scale", HIDDEN, 0}};
    char name[96];

    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
        snprintf(name, sizeof(name), "model/layers/%d/%s", layer, arrays[i].name);
        add(tree, name, arrays[i].a, arrays[i].b);
    }
}

static struct shd_tree *llama(void)
{
    struct shd_tree *tree = NULL;

    must(shd_tree_create(&tree, NULL), "a tree");
    add(tree, "model/embed_tokens/embedding", VOCAB, HIDDEN);
    add_layer(tree, 0);
    add_layer(tree, 1);
    add(tree, "model/norm/scale", HIDDEN, 0);
    add(tree, "lm_head/kernel", HIDDEN, VOCAB);
    return tree;
}

struct host {
    size_t n;
    float *data[LEAVES_MAX];
};

static struct host host_of(const struct shd_tree *tree, bool fill)
{
    struct host host = {shd_tree_count(tree), {NULL}};

    for (size_t i = 0; i < host.n; i++) {
        const struct shd_leaf *leaf = shd_tree_leaf(tree, i);
        size_t count = (size_t)(leaf->shape[0] * (leaf->rank > 1 ? leaf->shape[1] : 1));

        host.data[i] = calloc(count, sizeof(float));
        for (size_t k = 0; fill && k < count; k++)
            host.data[i][k] = (float)(i * 1000000 + k);
    }
    return host;
}

static void host_free(struct host *host)
{
    for (size_t i = 0; i < host->n; i++)
        free(host->data[i]);
}

static size_t bytes_of(const struct shd_tree *tree, size_t i)
{
    const struct shd_leaf *leaf = shd_tree_leaf(tree, i);
    uint64_t bytes = 0;

    must(shd_shape_bytes(&bytes, leaf->shape, leaf->rank, leaf->dtype, NULL), "bytes");
    return (size_t)bytes;
}

/* Whether gathering returns exactly the bits that were placed. */
static bool comes_back(const struct shd_params *params, const struct host *host)
{
    const struct shd_tree *tree = shd_params_tree(params);
    struct host back = host_of(tree, false);
    bool same = shd_params_gather(params, (void *const *)back.data, NULL) == SHD_OK;

    for (size_t i = 0; same && i < back.n; i++)
        same = !memcmp(back.data[i], host->data[i], bytes_of(tree, i));
    host_free(&back);
    return same;
}

static const struct {
    const char *pattern, *spec;
} llama_rules[] = {
    {"embed_tokens/embedding", "[tp, [fsdp, sp]]"},
    {"self_attn/(q_proj|k_proj|v_proj)/kernel", "[[fsdp, sp], tp]"},
    {"self_attn/o_proj/kernel", "[tp, [fsdp, sp]]"},
    {"mlp/(gate|up)_proj/kernel", "[[fsdp, sp], tp]"},
    {"mlp/down_proj/kernel", "[tp, [fsdp, sp]]"},
    {"norm/scale", "[null]"},
    {"lm_head/kernel", "[[fsdp, sp], tp]"},
    {".*", "[null]"},
};

static void specs_by_rules(struct shd_spec **specs, const struct shd_tree *tree)
{
    struct shd_match matches[LEAVES_MAX];
    struct shd_match_options options = {0, true};
    struct shd_rules *rules = NULL;

    must(shd_rules_create(&rules, NULL), "rules");
    for (size_t r = 0; r < sizeof(llama_rules) / sizeof(llama_rules[0]); r++) {
        struct shd_spec *spec = spec_of(llama_rules[r].spec);

        must(shd_rules_add(rules, llama_rules[r].pattern, spec, NULL), "a rule");
        shd_spec_destroy(spec);
    }
    must(shd_match_tree(matches, rules, tree, &options, NULL), "matching");
    for (size_t i = 0; i < shd_tree_count(tree); i++)
        must(shd_match_spec(&specs[i], &matches[i], NULL), "a spec");
    shd_rules_destroy(rules);
}

static bool holds_what_analyze_says(const struct shd_store *store, const struct shd_tree *tree,
                                    struct shd_spec *const *specs)
{
    bool good = true;

    for (int32_t p = 0; p < shd_mesh_size(shd_store_mesh(store)); p++) {
        uint64_t bytes = 0;

        good = shd_analyze_device_bytes(&bytes, tree, (const struct shd_spec *const *)specs,
                                        shd_store_mesh(store), p, NULL) == SHD_OK &&
               bytes == shd_store_live_bytes(store, p) && good;
    }
    return good;
}

/* A tree of two leaves of [4][4] floats. */
static struct shd_tree *two_leaves(const char *first, const char *second)
{
    const int64_t shape[] = {4, 4};
    struct shd_leaf leaf = {first, SHD_F32, 2, shape, NULL};
    struct shd_tree *tree = NULL;

    must(shd_tree_create(&tree, NULL), "a tree");
    must(shd_tree_add(tree, &leaf, NULL), first);
    leaf.name = second;
    if (second)
        must(shd_tree_add(tree, &leaf, NULL), second);
    return tree;
}

static struct shd_mesh *mesh8(void)
{
    return mesh_of((struct test_axis[]){{"dp", 1}, {"fsdp", 2}, {"tp", 2}, {"sp", 2}, {NULL, 0}});
}

static void test_by_rules(void)
{
    struct shd_tree *tree = llama();
    struct host host = host_of(tree, true);
    struct shd_mesh *mesh = mesh8();
    struct shd_spec *specs[LEAVES_MAX];
    struct shd_params *params = NULL;
    struct shd_analysis *analysis = NULL;
    struct shd_store *store = NULL;

    specs_by_rules(specs, tree);
    must(shd_store_create(&store, mesh, NULL, NULL), "a store");
    ok(shd_params_create(&params, store, tree, (const struct shd_spec *const *)specs, NULL) ==
               SHD_OK &&
           !shd_params_is_placed(params, 0) && shd_store_live_bytes(store, 0) == 0,
       "rules: bound, nothing placed");
    ok(shd_params_gather(params, (void *const *)host.data, NULL) == SHD_EINVAL,
       "rules: nothing to gather yet");
    ok(shd_params_shard(params, (const void *const *)host.data, NULL) == SHD_OK &&
           shd_params_is_placed(params, 0),
       "rules: placed");
    ok(holds_what_analyze_says(store, tree, specs), "rules: devices hold what analyze says");
    must(shd_analyze(&analysis, tree, (const struct shd_spec *const *)specs, mesh, NULL),
         "an analysis");
    ok(analysis->device_bytes == shd_store_live_bytes(store, 0) &&
           analysis->device_bytes < analysis->total_bytes / 4,
       "rules: %" PRIu64 " of %" PRIu64 " bytes on device 0", analysis->device_bytes,
       analysis->total_bytes);
    ok(comes_back(params, &host), "rules: gathered back bit-equal");
    host.data[3][5] = -1;
    ok(shd_params_shard_leaf(params, 3, host.data[3], NULL) == SHD_OK &&
           comes_back(params, &host) && holds_what_analyze_says(store, tree, specs),
       "rules: a leaf placed again in the same memory");
    shd_params_destroy(params);
    ok(shd_store_live_bytes(store, 0) == 0 && shd_store_live_bytes(store, 7) == 0,
       "rules: memory is given back");
    shd_analysis_destroy(analysis);
    shd_store_destroy(store);
    for (size_t i = 0; i < host.n; i++)
        shd_spec_destroy(specs[i]);
    shd_mesh_destroy(mesh);
    host_free(&host);
    shd_tree_destroy(tree);
}

/* The place of element (3, 5) of a [4][6] array sharded as [b, a] on (a=2, b=2). */
static void test_shards(void)
{
    struct shd_mesh *mesh = mesh_of((struct test_axis[]){{"a", 2}, {"b", 2}, {NULL, 0}});
    struct shd_spec *spec = spec_of("[b, a]");
    const int64_t shape[] = {4, 6};
    struct shd_leaf leaf = {"x", SHD_F32, 2, shape, NULL};
    float x[4][6];
    const void *host[] = {x};
    struct shd_tree *tree = NULL;
    struct shd_store *store = NULL;
    struct shd_params *params = NULL;
    bool good = true;

    for (int i = 0; i < 24; i++)
        x[i / 6][i % 6] = (float)i;
    must(shd_tree_create(&tree, NULL), "a tree");
    must(shd_tree_add(tree, &leaf, NULL), "x");
    must(shd_store_create(&store, mesh, NULL, NULL), "a store");
    must(shd_params_create(&params, store, tree, (const struct shd_spec *const[]){spec}, NULL),
         "params");
    must(shd_params_shard(params, host, NULL), "placing");
    for (int p = 0; p < 4; p++) {
        const float *shard = shd_params_shard_at(params, 0, p);

        for (int i = 0; i < 6; i++)
            good = good && shard[i] == x[p % 2 * 2 + i / 3][p / 2 * 3 + i % 3];
    }
    ok(good, "shards: each device has its box");
    shd_params_destroy(params);
    shd_store_destroy(store);
    shd_tree_destroy(tree);
    shd_spec_destroy(spec);
    shd_mesh_destroy(mesh);
}

static void test_partitioner_and_auto(void)
{
    struct shd_tree *tree = llama();
    struct host host = host_of(tree, true);
    struct shd_mesh *mesh = mesh_of((struct test_axis[]){{"data", 2}, {"model", 4}, {NULL, 0}});
    struct shd_mesh *mesh_dp = mesh8(), *mesh_tp;
    struct shd_partitioner_opts opts = {.mesh.num_partitions = 4};
    struct shd_partitioner *partitioner = NULL;
    struct shd_store *store = NULL;
    struct shd_params *params = NULL;
    struct shd_auto_options automatic = {256, true};
    struct shd_spec *specs[LEAVES_MAX];
    size_t head;

    must(shd_partitioner_create(&partitioner, &opts, NULL), "a partitioner");
    must(shd_store_create(&store, mesh, NULL, NULL), "a store");
    ok(shd_params_create_partitioned(&params, store, tree, partitioner, NULL) == SHD_OK &&
           shd_params_shard(params, (const void *const *)host.data, NULL) == SHD_OK &&
           comes_back(params, &host),
       "move_params_to_devices: placed by logical axes and back");
    must(shd_tree_find(&head, tree, "lm_head/kernel", NULL), "lm_head");
    ok(shd_sharding_nshards(shd_params_sharding(params, head), 1) == 4 &&
           shd_sharding_nshards(shd_params_sharding(params, head), 0) == 1,
       "move_params_to_devices: the vocabulary lies over the model axis");
    shd_params_destroy(params);
    shd_store_destroy(store);
    must(shd_store_create(&store, mesh_dp, NULL, NULL), "a store");
    must(shd_auto_shard(specs, tree, mesh_dp, &automatic, NULL), "specs");
    ok(shd_params_create_auto(&params, store, tree, &automatic, NULL) == SHD_OK &&
           shd_params_shard(params, (const void *const *)host.data, NULL) == SHD_OK &&
           comes_back(params, &host) && holds_what_analyze_says(store, tree, specs),
       "auto_shard: placed by shapes and back");
    for (size_t i = 0; i < host.n; i++)
        shd_spec_destroy(specs[i]);
    shd_params_destroy(params);
    shd_store_destroy(store);
    mesh_tp = mesh_of((struct test_axis[]){{"tp", 2}, {NULL, 0}});
    must(shd_store_create(&store, mesh_tp, NULL, NULL), "a store");
    for (int i = 0; i < 2; i++) {
        automatic.min_elements = i ? 1 << 20 : 1;
        must(shd_params_create_auto(&params, store, tree, &automatic, NULL), "by shapes");
        ok(shd_sharding_is_replicated(shd_params_sharding(params, head)) == (i == 1),
           "auto_shard: the least extent counts");
        shd_params_destroy(params);
    }
    shd_store_destroy(store);
    shd_mesh_destroy(mesh_tp);
    shd_partitioner_destroy(partitioner);
    shd_mesh_destroy(mesh_dp);
    shd_mesh_destroy(mesh);
    host_free(&host);
    shd_tree_destroy(tree);
}

static void test_bad_params(void)
{
    struct shd_tree *tree = llama();
    struct host host = host_of(tree, true);
    struct shd_mesh *mesh = mesh_of((struct test_axis[]){
        {"dp", 1}, {"fsdp", 2}, {"tp", 2}, {"sp", 2}, {"seven", 7}, {NULL, 0}});
    struct shd_spec *odd = spec_of("[seven]"), *wrong = spec_of("[nowhere]"),
                    *five = spec_of("[[fsdp, tp, sp], null, null]");
    const struct shd_spec *specs[LEAVES_MAX] = {wrong};
    struct shd_run_opts small = {.memory_bytes = 100000};
    struct shd_params *params = NULL;
    struct shd_store *store = NULL;
    struct shd_error err;

    must(shd_store_create(&store, mesh, &small, NULL), "a store");
    ok(shd_params_create(&params, store, tree, specs, &err) == SHD_ENOAXIS && !params &&
           strstr(err.text, "embed_tokens"),
       "bad: an unknown axis, with the leaf's name: %s", err.text);
    specs[0] = five;
    ok(shd_params_create(&params, store, tree, specs, NULL) == SHD_ESPECLONG, "bad: a long spec");
    must(shd_params_create(&params, store, tree, NULL, NULL), "replicated");
    ok(shd_params_shard(params, (const void *const *)host.data, &err) == SHD_EDEVMEM &&
           shd_store_live_bytes(store, 0) == 0 && !shd_params_is_placed(params, 0),
       "bad: over the memory limit, and nothing stays: %s", err.text);
    ok(shd_params_shard_leaf(params, 1, host.data[1], NULL) == SHD_OK &&
           shd_store_live_bytes(store, 3) == bytes_of(tree, 1),
       "bad: one leaf fits");
    ok(shd_params_shard(params, (const void *const *)host.data, &err) == SHD_EDEVMEM &&
           shd_params_is_placed(params, 1) && !shd_params_is_placed(params, 0) &&
           shd_store_live_bytes(store, 3) == bytes_of(tree, 1),
       "bad: what was placed before stays");
    shd_params_destroy(params);
    params = NULL;
    specs[0] = odd;
    ok(shd_params_create(&params, store, tree, specs, NULL) == SHD_EINDIVISIBLE && !params,
       "bad: a dimension that does not divide");
    shd_store_destroy(store);
    shd_store_destroy(NULL);
    shd_params_destroy(NULL);
    shd_spec_destroy(odd);
    shd_spec_destroy(wrong);
    shd_spec_destroy(five);
    shd_mesh_destroy(mesh);
    host_free(&host);
    shd_tree_destroy(tree);
}

/* A tree of two leaves, one of them replicated over an axis. */
static void test_leaves(void)
{
    struct shd_mesh *mesh = mesh_of((struct test_axis[]){{"a", 2}, {"b", 2}, {NULL, 0}});
    struct shd_spec *spec = spec_of("[a]");
    const struct shd_spec *specs[] = {spec, NULL};
    struct shd_tree *tree = two_leaves("x", "y");
    float x[4][4], y[4][4], back_x[4][4] = {{0}}, back_y[4][4] = {{0}};
    const void *host[] = {x, y};
    void *back[] = {back_x, back_y};
    struct shd_store *store = NULL;
    struct shd_params *params = NULL;

    for (int i = 0; i < 16; i++) {
        x[i / 4][i % 4] = (float)i;
        y[i / 4][i % 4] = (float)-i;
    }
    must(shd_store_create(&store, mesh, NULL, NULL), "a store");
    must(shd_params_create(&params, store, tree, specs, NULL), "params");
    ok(shd_store_mesh(store) == mesh && shd_params_tree(params) == tree, "leaves: mesh and tree");
    ok(shd_params_shard_leaf(params, 1, y, NULL) == SHD_OK && shd_params_is_placed(params, 1) &&
           !shd_params_is_placed(params, 0) && shd_store_live_bytes(store, 2) == sizeof(y),
       "leaves: the second is placed");
    ok(shd_params_gather_leaf(params, 1, back_y, NULL) == SHD_OK && !memcmp(y, back_y, sizeof(y)) &&
           shd_params_gather(params, back, NULL) == SHD_EINVAL,
       "leaves: the second is gathered, all are not there");
    must(shd_params_shard(params, host, NULL), "placing all");
    for (int p = 1; p < 4; p++) {
        if (p % 2)
            memset(shd_params_shard_at(params, 0, p), 0xff, sizeof(x) / 2);
        memset(shd_params_shard_at(params, 1, p), 0xff, sizeof(y));
    }
    ok(shd_params_gather(params, back, NULL) == SHD_OK && !memcmp(x, back_x, sizeof(x)) &&
           !memcmp(y, back_y, sizeof(y)),
       "leaves: of replicas the first counts");
    shd_params_destroy(params);
    shd_store_destroy(store);
    shd_tree_destroy(tree);
    shd_spec_destroy(spec);
    shd_mesh_destroy(mesh);
}

static int leave_memory(struct shd_device *dev, void *arg, struct shd_error *err)
{
    void *memory;

    (void)arg;
    return shd_device_alloc(dev, 1000, "left behind", &memory, err);
}

static void test_store(void)
{
    struct shd_mesh *mesh = mesh8();
    struct shd_run_stats stats = {0};
    struct shd_store *store = NULL;

    must(shd_store_create(&store, mesh, NULL, NULL), "a store");
    ok(shd_store_run(store, leave_memory, NULL, &stats, NULL) == SHD_OK &&
           stats.peak_bytes[2] == 1000 && shd_store_live_bytes(store, 2) == 0,
       "store: what a run leaves behind is freed");
    shd_run_stats_fini(&stats);
    shd_store_destroy(store);

    struct shd_run_opts opts = {.algorithms = "all-reduce=none"};

    must(shd_store_create(&store, mesh, &opts, NULL), "a store");
    ok(shd_store_run(store, leave_memory, NULL, NULL, NULL) == SHD_EINVAL,
       "store: its options hold for its runs");
    shd_store_destroy(store);
    shd_mesh_destroy(mesh);
}

/* ---- prefixes ---- */

static void test_prefix(void)
{
    struct shd_tree *tree = llama();
    struct shd_spec *a = spec_of("[tp]"), *b = spec_of("[fsdp]");
    const struct shd_spec *specs[LEAVES_MAX];
    struct shd_prefix whole[] = {{"", a}};
    struct shd_prefix parts[] = {{"model/layers/0", a},
                                 {"model/layers/1", b},
                                 {"model/embed_tokens", NULL},
                                 {"model/norm/scale", b},
                                 {"lm_head", a}};
    struct shd_prefix twice[] = {{"", a}, {"lm_head", b}};
    struct shd_prefix unused[] = {{"model", a}, {"lm_head", b}, {"model/layers/10", b}};

    ok(shd_prefix_specs(specs, tree, whole, 1, NULL) == SHD_OK && specs[0] == a && specs[20] == a,
       "prefix: one spec for all leaves");
    ok(shd_prefix_specs(specs, tree, NULL, 0, NULL) == SHD_OK && !specs[0] && !specs[20],
       "prefix: none replicates");
    ok(shd_prefix_specs(specs, tree, parts, 5, NULL) == SHD_OK && !specs[0] && specs[1] == a &&
           specs[10] == b && specs[19] == b && specs[20] == a,
       "prefix: branches and leaves");
    ok(shd_prefix_specs(specs, tree, parts, 4, NULL) == SHD_ENOTFOUND, "prefix: a leaf uncovered");
    ok(shd_prefix_specs(specs, tree, twice, 2, NULL) == SHD_EDUPAXIS, "prefix: a leaf with two");
    ok(shd_prefix_specs(specs, tree, unused, 3, NULL) == SHD_ENOTFOUND,
       "prefix: an entry covers nothing; layers/1 is not layers/10");

    struct shd_tree *names = two_leaves("w", "ww"), *none = NULL;
    struct shd_prefix w[] = {{"w", a}};

    ok(shd_prefix_specs(specs, names, w, 1, NULL) == SHD_ENOTFOUND, "prefix: w does not cover ww");
    must(shd_tree_create(&none, NULL), "a tree");
    ok(shd_prefix_specs(specs, none, whole, 1, NULL) == SHD_OK, "prefix: all of an empty tree");
    shd_tree_destroy(names);
    shd_tree_destroy(none);
    shd_spec_destroy(a);
    shd_spec_destroy(b);
    shd_tree_destroy(tree);
}

/* ---- partitioned functions ---- */

/* Compute w - rate * g for every leaf, and the sum of the first column of the first matrix, which
 * is gathered first. */
static int sgd(struct shd_call *call, void *arg, struct shd_error *err)
{
    const double *rate = shd_call_static(call, 2);
    const struct shd_tree *tree = arg;
    struct shd_local total = shd_call_result(call, 1, 0), whole, first = shd_call_arg(call, 1, 0);
    int status = shd_call_constrain(call, &whole, &first, NULL, err);

    if (status != SHD_OK)
        return status;
    *(float *)total.data = 0;
    for (int64_t i = 0; i < whole.shape[0]; i++)
        *(float *)total.data += ((float *)whole.data)[i * whole.shape[1]];
    for (size_t l = 0; l < shd_tree_count(tree); l++) {
        struct shd_local w = shd_call_arg(call, 0, l), g = shd_call_arg(call, 1, l);
        struct shd_local out = shd_call_result(call, 0, l);
        int64_t shape[SHD_RANK_MAX], n = 0;

        shd_sharding_shard_shape(&w.sharding, w.shape, shape);
        must(shd_shape_count(&n, shape, w.sharding.rank, NULL), "elements");
        for (int64_t i = 0; i < n; i++)
            ((float *)out.data)[i] = ((float *)w.data)[i] - (float)*rate * ((float *)g.data)[i];
    }
    return SHD_OK;
}

static int sgd_results(struct shd_tree *const *results, const struct shd_argument *args, void *arg,
                       struct shd_error *err)
{
    struct shd_leaf total = {"total", SHD_F32, 0, NULL, NULL};
    int status = SHD_OK;

    (void)arg;
    for (size_t l = 0; !status && l < shd_tree_count(args[0].tree); l++)
        status = shd_tree_add(results[0], shd_tree_leaf(args[0].tree, l), err);
    return status ? status : shd_tree_add(results[1], &total, err);
}

struct step {
    struct shd_tree *tree;
    struct shd_mesh *mesh;
    struct shd_store *store;
    struct shd_partitioned *fn;
    struct shd_compiled *compiled;
    struct shd_params *args[3];
    double rate;
};

/* Matrices are sharded [fsdp, tp], vectors [sp]; gradients are replicated. */
static void step_init(struct step *s, bool donated)
{
    static const char *vectors[] = {
        "model/layers/0/input_layernorm", "model/layers/0/post_attention_layernorm",
        "model/layers/1/input_layernorm", "model/layers/1/post_attention_layernorm", "model/norm"};
    static const char *matrices[] = {"model/embed_tokens",       "lm_head",
                                     "model/layers/0/self_attn", "model/layers/0/mlp",
                                     "model/layers/1/self_attn", "model/layers/1/mlp"};
    struct shd_spec *matrix = spec_of("[fsdp, tp]"), *vector = spec_of("[sp]");
    struct shd_prefix entries[11];
    struct shd_resources args[] = {
        {entries, 11, false, donated}, {entries, 11, false, false}, {NULL, 0, true, false}};
    struct shd_resources results[] = {{entries, 11, false, false}, {NULL, 0, false, false}};
    struct shd_context context = {NULL, NULL};
    struct shd_partition_opts opts = {sgd, sgd_results, NULL, args, 3, results, 2};

    *s = (struct step){.tree = llama(), .mesh = mesh8(), .rate = 0.5};
    for (size_t i = 0; i < 5; i++)
        entries[i] = (struct shd_prefix){vectors[i], vector};
    for (size_t i = 0; i < 6; i++)
        entries[5 + i] = (struct shd_prefix){matrices[i], matrix};
    opts.arg = s->tree;
    context.mesh = s->mesh;
    must(shd_store_create(&s->store, s->mesh, NULL, NULL), "a store");
    must(shd_partition(&s->fn, &opts, &context, NULL), "partition");
    shd_spec_destroy(matrix); /* shd_partition() copied the specs */
    shd_spec_destroy(vector);
    must(shd_compile(&s->compiled, s->fn,
                     (struct shd_argument[]){{s->tree, NULL}, {s->tree, NULL}, {NULL, &s->rate}},
                     NULL),
         "compile");
    must(shd_params_create(&s->args[0], s->store, shd_compiled_result_tree(s->compiled, 0), NULL,
                           NULL),
         "weights");
    must(shd_params_create(&s->args[1], s->store, s->tree, NULL, NULL), "gradients");
}

static void step_fini(struct step *s)
{
    shd_params_destroy(s->args[0]);
    shd_params_destroy(s->args[1]);
    shd_compiled_destroy(s->compiled);
    shd_partitioned_destroy(s->fn);
    shd_store_destroy(s->store);
    shd_mesh_destroy(s->mesh);
    shd_tree_destroy(s->tree);
}

static bool updated(const struct shd_params *params, const struct host *w, int times)
{
    struct host back = host_of(shd_params_tree(params), false);
    bool good = shd_params_gather(params, (void *const *)back.data, NULL) == SHD_OK;

    for (size_t l = 0; l < back.n; l++)
        for (size_t i = 0; i < bytes_of(shd_params_tree(params), l) / 4; i++) {
            float want = w->data[l][i];

            for (int t = 0; t < times; t++)
                want -= 0.5f * w->data[l][i];
            good = good && back.data[l][i] == want;
        }
    host_free(&back);
    return good;
}

/* The weights and the gradients have the same values. */
static void test_call(bool donated)
{
    static uint64_t kept_peak;
    const char *what = donated ? "donated" : "kept";
    struct shd_params *out[2] = {NULL}, *again[2] = {NULL};
    struct shd_run_stats first = {0}, second = {0};
    struct step s;
    float total = 0, want = 0;
    uint64_t shards;

    step_init(&s, donated);
    struct host w = host_of(s.tree, true);
    for (size_t i = 0; i < VOCAB; i++)
        want += w.data[0][i * HIDDEN];
    must(shd_params_shard(s.args[0], (const void *const *)w.data, NULL), "weights");
    must(shd_params_shard(s.args[1], (const void *const *)w.data, NULL), "gradients");
    ok(shd_compiled_call(s.compiled, s.store, s.args, out, &first, NULL) == SHD_OK &&
           updated(out[0], &w, 1),
       "%s: the function ran on its shards", what);
    ok(shd_params_gather_leaf(out[1], 0, &total, NULL) == SHD_OK && total == want,
       "%s: with a sharding constraint inside", what);
    ok(shd_params_is_placed(s.args[0], 0) == !donated && shd_params_is_placed(s.args[1], 0),
       "%s: so is the argument", what);
    if (donated)
        ok(shd_compiled_call(s.compiled, s.store, s.args, again, NULL, NULL) == SHD_EINVAL,
           "donated: cannot be passed again");
    shards = shd_tree_bytes(s.tree) / 4; /* about a fourth, although vectors are cut in two */
    shd_params_destroy(s.args[0]);
    s.args[0] = out[0];
    shd_params_destroy(out[1]);
    ok(shd_compiled_call(s.compiled, s.store, s.args, again, &second, NULL) == SHD_OK &&
           updated(again[0], &w, 2),
       "%s: a result is the next call's argument", what);
    ok(donated ? second.peak_bytes[0] < first.peak_bytes[0] &&
                     shd_params_shard_at(again[0], 4, 1) != NULL
               : shd_params_is_placed(out[0], 4) && second.peak_bytes[0] > first.peak_bytes[0] / 2,
       "%s: peak %" PRIu64 " then %" PRIu64 " bytes, shards of %" PRIu64, what, first.peak_bytes[0],
       second.peak_bytes[0], shards);
    if (donated)
        ok(first.peak_bytes[0] < kept_peak, "donated: what lies otherwise is given up at once");
    kept_peak = first.peak_bytes[0];
    ok(first.received_bytes[0] > 0, "%s: the constraint moved %" PRIu64 " bytes", what,
       first.received_bytes[0]);
    shd_params_destroy(again[0]);
    shd_params_destroy(again[1]);
    shd_run_stats_fini(&first);
    shd_run_stats_fini(&second);
    host_free(&w);
    step_fini(&s);
}

static int in_place(struct shd_call *call, void *arg, struct shd_error *err)
{
    (void)arg;
    if (shd_call_arg(call, 0, 0).data != shd_call_result(call, 0, 0).data)
        return shd_error_set(err, SHD_EINVAL, "the result is elsewhere");
    if (!shd_context_has_mesh(shd_call_context(call)))
        return shd_error_set(err, SHD_ENOMESH, "no mesh in context");
    return shd_device_position(shd_call_device(call)) == 5
               ? shd_error_set(err, SHD_ERANGE, "device 5 fails")
               : SHD_OK;
}

static int one_result(struct shd_tree *const *results, const struct shd_argument *args, void *arg,
                      struct shd_error *err)
{
    (void)arg;
    return shd_tree_add(results[0], shd_tree_leaf(args[0].tree, 0), err);
}

static void test_failing(void)
{
    struct shd_tree *tree = llama();
    struct host w = host_of(tree, true);
    struct shd_mesh *mesh = mesh8();
    struct shd_resources arg = {NULL, 0, false, true}, result = {NULL, 0, false, false};
    struct shd_partition_opts opts = {in_place, one_result, NULL, &arg, 1, &result, 1};
    struct shd_context context = {mesh, NULL}, nothing = {NULL, NULL};
    struct shd_partitioned *fn = NULL;
    struct shd_compiled *compiled = NULL;
    struct shd_params *params = NULL, *out = NULL;
    struct shd_store *store = NULL;
    struct shd_argument value = {tree, NULL}, none = {NULL, NULL};
    struct shd_error err;

    ok(shd_partition(&fn, &opts, &nothing, NULL) == SHD_ENOMESH, "bad: no mesh in context");
    arg.is_static = true;
    ok(shd_partition(&fn, &opts, &context, NULL) == SHD_EINVAL, "bad: static and donated");
    arg.is_static = false;
    must(shd_partition(&fn, &opts, &context, NULL), "partition");
    ok(shd_compile(&compiled, fn, &none, NULL) == SHD_EINVAL && !compiled, "bad: no tree");
    must(shd_compile(&compiled, fn, &value, NULL), "compile");
    must(shd_store_create(&store, mesh, NULL, NULL), "a store");
    must(shd_params_create(&params, store, tree, NULL, NULL), "params");
    ok(shd_compiled_call(compiled, store, &params, &out, NULL, NULL) == SHD_EINVAL,
       "bad: an argument that is not placed");
    must(shd_params_shard(params, (const void *const *)w.data, NULL), "placing");
    ok(shd_compiled_call(compiled, store, &params, &out, NULL, &err) == SHD_ERANGE && !out &&
           strstr(err.text, "device 5"),
       "bad: the function fails on one device: %s", err.text);
    ok(shd_store_live_bytes(store, 0) == 0 && shd_store_live_bytes(store, 5) == 0,
       "bad: what was donated is gone, and no result is left");
    shd_params_destroy(params);
    shd_store_destroy(store);
    shd_compiled_destroy(compiled);
    shd_partitioned_destroy(fn);
    shd_mesh_destroy(mesh);
    host_free(&w);
    shd_tree_destroy(tree);
}

/* ---- two arguments, three results, each with resources of its own ---- */

static bool lies(const struct shd_local *local, int64_t rows, int64_t columns)
{
    return shd_sharding_nshards(&local->sharding, 0) == rows &&
           shd_sharding_nshards(&local->sharding, 1) == columns;
}

/* Argument 0 [a] is donated, argument 1 [null, b] is not.  The results have another type, another
 * layout, and the type and layout of argument 0: only the last one may use the donated memory. */
static int look(struct shd_call *call, void *arg, struct shd_error *err)
{
    struct shd_spec *same = spec_of("[null, b]"), *odd = spec_of("[three]");
    struct shd_local x = shd_call_arg(call, 0, 0), y = shd_call_arg(call, 1, 0), out, partial = y;
    bool good = lies(&x, 2, 1) && lies(&y, 1, 2) && ((float *)y.data)[0] == 2;

    (void)arg;
    for (size_t r = 0; r < 3; r++) {
        struct shd_local result = shd_call_result(call, r, 0);

        good = good && (result.data == x.data) == (r == 2);
    }
    good = good && shd_call_constrain(call, &out, &y, same, err) == SHD_OK && out.data == y.data;
    good = good && shd_call_constrain(call, &out, &y, odd, err) == SHD_EINDIVISIBLE;
    partial.sharding.partial = 1;
    good = good && shd_call_constrain(call, &out, &partial, same, err) == SHD_EUNSUPPORTED;
    shd_spec_destroy(same);
    shd_spec_destroy(odd);
    return good ? SHD_OK : shd_error_set(err, SHD_EINVAL, "not as it should be");
}

static int three_results(struct shd_tree *const *results, const struct shd_argument *args,
                         void *arg, struct shd_error *err)
{
    struct shd_leaf leaf = *shd_tree_leaf(args[0].tree, 0);
    int status = SHD_OK;

    (void)arg;
    for (size_t r = 0; !status && r < 3; r++) {
        leaf.name = r == 0 ? "ids" : r == 1 ? "turned" : "same";
        leaf.dtype = r == 0 ? SHD_I32 : SHD_F32;
        status = shd_tree_add(results[r], &leaf, err);
    }
    return status;
}

static int no_results(struct shd_tree *const *results, const struct shd_argument *args, void *arg,
                      struct shd_error *err)
{
    (void)results;
    (void)args;
    (void)arg;
    return shd_error_set(err, SHD_ERANGE, "no shapes");
}

/* Place a tree whose elements are all `value`. */
static struct shd_params *filled(struct shd_store *store, const struct shd_tree *tree,
                                 const struct shd_spec *spec, float value)
{
    const struct shd_spec *specs[] = {spec, spec};
    float data[64];
    const void *host[4] = {data, data, data, data};
    struct shd_params *params = NULL;

    for (int i = 0; i < 64; i++)
        data[i] = value;
    must(shd_params_create(&params, store, tree, specs, NULL), "params");
    must(shd_params_shard(params, host, NULL), "placing");
    return params;
}

struct look {
    struct shd_mesh *mesh, *other_mesh;
    struct shd_spec *rows, *columns, *odd;
    struct shd_prefix by_rows, by_columns, by_odd;
    struct shd_resources args[2], results[3];
    struct shd_partition_opts opts;
    struct shd_context context;
    struct shd_tree *tree;
    struct shd_argument values[2];
};

static void look_init(struct look *l)
{
    *l = (struct look){.rows = spec_of("[a]"),
                       .columns = spec_of("[null, b]"),
                       .odd = spec_of("[three]"),
                       .tree = two_leaves("x", NULL)};
    l->mesh = mesh_of((struct test_axis[]){{"a", 2}, {"b", 2}, {"three", 3}, {NULL, 0}});
    l->other_mesh = mesh_of((struct test_axis[]){{"a", 2}, {NULL, 0}});
    l->by_rows = (struct shd_prefix){"", l->rows};
    l->by_columns = (struct shd_prefix){"", l->columns};
    l->by_odd = (struct shd_prefix){"", l->odd};
    l->args[0] = (struct shd_resources){&l->by_rows, 1, false, true};
    l->args[1] = (struct shd_resources){&l->by_columns, 1, false, false};
    for (size_t r = 0; r < 3; r++)
        l->results[r] =
            (struct shd_resources){r == 1 ? &l->by_columns : &l->by_rows, 1, false, false};
    l->opts = (struct shd_partition_opts){look, three_results, NULL, l->args, 2, l->results, 3};
    l->context.mesh = l->mesh;
    l->values[0].tree = l->values[1].tree = l->tree;
}

static void look_fini(struct look *l)
{
    shd_spec_destroy(l->rows);
    shd_spec_destroy(l->columns);
    shd_spec_destroy(l->odd);
    shd_tree_destroy(l->tree);
    shd_mesh_destroy(l->mesh);
    shd_mesh_destroy(l->other_mesh);
}

static void test_refused(void)
{
    struct shd_partitioned *fn = NULL;
    struct shd_compiled *compiled = NULL;
    struct look l;

    look_init(&l);
    l.args[1].is_static = true;
    ok(shd_partition(&fn, &l.opts, &l.context, NULL) == SHD_EINVAL, "bad: static with specs");
    l.args[1] = (struct shd_resources){NULL, 0, true, false};
    must(shd_partition(&fn, &l.opts, &l.context, NULL), "partition");
    ok(shd_compile(&compiled, fn, l.values, NULL) == SHD_EINVAL && !compiled,
       "bad: a tree for a static argument");
    shd_partitioned_destroy(fn);
    l.args[1] = (struct shd_resources){&l.by_odd, 1, false, false};
    must(shd_partition(&fn, &l.opts, &l.context, NULL), "partition");
    ok(shd_compile(&compiled, fn, l.values, NULL) == SHD_EINDIVISIBLE && !compiled,
       "bad: a dimension that does not divide");
    shd_partitioned_destroy(fn);
    l.args[1].entries = &l.by_columns;
    l.opts.results_fn = no_results;
    must(shd_partition(&fn, &l.opts, &l.context, NULL), "partition");
    ok(shd_compile(&compiled, fn, l.values, NULL) == SHD_ERANGE && !compiled,
       "bad: results that cannot be told");
    shd_partitioned_destroy(fn);
    l.results[1].is_static = true;
    ok(shd_partition(&fn, &l.opts, &l.context, NULL) == SHD_EINVAL, "bad: a static result");
    l.results[1].is_static = false;
    l.results[1].is_donated = true;
    ok(shd_partition(&fn, &l.opts, &l.context, NULL) == SHD_EINVAL, "bad: a donated result");
    look_fini(&l);
}

/* A tree of one leaf that differs from x in name, type or rows. */
static struct shd_tree *unlike(const char *name, enum shd_dtype dtype, int64_t rows)
{
    const int64_t shape[] = {rows, 4};
    struct shd_leaf leaf = {name, dtype, 2, shape, NULL};
    struct shd_tree *tree = NULL;

    must(shd_tree_create(&tree, NULL), "a tree");
    must(shd_tree_add(tree, &leaf, NULL), name);
    return tree;
}

static void test_arguments(void)
{
    struct shd_partitioned *fn = NULL;
    struct shd_compiled *compiled = NULL;
    struct shd_store *store = NULL, *second = NULL, *other = NULL;
    struct shd_params *out[3] = {NULL}, *args[2];
    struct shd_error err;
    struct look l;

    look_init(&l);
    must(shd_partition(&fn, &l.opts, &l.context, NULL), "partition");
    must(shd_compile(&compiled, fn, l.values, NULL), "compile");
    ok(!strcmp(shd_tree_leaf(shd_compiled_result_tree(compiled, 1), 0)->name, "turned"),
       "arguments: the tree of each result");
    must(shd_store_create(&store, l.mesh, NULL, NULL), "a store");
    must(shd_store_create(&second, l.mesh, NULL, NULL), "a store");
    must(shd_store_create(&other, l.other_mesh, NULL, NULL), "a store");

    struct shd_tree *trees[] = {unlike("z", SHD_F32, 4), unlike("x", SHD_I32, 4),
                                unlike("x", SHD_F32, 8), two_leaves("x", "y")};
    struct shd_params *x = filled(store, l.tree, l.rows, 1), *y = filled(store, l.tree, NULL, 2);
    struct shd_params *elsewhere = filled(second, l.tree, NULL, 1);
    const struct {
        const char *what;
        struct shd_store *store;
        struct shd_params *first, *second;
        const char *message;
    } rows[] = {
        {"another mesh", other, x, y, "the store and the function have different meshes"},
        {"another store", store, x, elsewhere, "argument 1 is in another store"},
        {"missing", store, x, NULL, "argument 1 is missing"},
        {"donated and kept", store, x, x, "argument 0 is donated, and is argument 1 as well"},
        {"another name", store, filled(store, trees[0], NULL, 0), y, "'x' is not the array"},
        {"another type", store, filled(store, trees[1], NULL, 0), y, "'x' is not the array"},
        {"another shape", store, filled(store, trees[2], NULL, 0), y, "'x' is not the array"},
        {"two arrays", store, filled(store, trees[3], NULL, 0), y, "has 2 arrays; compiled for 1"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        args[0] = rows[i].first;
        args[1] = rows[i].second;
        err.text[0] = '\0';
        ok(shd_compiled_call(compiled, rows[i].store, args, out, NULL, &err) == SHD_EINVAL &&
               strstr(err.text, rows[i].message) && shd_params_is_placed(rows[i].first, 0),
           "refused: %s: %s", rows[i].what, err.text);
        if (i > 3)
            shd_params_destroy(rows[i].first);
    }
    args[0] = x;
    args[1] = y;
    err.text[0] = '\0';
    ok(shd_compiled_call(compiled, store, args, out, NULL, &err) == SHD_OK && out[0] && out[2] &&
           !shd_params_is_placed(x, 0) && shd_params_is_placed(y, 0),
       "arguments: each as its resources say; only alike results take donated memory: %s",
       err.text);
    for (size_t r = 0; r < 3; r++)
        shd_params_destroy(out[r]);
    for (size_t t = 0; t < 4; t++)
        shd_tree_destroy(trees[t]);
    shd_params_destroy(x);
    shd_params_destroy(y);
    shd_params_destroy(elsewhere);
    shd_store_destroy(store);
    shd_store_destroy(second);
    shd_store_destroy(other);
    shd_compiled_destroy(compiled);
    shd_partitioned_destroy(fn);
    look_fini(&l);
}

/* The function has one static argument and no arrays. */
static int nothing(struct shd_call *call, void *arg, struct shd_error *err)
{
    (void)arg;
    return *(const int *)shd_call_static(call, 0) == 7
               ? SHD_OK
               : shd_error_set(err, SHD_EINVAL, "another constant");
}

static void test_static(void)
{
    const int seven = 7;
    struct shd_resources arg = {NULL, 0, true, false};
    struct shd_partition_opts opts = {.fn = nothing, .args = &arg, .nargs = 1};
    struct shd_argument value = {NULL, &seven};
    struct shd_mesh *mesh = mesh8();
    struct shd_context context = {mesh, NULL};
    struct shd_partitioned *fn = NULL;
    struct shd_compiled *compiled = NULL;
    struct shd_store *store = NULL;
    struct shd_params *args[] = {NULL}, *out[1];
    struct shd_error err;

    must(shd_store_create(&store, mesh, NULL, NULL), "a store");
    must(shd_partition(&fn, &opts, &context, NULL), "partition");
    must(shd_compile(&compiled, fn, &value, NULL), "compile");
    ok(shd_compiled_call(compiled, store, args, out, NULL, NULL) == SHD_OK, "static: seen inside");

    struct shd_tree *tree = two_leaves("x", NULL);

    args[0] = filled(store, tree, NULL, 1);
    ok(shd_compiled_call(compiled, store, args, out, NULL, &err) == SHD_EINVAL &&
           strstr(err.text, "argument 0 is static"),
       "static: arrays in its place");
    shd_params_destroy(args[0]);
    shd_tree_destroy(tree);
    shd_store_destroy(store);
    shd_compiled_destroy(compiled);
    shd_partitioned_destroy(fn);
    shd_mesh_destroy(mesh);
}

int main(void)
{
    plan(0);
    test_by_rules();
    test_shards();
    test_partitioner_and_auto();
    test_bad_params();
    test_leaves();
    test_store();
    test_prefix();
    test_call(false);
    test_call(true);
    test_failing();
    test_refused();
    test_arguments();
    test_static();
    return done();
}

/* misuse.h - the arguments and the runner of the program that misuse.py writes.
 *
 * Every array has 64 elements, so that a count of up to 64 may be given with it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <shd/analyze.h>
#include <shd/attention_specs.h>
#include <shd/auto_shard.h>
#include <shd/chunk.h>
#include <shd/create_mesh.h>
#include <shd/extract.h>
#include <shd/graph.h>
#include <shd/group.h>
#include <shd/logical.h>
#include <shd/match.h>
#include <shd/mesh_axes.h>
#include <shd/parallel_groups.h>
#include <shd/params.h>
#include <shd/partition.h>
#include <shd/partition_axis.h>
#include <shd/partitioner.h>
#include <shd/pattern.h>
#include <shd/prefix.h>
#include <shd/rank_order.h>
#include <shd/regex.h>
#include <shd/reshard.h>
#include <shd/reshard_figures.h>
#include <shd/rules.h>
#include <shd/run.h>
#include <shd/sharding.h>
#include <shd/spec.h>
#include <shd/split.h>
#include <shd/store.h>
#include <shd/topology.h>
#include <shd/tpu_mesh.h>
#include <shd/tree.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MANY = 64, MAX = INT32_MAX };

static struct shd_mesh *mesh, *small_mesh;
static struct shd_spec *spec, *spec_x;
static struct shd_tree *tree;
static struct shd_rules *rules;
static struct shd_logical_rules *logical_rules;
static struct shd_regex *regex;
static struct shd_pattern *pattern;
static struct shd_partition_axis *partition_axis;
static struct shd_partitioner *partitioner;
static struct shd_graph *graph;
static struct shd_store *store, *spare_store;
static struct shd_params *params;
static struct shd_partitioned *partitioned;
static struct shd_compiled *compiled;
static struct shd_device *device;
static struct shd_call *call;

static struct shd_chunker chunker, data_chunker;
static struct shd_analysis *analysis;
static struct shd_mesh *data_mesh;
static struct shd_groups groups;
static struct shd_parallel parallel, fresh_parallel;
static struct shd_parallel_group parallel_group;
static struct shd_sharding sharding, whole;
static struct shd_reshard_plan reshard_plan;
static struct shd_reshard_bound reshard_bound;
static struct shd_reshard_figures reshard_figures;
static struct shd_topology topology, tpu_topology;
static struct shd_topology_device topology_device;
static struct shd_match match;
static struct shd_split split;
static struct shd_mesh_grid grid;
static struct shd_fetch fetch;
static struct shd_local local;
static struct shd_context context;
static struct shd_auto_options auto_options;
static struct shd_match_options match_options;
static struct shd_partition_opts partition_opts;

static const struct shd_cluster cluster = {4, 1, 1, 1};
static const struct shd_device_list device_list = {&topology_device, 1, &topology_device, 1, 1, 1};
static const struct shd_mesh_request request = {1, NULL, 0, NULL, 0, NULL, 0};
static const struct shd_partitioner_opts partitioner_opts = {
    SHD_PARTITIONER_BASE, {1, NULL, 0, NULL, 0, NULL, 0}, NULL, false};
static const struct shd_rank_sizes rank_sizes = {2, 1, 1, 2, 1};
static const struct shd_reach reach = {1, -1, 3, 0, 0, 0};
static const struct shd_parallel_sizes parallel_sizes = {2, 1, 1};
static const struct shd_reshard_opts reshard_opts;
static const struct shd_run_opts run_opts;
static const struct shd_graph_opts graph_opts;
static const struct shd_tpu_mesh_opts tpu_mesh_opts = SHD_TPU_MESH_OPTS_INIT;
static const struct shd_attention_variant variant;

static const char *names[MANY], *axis_names[MANY], *field_names[MANY];
static struct shd_spec_entry entries[MANY];
static int64_t shape[MANY], chips[MANY], two_by_two_wide[MANY], ones[MANY];
static struct shd_value extract_values[MANY];
static int32_t int32s[MANY], two_by_two[MANY];
static uint8_t axes[MANY];
static uint32_t source[MANY];
static const struct shd_spec *specs[MANY];
static struct shd_prefix prefixes[MANY];
static struct shd_axis_override overrides[MANY];
static struct shd_argument arguments[MANY];
static struct shd_params *params_list[MANY];
static const void *host_list[MANY];
static struct shd_leaf leaf, other_leaf;
static struct shd_graph_spec graph_specs[MANY];

/* What a call writes to, and a struct that a program has cleared. */
static _Alignas(64) char scratch[16][1 << 16];
static _Alignas(64) char zeros[1 << 16];

/* What a call in a child process came to. */
static struct said {
    int status, returned; /* the call returned: 1 */
    struct shd_error err;
} * said;
#define err (said->err)

static void must(int status, const char *what)
{
    if (!status)
        return;
    printf("Bail out! %s: %s\n", what, err.text);
    exit(1);
}

static int nothing(struct shd_device *dev, void *arg, struct shd_error *error)
{
    (void)dev, (void)arg, (void)error;
    return SHD_OK;
}

static int run_call(void);

static bool inside; /* the call that is tried is one of a device */

static int in_device(struct shd_device *dev, void *arg, struct shd_error *error)
{
    (void)arg, (void)error;
    device = dev;
    return inside ? run_call() : SHD_OK;
}

static int in_call(struct shd_call *given, void *arg, struct shd_error *error)
{
    call = given;
    local = shd_call_arg(call, 0, 0);
    return in_device(shd_call_device(given), arg, error);
}

static int one_result(struct shd_tree *const *results, const struct shd_argument *args, void *arg,
                      struct shd_error *error)
{
    (void)args, (void)arg;
    return shd_tree_add(results[0], &leaf, error);
}

static void make_lists(void)
{
    static char text[MANY][8];

    for (int i = 0; i < MANY; i++) {
        snprintf(text[i], sizeof text[i], "x%d", i);
        names[i] = text[i];
        axis_names[i] = text[i];
        field_names[i] = "batch";
        entries[i] = (struct shd_spec_entry){&axis_names[i], i < 1};
        shape[i] = i < 2 ? 4 : 1;
        int32s[i] = i % 4;
        two_by_two_wide[i] = i < 2 ? 2 : 1;
        ones[i] = 1;
        chips[i] = i < 1 ? 4 : 1;
        extract_values[i] = (struct shd_value){SHD_VALUE_PLACED, names[i], spec};
        two_by_two[i] = i < 2 ? 2 : 1;
        axes[i] = (uint8_t)i;
        source[i] = 0;
        specs[i] = spec;
        prefixes[i] = (struct shd_prefix){i < 1 ? "" : names[i], NULL};
        overrides[i] = (struct shd_axis_override){"batch_axis", {SHD_AXIS_IS_NAME, 1, {"x"}}};
        arguments[i].tree = tree;
        params_list[i] = params;
        host_list[i] = scratch[15];
        graph_specs[i] = (struct shd_graph_spec){"a", "[x]"};
    }
    names[0] = axis_names[0] = "x";
    names[1] = axis_names[1] = "y";
}

static void make_arrays(void)
{
    static const int32_t single[] = {1, 1};

    make_lists();
    must(shd_mesh_create(&mesh, names, two_by_two, 2, &err), "mesh");
    must(shd_mesh_create(&small_mesh, names, single, 2, &err), "mesh of one device");
    must(shd_spec_parse(&spec, "[x]", &err), "spec");
    must(shd_spec_copy(&spec_x, spec, &err), "copy");
    leaf = (struct shd_leaf){"w", SHD_F32, 2, shape, NULL};
    other_leaf = leaf;
    other_leaf.name = "v";
    must(shd_tree_create(&tree, &err), "tree");
    must(shd_tree_add(tree, &leaf, &err), "leaf");
    specs[0] = spec;
    must(shd_analyze(&analysis, tree, specs, mesh, &err), "analysis");
    must(shd_rules_create(&rules, &err), "rules");
    must(shd_rules_add(rules, ".*", spec, &err), "rule");
    must(shd_logical_rules_create(&logical_rules, &err), "logical rules");
    must(shd_logical_rules_add(logical_rules, "x", &entries[0], &err), "logical rule");
    must(shd_regex_compile(&regex, "x", &err), "regex");
    must(shd_pattern_create(&pattern, "w:[x]", mesh, spec, &err), "pattern");
    must(shd_partition_axis_create(&partition_axis, overrides, 1, &err), "partition axis");
    must(shd_partitioner_create(&partitioner, &partitioner_opts, &err), "partitioner");
    must(shd_graph_create(&graph, &err), "graph");
    shd_graph_dim(graph, "b", 4);
    shd_graph_input(graph, "a", SHD_F32, "b");
    must(shd_graph_status(graph, &err), "graph");
}

static void make_structs(void)
{
    must(shd_chunker_init(&chunker, mesh, int32s, 0, &err), "chunker");
    must(shd_groups_init(&groups, mesh, axes, 1, &err), "groups");
    shd_parallel_init(&parallel, 4, 0, false);
    shd_parallel_init(&fresh_parallel, 4, 0, false);
    must(shd_parallel_create_groups(&parallel, &parallel_sizes, &err), "parallel groups");
    must(shd_parallel_group(&parallel_group, &parallel, SHD_PARALLEL_TENSOR, &err),
         "parallel group");
    must(shd_sharding_bind(&sharding, mesh, spec, 2, &err), "sharding");
    shd_sharding_init(&whole, mesh, 2);
    must(shd_reshard_build(&reshard_plan, &sharding, &whole, shape, SHD_F32, &err), "reshard");
    must(shd_reshard_bound(&reshard_bound, &sharding, &whole, shape, SHD_F32, NULL, &err), "bound");
    must(shd_reshard_measure(&reshard_figures, &reshard_plan, shape, NULL, &err), "figures");
    shd_reshard_fetch(&reshard_plan.steps[0], shape, 0, 0, &fetch);
    must(shd_topology_init_hosts(&topology, "gpu", 1, 4, 1, &err), "topology");
    must(shd_topology_init_chips(&tpu_topology, "TPU v4", (int64_t[]){2, 2, 1, 1},
                                 (int64_t[]){2, 2, 1, 1}, &err),
         "chips");
    shd_topology_device(&topology, 0, &topology_device);
    match_options = shd_match_defaults();
    auto_options = shd_auto_defaults();
    must(shd_match_leaf(&match, rules, &leaf, &match_options, &err), "match");
    must(shd_split_last_dim(&split, shape, 2, 2, true, &err), "split");
    context = (struct shd_context){small_mesh, logical_rules};
}

static void make_runs(void)
{
    static const struct shd_resources resources[MANY];

    must(shd_partitioner_mesh(&data_mesh, partitioner, &topology, &err), "partitioner's mesh");
    must(shd_chunker_init_topology(&data_chunker, data_mesh, &topology, 0, &err), "chunker");
    must(shd_store_create(&store, small_mesh, NULL, &err), "store");
    must(shd_store_create(&spare_store, small_mesh, NULL, &err), "store");
    must(shd_params_create(&params, store, tree, NULL, &err), "params");
    must(shd_params_shard_leaf(params, 0, scratch[15], &err), "placing");
    partition_opts =
        (struct shd_partition_opts){in_call, one_result, NULL, resources, 1, resources, 1};
    must(shd_partition(&partitioned, &partition_opts, &context, &err), "partition");
    arguments[0].tree = tree;
    must(shd_compile(&compiled, partitioned, arguments, &err), "compile");
    make_lists();
    shd_graph_output(graph, "a", 0);
}

/* ---- the runner ---- */

enum where { OUTSIDE, ON_DEVICE, IN_CALL };
/* BAD: an error or not, but no crash.  REFUSED: an error.  SILENT: with nowhere to write a message. */
enum how { GOOD, BAD, REFUSED, SILENT };

struct
try {
    const char *what; /* the argument and its value */
    int (*call)(void);
    const char *named; /* what the message of an error must contain; NULL: anything */
    bool optional;     /* that argument may be left out */
    enum how how;
};

static const struct try *trying;

static int run_call(void)
{
    err = (struct shd_error){1, ""};
    said->status = trying->call();
    said->returned = 1;
    return SHD_OK;
}

/* Call in a child process; the signal that ended it, 0 for none. */
static int call_apart(enum where where)
{
    int how;
    pid_t child;

    said->returned = 0;
    fflush(stdout);
    child = fork();
    if (child < 0)
        exit(1);
    if (child == 0) {
        struct shd_params *results[1] = {NULL};
        struct shd_error none;
        int status = SHD_OK;

        alarm(20);
        if (where == OUTSIDE)
            run_call();
        else if (where == ON_DEVICE)
            status = shd_run(small_mesh, in_device, NULL, NULL, NULL, &none);
        else
            status = shd_compiled_call(compiled, store, params_list, results, NULL, &none);
        _exit(status == SHD_OK ? 0 : 1);
    }
    if (waitpid(child, &how, 0) != child)
        exit(1);
    return WIFSIGNALED(how) ? WTERMSIG(how) : 0;
}

/* The fault of a call; NULL: none. */
static const char *fault_of(const struct try *try, enum where where, bool has_status)
{
    static char text[400];
    int sig;

    trying = try;
    inside = where != OUTSIDE;
    sig = call_apart(where);
    if (sig)
        snprintf(text, sizeof text, "ended by signal %d (%s)", sig, strsignal(sig));
    else if (!said->returned)
        snprintf(text, sizeof text, "did not return");
    else if (!has_status)
        return NULL;
    else if (try->how == GOOD && said->status != SHD_OK)
        snprintf(text, sizeof text, "fails with good arguments: %s", err.text);
    else if (try->how == REFUSED && said->status == SHD_OK)
        snprintf(text, sizeof text, "is taken for good");
    else if (try->named && try->optional != (said->status == SHD_OK))
        snprintf(text, sizeof text, "is status %d", said->status);
    else if (said->status > 0 || (said->status < 0 && try->how != SILENT &&
                                  (err.status != said->status || !err.text[0])))
        snprintf(text, sizeof text, "status %d without a message", said->status);
    else if (said->status < 0 && try->named && !strstr(err.text, try->named))
        snprintf(text, sizeof text, "the message does not name it: %s", err.text);
    else
        return NULL;
    return text;
}

static int ntests;

static void test(const char *function, const struct try *tries, enum where where, bool has_status)
{
    char faults[1 << 14] = "";
    size_t length = 0;

    for (const struct try *t = tries; t->what; t++) {
        const char *fault = fault_of(t, where, has_status);

        if (fault && length < sizeof faults - 500)
            length += (size_t)snprintf(faults + length, sizeof faults - length, "# %s: %s\n",
                                       t->what, fault);
    }
    printf("%s %d - %s\n%s", length ? "not ok" : "ok", ++ntests, function, faults);
}

static void make(void)
{
    const struct rlimit no_core = {0, 0};

    setrlimit(RLIMIT_CORE, &no_core);
    said = mmap(NULL, sizeof *said, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (said == MAP_FAILED)
        exit(1);
    make_arrays();
    make_structs();
    make_runs();
}

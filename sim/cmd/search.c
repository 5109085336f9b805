/* shardsim search - the best layout of a model on a cluster.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/decimal.h"
#include "cmd/cmd.h"
#include "base/units.h"
#include "cmd/common.h"
#include "cmd/search/searched.h"
#include "run/ranks/ranks.h"
#include "timetable/timetable.h"

#define TOP 10 /* layouts listed by default */
#define TOP_MAX 1000
#define THREADS_MAX 1024
#define SECONDS_MAX 1000000

/* Layouts and tensors are searched by other options. */
static void check_together(const struct args_line *line, void *input)
{
    struct searched *o = input;

    common_check_target(line, o->target, o->serve);
    o->by_tensors = args_given(line, "tensors");
    if (o->ncounts > 1 && (o->journal || o->output || o->sensitivity || o->by_tensors))
        args_error(line,
                   "--journal, --output, --sensitivity and --tensors need one count of --devices");
    if (o->journal && o->memory_bytes > 0)
        args_error(line, "--journal cannot be combined with --memory");
    if (o->sensitivity && (o->memory_bytes > 0 || o->within_s > 0))
        args_error(line, "--sensitivity cannot be combined with --memory or --within");
    if (o->price > 0 && o->ncounts < 2)
        args_error(line, "--price requires several counts of --devices, e.g. --devices 64..1024");
    if (o->ncounts > 1 && (o->memory_bytes > 0 || o->within_s > 0 || o->seconds > 0))
        args_error(line, "--memory, --within and --seconds need one count of --devices");
    if ((o->ttft_s > 0 || o->tpot_s > 0) && !o->serve)
        args_error(line, "--ttft and --tpot require --serve");
    if (o->apart && (!o->serve || o->picture))
        args_error(line, "--apart requires --serve, and has no --picture");
    if (o->serve &&
        (o->by_tensors || o->ncounts > 1 || o->nranges > 0 || o->nplans > 0 || o->all ||
         o->journal || o->sensitivity || o->within_s > 0 || o->memory_bytes > 0 || o->row != 1))
        args_error(line, "with --serve only --devices, --ttft, --tpot, --apart, --for, --seconds, "
                         "--threads, --top, --picture, --output and --json are supported");
    if (o->by_tensors && (o->within_s > 0 || o->sensitivity || o->picture || o->nranges > 0 ||
                          o->devices > 0 || o->nplans > 0 || o->seconds > 0 || o->all ||
                          o->journal || o->target || o->ntop != TOP || o->row != 1))
        args_error(line,
                   "with --tensors only --memory, --threads, --json and --output are supported");
}

/* "64", "64..4096" or "64,96,128". */
static void take_devices(const struct args_value *v)
{
    struct searched *o = v->at;
    struct shd_error err;

    if (scaling_parse(o->counts, &o->ncounts, v->arg, &err) != SHD_OK)
        args_error(v->line, "--devices: %s", err.text);
    if (o->ncounts == 1)
        o->devices = o->counts[0];
}

static void take_above_0(const struct args_value *v)
{
    char *end;
    double value = decimal_read(v->arg, &end);

    if (end == v->arg || *end || !(value > 0) || value > 1e9)
        args_error(v->line, "--%s is '%s'; expected a number above 0", v->row->name, v->arg);
    *(double *)v->at = value;
}

/* A time with its unit. */
static void take_time(const struct args_value *v)
{
    struct shd_error err;
    int64_t ns;

    if (units_parse_ns(&ns, v->arg, &err) != SHD_OK)
        args_error(v->line, "--%s: %s", v->row->name, err.text);
    if (ns < 1)
        args_error(v->line, "--%s is '%s'; expected a time above 0", v->row->name, v->arg);
    *(double *)v->at = (double)ns * 1e-9;
}

/* A range; `least` of the row says that it forbids. */
static void take_range(const struct args_value *v)
{
    struct searched *o = v->at;
    struct shd_error err;

    if (o->nranges == SPACE_RANGES_MAX)
        args_error(v->line, "more than %d --range and --forbid", SPACE_RANGES_MAX);
    if (space_parse_range(&o->ranges[o->nranges], v->arg, v->row->least, &err) != SHD_OK)
        args_error(v->line, "%s", err.text);
    o->nranges++;
}

#define AT(field) ARGS_AT(struct searched, field)

static const struct args_row rows[] = {
    {"range", 0, "CHOICE=VALUE", take_range, 0, 0, false, 0,
     "Restrict a choice to a value or a range, e.g. tp=8 or pp=4..16; repeatable"},
    {"forbid", 0, "CHOICE=VALUE", take_range, 0, 0, true, 0, "Exclude these values; repeatable"},
    {"devices", 0, "N", take_devices, 0, 0, 0, 0,
     "Number of devices (default: as in the scenario's mesh); for A..B (all doublings) or A,B,C "
     "the best layout of each count"},
    {"for", 0, "SYSTEM", common_target, AT(target), 0, 0,
     "Only layouts that this system can express: deepspeed, jax, megatron, pytorch, torchtitan, or "
     "with --serve sglang or vllm"},
    {"price", 0, "NUMBER", take_above_0, AT(price), 0, 0,
     "With several counts of --devices: price of a device per hour"},
    {"top", 0, "N", args_count, AT(ntop), 1, TOP_MAX, "Find the N best layouts (default: 10)"},
    {"plans", 0, "N", args_count, AT(nplans), 1, INT32_MAX,
     "Plan at most N layouts, and report how much better other layouts could be (default: no "
     "limit)"},
    {"seconds", 0, "N", args_count, AT(seconds), 1, SECONDS_MAX,
     "Search for at most N seconds, and report how much better other layouts could be (default: no "
     "limit)"},
    {"no-prune", 0, NULL, args_switch, AT(all), 0, 0,
     "Plan every layout, without pruning by bounds"},
    {"threads", 't', "N", args_count, AT(nthreads), 1, THREADS_MAX,
     "Planning threads (default: one per core)"},
    {"sensitivity", 0, NULL, args_switch, AT(sensitivity), 0, 0,
     "Search again with links 10 % slower, with half the memory, and with one node less"},
    {"picture", 0, "FILE", common_picture, AT(picture), 0, 0,
     "Draw step time over memory, or throughput over several counts of --devices, to FILE.svg or "
     "FILE.png"},
    {"json", 0, NULL, args_switch, AT(json), 0, 0, "Print JSON"},
    {"journal", 0, "FILE", args_text, AT(journal), 0, 0,
     "Store all plans in FILE, and reuse the plans in it: resumes an interrupted search"},
    {"serve", 0, NULL, args_switch, AT(serve), 0, 0,
     "Search the layouts of a decode step (step: [decode]) for the most tokens/s: all sizes of the "
     "mesh axes, with every batch size by doublings"},
    {"apart", 0, NULL, args_switch, AT(apart), 0, 0,
     "With --serve: split --devices into separate prefill and decode replicas (decode.tokens "
     "output tokens per prompt), and compare with colocated serving"},
    {"ttft", 0, "TIME", take_time, AT(ttft_s), 0, 0,
     "With --serve: limit on the time to first token, e.g. 1s"},
    {"tpot", 0, "TIME", take_time, AT(tpot_s), 0, 0,
     "With --serve: limit on the time per output token, e.g. 50ms"},
    {"tensors", ARGS_BARE, "PATTERN", args_text, AT(tensors), 0, 0,
     "Instead, search the sharding of each parameter whose name matches (default: all), on the "
     "scenario's mesh"},
    {"memory", 0, "SIZE", args_bytes, AT(memory_bytes), 0, 0,
     "Memory of a device, overriding the cluster's, or with --tensors the scenario's "
     "limits.memory"},
    {"within", 0, "SECONDS", take_above_0, AT(within_s), 0, 0,
     "Find the layouts with the least memory whose step is within this time"},
    {"output", 'o', "FILE", args_text, AT(output), 0, 0,
     "Write the scenario of the best layout to FILE, without defaults"},
    ARGS_FORCE(struct searched, force),
    {"row", 0, "N", args_count, AT(row), 1, TOP_MAX,
     "With --output: write the N-th best layout (default: 1)"},
    {"quiet", 'q', NULL, args_switch, AT(quiet), 0, 0, "No progress on stderr"},
    {0}};

/* Number of a machine's cores for each rank. */
static int cores_each(void)
{
    long ncores = sysconf(_SC_NPROCESSORS_ONLN) / ranks_here();

    return ncores < 1 ? 1 : ncores < THREADS_MAX ? (int)ncores : THREADS_MAX;
}

static void list_schedules(struct text *out)
{
    timetable_names(out, TIMETABLE_USUAL, 0, ", ");
    text_add(out, "; and, only with a range, ");
    timetable_names(out, 0, TIMETABLE_USUAL | TIMETABLE_UNSEARCHED, ", ");
}

static const struct args args = {
    .own = {.rows = rows},
    .parts = {{&common_chosen, offsetof(struct searched, chosen)}},
    .operands = "SCENARIO",
    .more = list_schedules,
    .check = check_together,
    .help =
        "Find the layouts with the shortest step for a scenario's model, batch and cluster, by "
        "best-first branch and bound over all divisible layouts. The rest of the scenario is "
        "unchanged.\vChoices are tp, pp, cp, dp, ep (expert parallelism), virtual (stages per "
        "rank), schedule (\f), split (even, given, light), microbatch, recompute (none, selective, "
        "norms-mlp, selective_op, full, given, and all policies and modules of recompute), sp "
        "(sequence parallelism: no, yes), zero, shards (devices of a ZeRO group), order (of the "
        "mesh axes, e.g. pp-dp-cp-tp), method (of context parallelism: ring, all-to-all) and "
        "products (recipe of low-precision matmuls: given, tensorwise, rowwise, blockwise, mxfp8, "
        "nvfp4). Fewer than 2,048 tokens per device are tried only if cp has a range; policies, "
        "modules, light, all-to-all and recipes only if their choice has a range.\n\n"
        "Examples:\n"
        "  The three best layouts of a small model on B200s:\n"
        "    shardsim search scenarios/train_zero.yaml -S dp -s hardware=b200 --top 3\n"
        "  The best layout that JAX can express:\n"
        "    shardsim search scenarios/train_zero.yaml -S dp -s hardware=b200 --for jax\n"
        "  Serve the most tokens/s with at most 50 ms per output token:\n"
        "    shardsim search scenarios/serve.yaml -S both --serve --tpot 50ms --top 3\n"
        "  Shard each tensor of a small MLP:\n"
        "    shardsim search scenarios/fsdp.yaml -s hardware=b200 --tensors\n"
        "\n" ARGS_EXIT_STATUS("  1    no layout fits\n")};

static int run(int argc, char **argv)
{
    struct log log;
    struct searched o = {.ntop = TOP, .row = 1, .nthreads = cores_each(), .log = &log};
    int exit;

    log_init(&log, stderr);
    args_parse(&args, argc, argv, &o);
    log.quiet = o.quiet;
    exit = searched_run(&o);
    chosen_fini(&o.chosen);
    return exit;
}

const struct cmd cmd_search = {"search", "find the best layout of a model on a cluster", run};

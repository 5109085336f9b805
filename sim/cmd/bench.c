/* shardsim bench - how fast collectives are here, or all that a hardware file says.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "base/nearest.h"
#include "base/units.h"
#include "cmd/args.h"
#include "cmd/cmd.h"
#include "command/asked.h"
#include "cmd/bench/bench_collectives.h"
#include "cmd/bench/bench_hardware.h"
#include "command/command.h"

#define DEVICES_LIMIT 65535 /* each is a thread; hosts have fewer long before */
#define COUNT_LIMIT 1000000 /* of rounds and of the factor between sizes: more is a slip */

struct options {
    struct bench bench;
    bool hardware;
    const char *output;
    bool force;
};

static void take_size(const struct args_value *v)
{
    struct shd_error err;

    if (units_parse_bytes(v->at, v->arg, &err) != SHD_OK)
        args_error(v->line, "%s", err.text);
}

static void take_sizes(const struct args_value *v)
{
    struct options *o = v->at;
    char *rest;

    for (char *part = strtok_r(v->arg, ",", &rest); part; part = strtok_r(NULL, ",", &rest)) {
        if (o->bench.nsizes == BENCH_SIZES_MAX)
            args_error(v->line, "--sizes lists more than %d sizes", BENCH_SIZES_MAX);
        take_size(&(struct args_value){v->line, v->row, part, &o->bench.sizes[o->bench.nsizes++]});
    }
}

static void add_op(const struct args_line *line, struct bench *bench, const char *name)
{
    int kind = coll_kind_parse(name);

    if (kind < 0)
        args_error(line, "there is no collective '%s'%s", name, coll_kind_hint(name).text);
    if (bench->nops == BENCH_OPS_MAX)
        args_error(line, "--op lists more than %d collectives", BENCH_OPS_MAX);
    bench->ops[bench->nops++] = kind;
}

static void take_ops(const struct args_value *v)
{
    struct options *o = v->at;
    char *rest;

    o->bench.nops = 0;
    if (!strcmp(v->arg, "all")) {
        for (int k = 0; k < COLL_NKINDS; k++)
            if (k != COLL_SEND_RECV) /* for two */
                o->bench.ops[o->bench.nops++] = k;
        return;
    }
    for (char *part = strtok_r(v->arg, ",", &rest); part; part = strtok_r(NULL, ",", &rest))
        add_op(v->line, &o->bench, part);
}

static void take_dtype(const struct args_value *v)
{
    enum shd_dtype *dtype = v->at;

    if (shd_dtype_parse(dtype, v->arg, NULL) != SHD_OK || *dtype >= SHD_NCOMPUTE_DTYPES)
        args_error(v->line, "--dtype is '%s'; expected float32, float64, bfloat16 or float16",
                   v->arg);
}

#define AT(field) ARGS_AT(struct options, field)

static const struct args_row rows[] = {
    {"op", 'o', "COLLECTIVE,...", take_ops, 0, 0, 0, 0,
     "Collectives, separated by commas, or 'all' (default: all-reduce)"},
    {"algorithm", 'a', "ALGORITHM", args_text, AT(bench.algorithm), 0, 0,
     "Algorithm, e.g. ring (default: direct)"},
    {"devices", 'n', "N", args_count, AT(bench.ndevices), 1, DEVICES_LIMIT, "Virtual devices (8)"},
    {"min-bytes", 'b', "SIZE", take_size, AT(bench.min_bytes), 0, 0,
     "Smallest size, of the larger of operand and result (default: 8)"},
    {"max-bytes", 'e', "SIZE", take_size, AT(bench.max_bytes), 0, 0,
     "Largest size (default: 64MiB)"},
    {"factor", 'f', "N", args_count, AT(bench.factor), 2, COUNT_LIMIT,
     "Factor between sizes (default: 8)"},
    {"sizes", 0, "SIZE,...", take_sizes, 0, 0, 0, 0, "List of sizes instead, e.g. 64KiB,1MiB"},
    {"dtype", 'd', "float32|float64|bfloat16|float16", take_dtype, AT(bench.dtype), 0, 0,
     "Type of the elements (default: float32)"},
    {"redop", 'r', "sum|mean|max|min", args_choice, AT(bench.red), 0, 0, "Reduction (sum)"},
    {"warmup", 'w', "N", args_count, AT(bench.nwarmups), 1, COUNT_LIMIT,
     "Warm-up calls (default: 5)"},
    {"sample-ms", 0, "N", args_count, AT(bench.sample_ms), 0, COUNT_LIMIT,
     "Milliseconds of calls in one sample (default: 5)"},
    {"memory", 0, ARGS_MEMORY, args_memory, AT(bench.memory), 0, 0,
     "Device memory: a jemalloc arena for each device (default up to 186 devices), pages mapped "
     "for each device, or malloc"},
    {"json", 0, NULL, args_set, AT(bench.form), BENCH_JSON, 0, "Print JSON"},
    {"csv", 0, NULL, args_set, AT(bench.form), BENCH_CSV, 0, "Print CSV"},
    {0}};

/* Options that are also for --hardware.  A measurement of hardware chooses its own sizes and
 * collectives, so the options above are errors beside --hardware. */
static const struct args_row hardware_rows[] = {
    {"samples", 0, "N", args_count, AT(bench.nsamples), 1, COUNT_LIMIT,
     "Samples per time; reported are median, minimum and maximum (default: 11)"},
    {"hardware", 0, NULL, args_switch, AT(hardware), 0, 0,
     "Instead, measure this machine and print its hardware file"},
    {"output", 0, "FILE", args_text, AT(output), 0, 0, "Write the hardware file to FILE"},
    ARGS_FORCE(struct options, force),
    {0}};

static const struct args_part of_hardware = {.rows = hardware_rows};

static void check_hardware(const struct args_line *line, void *input)
{
    const struct options *o = input;

    for (const struct args_row *row = rows; o->hardware && row->name; row++)
        if (args_given(line, row->name))
            args_error(line, "--hardware chooses its own measurements; --%s has no effect with it",
                       row->name);
    if (o->hardware && o->bench.nsamples < 2)
        args_error(line,
                   "--samples is %" PRIu64
                   "; --hardware needs at least 2, because the first is discarded",
                   o->bench.nsamples);
    if (o->output && !o->hardware)
        args_error(line, "--output is for --hardware");
}

static const struct args args = {
    .own = {.rows = rows, .word = {.again = "'%s' is not an option; bench takes no arguments"}},
    .parts = {{&of_hardware, 0}},
    .check = check_hardware,
    .help = "Measure collectives on virtual devices and check their results. Two reference times "
            "are printed beside each measured time: the time of the cores to copy the bytes that "
            "must be read and written (copy), and the time of a collective without data "
            "(floor).\vTimes are of one call: median, minimum and maximum of the samples. algbw is "
            "size / time. busbw (bus bandwidth) counts the bytes that each device must receive, "
            "which makes it comparable to a link's rate.\n\n"
            "Examples:\n"
            "  Two collectives over eight devices:\n"
            "    shardsim bench --op all-reduce,all-gather --devices 8 -e 1MiB\n"
            "  One algorithm at one size, for a script:\n"
            "    shardsim bench --algorithm ring --sizes 1MiB --json\n"
            "  A hardware file of this machine, for `hardware: here.yaml` in a scenario:\n"
            "    shardsim bench --hardware --output here.yaml\n\n" ARGS_EXIT_STATUS(
                "  1    a collective gave wrong results\n")};

static int run(int argc, char **argv)
{
    struct options o = {.bench = {.min_bytes = 8,
                                  .max_bytes = UINT64_C(64) << 20,
                                  .factor = 8,
                                  .ops = {COLL_ALL_REDUCE},
                                  .nops = 1,
                                  .dtype = SHD_F32,
                                  .red = SHD_SUM,
                                  .ndevices = 8,
                                  .nwarmups = 5,
                                  .nsamples = 11,
                                  .sample_ms = 5}};
    int exit;

    args_parse(&args, argc, argv, &o);
    if (!o.hardware)
        return bench_run(&o.bench);
    exit = cmd_check_new(o.output, o.force);
    return exit == CMD_OK ? bench_hardware((uint32_t)o.bench.nsamples, o.output) : exit;
}

const struct cmd cmd_bench = {"bench", "measure collectives, or this machine as a cluster", run};

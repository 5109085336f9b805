/* shardsim bench - how fast collectives are here, or all that a hardware file says.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_out.h"
#include "base/nearest.h"
#include "base/units.h"
#include "cmd/args.h"
#include "cmd/cmd.h"
#include "jobs/bench_hardware.h"
#include "jobs/command.h"
#include "report/table.h"
#include "run/measure.h"

#define SIZES_MAX 64 /* of one table: from 1 byte to 2^63 by factors of two */
#define OPS_MAX COLL_NKINDS
#define DEVICES_LIMIT 65535 /* each is a thread; hosts have fewer long before */
#define COUNT_LIMIT 1000000 /* of rounds and of the factor between sizes: more is a slip */

enum form { FORM_TEXT, FORM_JSON, FORM_CSV };

struct options {
    uint64_t sizes[SIZES_MAX];
    size_t nsizes;
    uint64_t min_bytes, max_bytes, factor;
    int ops[OPS_MAX];
    size_t nops;
    const char *algorithm, *memory;
    enum shd_dtype dtype;
    enum shd_reduce_op red;
    uint64_t ndevices, nwarmups, nsamples, sample_ms;
    enum form form;
    bool hardware;
    const char *output;
};

/* ---- options ---- */

static void take_size(const struct args_line *line, const struct args_row *row, char *arg, void *at)
{
    struct shd_error err;

    (void)row;
    if (units_parse_bytes(at, arg, &err) != SHD_OK)
        args_error(line, "%s", err.text);
}

static void take_sizes(const struct args_line *line, const struct args_row *row, char *arg,
                       void *at)
{
    struct options *o = at;

    for (char *part = strtok_r(arg, ",", &arg); part; part = strtok_r(NULL, ",", &arg)) {
        if (o->nsizes == SIZES_MAX)
            args_error(line, "more than %d sizes", SIZES_MAX);
        take_size(line, row, part, &o->sizes[o->nsizes++]);
    }
}

static void add_op(const struct args_line *line, struct options *o, const char *name)
{
    int kind = coll_kind_parse(name);
    char hint[NEAREST_HINT_MAX];
    struct nearest near;

    if (kind < 0) {
        nearest_init(&near, name);
        for (int k = 0; k < COLL_NKINDS; k++)
            nearest_add(&near, coll_kind_name((enum coll_kind)k));
        args_error(line, "there is no collective '%s'%s", name,
                   nearest_hint(&near, hint, sizeof hint));
    }
    if (o->nops == OPS_MAX)
        args_error(line, "more than %d collectives", OPS_MAX);
    o->ops[o->nops++] = kind;
}

static void take_ops(const struct args_line *line, const struct args_row *row, char *arg, void *at)
{
    struct options *o = at;

    (void)row;
    o->nops = 0;
    if (!strcmp(arg, "all")) {
        for (int k = 0; k < COLL_NKINDS; k++)
            if (k != COLL_SEND_RECV) /* for two */
                o->ops[o->nops++] = k;
        return;
    }
    for (char *part = strtok_r(arg, ",", &arg); part; part = strtok_r(NULL, ",", &arg))
        add_op(line, o, part);
}

static void take_dtype(const struct args_line *line, const struct args_row *row, char *arg,
                       void *at)
{
    enum shd_dtype *dtype = at;

    (void)row;
    if (shd_dtype_parse(dtype, arg, NULL) != SHD_OK || *dtype >= SHD_NCOMPUTE_DTYPES)
        args_error(line, "--dtype is '%s'; expected float32, float64, bfloat16 or float16", arg);
}

static const char *const red_names[] = {
    [SHD_SUM] = "sum", [SHD_MEAN] = "mean", [SHD_MAX] = "max", [SHD_MIN] = "min"};

#define AT(field) ARGS_AT(struct options, field)

static const struct args_row rows[] = {
    {"op", 'o', "COLLECTIVE,...", take_ops, 0, 0, 0, 0,
     "Which, with commas between, or 'all' (all-reduce)"},
    {"algorithm", 'a', "ALGORITHM", args_text, AT(algorithm), 0, 0,
     "By this one, e.g. ring (direct)"},
    {"devices", 'n', "N", args_count, AT(ndevices), 1, DEVICES_LIMIT, "Virtual devices (8)"},
    {"min-bytes", 'b', "SIZE", take_size, AT(min_bytes), 0, 0,
     "Smallest size, of the larger of operand and result (8)"},
    {"max-bytes", 'e', "SIZE", take_size, AT(max_bytes), 0, 0, "Largest size (64MiB)"},
    {"factor", 'f', "N", args_count, AT(factor), 2, COUNT_LIMIT, "From one size to the next (8)"},
    {"sizes", 0, "SIZE,...", take_sizes, 0, 0, 0, 0, "These sizes instead, e.g. 64KiB,1MiB"},
    {"dtype", 'd', "float32|float64|bfloat16|float16", take_dtype, AT(dtype), 0, 0,
     "Type of the elements (float32)"},
    {"redop", 'r', "sum|mean|max|min", args_choice, AT(red), 0, 0, "Reduction (sum)"},
    {"warmup", 'w', "N", args_count, AT(nwarmups), 1, COUNT_LIMIT, "Calls before measuring (5)"},
    {"sample-ms", 0, "N", args_count, AT(sample_ms), 0, COUNT_LIMIT,
     "Calls fill a sample of about so many ms (5)"},
    {"memory", 0, ARGS_MEMORY, args_memory, AT(memory), 0, 0,
     "Device memory from an arena of jemalloc for each device (up to 186 devices, if not given), "
     "from pages mapped for it, or from malloc"},
    {"json", 0, NULL, args_set, AT(form), FORM_JSON, 0, "Print the machine form"},
    {"csv", 0, NULL, args_set, AT(form), FORM_CSV, 0, "Print comma-separated values"},
    {0}};

/* Options that --hardware has, too; it measures what it needs, and so has none of those above. */
static const struct args_row hardware_rows[] = {
    {"samples", 0, "N", args_count, AT(nsamples), 1, COUNT_LIMIT,
     "Samples; times are their median, least and most (11)"},
    {"hardware", 0, NULL, args_switch, AT(hardware), 0, 0,
     "Measure this machine and print a hardware file of it instead"},
    {"output", 0, "FILE", args_text, AT(output), 0, 0, "Write the hardware file there"},
    {0}};

static const struct args_part of_hardware = {.rows = hardware_rows};

static void check_hardware(const struct args_line *line, void *input)
{
    const struct options *o = input;

    for (const struct args_row *row = rows; o->hardware && row->name; row++)
        if (args_given(line, row->name))
            args_error(line, "--hardware measures what it needs; --%s has no meaning with it",
                       row->name);
    if (o->hardware && o->nsamples < 2)
        args_error(line,
                   "--samples is %" PRIu64 "; --hardware needs 2, of which the first does "
                   "not count",
                   o->nsamples);
    if (o->output && !o->hardware)
        args_error(line, "--output is for --hardware");
}

/* The sizes from the smallest to the largest. */
static bool step_sizes(struct options *o)
{
    if (o->nsizes > 0)
        return true;
    for (uint64_t size = o->min_bytes; size <= o->max_bytes && size > 0; size *= o->factor) {
        if (o->nsizes == SIZES_MAX)
            return false;
        o->sizes[o->nsizes++] = size;
        if (size > UINT64_MAX / o->factor)
            break;
    }
    return o->nsizes > 0;
}

/* ---- printing ---- */

struct printer {
    const struct options *options;
    struct text text;
    struct table table;
    struct json_out json;
};

static const char *red_of(const struct measure_opts *m)
{
    return m->algo->reduces ? red_names[m->red] : "none";
}

static const char *const csv_head =
    "op,algorithm,devices,bytes,count,dtype,redop,seconds,least_seconds,most_seconds,"
    "algorithm_bytes_per_second,bus_bytes_per_second,wrong,copy_seconds,floor_seconds\n";

static void print_csv(struct text *text, const struct measure_opts *m, const struct measure *r)
{
    text_addf(text,
              "%s,%s,%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%s,%s,%.9f,%.9f,%.9f,%.0f,%.0f,%" PRIu64
              ",%.9f,%.9f\n",
              coll_kind_name(m->algo->kind), m->algo->name, m->ndevices, r->bytes, r->count,
              shd_dtype_name(m->dtype), red_of(m), r->call.median, r->call.least, r->call.most,
              r->algorithm_rate, r->bus_rate, r->nwrong, r->copy.median, r->floor.median);
}

static void json_number(struct json_out *json, const char *key, double value)
{
    json_out_key(json, key);
    json_out_double(json, value);
}

static void json_count(struct json_out *json, const char *key, uint64_t value)
{
    json_out_key(json, key);
    json_out_uint(json, value);
}

static void json_text(struct json_out *json, const char *key, const char *value)
{
    json_out_key(json, key);
    json_out_string(json, value);
}

static void json_spread(struct json_out *json, const char *key, const struct measure_spread *s)
{
    json_out_key(json, key);
    json_out_begin_flat_object(json);
    json_number(json, "median", s->median);
    json_number(json, "least", s->least);
    json_number(json, "most", s->most);
    json_out_end_object(json);
}

static void print_json(struct json_out *json, const struct measure_opts *m, const struct measure *r)
{
    json_out_begin_object(json);
    json_text(json, "op", coll_kind_name(m->algo->kind));
    json_text(json, "algorithm", m->algo->name);
    json_count(json, "devices", m->ndevices);
    json_count(json, "bytes", r->bytes);
    json_count(json, "count", r->count);
    json_text(json, "dtype", shd_dtype_name(m->dtype));
    json_text(json, "redop", red_of(m));
    json_spread(json, "seconds", &r->call);
    json_spread(json, "copy_seconds", &r->copy);
    json_spread(json, "floor_seconds", &r->floor);
    json_count(json, "calls_a_sample", r->ncalls);
    json_number(json, "algorithm_bytes_per_second", r->algorithm_rate);
    json_number(json, "bus_bytes_per_second", r->bus_rate);
    json_count(json, "wrong", r->nwrong);
    json_out_end_object(json);
}

static void begin_table(struct printer *p)
{
    static const char *const heads[] = {"size", "count", "type",  "redop", "time", "least",
                                        "most", "algbw", "busbw", "wrong", "copy", "floor"};
    static const char *const units[] = {"(B)",  "",       "",       "", "(us)", "(us)",
                                        "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(us)"};

    table_init(&p->table, "rrllrrrrrrrr");
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
        table_add(&p->table, "%s", heads[i]);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        table_add(&p->table, "%s", units[i]);
}

static void add_row(struct table *t, const struct measure_opts *m, const struct measure *r)
{
    table_add(t, "%" PRIu64, r->bytes);
    table_add(t, "%" PRIu64, r->count);
    table_add(t, "%s", shd_dtype_name(m->dtype));
    table_add(t, "%s", red_of(m));
    table_add(t, "%.2f", r->call.median * 1e6);
    table_add(t, "%.2f", r->call.least * 1e6);
    table_add(t, "%.2f", r->call.most * 1e6);
    table_add(t, "%.2f", r->algorithm_rate / 1e9);
    table_add(t, "%.2f", r->bus_rate / 1e9);
    table_add(t, "%" PRIu64, r->nwrong);
    table_add(t, "%.2f", r->copy.median * 1e6);
    table_add(t, "%.2f", r->floor.median * 1e6);
}

static void end_table(struct printer *p, const struct measure_opts *m, uint32_t ncores)
{
    text_addf(&p->text, "%s%s/%s, %" PRIu32 " devices on %" PRIu32 " cores\n",
              p->text.length ? "\n" : "", coll_kind_name(m->algo->kind), m->algo->name, m->ndevices,
              ncores);
    table_print(&p->table, 0, &p->text);
    table_fini(&p->table);
}

/* ---- measuring ---- */

static void print_one(struct printer *p, const struct measure_opts *m, const struct measure *r)
{
    if (p->options->form == FORM_JSON)
        print_json(&p->json, m, r);
    else if (p->options->form == FORM_CSV)
        print_csv(&p->text, m, r);
    else
        add_row(&p->table, m, r);
}

static int measure_sizes(struct printer *p, struct measure_opts *m)
{
    const struct options *o = p->options;
    struct shd_error err;
    struct measure r = {.ncores = 0};
    int exit = CMD_OK;
    size_t nsizes = m->algo->kind == COLL_BARRIER ? 1 : o->nsizes;

    if (o->form == FORM_TEXT)
        begin_table(p);
    for (size_t i = 0; i < nsizes && exit <= CMD_FAILED; i++) {
        int status;

        m->bytes = o->sizes[i];
        status = measure_run(&r, m, &err);
        if (status == SHD_OK)
            print_one(p, m, &r);
        else if (!cmd_is_stopped(status))
            cmd_error("%s", err.text);
        if (status != SHD_OK || r.nwrong > 0)
            exit = status != SHD_OK ? cmd_exit_of(status) : CMD_FAILED;
        if (status != SHD_OK)
            break;
    }
    if (o->form == FORM_TEXT)
        end_table(p, m, r.ncores);
    return exit;
}

/* The algorithm to measure; NULL, with a message, when none works for so many devices. */
static const struct coll_algo *find_algo(int kind, const char *name, uint32_t ndevices)
{
    const struct coll_algo *algo = coll_find((enum coll_kind)kind, name);
    char hint[NEAREST_HINT_MAX];
    struct nearest near;

    if (algo && coll_serves(algo, ndevices))
        return algo;
    if (algo) {
        cmd_error("%s/%s does not serve groups of %" PRIu32 " devices; it is for "
                  "%s",
                  coll_kind_name(algo->kind), algo->name, ndevices,
                  algo->limits == COLL_POW2 ? "powers of two" : "pairs");
        return NULL;
    }
    nearest_init(&near, name);
    for (int k = 0; coll_algos[k]; k++)
        if ((int)coll_algos[k]->kind == kind)
            nearest_add(&near, coll_algos[k]->name);
    cmd_error("%s has no algorithm '%s'%s", coll_kind_name((enum coll_kind)kind), name,
              nearest_hint(&near, hint, sizeof hint));
    return NULL;
}

static int measure_all(struct printer *p)
{
    const struct options *o = p->options;
    int exit = CMD_OK;

    for (size_t i = 0; i < o->nops && exit <= CMD_FAILED; i++) {
        uint32_t n = (uint32_t)o->ndevices;
        struct measure_opts m = {.algo = find_algo(o->ops[i], o->algorithm, n),
                                 .dtype = o->dtype,
                                 .red = o->red,
                                 .ndevices = n,
                                 .nwarmups = (uint32_t)o->nwarmups,
                                 .nsamples = (uint32_t)o->nsamples,
                                 .sample_ns = (int64_t)o->sample_ms * 1000000,
                                 .memory = o->memory,
                                 .stop_request = &cmd_stop_request};
        int one = CMD_USAGE;

        if (m.algo)
            one = measure_sizes(p, &m);
        exit = one > exit ? one : exit;
    }
    return exit;
}

static int print_all(struct printer *p)
{
    int exit;

    if (p->options->form == FORM_JSON) {
        json_out_init_text(&p->json, &p->text, JSON_OUT_PRETTY);
        json_out_begin_array(&p->json);
    }
    if (p->options->form == FORM_CSV)
        text_add(&p->text, csv_head);
    exit = measure_all(p);
    if (p->options->form == FORM_JSON) {
        json_out_end_array(&p->json);
        json_out_newline(&p->json);
        (void)json_out_fini(&p->json); /* a lack of memory is in the text */
    }
    if (exit <= CMD_FAILED) {
        int put = cmd_put(&p->text);

        exit = put > exit ? put : exit;
    }
    text_fini(&p->text);
    return exit;
}

static const struct args args = {
    .own = {rows, {.again = "'%s' is not an option; bench takes no arguments"}},
    .parts = {{&of_hardware, 0}},
    .check = check_hardware,
    .help =
        "Measure collectives on virtual devices, check their results, and print beside each time "
        "what the cores need to copy the bytes that must be read and written (copy), and what a "
        "collective without data takes (floor).\v"
        "Times are of one call: the median of the samples, the least and the most.  algbw is size "
        "by time; busbw counts what each device must receive, so that it compares to a link.\n\n"
        "Examples:\n"
        "  Two collectives over eight devices:\n"
        "    shardsim bench --op all-reduce,all-gather --devices 8 -e 1MiB\n"
        "  One algorithm at one size, for a script:\n"
        "    shardsim bench --algorithm ring --sizes 1MiB --json\n"
        "  This machine as a cluster, for a scenario's `hardware: here.yaml`:\n"
        "    shardsim bench --hardware --output here.yaml\n\n" ARGS_EXIT_STATUS(
            "  1    wrong results\n")};

static int run(int argc, char **argv)
{
    struct options o = {.min_bytes = 8,
                        .max_bytes = UINT64_C(64) << 20,
                        .factor = 8,
                        .ops = {COLL_ALL_REDUCE},
                        .nops = 1,
                        .dtype = SHD_F32,
                        .red = SHD_SUM,
                        .ndevices = 8,
                        .nwarmups = 5,
                        .nsamples = 11,
                        .sample_ms = 5};
    struct printer p = {.options = &o, .text = TEXT_INIT};

    args_parse(&args, argc, argv, &o);
    if (o.hardware)
        return bench_hardware((uint32_t)o.nsamples, o.output);
    if (!step_sizes(&o)) {
        cmd_error("no sizes, or more than %d, from --min-bytes to "
                  "--max-bytes",
                  SIZES_MAX);
        return CMD_USAGE;
    }
    return print_all(&p);
}

const struct cmd cmd_bench = {"bench", "measure this machine: collectives, or all of it", run};

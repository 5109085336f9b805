/* Measuring collectives on virtual devices (bench_collectives.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/bench/bench_collectives.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_out.h"
#include "command/asked.h"
#include "command/command.h"
#include "report/table.h"
#include "run/measure.h"

static const char *const red_names[] = {
    [SHD_SUM] = "sum", [SHD_MEAN] = "mean", [SHD_MAX] = "max", [SHD_MIN] = "min"};

/* The sizes from the smallest to the largest. */
static bool step_sizes(struct bench *o)
{
    if (o->nsizes > 0)
        return true;
    for (uint64_t size = o->min_bytes; size <= o->max_bytes && size > 0; size *= o->factor) {
        if (o->nsizes == BENCH_SIZES_MAX)
            return false;
        o->sizes[o->nsizes++] = size;
        if (size > UINT64_MAX / o->factor)
            break;
    }
    return o->nsizes > 0;
}

/* ---- printing ---- */

struct printer {
    const struct bench *bench;
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

static void json_spread(struct json_out *json, const char *key, const struct measure_spread *s)
{
    json_out_key_flat_object(json, key);
    json_out_key_double(json, "median", s->median);
    json_out_key_double(json, "least", s->least);
    json_out_key_double(json, "most", s->most);
    json_out_end_object(json);
}

static void print_json(struct json_out *json, const struct measure_opts *m, const struct measure *r)
{
    json_out_begin_object(json);
    json_out_key_string(json, "op", coll_kind_name(m->algo->kind));
    json_out_key_string(json, "algorithm", m->algo->name);
    json_out_key_uint(json, "devices", m->ndevices);
    json_out_key_uint(json, "bytes", r->bytes);
    json_out_key_uint(json, "count", r->count);
    json_out_key_string(json, "dtype", shd_dtype_name(m->dtype));
    json_out_key_string(json, "redop", red_of(m));
    json_spread(json, "seconds", &r->call);
    json_spread(json, "copy_seconds", &r->copy);
    json_spread(json, "floor_seconds", &r->floor);
    json_out_key_uint(json, "calls_a_sample", r->ncalls);
    json_out_key_double(json, "algorithm_bytes_per_second", r->algorithm_rate);
    json_out_key_double(json, "bus_bytes_per_second", r->bus_rate);
    json_out_key_uint(json, "wrong", r->nwrong);
    json_out_end_object(json);
}

static void begin_table(struct printer *p)
{
    table_init(&p->table, "rrllrrrrrrrr");
    table_heads(&p->table, "size|count|type|redop|time|least|most|algbw|busbw|wrong|copy|floor");
    table_heads(&p->table, "(B)||||(us)|(us)|(us)|(GB/s)|(GB/s)||(us)|(us)");
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
    if (p->bench->form == BENCH_JSON)
        print_json(&p->json, m, r);
    else if (p->bench->form == BENCH_CSV)
        print_csv(&p->text, m, r);
    else
        add_row(&p->table, m, r);
}

static int measure_sizes(struct printer *p, struct measure_opts *m)
{
    const struct bench *o = p->bench;
    struct shd_error err;
    struct measure r = {.ncores = 0};
    int exit = CMD_OK;
    size_t nsizes = m->algo->kind == COLL_BARRIER ? 1 : o->nsizes;

    if (o->form == BENCH_TEXT)
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
    if (o->form == BENCH_TEXT)
        end_table(p, m, r.ncores);
    return exit;
}

/* The algorithm to measure; NULL, with a message, when none works for so many devices. */
static const struct coll_algo *find_algo(enum coll_kind kind, const char *name, uint32_t ndevices)
{
    const struct coll_algo *algo = asked_algorithm(kind, name);

    if (!algo || coll_serves(algo, ndevices))
        return algo;
    cmd_error("%s/%s does not support groups of %" PRIu32 " devices; it is for %s",
              coll_kind_name(algo->kind), algo->name, ndevices,
              algo->limits == COLL_POW2 ? "powers of two" : "pairs");
    return NULL;
}

static int measure_all(struct printer *p)
{
    const struct bench *o = p->bench;
    int exit = CMD_OK;

    for (size_t i = 0; i < o->nops && exit <= CMD_FAILED; i++) {
        uint32_t n = (uint32_t)o->ndevices;
        struct measure_opts m = {.algo = find_algo((enum coll_kind)o->ops[i], o->algorithm, n),
                                 .dtype = o->dtype,
                                 .red = o->red,
                                 .ndevices = n,
                                 .nwarmups = (uint32_t)o->nwarmups,
                                 .nsamples = (uint32_t)o->nsamples,
                                 .sample_ns = (int64_t)o->sample_ms * 1000000,
                                 .memory = o->memory,
                                 .stop_request = &cmd_stop_request};

        exit = cmd_worse(exit, m.algo ? measure_sizes(p, &m) : CMD_USAGE);
    }
    return exit;
}

int bench_run(struct bench *o)
{
    struct printer p = {.bench = o, .text = TEXT_INIT};
    int exit;

    if (!step_sizes(o)) {
        cmd_error("expected 1 to %d sizes from --min-bytes to --max-bytes", BENCH_SIZES_MAX);
        return CMD_USAGE;
    }
    if (o->form == BENCH_JSON) {
        json_out_init_text(&p.json, &p.text, JSON_OUT_PRETTY);
        json_out_begin_array(&p.json);
    }
    if (o->form == BENCH_CSV)
        text_add(&p.text, csv_head);
    exit = measure_all(&p);
    if (o->form == BENCH_JSON) {
        json_out_end_array(&p.json);
        json_out_newline(&p.json);
        (void)json_out_fini(&p.json); /* a lack of memory is in the text */
    }
    if (exit <= CMD_FAILED)
        exit = cmd_worse(exit, cmd_put(&p.text));
    text_fini(&p.text);
    return exit;
}

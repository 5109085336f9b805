/* The replayed step as text and JSON (replayed.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/replayed.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "report/table.h"

#define SHARES_SHOWN 6 /* parts of the critical path that have a line, the longest first */

/* ---- the critical path ---- */

static bool is_same(const struct replayed_share *share, const struct program_op *op)
{
    return share->phase == op->phase && !strcmp(share->op, program_step_name(op)) &&
           !strcmp(share->where, op->name);
}

/* Sort in descending order; equal shares keep their order. */
static void sort(struct replayed_share *shares, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct replayed_share share = shares[i];
        size_t k = i;

        for (; k > 0 && shares[k - 1].ns < share.ns; k--)
            shares[k] = shares[k - 1];
        shares[k] = share;
    }
}

struct replayed_share *replayed_shares(size_t *n, const struct record *record)
{
    const struct record_replay *replay = record->replay;
    struct replayed_share *shares = calloc((size_t)replay->npath + 1, sizeof *shares);
    size_t nshares = 0;

    if (!shares)
        return NULL;
    for (uint32_t p = 0; p < replay->npath; p++) {
        const struct record_stretch *stretch = &replay->path[p];
        const struct program_op *op = &record->program->ops[stretch->op];
        size_t i = 0;

        while (i < nshares && !is_same(&shares[i], op))
            i++;
        if (i == nshares)
            shares[nshares++] =
                (struct replayed_share){program_step_name(op), op->name, op->phase, 0, 0};
        shares[i].count++;
        shares[i].ns += stretch->end_ns - stretch->start_ns;
    }
    sort(shares, nshares);
    *n = nshares;
    return shares;
}

/* ---- the parts of each device's step ---- */

const struct replayed_part replayed_parts[REPLAYED_NPARTS] = {
    {FIGURE_REPLAYED_BUSY, "busy", offsetof(struct record_replayed, busy_ns), false},
    {FIGURE_REPLAYED_WAITING, "waiting", offsetof(struct record_replayed, waiting_ns), false},
    {FIGURE_REPLAYED_EXPOSED, "exposed communication", offsetof(struct record_replayed, exposed_ns),
     false},
    {FIGURE_REPLAYED_EXPOSED_HOST, "exposed to the host",
     offsetof(struct record_replayed, exposed_host_ns), true},
    {FIGURE_REPLAYED_IDLE, "idle at end", offsetof(struct record_replayed, idle_ns), false},
    {FIGURE_REPLAYED_COMMUNICATION, NULL, offsetof(struct record_replayed, communication_ns),
     false},
};

bool replayed_has(const struct record *record, const struct replayed_part *part)
{
    return !part->of_host || program_uses_host(record->program);
}

static int64_t part_ns(const struct record *record, const struct replayed_part *part,
                       int32_t device)
{
    int64_t ns;

    memcpy(&ns, (const char *)&record->replay->devices[device] + part->offset, sizeof ns);
    return ns;
}

struct replayed_balance replayed_balance_of(const struct record *record,
                                            const struct replayed_part *part)
{
    struct replayed_balance b = {0, 0, 0};
    int64_t max = 0;

    for (int32_t d = 0; d < record->ndevices; d++) {
        int64_t ns = part_ns(record, part, d);

        b.mean_s += (double)ns * 1e-9 / record->ndevices;
        if (ns > max) {
            max = ns;
            b.slowest = d;
        }
    }
    b.max_s = (double)max * 1e-9;
    return b;
}

static double ratio_of(const struct replayed_balance *b)
{
    return b->max_s > 0 ? b->mean_s / b->max_s : 1;
}

bool replayed_is_tie(const struct record_replay *a, double a_ns, const struct record_replay *b,
                     double b_ns)
{
    int64_t noise_ns = a->noise_ns > b->noise_ns ? a->noise_ns : b->noise_ns;

    return a->noise_ns < 0 || b->noise_ns < 0 || fabs(a_ns - b_ns) <= (double)noise_ns;
}

/* ---- JSON ---- */

void replayed_json_balance(struct json_out *out, const struct record *record)
{
    struct replayed_balance b = replayed_balance_of(record, &replayed_parts[0]);

    json_out_begin_flat_object(out);
    json_out_key_double(out, "mean", b.mean_s);
    json_out_key_double(out, "max", b.max_s);
    json_out_key_double(out, "ratio", ratio_of(&b));
    json_out_key_int(out, "slowest", b.slowest);
    json_out_end_object(out);
}

static void write_devices(struct json_out *out, const struct record *record)
{
    json_out_key_object(out, "per_device");
    for (size_t p = 0; p < REPLAYED_NPARTS; p++) {
        if (!replayed_has(record, &replayed_parts[p]))
            continue;
        json_out_key_flat_array(out, figure_short_key(replayed_parts[p].id));
        for (int32_t d = 0; d < record->ndevices; d++)
            json_out_double(out, (double)part_ns(record, &replayed_parts[p], d) * 1e-9);
        json_out_end_array(out);
    }
    json_out_end_object(out);
}

static void write_path(struct json_out *out, const struct replayed_share *shares, size_t n)
{
    json_out_key_array(out, "critical_path");
    for (size_t i = 0; i < n; i++) {
        json_out_begin_flat_object(out);
        json_out_key_string(out, "op", shares[i].op);
        json_out_key_string(out, "where", shares[i].where);
        json_out_key_string(out, "phase", program_phase_name(shares[i].phase));
        json_out_key_uint(out, "count", shares[i].count);
        json_out_key_double(out, "seconds", (double)shares[i].ns * 1e-9);
        json_out_end_object(out);
    }
    json_out_end_array(out);
}

int replayed_json(struct json_out *out, const struct record *record, const struct figures *figures,
                  struct shd_error *err)
{
    const struct record_replay *replay = record->replay;
    size_t n;
    struct replayed_share *shares = replayed_shares(&n, record);

    if (!shares) {
        json_out_null(out); /* to close the document before it is dropped */
        return shd_error_set(err, SHD_ENOMEM, "no memory for the report");
    }
    json_out_begin_object(out);
    figures_json(out, figures, FIGURE_REPLAYED, true);
    json_out_key_uint(out, "repeats", replay->repeats);
    json_out_key_flat_object(out, "transfers");
    json_out_key_uint(out, "bytes_per_second", replay->transfers.bytes_per_s);
    json_out_key_double(out, "latency_seconds", (double)replay->transfers.latency_ns * 1e-9);
    json_out_end_object(out);
    write_devices(out, record);
    write_path(out, shares, n);
    json_out_end_object(out);
    free(shares);
    return SHD_OK;
}

/* ---- text ---- */

static void add_seconds(struct table *table, double seconds)
{
    table_add(table, "%s", units_print_seconds(seconds).text);
}

static void print_parts(struct text *out, const struct record *record)
{
    struct table table;

    table_init(&table, "lrrrl");
    table_add(&table, "of each device");
    table_add(&table, "mean");
    table_add(&table, "most");
    table_add(&table, "mean/most");
    table_add(&table, "most on");
    for (size_t p = 0; p < REPLAYED_NPARTS && replayed_parts[p].text; p++) {
        struct replayed_balance b = replayed_balance_of(record, &replayed_parts[p]);

        if (!replayed_has(record, &replayed_parts[p]))
            continue;
        table_add(&table, "%s", replayed_parts[p].text);
        add_seconds(&table, b.mean_s);
        add_seconds(&table, b.max_s);
        table_add(&table, "%.3f", ratio_of(&b));
        if (b.max_s > 0)
            table_add(&table, "device %d", (int)b.slowest);
        else
            table_add(&table, "-");
    }
    table_print(&table, 2, out);
    table_fini(&table);
}

static void print_path(struct text *out, const struct record *record,
                       const struct replayed_share *shares, size_t n, size_t columns)
{
    struct table table;
    double step_ns = (double)record->replay->step_ns;

    if (n == 0)
        return;
    text_addf(out, "  critical path: %u steps one after another, by share of the time\n",
              record->replay->npath);
    table_init(&table, "rrrll");
    for (size_t i = 0; i < n && i < SHARES_SHOWN; i++) {
        add_seconds(&table, (double)shares[i].ns * 1e-9);
        table_add(&table, "%.0f %%", 100 * (double)shares[i].ns / step_ns);
        table_add(&table, "%ux", shares[i].count);
        table_add(&table, "%s", shares[i].op);
        table_add(&table, "%s", shares[i].where);
    }
    table_print_within(&table, 4, columns, out);
    table_fini(&table);
}

static void print_spread(struct text *out, const struct record_replay *replay)
{
    text_addf(out, "  equal work has one time, the minimum of %u repeat%s; ", replay->repeats,
              replay->repeats == 1 ? "" : "s");
    if (replay->spread >= 0)
        text_addf(out, "spread %.1f %%\n", 100 * replay->spread);
    else
        text_add(out, "spread unknown\n");
}

int replayed_text(struct text *out, const struct record *record, size_t columns,
                  struct shd_error *err)
{
    const struct record_replay *replay = record->replay;
    size_t n;
    struct replayed_share *shares = replayed_shares(&n, record);

    if (!shares)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the report");
    text_addf(out,
              "\n"
              "replayed      %s a step, with one CPU core per device\n"
              "  transfers at %s, latency %s\n",
              units_print_seconds((double)replay->step_ns * 1e-9).text,
              units_print_rate((double)replay->transfers.bytes_per_s).text,
              units_print_seconds((double)replay->transfers.latency_ns * 1e-9).text);
    print_spread(out, replay);
    print_parts(out, record);
    print_path(out, record, shares, n, columns);
    free(shares);
    return SHD_OK;
}

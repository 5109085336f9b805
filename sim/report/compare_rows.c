/* The columns of a comparison, and each strategy's values (compare_rows.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/compare_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/units.h"
#include "hardware/hardware.h"
#include "report/modelled.h"
#include "report/replayed.h"
#include "report/traffic.h"
#include "report/uneven.h"

const struct compare_column compare_columns[COMPARE_NCOLUMNS] = {
    [COMPARE_SCENARIO] = {"scenario", "", NULL, COMPARE_TEXT, 0, NULL, NULL},
    [COMPARE_STRATEGY] = {"strategy", "", "strategy", COMPARE_TEXT, 0, NULL, NULL},
    [COMPARE_MESH] = {"mesh", "", "mesh", COMPARE_TEXT, 0, NULL, NULL},
    [COMPARE_MICROBATCHES] = {"microbatches", "micro-", "batches", COMPARE_COUNT, 0, NULL, NULL},
    [COMPARE_MODE] = {"mode", "", NULL, COMPARE_TEXT, 0, NULL, NULL},
    [COMPARE_DEVICES] = {"devices", "", "devices", COMPARE_COUNT, 0, NULL, NULL},
    [COMPARE_DEVICE_RECEIVED] = {"received_bytes_of_device", "bytes received", "a device",
                                 COMPARE_BYTES, -1, NULL, NULL},
    [COMPARE_BYTES_TIMES] = {"received_bytes_ratio", "against the base", "bytes", COMPARE_TIMES, 0,
                             "fewer", "more"},
    [COMPARE_MEMORY_TIMES] = {"peak_memory_ratio", "against the base", "peak memory", COMPARE_TIMES,
                              0, "less", "more"},
    [COMPARE_STEP_TIMES] = {"replayed_step_ratio", "against the base", "replayed step",
                            COMPARE_TIMES, 0, "faster", "slower"},
    [COMPARE_DOMINATED] = {"dominated_by", "", "dominated by", COMPARE_TEXT, 0, NULL, NULL},
    [COMPARE_RECEIVED] = {"received_bytes", "bytes received", "in total", COMPARE_BYTES, -1, NULL,
                          NULL},
    [COMPARE_FORWARD] = {"received_forward_bytes", "bytes received", "forward", COMPARE_BYTES, -1,
                         NULL, NULL},
    [COMPARE_BACKWARD] = {"received_backward_bytes", "bytes received", "backward", COMPARE_BYTES,
                          -1, NULL, NULL},
    [COMPARE_OPTIMIZER] = {"received_optimizer_bytes", "bytes received", "optimizer", COMPARE_BYTES,
                           -1, NULL, NULL},
    [COMPARE_COLLECTIVES] = {"collectives", "", "collectives", COMPARE_COUNT, -1, NULL, NULL},
    [COMPARE_FLOPS] = {"flops_max", "flops", "most", COMPARE_COUNT, -1, NULL, NULL},
    [COMPARE_FLOPS_BALANCE] = {"flops_balance", "flops", "balance", COMPARE_RATIO, 1, NULL, NULL},
    [COMPARE_ATTENTION] = {"attention_balance", "flops", "attention", COMPARE_RATIO, 1, NULL, NULL},
    [COMPARE_EXPERTS] = {"expert_balance", "flops", "experts", COMPARE_RATIO, 1, NULL, NULL},
    [COMPARE_EFFICIENCY] = {"flops_efficiency", "flops", "efficiency", COMPARE_RATIO, 1, NULL,
                            NULL},
    [COMPARE_BUBBLE] = {"pipeline_bubble", "flops", "bubble", COMPARE_SHARE, -1, NULL, NULL},
    [COMPARE_PEAK] = {"peak_memory_bytes", "peak memory", "most", COMPARE_BYTES, -1, NULL, NULL},
    [COMPARE_PEAK_BALANCE] = {"peak_memory_balance", "peak memory", "balance", COMPARE_RATIO, 1,
                              NULL, NULL},
    [COMPARE_FITS] = {"fits", "peak memory", "fits", COMPARE_TEXT, 0, NULL, NULL},
    [COMPARE_STEP] = {"replayed_step_seconds", "replayed", "step", COMPARE_SECONDS, -1, NULL, NULL},
    [COMPARE_SPREAD] = {"replayed_step_spread", "replayed", "spread", COMPARE_SHARE, 0, NULL, NULL},
    [COMPARE_BUSY] = {"replayed_busy_seconds", "replayed", "busy", COMPARE_SECONDS, -1, NULL, NULL},
    [COMPARE_WAITING] = {"replayed_waiting_seconds", "replayed", "waiting", COMPARE_SECONDS, -1,
                         NULL, NULL},
    [COMPARE_EXPOSED] = {"replayed_exposed_communication_seconds", "replayed", "exposed",
                         COMPARE_SECONDS, -1, NULL, NULL},
    [COMPARE_MODELLED] = {"modelled_step_seconds", "modelled", "step", COMPARE_SECONDS, -1, NULL,
                          NULL},
    [COMPARE_MFU] = {"modelled_mfu", "modelled", "MFU", COMPARE_SHARE, 1, NULL, NULL},
    [COMPARE_MODELLED_EXPOSED] = {"modelled_exposed_communication_seconds", "modelled", "exposed",
                                  COMPARE_SECONDS, -1, NULL, NULL},
    [COMPARE_MODELLED_WAITING] = {"modelled_bubble_seconds", "modelled", "waiting", COMPARE_SECONDS,
                                  -1, NULL, NULL},
    [COMPARE_NEEDED] = {"modelled_memory_bytes", "modelled", "memory", COMPARE_BYTES, -1, NULL,
                        NULL},
    [COMPARE_MODELLED_ERROR] = {"modelled_expected_error", "modelled", NULL, COMPARE_SHARE, 0, NULL,
                                NULL},
    [COMPARE_MEASURED] = {"measured_step_seconds", "measured", NULL, COMPARE_SECONDS, 0, NULL,
                          NULL},
    [COMPARE_VERIFIED] = {"verified", "", "verified", COMPARE_TEXT, 0, NULL, NULL},
    [COMPARE_LARGEST_ERROR] = {"largest_error", "", "error", COMPARE_ERROR, 0, NULL, NULL},
    [COMPARE_BY_AXIS] = {"received_by_axis", "bytes received", "by axis", COMPARE_TEXT, 0, NULL,
                         NULL},
    [COMPARE_BY_OP] = {"received_by_op", "bytes received", "by op", COMPARE_TEXT, 0, NULL, NULL},
    [COMPARE_WHY] = {"why_uneven", "", NULL, COMPARE_TEXT, 0, NULL, NULL},
};

static void set_whole(struct compare_row *row, enum compare_id id, uint128 value)
{
    row->values[id].known = true;
    row->values[id].whole = value;
    row->values[id].number = (double)value;
}

static void set_number(struct compare_row *row, enum compare_id id, double value)
{
    row->values[id].known = true;
    row->values[id].number = value;
}

static void set_text(struct compare_row *row, enum compare_id id, const char *text)
{
    row->values[id].known = true;
    text_clear(&row->values[id].text);
    text_add(&row->values[id].text, text);
}

static void set_sums(struct compare_row *row, enum compare_id id, const struct traffic_sum *sums,
                     size_t n)
{
    struct text text = TEXT_INIT;

    for (size_t i = 0; i < n; i++)
        text_addf(&text, "%s%s=%s", i ? " " : "", sums[i].name, UINT128_DIGITS(sums[i].bytes));
    if (n)
        set_text(row, id, text_get(&text));
    row->values[id].text.failed |= text.failed;
    text_fini(&text);
}

static int set_traffic(struct compare_row *row, const struct record *r, struct shd_error *err)
{
    static const struct {
        const char *name;
        enum compare_id id;
    } phases[] = {{"forward", COMPARE_FORWARD},
                  {"backward", COMPARE_BACKWARD},
                  {"optimizer", COMPARE_OPTIMIZER}};
    struct traffic t;
    uint64_t count = 0;
    int status = traffic_init(&t, r, err);

    if (status != SHD_OK)
        return status;
    for (size_t i = 0; i < t.nrows; i++)
        count += t.rows[i].count;
    set_whole(row, COMPARE_COLLECTIVES, count);
    set_whole(row, COMPARE_RECEIVED, record_received(r));
    set_whole(row, COMPARE_DEVICE_RECEIVED, record_balance_of(r, r->received_bytes).max);
    set_whole(row, COMPARE_FORWARD, 0);
    set_whole(row, COMPARE_BACKWARD, 0);
    for (size_t i = 0; i < t.nby_phase; i++)
        for (size_t p = 0; p < 3; p++)
            if (!strcmp(t.by_phase[i].name, phases[p].name))
                set_whole(row, phases[p].id, t.by_phase[i].bytes);
    set_sums(row, COMPARE_BY_AXIS, t.by_axis, t.nby_axis);
    set_sums(row, COMPARE_BY_OP, t.by_op, t.nby_op);
    traffic_fini(&t);
    return SHD_OK;
}

static int set_bubble(struct compare_row *row, const struct program *program, struct shd_error *err)
{
    double bubble;
    int status;

    if (program->nranks == 1)
        return SHD_OK;
    status = program_bubble(&bubble, program, err);
    if (status == SHD_OK)
        set_number(row, COMPARE_BUBBLE, bubble);
    return status;
}

/* Set the balance of work that depends on a device's tokens or experts, if there is such work. */
static void set_uneven(struct compare_row *row, const struct record *r, enum kern_uneven uneven,
                       enum compare_id id)
{
    struct record_balance b = record_balance_of(r, r->uneven_flops[uneven]);

    if (b.max > 0)
        set_number(row, id, b.ratio);
}

static int set_why(struct compare_row *row, const struct record *r, struct shd_error *err)
{
    struct text why = TEXT_INIT;
    int status = uneven_why(&why, r, err);

    if (why.length > 0)
        set_text(row, COMPARE_WHY, text_get(&why));
    row->values[COMPARE_WHY].text.failed |= why.failed;
    text_fini(&why);
    return status;
}

static void set_devices(struct compare_row *row, const struct record *r)
{
    struct record_balance flops = record_balance_of(r, r->flops);
    struct record_balance peak = record_balance_of(r, r->peak_bytes);
    struct program_work work;

    program_work(&work, r->program);
    set_whole(row, COMPARE_FLOPS, flops.max);
    set_number(row, COMPARE_FLOPS_BALANCE, flops.ratio);
    set_uneven(row, r, KERN_BY_SIGHT, COMPARE_ATTENTION);
    set_uneven(row, r, KERN_BY_ROUTING, COMPARE_EXPERTS);
    set_number(row, COMPARE_EFFICIENCY, record_efficiency(r, &work));
    set_whole(row, COMPARE_PEAK, peak.max);
    set_number(row, COMPARE_PEAK_BALANCE, peak.ratio);
}

static void set_times(struct compare_row *row, const struct record *r)
{
    if (r->mode == RECORD_EXECUTED)
        set_number(row, COMPARE_MEASURED, (double)r->step_ns * 1e-9);
    if (!r->replay)
        return;
    set_number(row, COMPARE_STEP, (double)r->replay->step_ns * 1e-9);
    if (r->replay->spread >= 0)
        set_number(row, COMPARE_SPREAD, r->replay->spread);
    set_number(row, COMPARE_BUSY, replayed_mean_seconds(r, "busy_seconds"));
    set_number(row, COMPARE_WAITING, replayed_mean_seconds(r, "waiting_seconds"));
    set_number(row, COMPARE_EXPOSED, replayed_mean_seconds(r, "exposed_communication_seconds"));
}

static void set_modelled(struct compare_row *row, const struct result *result)
{
    struct modelled_figures f;

    if (!result->record->modelled)
        return;
    modelled_figures_of(&f, result->record, result->tokens);
    set_number(row, COMPARE_MODELLED, f.step_s);
    set_number(row, COMPARE_MFU, f.mfu);
    set_number(row, COMPARE_MODELLED_EXPOSED, f.exposed_s);
    set_number(row, COMPARE_MODELLED_WAITING, f.bubble_s);
    set_whole(row, COMPARE_NEEDED, (uint128)f.memory_bytes);
    if (f.expected_error >= 0)
        set_number(row, COMPARE_MODELLED_ERROR, f.expected_error);
}

static void set_verdicts(struct compare_row *row, const struct result *result)
{
    const struct record *r = result->record;
    double worst = 0;

    row->good = !r->verified || record_verified_ok(r);
    if (r->verified) {
        for (uint32_t i = 0; i < r->nchecks; i++)
            if (r->checks[i].error > worst)
                worst = r->checks[i].error;
        set_text(row, COMPARE_VERIFIED, row->good           ? "ok"
                                        : record_matches(r) ? "not finite"
                                                            : "NOT OK");
        set_number(row, COMPARE_LARGEST_ERROR, worst);
    }
    if (result->memory_limit_bytes || r->modelled) {
        bool fits =
            modelled_fits(r) && (!result->memory_limit_bytes ||
                                 row->values[COMPARE_PEAK].whole <= result->memory_limit_bytes);

        set_text(row, COMPARE_FITS, fits ? "yes" : "NO");
        row->good &= fits;
    }
}

int compare_row_init(struct compare_row *row, const struct result *result, struct shd_error *err)
{
    const struct record *r = result->record;
    char mesh[256];
    int status;

    shd_mesh_print(r->program->asked_mesh, mesh, sizeof mesh);
    set_text(row, COMPARE_SCENARIO, result->scenario);
    set_text(row, COMPARE_STRATEGY, result->strategy);
    set_text(row, COMPARE_MESH, mesh);
    set_text(row, COMPARE_MODE, r->mode == RECORD_PLANNED ? "plan" : "execute");
    set_whole(row, COMPARE_MICROBATCHES, r->program->microbatches);
    set_whole(row, COMPARE_DEVICES, (uint64_t)r->ndevices);
    set_devices(row, r);
    set_times(row, r);
    set_modelled(row, result);
    set_verdicts(row, result);
    status = set_bubble(row, r->program, err);
    if (status == SHD_OK)
        status = set_why(row, r, err);
    return status == SHD_OK ? set_traffic(row, r, err) : status;
}

void compare_row_fini(struct compare_row *row)
{
    for (size_t c = 0; c < COMPARE_NCOLUMNS; c++)
        text_fini(&row->values[c].text);
}

void compare_row_pack(const struct compare_row *row, struct text *out)
{
    pack_uint(out, row->good);
    for (size_t c = 0; c < COMPARE_NCOLUMNS; c++) {
        const struct compare_value *v = &row->values[c];

        pack_uint(out, v->known);
        pack_bytes(out, &v->whole, sizeof v->whole);
        pack_bytes(out, &v->number, sizeof v->number);
        pack_string(out, text_get(&v->text));
        out->failed |= v->text.failed;
    }
}

bool compare_row_unpack(struct compare_row *out, struct unpack *from)
{
    bool failed = false;

    *out = (struct compare_row){.good = unpack_uint(from)};
    for (size_t c = 0; c < COMPARE_NCOLUMNS; c++) {
        struct compare_value *v = &out->values[c];
        const char *text;

        v->known = unpack_uint(from);
        unpack_bytes(from, &v->whole, sizeof v->whole);
        unpack_bytes(from, &v->number, sizeof v->number);
        text = unpack_string(from);
        text_add(&v->text, text ? text : "");
        failed |= v->text.failed;
    }
    return !failed && !from->bad;
}

/* The values that a strategy has by itself. */
static int set_row(struct compare_row *row, const struct compare *compare, size_t i,
                   struct shd_error *err)
{
    const struct compare_row *from = compare->planned ? compare->planned[i].row : NULL;

    if (!from)
        return compare_row_init(row, &compare->results[i], err);
    row->good = from->good;
    for (size_t c = 0; c < COMPARE_NCOLUMNS; c++) {
        struct compare_value *v = &row->values[c];

        *v = from->values[c];
        text_init(&v->text);
        text_add(&v->text, text_get(&from->values[c].text));
    }
    return SHD_OK;
}

/* ---- one strategy against the base ---- */

/* The ratio of this strategy's value to the base's. */
static void set_ratio(struct compare_row *row, const struct compare_row *base, enum compare_id from,
                      enum compare_id to)
{
    const struct compare_value *a = &base->values[from], *b = &row->values[from];

    if (a->known && b->known && b->number > 0)
        set_number(row, to, a->number > 0 ? b->number / a->number : INFINITY);
    else if (a->known && b->known && a->number <= 0)
        set_number(row, to, 1); /* both are 0 */
}

double compare_modelled_error(const struct compare_rows *rows, size_t row)
{
    const struct compare_value *own = &rows->rows[row].values[COMPARE_MODELLED_ERROR];

    return own->known ? own->number : rows->error_elsewhere;
}

bool compare_is_tie(const struct compare_rows *rows, size_t column, size_t a, size_t b)
{
    const struct compare_value *x = &rows->rows[a].values[column];
    const struct compare_value *y = &rows->rows[b].values[column];
    const struct result *results = rows->compare->results;

    if (column == COMPARE_MODELLED && x->known && y->known)
        return fabs(x->number - y->number) <=
               fmax(compare_modelled_error(rows, a), compare_modelled_error(rows, b)) *
                   fmin(x->number, y->number);
    if (column < COMPARE_STEP || column > COMPARE_EXPOSED || !x->known || !y->known)
        return false;
    return replayed_is_tie(results[a].record->replay, x->number * 1e9, results[b].record->replay,
                           y->number * 1e9);
}

size_t compare_fastest(const struct compare_rows *rows)
{
    size_t n = rows->compare->nresults, fastest = n;

    for (size_t i = 0; i < n; i++) {
        const struct compare_value *v = &rows->rows[i].values[COMPARE_STEP];

        if (v->known && rows->rows[i].good &&
            (fastest == n || v->number < rows->rows[fastest].values[COMPARE_STEP].number))
            fastest = i;
    }
    return fastest;
}

/* If another strategy ties with the best, neither is marked as best. */
static void drop_ties(struct compare_rows *rows, size_t c, size_t best)
{
    for (size_t i = 0; i < rows->compare->nresults; i++)
        if (i != best && rows->rows[i].good && compare_is_tie(rows, c, best, i))
            rows->rows[i].best[c] = rows->rows[best].best[c] = false;
}

/* Strategies that are wrong or do not fit are marked only where all are so. */
static bool counts(const struct compare_rows *rows, size_t row)
{
    return rows->rows[row].good || rows->none_is_good;
}

static bool is_alike(const struct compare_rows *rows, size_t a, size_t b)
{
    return strcmp(rows->compare->results[a].what, rows->compare->results[b].what) == 0;
}

bool compare_same_model(const struct compare_rows *rows)
{
    for (size_t i = 1; i < rows->compare->nresults; i++)
        if (!is_alike(rows, i, 0))
            return false;
    return true;
}

/* Mark the best of a column, unless all are equal. */
static void mark_best(struct compare_rows *rows, size_t c)
{
    int better = compare_columns[c].better;
    double best = 0, worst = 0;
    size_t n = 0;

    for (size_t i = 0; better && i < rows->compare->nresults; i++) {
        const struct compare_value *v = &rows->rows[i].values[c];
        double x = better * v->number;

        if (!v->known || !counts(rows, i))
            continue;
        best = n == 0 || x > best ? x : best;
        worst = n == 0 || x < worst ? x : worst;
        n++;
    }
    for (size_t i = 0; n > 1 && best > worst && i < rows->compare->nresults; i++) {
        const struct compare_value *v = &rows->rows[i].values[c];

        rows->rows[i].best[c] = v->known && counts(rows, i) && !(better * v->number < best);
    }
    for (size_t i = 0; i < rows->compare->nresults; i++)
        if (rows->rows[i].best[c])
            drop_ties(rows, c, i);
}

/* Most flops of a device, stretched by the pipeline's bubble. */
static double span_of(const struct compare_row *row)
{
    return row->values[COMPARE_FLOPS].number / (1 - row->values[COMPARE_BUBBLE].number);
}

static bool dominates(const struct compare_rows *rows, size_t a, size_t b)
{
    static const enum compare_id criteria[] = {COMPARE_DEVICES, COMPARE_RECEIVED, COMPARE_PEAK};
    const struct compare_row *x = &rows->rows[a], *y = &rows->rows[b];
    bool less = false;

    if (!x->good || !is_alike(rows, a, b))
        return false;
    for (size_t i = 0; i < sizeof criteria / sizeof criteria[0]; i++) {
        if (x->values[criteria[i]].whole > y->values[criteria[i]].whole)
            return false;
        less |= x->values[criteria[i]].whole < y->values[criteria[i]].whole;
    }
    return span_of(x) <= span_of(y) && (less || span_of(x) < span_of(y));
}

/* Name the strategy that dominates this one; of several, the one with the fewest bytes. */
static void set_dominated(struct compare_rows *rows, size_t row)
{
    size_t by = row;

    for (size_t i = 0; i < rows->compare->nresults; i++)
        if (dominates(rows, i, row) &&
            (by == row || rows->rows[i].values[COMPARE_RECEIVED].whole <
                              rows->rows[by].values[COMPARE_RECEIVED].whole))
            by = i;
    if (by == row)
        return;
    set_text(&rows->rows[row], COMPARE_DOMINATED, "");
    compare_add_name(rows, by, &rows->rows[row].values[COMPARE_DOMINATED].text);
}

/* ---- which rows and columns are printed ---- */

bool compare_find_columns(bool *out, const char *name)
{
    bool found = false;

    for (size_t c = COMPARE_STRATEGY + 1; c < COMPARE_NCOLUMNS; c++)
        if (compare_columns[c].title &&
            (!strcmp(name, "all") || !strcmp(name, compare_columns[c].key) ||
             !strcmp(name, compare_columns[c].group)))
            found = out[c] = true;
    return found;
}

int compare_find_sort(const char *name)
{
    for (int c = COMPARE_STRATEGY + 1; c < COMPARE_NCOLUMNS; c++)
        if (compare_columns[c].kind != COMPARE_TEXT && !strcmp(name, compare_columns[c].key))
            return c;
    return -1;
}

const char *compare_hint(char *buf, size_t size, const char *name)
{
    struct nearest near;

    nearest_init(&near, name);
    for (size_t c = COMPARE_STRATEGY + 1; c < COMPARE_NCOLUMNS; c++)
        nearest_add(&near, compare_columns[c].key);
    return nearest_hint(&near, buf, size);
}

/* Whether row a comes before row b in the column that was asked for: what is not known is last. */
static bool comes_before(const struct compare_rows *rows, size_t a, size_t b)
{
    int c = rows->compare->sort;
    const struct compare_value *x = &rows->rows[a].values[c], *y = &rows->rows[b].values[c];

    if (!x->known || !y->known)
        return x->known && !y->known;
    return compare_columns[c].better > 0 ? x->number > y->number : x->number < y->number;
}

/* Equals keep the order of the scenario. */
static void set_order(struct compare_rows *rows)
{
    const struct compare *c = rows->compare;

    for (size_t i = 0; i < c->nresults; i++) {
        size_t at = i;

        for (; c->sort >= 0 && at > 0 && comes_before(rows, i, rows->order[at - 1]); at--)
            rows->order[at] = rows->order[at - 1];
        rows->order[at] = i;
    }
    rows->nshown = c->top > 0 && c->top < c->nresults ? c->top : c->nresults;
}

static bool has_failed(const struct compare_rows *rows)
{
    for (size_t i = 0; i < rows->compare->nresults; i++)
        for (size_t c = 0; c < COMPARE_NCOLUMNS; c++)
            if (rows->rows[i].values[c].text.failed)
                return true;
    return false;
}

/* Whether two files have scenarios of the same name, so that only the file tells them apart.
 * Results of a file are consecutive. */
static bool has_namesakes(const struct compare *compare)
{
    const struct result *all = compare->results;

    for (size_t i = 1; i < compare->nresults; i++) {
        if (!all[i].file || !all[i - 1].file || !strcmp(all[i].file, all[i - 1].file))
            continue;
        for (size_t k = 0; k < i; k++)
            if (!strcmp(all[i].scenario, all[k].scenario) && strcmp(all[i].file, all[k].file) != 0)
                return true;
    }
    return false;
}

int compare_rows_init(struct compare_rows *out, const struct compare *compare,
                      struct shd_error *err)
{
    size_t n = compare->nresults;
    bool same;
    int status = SHD_OK;

    *out = (struct compare_rows){.compare = compare,
                                 .rows = calloc(n, sizeof *out->rows),
                                 .order = calloc(n, sizeof *out->order)};
    if (!out->rows || !out->order)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the comparison");
    for (size_t i = 0; i < n && status == SHD_OK; i++) {
        status = set_row(&out->rows[i], compare, i, err);
        out->several_scenarios |=
            strcmp(compare->results[i].scenario, compare->results[0].scenario) != 0;
    }
    out->by_file = has_namesakes(compare);
    if (compare_is_used(out, COMPARE_MODELLED))
        out->error_elsewhere = hardware_error_elsewhere();
    if (status != SHD_OK)
        return status;
    for (size_t i = 0; i < n; i++) {
        const struct compare_row *base = &out->rows[compare->base];

        set_dominated(out, i);
        if (!is_alike(out, i, compare->base))
            continue; /* another model's bytes or step say nothing of the layout */
        set_ratio(&out->rows[i], base, COMPARE_DEVICE_RECEIVED, COMPARE_BYTES_TIMES);
        set_ratio(&out->rows[i], base, COMPARE_PEAK, COMPARE_MEMORY_TIMES);
        set_ratio(&out->rows[i], base, COMPARE_STEP, COMPARE_STEP_TIMES);
    }
    out->none_is_good = true;
    for (size_t i = 0; i < n; i++)
        out->none_is_good &= !out->rows[i].good;
    same = compare_same_model(out);
    for (size_t c = 0; same && c < COMPARE_NCOLUMNS; c++)
        mark_best(out, c);
    set_order(out);
    return has_failed(out) ? shd_error_set(err, SHD_ENOMEM, "no memory for the comparison")
                           : SHD_OK;
}

void compare_rows_fini(struct compare_rows *rows)
{
    for (size_t i = 0; rows->rows && i < rows->compare->nresults; i++)
        compare_row_fini(&rows->rows[i]);
    free(rows->rows);
    free(rows->order);
    rows->rows = NULL;
    rows->order = NULL;
}

void compare_add_name(const struct compare_rows *rows, size_t row, struct text *out)
{
    const struct result *r = &rows->compare->results[row];
    const char *name = rows->by_file ? r->file : r->scenario;

    if (!rows->several_scenarios && !rows->by_file)
        text_add(out, r->strategy);
    else if (!strcmp(r->strategy, "default"))
        text_add(out, name);
    else
        text_addf(out, "%s: %s", name, r->strategy);
}

bool compare_is_used(const struct compare_rows *rows, size_t column)
{
    for (size_t i = 0; i < rows->compare->nresults; i++)
        if (rows->rows[i].values[column].known)
            return true;
    return false;
}

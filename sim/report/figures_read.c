/* Reading a record's figures (figures.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/figures.h"

#include <string.h>

#include "report/host.h"
#include "report/replayed.h"
#include "report/result.h"
#include "report/serving.h"
#include "report/traffic.h"
#include "report/uneven.h"

void figures_set_whole(struct figures *figures, enum figure_id id, uint128 value)
{
    figures->values[id].known = true;
    figures->values[id].whole = value;
    figures->values[id].number = (double)value;
}

void figures_set_number(struct figures *figures, enum figure_id id, double value)
{
    figures->values[id].known = true;
    figures->values[id].number = value;
}

void figures_set_text(struct figures *figures, enum figure_id id, const char *text)
{
    figures->values[id].known = true;
    text_clear(&figures->values[id].text);
    text_add(&figures->values[id].text, text);
}

static void set_sums(struct figures *figures, enum figure_id id, const struct traffic_sum *sums,
                     size_t n)
{
    struct text text = TEXT_INIT;

    for (size_t i = 0; i < n; i++)
        text_addf(&text, "%s%s=%s", i ? " " : "", sums[i].name, UINT128_DIGITS(sums[i].bytes));
    if (n)
        figures_set_text(figures, id, text_get(&text));
    text_drop(&figures->values[id].text, &text);
}

static void set_traffic(struct figures *figures, const struct record *r, const struct traffic *t)
{
    static const struct {
        const char *name;
        enum figure_id id;
    } phases[] = {{"forward", FIGURE_FORWARD},
                  {"backward", FIGURE_BACKWARD},
                  {"optimizer", FIGURE_OPTIMIZER}};
    uint64_t count = 0;

    for (size_t i = 0; i < t->nrows; i++)
        count += t->rows[i].count;
    figures_set_whole(figures, FIGURE_COLLECTIVES, count);
    figures_set_whole(figures, FIGURE_RECEIVED, record_received(r));
    figures_set_whole(figures, FIGURE_RECEIVED_MOST, record_balance_of(r, r->received_bytes).max);
    figures_set_whole(figures, FIGURE_FORWARD, 0);
    figures_set_whole(figures, FIGURE_BACKWARD, 0);
    for (size_t i = 0; i < t->nby_phase; i++)
        for (size_t p = 0; p < 3; p++)
            if (!strcmp(t->by_phase[i].name, phases[p].name))
                figures_set_whole(figures, phases[p].id, t->by_phase[i].bytes);
    set_sums(figures, FIGURE_BY_AXIS, t->by_axis, t->nby_axis);
    set_sums(figures, FIGURE_BY_OP, t->by_op, t->nby_op);
}

static int set_bubble(struct figures *figures, const struct program *program, struct shd_error *err)
{
    double bubble;
    int status;

    if (program->nranks == 1)
        return SHD_OK;
    status = program_bubble(&bubble, program, err);
    if (status == SHD_OK)
        figures_set_number(figures, FIGURE_BUBBLE, bubble);
    return status;
}

/* Set the balance of work that depends on a device's tokens or experts, if there is such work. */
static void set_uneven(struct figures *figures, const struct record *r, enum kern_uneven uneven,
                       enum figure_id id)
{
    struct record_balance b = record_balance_of(r, r->uneven_flops[uneven]);

    if (b.max > 0)
        figures_set_number(figures, id, b.ratio);
}

static int set_why(struct figures *figures, const struct record *r, struct shd_error *err)
{
    struct text why = TEXT_INIT;
    int status = uneven_why(&why, r, err);

    if (why.length > 0)
        figures_set_text(figures, FIGURE_WHY, text_get(&why));
    text_drop(&figures->values[FIGURE_WHY].text, &why);
    return status;
}

static void set_devices(struct figures *figures, const struct record *r)
{
    struct record_balance flops = record_balance_of(r, r->flops);
    struct record_balance peak = record_balance_of(r, r->peak_bytes);
    struct program_work work;

    program_work(&work, r->program);
    figures_set_whole(figures, FIGURE_FLOPS_MOST, flops.max);
    figures_set_whole(figures, FIGURE_FLOPS, record_flops(r));
    figures_set_whole(figures, FIGURE_MODEL_FLOPS, work.model_flops);
    figures_set_number(figures, FIGURE_FLOPS_BALANCE, flops.ratio);
    set_uneven(figures, r, KERN_BY_SIGHT, FIGURE_ATTENTION);
    set_uneven(figures, r, KERN_BY_ROUTING, FIGURE_EXPERTS);
    figures_set_number(figures, FIGURE_EFFICIENCY, record_efficiency(r, &work));
    figures_set_whole(figures, FIGURE_PEAK_MOST, peak.max);
    figures_set_whole(figures, FIGURE_PEAK_TOTAL, record_sum(r, r->peak_bytes));
    figures_set_number(figures, FIGURE_PEAK_BALANCE, peak.ratio);
    if (r->worst_peak_bytes > 0)
        figures_set_whole(figures, FIGURE_PEAK_WORST, r->worst_peak_bytes);
}

/* Set what is in the memory of hosts, if anything is. */
static void set_host(struct figures *figures, const struct record *r)
{
    if (!program_uses_host(r->program))
        return;
    figures_set_whole(figures, FIGURE_OFFLOADED, host_offloaded(r));
    figures_set_whole(figures, FIGURE_TO_HOST_MOST, record_balance_of(r, r->to_host_bytes).max);
    figures_set_whole(figures, FIGURE_FROM_HOST_MOST, record_balance_of(r, r->from_host_bytes).max);
    figures_set_whole(figures, FIGURE_HOST_PEAK_MOST, record_balance_of(r, r->host_peak_bytes).max);
}

static double seconds_of(int64_t ns)
{
    return (double)ns * 1e-9;
}

/* Set the figures of a step that serves, if it does; a baseline knows the record alone. */
static void set_serving(struct figures *figures, const struct result *result)
{
    struct serving s;

    serving_of(&s, result);
    if (s.cache_bytes > 0) {
        figures_set_whole(figures, FIGURE_CACHE_MOST, s.cache_bytes_most);
        figures_set_whole(figures, FIGURE_CACHE_TOTAL, s.cache_bytes);
        figures_set_whole(figures, FIGURE_CACHE_TOKEN, s.token_bytes);
    }
    if (!result->serves)
        return;
    if (result->sequences_that_fit >= 0)
        figures_set_whole(figures, FIGURE_SEQUENCES, (uint128)result->sequences_that_fit);
    if (!result->record->modelled)
        return;
    figures_set_number(figures, FIGURE_MODELLED_TOKENS, s.tokens_per_s);
    figures_set_number(figures, FIGURE_MODELLED_DEVICE_TOKENS, s.device_tokens_per_s);
    figures_set_number(figures, FIGURE_MODELLED_MBU, s.mbu);
    figures_set_text(figures, FIGURE_MODELLED_BOUND, s.bound.word);
    if (result->decodes)
        figures_set_number(figures, FIGURE_MODELLED_TOKEN, s.token_s);
}

static void set_measured(struct figures *figures, const struct record *r)
{
    if (r->mode != RECORD_EXECUTED)
        return;
    figures_set_number(figures, FIGURE_MEASURED_STEP, seconds_of(r->step_ns));
    figures_set_number(figures, FIGURE_MEASURED_FASTEST, seconds_of(r->fastest_step_ns));
    figures_set_number(figures, FIGURE_MEASURED_FIRST, seconds_of(r->first_step_ns));
    figures_set_number(figures, FIGURE_MEASURED_CPU, seconds_of(r->cpu_ns));
}

static void set_replayed(struct figures *figures, const struct record *r)
{
    if (!r->replay)
        return;
    figures_set_number(figures, FIGURE_REPLAYED_STEP, seconds_of(r->replay->step_ns));
    if (r->replay->spread >= 0)
        figures_set_number(figures, FIGURE_REPLAYED_SPREAD, r->replay->spread);
    for (size_t p = 0; p < REPLAYED_NPARTS; p++)
        if (replayed_has(r, &replayed_parts[p]))
            figures_set_number(figures, replayed_parts[p].id,
                               replayed_balance_of(r, &replayed_parts[p]).mean_s);
}

void figures_set_modelled(struct figures *figures, const struct modelled_figures *from)
{
    for (int id = 0; id < NFIGURES; id++) {
        double value;

        if (!figure_table[id].in_plan)
            continue;
        memcpy(&value, (const char *)from + figure_table[id].modelled, sizeof value);
        if (value >= 0 && figure_table[id].unit == FIGURE_BYTES)
            figures_set_whole(figures, (enum figure_id)id, (uint128)value);
        else if (value >= 0)
            figures_set_number(figures, (enum figure_id)id, value);
    }
}

static void set_step_of_host(struct figures *figures, const struct record *record)
{
    const struct record_modelled *m = record->modelled;
    struct host_times t;

    if (!program_uses_host(record->program))
        return;
    host_times_of(&t, record);
    figures_set_number(figures, FIGURE_MODELLED_EXPOSED_HOST,
                       seconds_of(m->timeline->devices[m->row].exposed_host_ns));
    figures_set_number(figures, FIGURE_MODELLED_TO_HOST, seconds_of(t.to_host_ns));
    figures_set_number(figures, FIGURE_MODELLED_FROM_HOST, seconds_of(t.from_host_ns));
    figures_set_number(figures, FIGURE_MODELLED_HOST_UPDATE, seconds_of(t.kernels_ns));
    figures_set_whole(figures, FIGURE_MODELLED_HOST_MEMORY, host_node_bytes(record));
}

void figures_set_step(struct figures *figures, const struct record *record, uint64_t tokens)
{
    const struct record_modelled *m = record->modelled;
    struct modelled_figures step;

    if (!m)
        return;
    modelled_figures_of(&step, record, tokens);
    figures_set_modelled(figures, &step);
    set_step_of_host(figures, record);
    figures_set_number(figures, FIGURE_MODELLED_MATMUL, seconds_of(m->work_ns[RECORD_MATMUL]));
    figures_set_number(figures, FIGURE_MODELLED_ATTENTION,
                       seconds_of(m->work_ns[RECORD_ATTENTION]));
    figures_set_number(figures, FIGURE_MODELLED_ELEMENTWISE,
                       seconds_of(m->work_ns[RECORD_ELEMENTWISE]));
    figures_set_number(figures, FIGURE_MODELLED_AGAIN, seconds_of(m->again_ns));
}

static void set_verdicts(struct figures *figures, const struct result *result)
{
    const struct record *r = result->record;
    double worst = 0;

    figures->good = !r->verified || record_verified_ok(r);
    if (r->verified) {
        for (uint32_t i = 0; i < r->nchecks; i++)
            if (r->checks[i].error > worst)
                worst = r->checks[i].error;
        figures_set_text(figures, FIGURE_VERIFIED,
                         figures->good       ? "ok"
                         : record_matches(r) ? "not finite"
                                             : "NOT OK");
        figures_set_number(figures, FIGURE_LARGEST_ERROR, worst);
    }
    if (result->memory_limit_bytes || r->modelled) {
        bool fits = modelled_fits(r) &&
                    (!result->memory_limit_bytes ||
                     figures->values[FIGURE_PEAK_MOST].whole <= result->memory_limit_bytes);

        figures_set_text(figures, FIGURE_FITS, fits ? "yes" : "NO");
        figures->good &= fits;
    }
}

int figures_set(struct figures *figures, const struct result *result, const struct traffic *traffic,
                struct shd_error *err)
{
    const struct record *r = result->record;
    char mesh[256];

    shd_mesh_print(r->program->asked_mesh, mesh, sizeof mesh);
    figures_set_text(figures, FIGURE_SCENARIO, result->scenario);
    figures_set_text(figures, FIGURE_STRATEGY, result->strategy);
    figures_set_text(figures, FIGURE_MESH, mesh);
    figures_set_text(figures, FIGURE_MODE, r->mode == RECORD_PLANNED ? "plan" : "execute");
    figures_set_whole(figures, FIGURE_MICROBATCHES, r->program->microbatches);
    figures_set_whole(figures, FIGURE_DEVICES, (uint64_t)r->ndevices);
    set_devices(figures, r);
    set_host(figures, r);
    set_measured(figures, r);
    set_replayed(figures, r);
    figures_set_step(figures, r, result->tokens);
    set_serving(figures, result);
    set_verdicts(figures, result);
    set_traffic(figures, r, traffic);
    return set_bubble(figures, r->program, err);
}

int figures_init(struct figures *figures, const struct result *result, struct shd_error *err)
{
    struct traffic traffic;
    int status = traffic_init(&traffic, result->record, err);

    if (status != SHD_OK)
        return status;
    status = figures_set(figures, result, &traffic, err);
    traffic_fini(&traffic);
    return status == SHD_OK ? set_why(figures, result->record, err) : status;
}

void figures_fini(struct figures *figures)
{
    for (size_t c = 0; c < NFIGURES; c++)
        text_fini(&figures->values[c].text);
}

void figures_pack(const struct figures *figures, struct text *out)
{
    pack_uint(out, figures->good);
    for (size_t c = 0; c < NFIGURES; c++) {
        const struct figure_value *v = &figures->values[c];

        pack_uint(out, v->known);
        pack_bytes(out, &v->whole, sizeof v->whole);
        pack_bytes(out, &v->number, sizeof v->number);
        pack_string(out, text_get(&v->text));
        out->failed |= v->text.failed;
    }
}

bool figures_unpack(struct figures *out, struct unpack *from)
{
    bool failed = false;

    *out = (struct figures){.good = unpack_uint(from)};
    for (size_t c = 0; c < NFIGURES; c++) {
        struct figure_value *v = &out->values[c];
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

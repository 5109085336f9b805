/* A strategy's record as JSON (result.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/attention.h"
#include "report/breakdown.h"
#include "report/by_device.h"
#include "report/experts.h"
#include "report/figures.h"
#include "report/result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_mesh.h"
#include "report/modelled.h"
#include "report/ranks.h"
#include "report/replayed.h"
#include "report/traffic.h"

static void write_mesh(struct json_out *out, const struct shd_mesh *mesh)
{
    json_out_key(out, "mesh");
    json_mesh(out, mesh);
    json_out_key_int(out, "devices", shd_mesh_size(mesh));
}

/* The numbers of parameters, if some are frozen. */
static void write_learned(struct json_out *out, const struct program *program)
{
    double all = program_parameters(program), learned = program_learned(program);

    if (learned == all)
        return;
    json_out_key_flat_object(out, "parameters");
    json_out_key_uint(out, "all", (uint128)all);
    json_out_key_uint(out, "learned", (uint128)learned);
    json_out_end_object(out);
}

static void write_row(struct json_out *out, const struct traffic_row *row)
{
    json_out_begin_object(out);
    json_out_key_string(out, "op", row->op);
    json_out_key(out, "axes");
    traffic_write_axes(out, row);
    json_out_key_uint(out, "group_size", row->group_size);
    json_out_key_uint(out, "groups", row->groups);
    json_out_key_uint(out, "count", row->count);
    json_out_key_string(out, "phase", program_phase_name(row->phase));
    json_out_key_string(out, "dtype", shd_dtype_name(row->dtype));
    json_out_key_string(out, "algorithm", row->algorithm);
    json_out_key_uint(out, "operand_bytes", row->operand_bytes);
    json_out_key_uint(out, "result_bytes", row->result_bytes);
    json_out_key_uint(out, "received_bytes", row->received_bytes);
    json_out_key_string(out, "where", row->where);
    json_out_key_string(out, "why", row->why);
    json_out_end_object(out);
}

static void write_sums(struct json_out *out, const char *key, const struct traffic_sum *sums,
                       size_t n)
{
    json_out_key_flat_object(out, key);
    for (size_t i = 0; i < n; i++)
        json_out_key_uint(out, sums[i].name, sums[i].bytes);
    json_out_end_object(out);
}

static int write_traffic(struct json_out *out, const struct traffic *t, const struct record *record)
{
    int status;

    json_out_key_array(out, "collectives");
    for (size_t r = 0; r < t->nrows; r++)
        write_row(out, &t->rows[r]);
    json_out_end_array(out);
    json_out_key_object(out, "received_bytes");
    json_out_key_uint(out, "total", record_received(record));
    status = by_device_json(out, "per_device", record->received_bytes, record);
    write_sums(out, "by_axis", t->by_axis, t->nby_axis);
    write_sums(out, "by_op", t->by_op, t->nby_op);
    write_sums(out, "by_phase", t->by_phase, t->nby_phase);
    json_out_end_object(out);
    return status;
}

static void write_balance(struct json_out *out, const char *key, const struct record *r,
                          const uint128 *rows)
{
    struct record_balance b = record_balance_of(r, rows);

    json_out_key_flat_object(out, key);
    json_out_key_double(out, "mean", b.mean);
    json_out_key_uint(out, "max", b.max);
    json_out_key_double(out, "ratio", b.ratio);
    json_out_key_int(out, "slowest", b.slowest);
    json_out_end_object(out);
}

static void write_balances(struct json_out *out, const struct record *r)
{
    json_out_key_object(out, "balance");
    write_balance(out, "flops", r, r->flops);
    if (record_balance_of(r, r->uneven_flops[KERN_BY_SIGHT]).max > 0)
        write_balance(out, "attention_flops", r, r->uneven_flops[KERN_BY_SIGHT]);
    if (record_balance_of(r, r->uneven_flops[KERN_BY_ROUTING]).max > 0)
        write_balance(out, "expert_flops", r, r->uneven_flops[KERN_BY_ROUTING]);
    write_balance(out, "received_bytes", r, r->received_bytes);
    write_balance(out, "sent_bytes", r, r->sent_bytes);
    write_balance(out, "peak_memory", r, r->peak_bytes);
    if (r->replay) {
        json_out_key(out, "busy_seconds");
        replayed_json_balance(out, r);
    }
    json_out_end_object(out);
}

/* The part of the microbatches' time that ranks are idle; nothing without a pipeline. */
static int write_bubble(struct json_out *out, const struct program *program)
{
    double bubble;

    if (program->nranks == 1)
        return SHD_OK;
    if (program_bubble(&bubble, program, NULL) != SHD_OK)
        return SHD_ENOMEM;
    json_out_key_flat_object(out, "pipeline");
    json_out_key_uint(out, "ranks", program->nranks);
    json_out_key_uint(out, "stages", program->nstages);
    json_out_key_uint(out, "microbatches", program->microbatches);
    json_out_key_double(out, "bubble", bubble);
    json_out_end_object(out);
    return SHD_OK;
}

static void write_work(struct json_out *out, const struct record *r)
{
    const struct shd_mesh *mesh = r->program->asked_mesh;
    struct program_work work;

    program_work(&work, r->program);
    json_out_key_object(out, "work");
    json_out_key_uint(out, "done_flops", record_flops(r));
    json_out_key_uint(out, "unsharded_flops", work.unsharded_flops);
    json_out_key_double(out, "efficiency", record_efficiency(r, &work));
    json_out_key_uint(out, "model_flops", work.model_flops);
    json_out_key_uint(out, "model_flops_causal_half", work.model_flops - work.causal_flops / 2);
    json_out_key_array(out, "axes");
    for (size_t a = 0; a < shd_mesh_naxes(mesh); a++) {
        json_out_begin_object(out);
        json_out_key_string(out, "axis", shd_mesh_axis_name(mesh, a));
        json_out_key_bool(out, "cuts_nothing", work.axes[a].idle);
        json_out_key_double(out, "repeated", work.axes[a].repeated);
        json_out_key_int(out, "times", work.axes[a].times);
        json_out_end_object(out);
    }
    json_out_end_array(out);
    json_out_end_object(out);
}

/* JSON has no infinity and no NaN: they are the strings "inf", "-inf" and "nan". */
static void any_double(struct json_out *out, double value)
{
    if (isfinite(value))
        json_out_double(out, value);
    else
        json_out_string(out, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
}

static void key_any_double(struct json_out *out, const char *key, double value)
{
    json_out_key(out, key);
    any_double(out, value);
}

/* The key under which the results of a kind are listed. */
static const char *const check_keys[] = {[PROGRAM_OUTPUT] = "outputs",
                                         [PROGRAM_LOSS] = "outputs",
                                         [PROGRAM_GRADIENT] = "gradients",
                                         [PROGRAM_NEXT] = "state"};

static void write_checks(struct json_out *out, const struct record *r, const char *key)
{
    json_out_key_object(out, key);
    for (uint32_t i = 0; i < r->nchecks; i++)
        if (!strcmp(check_keys[r->checks[i].kind], key))
            key_any_double(out, r->checks[i].name, r->checks[i].error);
    json_out_end_object(out);
}

static void write_place(struct json_out *out, const struct record_check *check)
{
    key_any_double(out, "error", check->error);
    json_out_key_uint(out, "device", (uint64_t)check->device);
    json_out_key_uint(out, "element", (uint64_t)check->at);
    key_any_double(out, "is", check->got);
    key_any_double(out, "expected", check->want);
    key_any_double(out, "bound", check->allowed);
}

/* Write the arrays beyond their bounds, and the first step with a wrong result. */
static void write_wrong(struct json_out *out, const struct record *r)
{
    json_out_key_array(out, "wrong");
    for (uint32_t i = 0; i < r->nchecks; i++) {
        if (record_check_ok(r, &r->checks[i]))
            continue;
        json_out_begin_object(out);
        json_out_key_string(out, "array", r->checks[i].name);
        key_any_double(out, "relative_error", r->checks[i].relative);
        if (record_check_nonfinite(&r->checks[i]) > 0)
            json_out_key_uint(out, "nonfinite", record_check_nonfinite(&r->checks[i]));
        write_place(out, &r->checks[i]);
        json_out_end_object(out);
    }
    json_out_end_array(out);
    if (r->step.error <= 1)
        return;
    json_out_key_object(out, "first_wrong_step");
    json_out_key_uint(out, "step", r->step_op);
    json_out_key_string(out, "op", program_step_name(&r->program->ops[r->step_op]));
    json_out_key_string(out, "where", r->program->ops[r->step_op].name);
    write_place(out, &r->step);
    json_out_end_object(out);
}

/* Elements that cannot be judged; of several steps those after the last, and after the first. */
static void write_open(struct json_out *out, const struct record *r)
{
    uint64_t last = 0, first = 0;

    for (uint32_t i = 0; i < r->nchecks; i++) {
        last += r->checks[i].nopen;
        first += r->checks[i].nopen_first;
    }
    json_out_key_uint(out, "without_bound", last);
    if (r->training.nsteps > 1)
        json_out_key_uint(out, "without_bound_after_first", first);
}

static void write_relative_errors(struct json_out *out, const struct record *r)
{
    if (!r->beside_unsharded && r->training.nsteps < 2)
        return;
    json_out_key_object(out, "relative_errors");
    for (uint32_t i = 0; i < r->nchecks; i++) {
        json_out_key_flat_object(out, r->checks[i].name);
        key_any_double(out, "sharded", r->checks[i].relative);
        if (r->beside_unsharded)
            key_any_double(out, "unsharded", r->checks[i].unsharded);
        json_out_end_object(out);
    }
    json_out_end_object(out);
}

/* Write the arrays exempt from the tolerance: by name, the largest bound of an element. */
static void write_zeros(struct json_out *out, const struct record *r)
{
    if (r->tolerance == 0)
        return;
    json_out_key_object(out, "zero_but_for_rounding");
    for (uint32_t i = 0; i < r->nchecks; i++)
        if (r->checks[i].zero)
            json_out_key_double(out, r->checks[i].name, r->checks[i].widest);
    json_out_end_object(out);
}

static void write_verify(struct json_out *out, const struct record *r)
{
    json_out_key_object(out, "verify");
    json_out_key_bool(out, "ok", record_verified_ok(r));
    if (r->tolerance > 0)
        json_out_key_double(out, "tolerance", r->tolerance);
    write_zeros(out, r);
    json_out_key_uint(out, "steps", r->nsteps);
    write_open(out, r);
    write_checks(out, r, "outputs");
    write_checks(out, r, "gradients");
    if (program_has_state(r->program))
        write_checks(out, r, "state");
    write_relative_errors(out, r);
    write_wrong(out, r);
    json_out_end_object(out);
}

static void write_numbers(struct json_out *out, const char *key, const double *numbers, uint32_t n)
{
    json_out_key_flat_array(out, key);
    for (uint32_t i = 0; i < n; i++)
        any_double(out, numbers[i]);
    json_out_end_array(out);
}

static void write_training(struct json_out *out, const struct record_training *t)
{
    if (t->nsteps == 0)
        return;
    json_out_key_object(out, "training");
    write_numbers(out, "losses", t->losses, t->nsteps);
    write_numbers(out, "grad_norms", t->grad_norms, t->nsteps);
    json_out_end_object(out);
}

static void write_handoff(struct json_out *out, const struct record_handoff *h)
{
    if (!h->used)
        return;
    json_out_key_object(out, "handoff");
    json_out_key_bool(out, "apart", h->apart);
    json_out_key_int(out, "devices", h->ndevices);
    json_out_key_uint(out, "received_bytes", h->bytes);
    json_out_key_uint(out, "received_bytes_most", h->most);
    if (h->seconds > 0)
        json_out_key_double(out, "modelled_seconds", h->seconds);
    json_out_end_object(out);
}

static int write_time(struct json_out *out, const struct record *r, const struct figures *figures,
                      struct shd_error *err)
{
    int status = SHD_OK;

    json_out_key_object(out, "time");
    if (r->mode == RECORD_EXECUTED) {
        json_out_key_flat_object(out, "measured");
        figures_json(out, figures, FIGURE_MEASURED, true);
        json_out_key_uint(out, "repeats", r->repeats);
        json_out_end_object(out);
    }
    if (r->replay) {
        json_out_key(out, "replayed");
        status = replayed_json(out, r, figures, err);
    }
    if (r->modelled) {
        json_out_key(out, "modelled");
        modelled_json(out, r, figures);
    }
    json_out_end_object(out);
    return status;
}

/* Write the live bytes at the peak by use, which are equal on all devices of a pipeline's rank. */
static void write_uses(struct json_out *out, const struct program *program)
{
    struct program_memory memory;

    program_memory(&memory, program, program_peak_rank(program));
    json_out_key(out, "by_kind");
    ranks_kinds_json(&memory, out);
    if (program->nranks == 1)
        return;
    json_out_key(out, "by_rank");
    ranks_json(program, out);
}

static int write_breakdown(struct json_out *out, const struct record *r)
{
    struct breakdown breakdown;
    int status = breakdown_init(&breakdown, r->program, NULL);

    if (status == SHD_OK) {
        json_out_key(out, "breakdown");
        breakdown_json(&breakdown, r, out);
    }
    breakdown_fini(&breakdown);
    return status;
}

static int write_memory(struct json_out *out, const struct result *result)
{
    int status;

    json_out_key_object(out, "memory");
    if (result->record->worst_peak_bytes > 0)
        json_out_key_uint(out, "worst_routing_peak_bytes", result->record->worst_peak_bytes);
    if (result->record->worst_unknown) {
        json_out_key(out, "worst_routing_peak_bytes");
        json_out_null(out);
    }
    status = by_device_json(out, "peak_bytes", result->record->peak_bytes, result->record);
    json_out_key(out, "limit_bytes");
    if (result->memory_limit_bytes)
        json_out_uint(out, result->memory_limit_bytes);
    else
        json_out_null(out);
    write_uses(out, result->record->program);
    if (status == SHD_OK && program_has_state(result->record->program))
        status = write_breakdown(out, result->record);
    if (result->fit && result->fit->wanted) {
        json_out_key(out, "would_fit");
        fit_json(result->fit, out);
    }
    json_out_end_object(out);
    return status;
}

/* Write what each device has in its host's memory, and copies to and from it. */
static int write_host(struct json_out *out, const struct record *r)
{
    int status;

    json_out_key_object(out, "host");
    status = by_device_json(out, "peak_bytes", r->host_peak_bytes, r);
    if (status == SHD_OK)
        status = by_device_json(out, "to_host_bytes", r->to_host_bytes, r);
    if (status == SHD_OK)
        status = by_device_json(out, "from_host_bytes", r->from_host_bytes, r);
    json_out_end_object(out);
    return status;
}

/* Write the origin of the devices' memory; nothing if nothing was executed. */
static void write_device_memory(struct json_out *out, const struct record *r)
{
    if (!r->memory.kind)
        return;
    json_out_key_flat_object(out, "device_memory");
    json_out_key_string(out, "kind", r->memory.kind);
    json_out_key_string(out, "why", r->memory.why);
    json_out_end_object(out);
}

/* Write how even attention and experts are, if the model has them. */
static int write_uneven(struct json_out *out, const struct record *r, struct shd_error *err)
{
    struct attention attention = {.nrows = 0};
    struct experts experts;
    int status = attention_init(&attention, r, err);

    if (status == SHD_OK && attention.nrows > 0) {
        json_out_key(out, "attention");
        status = attention_json(&attention, r, out);
    }
    attention_fini(&attention);
    if (status == SHD_OK)
        status = experts_init(&experts, r, err);
    if (status != SHD_OK)
        return status;
    if (experts.nrows > 0) {
        json_out_key(out, "experts");
        experts_json(&experts, r, out);
    }
    experts_fini(&experts);
    return SHD_OK;
}

/* What a step of serving serves. */
static void write_serving(struct json_out *out, const struct result *result)
{
    json_out_key_flat_object(out, "serving");
    json_out_key_string(out, "step", result->decodes ? "decode" : "prefill");
    json_out_key_int(out, "sequences", result->sequences);
    json_out_key_int(out, "tokens_of_each", result->kept);
    json_out_end_object(out);
}

int result_json(const struct result *result, struct json_out *out, struct shd_error *err)
{
    const struct record *r = result->record;
    struct figures figures = {.good = false};
    struct traffic traffic;
    int status = traffic_init(&traffic, r, err);

    if (status != SHD_OK)
        return status;
    status = figures_set(&figures, result, &traffic, err);
    if (status != SHD_OK) {
        figures_fini(&figures);
        traffic_fini(&traffic);
        return status;
    }
    json_out_begin_object(out);
    json_out_key_string(out, "schema", "shardsim.result/2");
    json_out_key_string(out, "scenario", result->scenario);
    json_out_key_string(out, "strategy", result->strategy);
    json_out_key_string(out, "mode", r->mode == RECORD_PLANNED ? "plan" : "execute");
    write_mesh(out, r->program->asked_mesh);
    write_learned(out, r->program);
    json_out_key(out, "figures");
    figures_json_all(out, &figures);
    if (result->serves)
        write_serving(out, result);
    status = write_traffic(out, &traffic, r);
    write_balances(out, r);
    if (status == SHD_OK)
        status = write_uneven(out, r, err);
    if (status == SHD_OK)
        status = write_memory(out, result);
    if (status == SHD_OK && program_uses_host(r->program))
        status = write_host(out, r);
    if (status == SHD_OK)
        write_device_memory(out, r);
    if (status == SHD_OK)
        status = by_device_json(out, "flops", r->flops, r);
    if (status == SHD_OK)
        write_work(out, r);
    if (status == SHD_OK)
        status = write_bubble(out, r->program);
    if (status != SHD_OK)
        (void)shd_error_set(err, status, "no memory for the report");
    else
        status = write_time(out, r, &figures, err);
    write_handoff(out, &r->handoff);
    write_training(out, &r->training);
    if (r->verified)
        write_verify(out, r);
    if (r->program->note)
        json_out_key_string(out, "note", r->program->note);
    if (result->saving.known) {
        json_out_key(out, "search");
        saving_json(&result->saving, out);
    }
    json_out_end_object(out);
    figures_fini(&figures);
    traffic_fini(&traffic);
    if (status == SHD_OK && out->text->failed)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for the report");
    return status;
}

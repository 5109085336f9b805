/* A strategy's record as text (result.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/attention.h"
#include "report/breakdown.h"
#include "report/collectives_text.h"
#include "report/experts.h"
#include "report/host.h"
#include "report/result.h"

#include <math.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "base/units.h"
#include "report/layer_times.h"
#include "report/modelled.h"
#include "report/para.h"
#include "report/ranks.h"
#include "report/replayed.h"
#include "report/serving.h"
#include "report/table.h"
#include "report/traffic.h"

#define VALUE_COLUMN 14 /* column at which the text after a line's title begins */

/* A share of the work below which its repetition is not worth a line: every device sums the
 * loss. */
#define REPEATED_TOLD 0.0005

/* Say how many of the parameters are learned, if some are frozen. */
static void print_learned(const struct result *result, struct text *out)
{
    const struct program *program = result->record->program;
    double all = program_parameters(program), learned = program_learned(program);
    struct text line = TEXT_INIT;

    if (learned == all)
        return;
    text_addf(&line,
              "%s of %s parameters, %.3g %%; the others are frozen: they have no gradients and no "
              "optimizer state",
              units_print_count((uint128)learned).text, units_print_count((uint128)all).text,
              100 * learned / all);
    text_add(out, "  learned   ");
    para_print(out, result->columns, 12, text_get(&line));
    text_drop(out, &line);
}

static void print_head(const struct result *result, struct text *out)
{
    const struct record *r = result->record;
    char mesh[256];

    shd_mesh_print(r->program->asked_mesh, mesh, sizeof mesh);
    escape_add(out, result->scenario);
    if (strcmp(result->strategy, "default") != 0) {
        text_add(out, ": ");
        escape_add(out, result->strategy);
    }
    text_addf(out, "\n  %-9s ", r->mode == RECORD_PLANNED ? "planned" : "executed");
    para_print(out, result->columns, 12, result->what);
    text_add(out, "  mesh      ");
    escape_add(out, mesh[0] ? mesh : "of no axes");
    text_addf(out, ": %d device%s\n", (int)r->ndevices, r->ndevices == 1 ? "" : "s");
    print_learned(result, out);
}

/* Warn of an axis that shards nothing: its devices duplicate work, which is rarely intended. */
static void print_idle_axis(const struct result *result, const char *name, int times,
                            struct text *out)
{
    struct text line = TEXT_INIT;

    text_addf(&line,
              "axis %s shards no computation: the work is replicated on its %d devices; shard the "
              "batch over it for data parallelism (axes: {batch: %s}), or parameters for tensor "
              "parallelism (params)",
              name, times, name);
    text_addf(out, "  %-*s", VALUE_COLUMN - 4, "redundant");
    para_print(out, result->columns, VALUE_COLUMN - 2, text_get(&line));
    text_drop(out, &line);
}

static void print_idle(const struct result *result, struct text *out)
{
    const struct shd_mesh *mesh = result->record->program->asked_mesh;
    struct program_work work;

    program_work(&work, result->record->program);
    for (size_t a = 0; a < shd_mesh_naxes(mesh); a++)
        if (work.axes[a].idle && work.axes[a].repeated >= REPEATED_TOLD)
            print_idle_axis(result, shd_mesh_axis_name(mesh, a), (int)work.axes[a].times, out);
}

static void print_sums(const char *what, const struct traffic_sum *sums, size_t n, size_t columns,
                       struct text *out)
{
    struct para p = {out, columns, VALUE_COLUMN, VALUE_COLUMN};
    char item[256];

    if (n == 0)
        return;
    text_addf(out, "  %-*s", VALUE_COLUMN - 2, what);
    for (size_t i = 0; i < n; i++) {
        snprintf(item, sizeof item, "%s %s%s", sums[i].name, units_print_bytes(sums[i].bytes).text,
                 i + 1 < n ? "," : "");
        para_add(&p, item, strlen(item));
    }
    text_add(out, "\n");
}

static void print_totals(const struct traffic *t, const struct record *r, size_t columns,
                         struct text *out)
{
    uint128 total = record_received(r);

    text_addf(out, "\nreceived      %s in total, %s bytes\n", units_print_bytes(total).text,
              UINT128_DIGITS(total));
    print_sums("by axis", t->by_axis, t->nby_axis, columns, out);
    print_sums("by op", t->by_op, t->nby_op, columns, out);
    print_sums("by phase", t->by_phase, t->nby_phase, columns, out);
}

/* Print mean / max over the devices, and the device with the most where devices differ. */
static void print_balance(const char *what, const struct record *r, const uint128 *rows, bool bytes,
                          struct text *out)
{
    struct record_balance b = record_balance_of(r, rows);
    struct units_text most;

    if (bytes)
        most = units_print_bytes(b.max);
    else
        most = units_print_count(b.max);
    text_addf(out, "  %-12s%.3f   ", what, b.ratio);
    if (b.ratio < 1)
        text_addf(out, "%s at most, on device %d\n", most.text, (int)b.slowest);
    else
        text_addf(out, "%s on every device\n", most.text);
}

#define USES_COLUMN 20 /* where the words about memory begin */

/* Print the live bytes by use at the peak of a training step, in descending order. */
static void print_uses(const struct program *program, size_t columns, struct text *out)
{
    struct program_memory memory;
    struct text line = TEXT_INIT;

    program_memory(&memory, program, 0);
    for (uint128 bound = ~(uint128)0; bound > 0;) {
        uint128 next = 0;

        for (int use = 0; use < PROGRAM_NUSES; use++)
            if (memory.uses[use] < bound && memory.uses[use] > next)
                next = memory.uses[use];
        for (int use = 0; use < PROGRAM_NUSES && next > 0; use++) {
            if (memory.uses[use] == next)
                text_addf(&line, "%s%s %s", line.length ? ", " : "at the peak: ",
                          program_use_name((enum program_use)use), units_print_bytes(next).text);
        }
        bound = next;
    }
    text_addf(out, "%*s", USES_COLUMN, "");
    para_print(out, columns, USES_COLUMN, text_get(&line));
    text_drop(out, &line);
}

static void print_worst(const struct record *r, size_t columns, struct text *out)
{
    struct text line = TEXT_INIT;

    text_addf(&line,
              "%s if every expert may get all tokens, as in an execution (moe.routing: learned)",
              r->worst_unknown ? "unknown" : units_print_bytes(r->worst_peak_bytes).text);
    text_addf(out, "%*s", USES_COLUMN, "");
    para_print(out, columns, USES_COLUMN, text_get(&line));
    text_drop(out, &line);
}

static void print_balances(const struct record *r, size_t columns, struct text *out)
{
    text_add(out, "\n"
                  "balance       mean / max over devices; 1 is even\n");
    print_balance("flops", r, r->flops, false, out);
    if (record_balance_of(r, r->uneven_flops[KERN_BY_SIGHT]).max > 0)
        print_balance("attention", r, r->uneven_flops[KERN_BY_SIGHT], false, out);
    if (record_balance_of(r, r->uneven_flops[KERN_BY_ROUTING]).max > 0)
        print_balance("experts", r, r->uneven_flops[KERN_BY_ROUTING], false, out);
    print_balance("received", r, r->received_bytes, true, out);
    print_balance("sent", r, r->sent_bytes, true, out);
    print_balance("peak memory", r, r->peak_bytes, true, out);
    if (r->worst_peak_bytes > 0 || r->worst_unknown)
        print_worst(r, columns, out);
    if (r->program->nranks > 1)
        ranks_text(r->program, columns, out);
    else if (program_has_state(r->program))
        print_uses(r->program, columns, out);
}

static void print_axis(const char *name, const struct program_work_axis *axis, struct text *out)
{
    if (axis->repeated < REPEATED_TOLD)
        return;
    text_addf(out, "  axis %-7s", name);
    if (axis->idle)
        text_addf(out, "shards nothing: all work is repeated %d times\n", (int)axis->times);
    else
        text_addf(out, "does not shard %.1f %% of the work, which is repeated %d times\n",
                  axis->repeated * 100, (int)axis->times);
}

static void print_work(const struct record *r, struct text *out)
{
    const struct shd_mesh *mesh = r->program->asked_mesh;
    struct program_work work;

    program_work(&work, r->program);
    text_addf(out, "\nwork          %s flops on all devices, unsharded %s: efficiency %.3f\n",
              units_print_count(record_flops(r)).text, units_print_count(work.unsharded_flops).text,
              record_efficiency(r, &work));
    if (record_efficiency(r, &work) > 1)
        text_add(out, "  (above 1, because smaller shards skip more of the causal mask)\n");
    text_addf(out, "  model flops %s", units_print_count(work.model_flops).text);
    if (work.causal_flops > 0)
        text_addf(out, "; with causal attention counted half %s",
                  units_print_count(work.model_flops - work.causal_flops / 2).text);
    text_add(out, "\n");
    for (size_t a = 0; a < shd_mesh_naxes(mesh); a++)
        print_axis(shd_mesh_axis_name(mesh, a), &work.axes[a], out);
}

static bool wants_fit(const struct result *result)
{
    return result->fit && result->fit->wanted;
}

static void print_memory(const struct result *result, struct text *out)
{
    struct record_balance b = record_balance_of(result->record, result->record->peak_bytes);
    struct units_text limit;
    struct text unit = TEXT_INIT;

    if (!result->memory_limit_bytes || (result->record->modelled && !wants_fit(result)))
        return;
    limit = units_print_bytes(result->memory_limit_bytes);
    if (result->record->modelled) /* the modelled section has the verdict */
        text_addf(out,
                  "\n"
                  "memory        changes that fit limits.memory, %s\n",
                  limit.text);
    else
        text_addf(out, "\nmemory        %s of %s: %s\n", units_print_bytes(b.max).text, limit.text,
                  b.max <= result->memory_limit_bytes ? "fits" : "does not fit");
    if (!result->fit)
        return;
    fit_text(result->fit, out);
    fit_unit(result->memory_limit_bytes, &unit);
    if (unit.length)
        text_addf(out, "  %s\n", text_get(&unit));
    text_drop(out, &unit);
}

/* Print the memory by use of a planned training step; an executed step has been seen to fit. */
static int print_breakdown(const struct result *result, struct text *out, struct shd_error *err)
{
    const struct record *r = result->record;
    struct breakdown breakdown;
    int status;

    if (r->mode != RECORD_PLANNED || !program_has_state(r->program))
        return SHD_OK;
    status = breakdown_init(&breakdown, r->program, err);
    if (status == SHD_OK) {
        breakdown.columns = result->columns;
        breakdown_text(&breakdown, r, result->memory_limit_bytes, result->verbose, out);
    }
    breakdown_fini(&breakdown);
    return status;
}

/* Print the kind of memory only if it is not the usual one. */
static void print_memory_kind(const struct record *r, size_t columns, struct text *out)
{
    char line[256];

    if (!r->memory.kind || r->memory.usual)
        return;
    snprintf(line, sizeof line, "from %s: %s", r->memory.kind, r->memory.why);
    text_addf(out, "\n%-*s", VALUE_COLUMN, "device memory");
    para_print(out, columns, VALUE_COLUMN, line);
}

static const char *kind_name(enum program_result_kind kind)
{
    static const char *const names[] = {[PROGRAM_OUTPUT] = "result ",
                                        [PROGRAM_LOSS] = "",
                                        [PROGRAM_GRADIENT] = "gradient of ",
                                        [PROGRAM_NEXT] = "next "};

    return names[kind];
}

/* "[3, 2, 5]": an element of an array of these extents. */
static void print_index(struct text *out, const int64_t *extent, uint32_t rank, int64_t at)
{
    int64_t index[PROGRAM_RANK_MAX];

    for (uint32_t d = rank; d-- > 0;) {
        index[d] = at % extent[d];
        at /= extent[d];
    }
    text_add_char(out, '[');
    for (uint32_t d = 0; d < rank; d++)
        text_addf(out, "%s%lld", d ? "," : "", (long long)index[d]);
    text_add_char(out, ']');
}

static void print_result_place(struct text *out, const struct record *r, uint32_t i)
{
    const struct program_buffer *b = &r->program->buffers[r->program->results[i].buffer];

    text_addf(out, "%s%.200s", kind_name(r->checks[i].kind), r->checks[i].name);
    print_index(out, b->held, b->rank, r->checks[i].at);
}

static void print_values(struct text *out, const struct record_check *check)
{
    text_addf(out, "is %.9g, not %.9g", check->got, check->want);
    if (check->allowed > 0)
        text_addf(out, " within %.1e: off by %.3g of it", check->allowed, check->error);
}

/* Whether a result is not finite, but matches the unsharded one: sharding is not the reason. */
static bool is_only_nonfinite(const struct record *r, const struct record_check *check, bool ok)
{
    return record_check_matches(r, check) && record_check_nonfinite(check) > 0 &&
           record_check_ok(r, check) == ok;
}

/* Print one line for all non-finite arrays, because many usually have one reason.  `ok` selects the
 * outputs that pass; else those that fail. */
static void print_nonfinite(const struct record *r, bool ok, size_t columns, struct text *out)
{
    struct text line = TEXT_INIT;
    uint32_t narrays = 0;

    for (uint32_t i = 0; i < r->nchecks; i++) {
        if (!is_only_nonfinite(r, &r->checks[i], ok))
            continue;
        if (narrays++ == 0)
            text_addf(&line, "%s%.200s", kind_name(r->checks[i].kind), r->checks[i].name);
    }
    if (narrays > 1)
        text_addf(&line, " and %u other array%s", narrays - 1, narrays == 2 ? "" : "s");
    text_addf(&line, " %s elements %s", narrays > 1 ? "have" : "has",
              ok ? "that are infinite or NaN, exactly as in the unsharded step" : RESULT_NONFINITE);
    if (narrays > 0) {
        text_addf(out, "  %-*s", VALUE_COLUMN - 2, "not finite");
        para_print(out, columns, VALUE_COLUMN, text_get(&line));
    }
    text_drop(out, &line);
}

static void print_wrong(const struct record *r, struct text *out)
{
    for (uint32_t i = 0; i < r->nchecks; i++) {
        const struct record_check *check = &r->checks[i];

        if (record_check_matches(r, check))
            continue;
        text_add(out, "  wrong       ");
        print_result_place(out, r, i);
        if (check->error > 1) {
            text_addf(out, " on device %d ", (int)check->device);
            print_values(out, check);
        } else {
            text_addf(out, ": error %.1e, tolerance %.0e", check->relative, r->tolerance);
        }
        text_add_char(out, '\n');
    }
    if (r->step.error > 1) {
        const struct program_op *op = &r->program->ops[r->step_op];
        const struct program_buffer *b = &r->program->buffers[op->outputs[0]];

        text_addf(out, "  first wrong %s for %s: %s", program_step_name(op), op->name, b->name);
        if (op->noutputs == 1)
            print_index(out, b->local, b->rank, r->step.at);
        text_addf(out, " of the shard on device %d ", (int)r->step.device);
        print_values(out, &r->step);
        text_add_char(out, '\n');
    }
}

/* The array with the largest relative error, without arrays that are 0 but for rounding. */
static uint32_t most_off(const struct record *r)
{
    uint32_t most = 0;

    for (uint32_t i = 0; i < r->nchecks; i++)
        if (!r->checks[i].zero &&
            (r->checks[most].zero || r->checks[i].relative > r->checks[most].relative))
            most = i;
    return most;
}

/* Print the arrays that are exempt from the tolerance. */
static void print_zeros(const struct record *r, struct text *out)
{
    uint32_t nzeros = 0, last = 0;

    for (uint32_t i = 0; i < r->nchecks; i++)
        if (r->checks[i].zero) {
            nzeros++;
            last = i;
        }
    if (r->tolerance == 0 || nzeros == 0)
        return;
    text_addf(out, "; the tolerance does not apply to %s%.200s", kind_name(r->checks[last].kind),
              r->checks[last].name);
    if (nzeros > 1)
        text_addf(out, " and %u more", nzeros - 1);
    text_addf(out, ", 0 in exact arithmetic, where %.1e is allowed", r->checks[last].widest);
}

/* 16-bit arrays are off without sharding, too: of the array that is off most, both. */
static void print_beside_unsharded(const struct record *r, struct text *out)
{
    uint32_t most = most_off(r);

    if (!r->beside_unsharded)
        return;
    text_addf(out,
              "; %s%.200s is off by %.1e of its largest element, the unsharded step in the same "
              "types by %.1e",
              kind_name(r->checks[most].kind), r->checks[most].name, r->checks[most].relative,
              r->checks[most].unsharded);
}

/* Bounds grow from step to step, until they say nothing; then what arrays are really off does. */
static void print_drift(const struct record *r, uint64_t nopen, struct text *out)
{
    uint64_t nopen_first = 0;
    uint32_t most = most_off(r);

    for (uint32_t i = 0; i < r->nchecks; i++)
        nopen_first += r->checks[i].nopen_first;
    text_addf(out, "; after the last step %s%.200s is off by %.1e of its largest element",
              kind_name(r->checks[most].kind), r->checks[most].name, r->checks[most].relative);
    if (nopen > 0)
        text_addf(out, "; %llu elements have no bound after the first step, %llu after the last",
                  (unsigned long long)nopen_first, (unsigned long long)nopen);
}

/* The verdict: a result that is not finite unsharded either is no fault of the layout. */
static const char *verdict_of(const struct record *r)
{
    if (record_verified_ok(r))
        return "ok";
    return record_matches(r) ? "the same, but not finite" : "NOT OK";
}

static void print_verify(const struct record *r, size_t columns, struct text *out)
{
    struct text line = TEXT_INIT;
    uint64_t nopen = 0;
    uint32_t worst = 0;

    if (r->nchecks == 0)
        return;
    for (uint32_t i = 0; i < r->nchecks; i++) {
        nopen += r->checks[i].nopen;
        if (r->checks[i].error > r->checks[worst].error)
            worst = i;
    }
    text_addf(&line, "%s: %u array%s against the unsharded computation in float64, ",
              verdict_of(r), r->nchecks, r->nchecks == 1 ? "" : "s");
    if (r->training.nsteps > 1)
        text_addf(&line, "after the first of %u steps and after the last, ", r->training.nsteps);
    text_addf(&line, "%u ops, each checked on its own inputs; largest error %.2g of its bound (",
              r->nsteps, r->checks[worst].error);
    print_result_place(&line, r, worst);
    text_add_char(&line, ')');
    if (r->training.nsteps > 1)
        print_drift(r, nopen, &line);
    else if (nopen > 0)
        text_addf(&line, "; %llu elements have no bound", (unsigned long long)nopen);
    print_beside_unsharded(r, &line);
    print_zeros(r, &line);
    text_addf(out, "\n%-*s", VALUE_COLUMN, "verified");
    para_print(out, columns, VALUE_COLUMN, text_get(&line));
    text_drop(out, &line);
    print_nonfinite(r, false, columns, out);
    print_nonfinite(r, true, columns, out);
    print_wrong(r, out);
}

static void print_training(const struct record_training *t, size_t columns, struct text *out)
{
    double least = t->losses ? t->losses[0] : 0;
    struct text line = TEXT_INIT;

    if (t->nsteps == 0)
        return;
    text_addf(&line, "%.4f", t->losses[0]);
    if (t->nsteps > 1) {
        for (uint32_t i = 1; i < t->nsteps; i++)
            least = fmin(least, t->losses[i]);
        text_addf(&line, " -> %.4f over %u steps, the least %.4f", t->losses[t->nsteps - 1],
                  t->nsteps, least);
    }
    text_addf(&line, "; norm of all gradients %.4g", t->grad_norms[0]);
    if (t->nsteps > 1)
        text_addf(&line, " -> %.4g", t->grad_norms[t->nsteps - 1]);
    text_addf(out, "\n%-*s", VALUE_COLUMN, "loss");
    para_print(out, columns, VALUE_COLUMN, text_get(&line));
    text_drop(out, &line);
}

/* Print the KV cache transfer from the prefill to the decode. */
static void print_handoff(const struct record_handoff *h, size_t columns, struct text *out)
{
    struct text line = TEXT_INIT;

    if (!h->used)
        return;
    if (h->bytes == 0)
        text_addf(&line, "nothing: the KV cache already has the layout of the decode");
    else
        text_addf(&line, "%s in total from the %d %s of the prefill, at most %s to a device",
                  units_print_bytes(h->bytes).text, (int)h->ndevices,
                  h->apart ? "other devices" : "devices", units_print_bytes(h->most).text);
    if (h->seconds > 0)
        text_addf(&line, "; modelled %s after the prefill", units_print_seconds(h->seconds).text);
    text_addf(out, "\n%-*s", VALUE_COLUMN, "taken over");
    para_print(out, columns, VALUE_COLUMN, text_get(&line));
    text_drop(out, &line);
}

static void print_measured(const struct record *r, size_t columns, struct text *out)
{
    struct text lines = TEXT_INIT;

    text_addf(&lines,
              "\n"
              "measured      %s a step on this machine, whose cores all devices share\n",
              units_print_seconds((double)r->step_ns * 1e-9).text);
    if (r->repeats > 1)
        text_addf(&lines, "              (median of %u; fastest %s, the first one %s; CPU %s)\n",
                  r->repeats - 1, units_print_seconds((double)r->fastest_step_ns * 1e-9).text,
                  units_print_seconds((double)r->first_step_ns * 1e-9).text,
                  units_print_seconds((double)r->cpu_ns * 1e-9).text);
    para_fold(out, columns, VALUE_COLUMN, &lines);
}

/* Print what the partitioner left out, and what a search would have found. */
static void print_placement(const struct result *result, struct text *out)
{
    struct text line = TEXT_INIT;

    if (result->record->program->note) {
        text_addf(out, "\n%-*s", VALUE_COLUMN, "note");
        para_print(out, result->columns, VALUE_COLUMN, result->record->program->note);
    }
    if (!result->saving.known)
        return;
    saving_text(&result->saving, &line);
    text_addf(out, "\n%-*s", VALUE_COLUMN, "placement");
    para_print(out, result->columns, VALUE_COLUMN, text_get(&line));
    text_drop(out, &line);
}

/* Print how even attention and experts are, and why they are uneven. */
static int print_uneven(const struct record *r, struct text *out, struct shd_error *err)
{
    struct attention attention;
    struct experts experts;
    int status = attention_init(&attention, r, err);

    if (status != SHD_OK)
        return status;
    attention_text(&attention, r, out);
    attention_fini(&attention);
    status = experts_init(&experts, r, err);
    if (status != SHD_OK)
        return status;
    experts_text(&experts, r, out);
    experts_fini(&experts);
    return SHD_OK;
}

static int print_layers(const struct record *record, size_t columns, struct text *out,
                        struct shd_error *err)
{
    struct layer_times times;
    int status = layer_times_init(&times, record, err);

    if (status == SHD_OK)
        layer_times_text(&times, columns, out);
    layer_times_fini(&times);
    return status;
}

static void print_modelled(const struct result *result, size_t columns, struct text *out)
{
    struct text lines = TEXT_INIT;

    modelled_text(&lines, result->record, result->tokens, result->memory_limit_bytes,
                  result->serves);
    para_fold(out, columns, VALUE_COLUMN, &lines);
}

int result_text(const struct result *result, struct text *out, struct shd_error *err)
{
    size_t columns = result->columns ? result->columns : PARA_COLUMNS;
    const struct record *r = result->record;
    struct traffic traffic;
    int status = traffic_init(&traffic, r, err);

    if (status != SHD_OK)
        return status;
    print_head(result, out);
    print_idle(result, out);
    if (result->serves)
        serving_text(result, out);
    if (r->modelled)
        print_modelled(result, columns, out);
    collectives_text(&traffic, result->verbose, columns, out);
    print_totals(&traffic, r, columns, out);
    print_balances(r, columns, out);
    host_text(out, r);
    if (r->modelled && result->verbose)
        status = print_layers(r, columns, out, err);
    if (status == SHD_OK)
        status = print_uneven(r, out, err);
    print_work(r, out);
    if (status == SHD_OK)
        status = print_breakdown(result, out, err);
    print_memory(result, out);
    print_memory_kind(r, columns, out);
    if (r->mode == RECORD_EXECUTED)
        print_measured(r, columns, out);
    if (r->replay && status == SHD_OK)
        status = replayed_text(out, r, columns, err);
    print_handoff(&r->handoff, columns, out);
    print_training(&r->training, columns, out);
    if (r->verified)
        print_verify(r, columns, out);
    print_placement(result, out);
    traffic_fini(&traffic);
    if (status != SHD_OK)
        return status;
    return out->failed ? shd_error_set(err, SHD_ENOMEM, "no memory for the report") : SHD_OK;
}

/* A step's time on a stated cluster (modelled.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/modelled.h"

#include <inttypes.h>
#include <string.h>

#include "base/units.h"
#include "hardware/hardware.h"
#include "hardware/margin.h"
#include "hardware/traits.h"
#include "report/figures.h"
#include "report/host.h"
#include "report/trust.h"

static const char *const work_names[RECORD_NWORKS] = {[RECORD_MATMUL] = "matmuls",
                                                      [RECORD_ATTENTION] = "attention",
                                                      [RECORD_ELEMENTWISE] = "elementwise",
                                                      [RECORD_UPDATE] = "update"};

/* The type that most of the step's products are of. */
static enum shd_dtype product_type(const struct program *program)
{
    uint128 flops[SHD_NDTYPES] = {0};
    enum shd_dtype most = SHD_F32;

    for (uint32_t i = program->first_op; i < program->nops; i++) {
        const struct program_op *op = &program->ops[i];

        if (op->kind == PROGRAM_KERNEL && op->kernel == &kern_kernel_einsum)
            flops[op->desc->einsum.dtype] += (uint128)op->dense_flops * op->times;
        if (op->kind == PROGRAM_KERNEL && kern_multiplies_codes(op->kernel))
            flops[op->desc->coded.a.code] += (uint128)op->dense_flops * op->times;
    }
    for (int t = 0; t < SHD_NDTYPES; t++)
        if (flops[t] > flops[most])
            most = (enum shd_dtype)t;
    return most;
}

/* Part of a device's memory above which a step may fail for memory that is not counted. */
#define FULL (1 - HARDWARE_MARGIN)

/* Bytes on the fullest device. */
static double memory_bytes(const struct record *record)
{
    const struct hardware *h = record->modelled->hardware;
    struct record_balance peak = record_balance_of(record, record->peak_bytes);

    return (double)peak.max * (1 + h->fragmentation) + h->reserved_bytes;
}

/* ---- figures ---- */

bool modelled_device_fits(const struct record *record)
{
    return !record->modelled || memory_bytes(record) <= record->modelled->hardware->memory_bytes;
}

bool modelled_fits(const struct record *record)
{
    return modelled_device_fits(record) && host_fits(record);
}

void modelled_print_full(struct text *out, const struct hardware *hardware, double bytes)
{
    double part = bytes / hardware->memory_bytes;

    if (hardware->fragmentation == 0 && part > FULL && part <= 1)
        text_addf(out,
                  "              %.0f %% of it: fragmentation of the allocator is not counted\n",
                  100 * part);
}

void modelled_figures_of(struct modelled_figures *out, const struct record *record, uint64_t tokens)
{
    const struct record_modelled *m = record->modelled;
    const struct record_replayed *row = &m->timeline->devices[m->row];
    struct program_work work;
    double peak =
        hardware_flops_per_s(m->hardware, product_type(record->program)) * (double)record->ndevices;

    program_work(&work, record->program);
    *out = (struct modelled_figures){.step_s = (double)m->timeline->step_ns * 1e-9,
                                     .update_s = (double)m->work_ns[RECORD_UPDATE] * 1e-9,
                                     .compute_s =
                                         (double)(row->busy_ns - m->work_ns[RECORD_UPDATE]) * 1e-9,
                                     .exposed_s = (double)row->exposed_ns * 1e-9,
                                     .bubble_s = (double)(row->waiting_ns + row->idle_ns) * 1e-9,
                                     .memory_bytes = memory_bytes(record)};
    out->expected_error = modelled_trust(record).claim;
    out->fits = modelled_fits(record);
    if (out->step_s > 0 && peak > 0) {
        out->mfu = (double)work.model_flops / peak / out->step_s;
        out->mfu_causal_half =
            (double)(work.model_flops - work.causal_flops / 2) / peak / out->step_s;
        out->hfu = (double)(work.model_flops + work.again_flops) / peak / out->step_s;
    }
    out->tokens_per_s = tokens > 0 && out->step_s > 0 ? (double)tokens / out->step_s : -1;
}

static uint32_t axes_of(const struct program_op *op)
{
    uint8_t axes[SHD_MESH_AXES_MAX];
    size_t naxes = program_op_axes(op, axes);
    uint32_t mask = 0;

    for (size_t k = 0; k < naxes; k++)
        mask |= UINT32_C(1) << axes[k];
    return mask;
}

static void add_exposed(struct modelled_exposed *list, uint32_t *n, uint32_t axes, double seconds)
{
    uint32_t k = 0;

    while (k < *n && list[k].axes != axes)
        k++;
    if (k == *n) {
        if (*n == MODELLED_EXPOSED_MAX)
            k = *n - 1; /* with what came last: the sum stays right */
        else
            list[(*n)++] = (struct modelled_exposed){axes, 0};
    }
    list[k].seconds += seconds;
}

uint32_t modelled_exposed_of(struct modelled_exposed out[MODELLED_EXPOSED_MAX],
                             const struct record *record)
{
    const struct program *program = record->program;
    uint32_t n = 0;

    for (uint32_t i = program->first_op; i < program->nops; i++)
        if (record->modelled->exposed_ns[i] > 0 && program_communicates(&program->ops[i]))
            add_exposed(out, &n, axes_of(&program->ops[i]),
                        (double)record->modelled->exposed_ns[i] * 1e-9);
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = a + 1; b < n; b++)
            if (out[b].seconds > out[a].seconds) {
                struct modelled_exposed swap = out[a];

                out[a] = out[b];
                out[b] = swap;
            }
    return n;
}

static void print_axes(const struct program *program, uint32_t mask, char *buf, size_t size)
{
    uint8_t axes[SHD_MESH_AXES_MAX];
    uint32_t n = 0;

    for (uint8_t a = 0; a < SHD_MESH_AXES_MAX; a++)
        if (mask >> a & 1)
            axes[n++] = a;
    if (n == 0 && program->stage_axis >= 0)
        axes[n++] = (uint8_t)program->stage_axis;
    program_axes_print(program, axes, n, buf, size);
}

/* ---- the limit of the step ---- */

struct modelled_bound modelled_bound_of(const struct record *record)
{
    const struct record_modelled *m = record->modelled;
    const struct record_replayed *row = &m->timeline->devices[m->row];
    int64_t kernels_ns[RECORD_NBOUNDS] = {0}, waiting_ns = row->waiting_ns + row->idle_ns;
    const struct {
        const int64_t *ns;
        const char *word, *what;
    } parts[] = {{&kernels_ns[RECORD_BY_COMPUTE], "compute", "compute"},
                 {&kernels_ns[RECORD_BY_MEMORY], "memory", "memory bandwidth"},
                 {&kernels_ns[RECORD_BY_LAUNCH], "launch", "launching kernels"},
                 {&kernels_ns[RECORD_BY_TILES], "tiles", "tile quantization"},
                 {&row->exposed_ns, "network", "the network"},
                 {&row->exposed_host_ns, "host", "host transfers and host update"},
                 {&waiting_ns, "waiting", "waiting for other devices"}};
    size_t most = 0;

    for (uint32_t i = record->program->first_op; i < record->program->nops; i++)
        if (!program_is_beside(&record->program->ops[i]))
            kernels_ns[m->bound[i]] += m->op_ns[i];
    for (size_t k = 1; k < sizeof parts / sizeof parts[0]; k++)
        if (*parts[k].ns > *parts[most].ns)
            most = k;
    return (struct modelled_bound){
        parts[most].word, parts[most].what,
        m->timeline->step_ns > 0 ? (double)*parts[most].ns / (double)m->timeline->step_ns : 0};
}

static void print_part(struct text *out, const char *what, double seconds, double step_s)
{
    text_addf(out, "  %-11s %s, %.1f %%", what, units_print_seconds(seconds).text,
              step_s > 0 ? 100 * seconds / step_s : 0);
}

static void print_compute(struct text *out, const struct record *record,
                          const struct modelled_figures *f)
{
    const struct record_modelled *m = record->modelled;

    print_part(out, "compute", f->compute_s, f->step_s);
    for (int k = 0; k < RECORD_UPDATE; k++)
        text_addf(out, "%s %s %s", k ? "," : ":", work_names[k],
                  units_print_seconds((double)m->work_ns[k] * 1e-9).text);
    text_add(out, "\n");
    if (m->again_ns > 0)
        text_addf(out, "              of which %s recomputation\n",
                  units_print_seconds((double)m->again_ns * 1e-9).text);
}

/* Seconds of transfers that no computation waits for; those that run at once are added up. */
static double hidden_seconds(const struct record *record)
{
    const struct record_modelled *m = record->modelled;
    const struct record_replayed *row = &m->timeline->devices[m->row];

    return row->communication_ns > row->exposed_ns
               ? (double)(row->communication_ns - row->exposed_ns) * 1e-9
               : 0;
}

static void print_exposed(struct text *out, const struct record *record,
                          const struct modelled_figures *f)
{
    struct modelled_exposed list[MODELLED_EXPOSED_MAX];
    uint32_t n = modelled_exposed_of(list, record);
    char axes[64];

    print_part(out, "exposed", f->exposed_s, f->step_s);
    for (uint32_t k = 0; k < n; k++) {
        print_axes(record->program, list[k].axes, axes, sizeof axes);
        text_addf(out, "%s %s %s", k ? "," : ":", axes, units_print_seconds(list[k].seconds).text);
    }
    if (hidden_seconds(record) > 0)
        text_addf(out, "; %s more hidden", units_print_seconds(hidden_seconds(record)).text);
    text_add(out, "\n");
}

/* Say how much one slow device lengthens the step. */
static void print_straggler(struct text *out, const struct record *record)
{
    const struct record_straggler *s = &record->modelled->straggler;
    int64_t step_ns = record->modelled->timeline->step_ns;
    char slower[96] = "";
    size_t n = 0;

    if (s->device < 0)
        return;
    if (s->compute != 1)
        n = (size_t)snprintf(slower, sizeof slower, "computes %.4g times as long", s->compute);
    if (s->links != 1)
        snprintf(slower + n, sizeof slower - n, "%stransfers take %.4g times as long",
                 n ? ", its " : "'s ", s->links);
    text_addf(out, "  straggler   device %" PRId32 "%s%s: %+.1f %% on the %s without it\n",
              s->device, n ? " " : "", slower,
              s->without_ns > 0 ? 100 * ((double)step_ns / (double)s->without_ns - 1) : 0,
              units_print_seconds((double)s->without_ns * 1e-9).text);
}

/* Print one verdict, by whichever limit is nearer: the scenario's limit, on the program's memory,
 * or the cluster's memory, which must also hold what the runtime keeps. */
static void print_memory(struct text *out, const struct record *record,
                         const struct modelled_figures *f, uint64_t limit_bytes)
{
    const struct hardware *h = record->modelled->hardware;
    double peak = (double)record_balance_of(record, record->peak_bytes).max;
    bool own = limit_bytes > 0 && peak * h->memory_bytes > f->memory_bytes * (double)limit_bytes;
    struct units_text bytes = units_print_bytes((uint128)f->memory_bytes),
                      size = units_print_bytes((uint128)h->memory_bytes);

    if (!own) {
        text_addf(out, "  memory      %s of %s, including the runtime's: %s\n", bytes.text,
                  size.text, modelled_device_fits(record) ? "fits" : "does not fit");
        if (limit_bytes > 0)
            text_addf(out, "              the device is the limit, not limits.memory, %s\n",
                      units_print_bytes(limit_bytes).text);
    } else {
        text_addf(out,
                  "  memory      %s of %s: %s\n"
                  "              limits.memory is the limit: with the runtime's it is %s of the "
                  "device's %s\n",
                  units_print_bytes((uint128)peak).text, units_print_bytes(limit_bytes).text,
                  peak <= (double)limit_bytes ? "fits" : "does not fit", bytes.text, size.text);
    }
    modelled_print_full(out, h, f->memory_bytes);
}

/* The first lines: what a step takes, and what bounds it.  Of a step that serves they are elsewhere
 * (report/serving.h), but for the share of the memory's bandwidth. */
static void print_step(struct text *out, const struct record *record,
                       const struct modelled_figures *f, bool serves)
{
    const struct hardware *h = record->modelled->hardware;
    struct modelled_bound bound = modelled_bound_of(record);

    text_addf(out, "\nmodelled      %s a step on %s", units_print_seconds(f->step_s).text, h->name);
    if (serves) {
        text_add(out, "\n");
        return;
    }
    if (f->tokens_per_s > 0)
        text_addf(out, ": %s tokens/s", units_print_number(f->tokens_per_s, 0).text);
    text_addf(out, "; MFU %.1f %%", 100 * f->mfu_causal_half);
    if (f->mfu_causal_half < f->mfu)
        text_addf(out, ", causal attention counted half (in full %.1f %%)", 100 * f->mfu);
    text_addf(out, "; HFU %.1f %%\n", 100 * f->hfu);
    text_addf(out, "  bound by    %s (%.0f %% of the step)\n", bound.what, 100 * bound.share);
}

void modelled_text(struct text *out, const struct record *record, uint64_t tokens,
                   uint64_t limit_bytes, bool serves)
{
    struct modelled_figures f;

    modelled_figures_of(&f, record, tokens);
    print_step(out, record, &f, serves);
    print_compute(out, record, &f);
    print_exposed(out, record, &f);
    if (f.bubble_s > 0) {
        print_part(out, "waiting", f.bubble_s, f.step_s);
        text_addf(out, " for other devices%s\n",
                  record->program->nranks > 1 ? ", including the bubble; on the busiest device"
                                              : "");
    }
    if (f.update_s > 0) {
        print_part(out, "update", f.update_s, f.step_s);
        text_add(out, "\n");
    }
    host_modelled_text(out, record);
    print_straggler(out, record);
    print_memory(out, record, &f, limit_bytes);
    trust_text(out, record);
}

/* ---- JSON ---- */

static void write_bound(struct json_out *out, const struct record *record)
{
    struct modelled_bound bound = modelled_bound_of(record);

    json_out_key_string(out, "bound_by", bound.word);
    json_out_key_double(out, "bound_share", bound.share);
}

static void write_exposed(struct json_out *out, const struct record *record)
{
    struct modelled_exposed list[MODELLED_EXPOSED_MAX];
    uint32_t n = modelled_exposed_of(list, record);
    char axes[64];

    json_out_key_flat_object(out, "exposed_by_axes");
    for (uint32_t k = 0; k < n; k++) {
        print_axes(record->program, list[k].axes, axes, sizeof axes);
        json_out_key_double(out, axes, list[k].seconds);
    }
    json_out_end_object(out);
}

static void write_straggler(struct json_out *out, const struct record_straggler *s)
{
    json_out_key_flat_object(out, "straggler");
    json_out_key_int(out, "device", s->device);
    json_out_key_double(out, "compute", s->compute);
    json_out_key_double(out, "links", s->links);
    json_out_key_double(out, "step_seconds_without", (double)s->without_ns * 1e-9);
    json_out_end_object(out);
}

/* What a cluster's file would say of the step in a validation. */
static void write_traits(struct json_out *out, const struct record *record)
{
    struct traits traits;

    traits_of(&traits, record->program, record->modelled->hardware);
    json_out_key_array(out, "with");
    for (int t = 0; t < TRAIT_NFILE; t++)
        if (traits.mask >> t & 1)
            json_out_string(out, hardware_traits[t].word);
    json_out_end_array(out);
    json_out_key_flat_object(out, "near");
    json_out_key_int(out, "tensor", traits.near.tensor);
    json_out_key_int(out, "rows", traits.near.rows);
    json_out_key_int(out, "inner", traits.near.inner);
    json_out_end_object(out);
}

void modelled_json(struct json_out *out, const struct record *record, const struct figures *figures)
{
    json_out_begin_object(out);
    json_out_key_string(out, "hardware", record->modelled->hardware->name);
    figures_json(out, figures, FIGURE_MODELLED, true);
    write_bound(out, record);
    write_exposed(out, record);
    json_out_key_double(out, "hidden_communication_seconds", hidden_seconds(record));
    json_out_key_bool(out, "fits", modelled_fits(record));
    if (record->modelled->straggler.device >= 0)
        write_straggler(out, &record->modelled->straggler);
    trust_json(out, record);
    write_traits(out, record);
    json_out_end_object(out);
}

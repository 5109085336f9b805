/* A kernel's work as its model reads it (kernel_work.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "hardware/kernel_work.h"

#include <math.h>
#include <string.h>

/* Queries of a sequence that engines take as a decode, each head's as heads of their own. */
#define DECODE_QUERIES_MAX 8

/* Bits of an element of a product's operands, with scales; and the type whose rate counts. */
static const struct operands {
    double a_bits, b_bits;
    enum shd_dtype rate;
} operands_of[KERNEL_NTYPES] = {
    [KERNEL_BF16] = {16, 16, SHD_BF16},           [KERNEL_FP8] = {8, 8, SHD_F8E4M3},
    [KERNEL_FP8_BLOCK] = {8, 8, SHD_F8E4M3},      [KERNEL_NVFP4] = {4.5, 4.5, SHD_F4E2M1},
    [KERNEL_INT4_WEIGHTS] = {16, 4.25, SHD_BF16}, [KERNEL_MXFP4_WEIGHTS] = {16, 4.25, SHD_BF16},
    [KERNEL_BF16_BF16] = {16, 16, SHD_BF16},      [KERNEL_BF16_FP8] = {16, 8, SHD_BF16},
    [KERNEL_FP8_FP8] = {8, 8, SHD_F8E4M3},        [KERNEL_ANY_TYPE] = {16, 16, SHD_BF16}};

struct kernel_peaks kernel_work_peaks(const struct hardware *hardware, enum kernel_type type)
{
    return (struct kernel_peaks){.flops_per_s =
                                     hardware_flops_per_s(hardware, operands_of[type].rate),
                                 .memory_bytes_per_s = hardware->memory_bytes_per_s,
                                 .link_bytes_per_s = hardware->tiers[0].bytes_per_s,
                                 .units = fmax((double)hardware->kernels.units, 1)};
}

void kernel_work_set_product(struct kernel_sizes *out, enum kernel_type type, double groups,
                             double m, double n, double k)
{
    const struct operands *o = &operands_of[type < KERNEL_NTYPES ? type : KERNEL_ANY_TYPE];

    out->groups = groups;
    out->m = m;
    out->n = n;
    out->k = k;
    out->a_bits = o->a_bits;
    out->b_bits = o->b_bits;
    out->bytes = groups * (m * k * o->a_bits / 8 + k * n * o->b_bits / 8 + m * n * 2);
}

void kernel_work_set_experts(struct kernel_sizes *out, enum kernel_type type, double experts,
                             double m, double n, double k)
{
    kernel_work_set_product(out, type, experts, m, fmin(n, k), fmax(n, k));
}

/* Devices that a token's experts lie on, expected if each is chosen alike. */
static double devices_of(double devices, double choices)
{
    return devices * (1 - pow(1 - 1 / devices, choices));
}

void kernel_work_set_exchange(struct kernel_sizes *out, double tokens, double width, double experts,
                              double choices, double devices, double element_bytes)
{
    out->m = tokens;
    out->n = width;
    out->groups = experts;
    out->devices = devices;
    out->bytes = tokens * width * devices_of(devices, choices) * element_bytes;
    out->k = tokens * devices * choices / experts;
    out->a_bits = 8 * element_bytes;
}

enum shd_dtype kernel_work_rate(enum kernel_type type)
{
    return operands_of[type].rate;
}

/* The model of a type, or of its next. */
static const struct kernel_model *find(const struct kernel_models *models, enum kernel_kind kind,
                                       enum kernel_type type)
{
    static const enum kernel_type next[KERNEL_NTYPES] = {
        [KERNEL_BF16] = KERNEL_NTYPES,          [KERNEL_FP8] = KERNEL_NTYPES,
        [KERNEL_FP8_BLOCK] = KERNEL_FP8,        [KERNEL_NVFP4] = KERNEL_NTYPES,
        [KERNEL_INT4_WEIGHTS] = KERNEL_BF16,    [KERNEL_MXFP4_WEIGHTS] = KERNEL_INT4_WEIGHTS,
        [KERNEL_BF16_BF16] = KERNEL_NTYPES,     [KERNEL_BF16_FP8] = KERNEL_BF16_BF16,
        [KERNEL_FP8_FP8] = KERNEL_BF16_FP8,     [KERNEL_ANY_TYPE] = KERNEL_NTYPES};
    const struct kernel_model *found = NULL;

    for (; models && !found && type < KERNEL_NTYPES; type = next[type])
        found = models->of[kind][type];
    return found;
}

static const struct kernel_model *find_named(const struct kernel_models *models,
                                             enum kernel_kind kind, const char *name)
{
    for (size_t i = 0; models && i < models->n; i++)
        if (models->items[i].kernel == kind && !strcmp(models->items[i].name, name))
            return &models->items[i];
    return NULL;
}

const struct kernel_model *kernel_work_find_named(const struct hardware *hardware,
                                                  enum kernel_kind kind, const char *name)
{
    return find_named(hardware->models, kind, name);
}

const struct kernel_model *kernel_work_find(const struct hardware *hardware, enum kernel_kind kind,
                                            enum kernel_type type)
{
    return find(hardware->models, kind, type);
}

/* The part of its models' rate that a kind keeps up in the cluster's steps; 0: not by models. */
static double sustained_of(const struct hardware *hardware, enum kernel_kind kind,
                           enum kernel_type type)
{
    const struct hardware_sustained *s = &hardware->sustained;
    bool coded = operands_of[type].rate != SHD_BF16;

    if (hardware->by_models)
        return 1;
    if (hardware->software.fsdp && hardware->fsdp.matmul_efficiency > 0)
        return 0;
    if (kind == KERNEL_PRODUCT)
        return coded ? s->coded_products : s->products;
    if (kind == KERNEL_EXPERTS)
        return coded ? s->coded_experts : s->experts;
    return kind == KERNEL_PREFILL ? s->attention : 0;
}

/* The lower of a device's peaks and the measured device's peaks, with the measured units. */
static struct kernel_peaks no_larger(struct kernel_peaks peaks, const struct kernel_peaks *measured)
{
    return (struct kernel_peaks){
        .flops_per_s = fmin(peaks.flops_per_s, measured->flops_per_s),
        .memory_bytes_per_s = fmin(peaks.memory_bytes_per_s, measured->memory_bytes_per_s),
        .link_bytes_per_s = fmin(peaks.link_bytes_per_s, measured->link_bytes_per_s),
        .units = measured->units};
}

/* The least time by a model of the device and of those that it is no slower than. */
static double least_of_devices(struct kernel_parts *parts, const struct hardware *hardware,
                               const struct kernel_model *model, const struct kernel_sizes *sizes)
{
    const struct kernel_models *of = hardware->models;
    struct kernel_peaks peaks = kernel_work_peaks(hardware, model->type);
    double sustained = sustained_of(hardware, model->kernel, model->type), least;

    peaks.units = of->peaks[model->type].units;
    peaks.flops_per_s *= sustained;
    least = kernel_model_seconds(model, sizes, &peaks, parts);
    while ((of = of->no_slower_than) != NULL) {
        const struct kernel_model *other = *model->name
                                               ? find_named(of, model->kernel, model->name)
                                               : find(of, model->kernel, model->type);
        struct kernel_parts its;
        double seconds = INFINITY;

        if (other) {
            peaks = no_larger(kernel_work_peaks(hardware, other->type), &of->peaks[other->type]);
            peaks.flops_per_s *= sustained;
            seconds = kernel_model_seconds(other, sizes, &peaks, &its);
        }
        if (seconds >= least)
            continue;
        least = seconds;
        *parts = its;
    }
    return least;
}

/* Experts whose weights alone are of 4 bits run by one family of kernels, whatever the codes stand
 * for: of an engine's kernels for mxfp4, and those for int4, the faster one counts.  (The tables'
 * median over engines has, of mxfp4 on Hopper, engines without a kernel of their own.) */
double kernel_work_model_seconds(struct kernel_parts *parts, const struct hardware *hardware,
                                 const struct kernel_model *model, const struct kernel_sizes *sizes)
{
    double least = least_of_devices(parts, hardware, model, sizes), seconds = INFINITY;
    const struct kernel_model *other = NULL;
    struct kernel_parts its;

    if (model->type == KERNEL_MXFP4_WEIGHTS)
        other = kernel_work_find(hardware, model->kernel, KERNEL_INT4_WEIGHTS);
    if (other)
        seconds = least_of_devices(&its, hardware, other, sizes);
    if (seconds >= least)
        return least;
    *parts = its;
    return seconds;
}

/* ---- sizes ---- */

static enum kernel_kind set_product(struct kernel_sizes *out, const struct hardware_work *work)
{
    double rows = work->flops / (2 * (double)work->n * (double)work->k);

    if (work->experts > 0) {
        kernel_work_set_experts(out, work->type, work->experts, rows / work->experts,
                                (double)work->n, (double)work->k);
        return KERNEL_EXPERTS;
    }
    kernel_work_set_product(out, work->type, (double)work->batch, (double)work->m, (double)work->n,
                            (double)work->k);
    return KERNEL_PRODUCT;
}

static enum kernel_kind set_attention(struct kernel_sizes *out, const struct hardware_work *work)
{
    double queries = (double)work->queries;
    bool decodes = work->queries <= DECODE_QUERIES_MAX;

    out->batch = (double)work->sequences;
    out->heads = (double)work->heads * (decodes ? queries : 1);
    out->kv_heads = (double)work->kv_heads;
    out->head_dim = work->head;
    out->queries = decodes ? 1 : queries;
    out->pairs = work->flops / (4 * out->batch * out->heads * out->head_dim);
    if (decodes)
        return work->latent ? KERNEL_LATENT_DECODE : KERNEL_DECODE;
    return work->latent ? KERNEL_LATENT_PREFILL : KERNEL_PREFILL;
}

/* The kernel that a work is, and its sizes; KERNEL_NKERNELS: none that models are of. */
static enum kernel_kind set_sizes(struct kernel_sizes *out, const struct hardware_work *work)
{
    enum kernel_kind kind = KERNEL_NKERNELS;

    *out = (struct kernel_sizes){.devices = 1};
    if (work->kind == HARDWARE_MEMORY)
        kind = KERNEL_COPY;
    else if (work->kind == HARDWARE_MATMUL && work->flops > 0 && work->n > 0 && work->k > 0)
        kind = set_product(out, work);
    else if (work->kind == HARDWARE_ATTENTION && work->sequences > 0 && work->queries > 0 &&
             work->head > 0)
        kind = set_attention(out, work);
    out->bytes = work->bytes;
    return kind;
}

const struct kernel_model *kernel_work_model(struct kernel_sizes *out,
                                             const struct hardware *hardware,
                                             const struct hardware_work *work)
{
    enum kernel_kind kind;

    if (!hardware->models)
        return NULL;
    kind = set_sizes(out, work);
    if (kind == KERNEL_NKERNELS || !(sustained_of(hardware, kind, work->type) > 0))
        return NULL;
    return kernel_work_find(hardware, kind, kind == KERNEL_COPY ? KERNEL_ANY_TYPE : work->type);
}

bool kernel_work_seconds(double *out, struct kernel_parts *parts, const struct hardware *hardware,
                         const struct hardware_work *work)
{
    struct kernel_sizes sizes;
    const struct kernel_model *model = kernel_work_model(&sizes, hardware, work);

    if (!model)
        return false;
    *out = kernel_work_model_seconds(parts, hardware, model, &sizes);
    return true;
}

enum hardware_bound kernel_work_bound(const struct kernel_parts *parts)
{
    if (parts->start_s > fmax(parts->computing_s, parts->moving_s))
        return HARDWARE_BY_LAUNCH;
    return parts->moving_s >= parts->computing_s ? HARDWARE_BY_MEMORY : HARDWARE_BY_COMPUTE;
}

/* ---- collectives ---- */

const struct kernel_model *kernel_work_collective_model(const struct hardware *hardware,
                                                        enum coll_kind kind)
{
    static const enum kernel_kind kinds[COLL_NKINDS] = {[COLL_ALL_REDUCE] = KERNEL_ALL_REDUCE,
                                                        [COLL_ALL_GATHER] = KERNEL_ALL_GATHER,
                                                        [COLL_REDUCE_SCATTER] =
                                                            KERNEL_REDUCE_SCATTER,
                                                        [COLL_ALL_TO_ALL] = KERNEL_ALL_TO_ALL};
    const struct kernel_model *model = NULL;

    if (!hardware->by_models || !hardware->models || hardware->links_apart || !kinds[kind])
        return NULL;
    if (hardware->served && kind == COLL_ALL_REDUCE)
        model = kernel_work_find(hardware, KERNEL_ENGINE_ALL_REDUCE, KERNEL_ANY_TYPE);
    return model ? model : kernel_work_find(hardware, kinds[kind], KERNEL_ANY_TYPE);
}

bool kernel_work_collective_seconds(double *out, struct kernel_parts *parts,
                                    const struct hardware *hardware, enum coll_kind kind,
                                    double devices, double array_bytes)
{
    const struct kernel_sizes sizes = {.devices = devices, .bytes = array_bytes};
    const struct kernel_model *model = kernel_work_collective_model(hardware, kind);

    if (!model)
        return false;
    *out = kernel_work_model_seconds(parts, hardware, model, &sizes);
    return true;
}

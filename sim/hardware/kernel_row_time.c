/* kernel_row_time.c - the time of a row's kernels on a cluster (kernel_row.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "hardware/kernel_row.h"

#include <math.h>

#include "base/nearest.h"
#include "hardware/kernel_work.h"
#include "hardware/shipped_models.h"

double kernel_row_copies_seconds(const struct hardware *hardware, const struct kernel_row *row)
{
    struct hardware_work work = {.kind = HARDWARE_MEMORY, .dtype = SHD_BF16};
    double seconds = 0;

    for (int i = 0; i < row->ncopies; i++) {
        work.bytes = row->copies[i];
        seconds += hardware_kernel_seconds(hardware, &work);
    }
    return seconds;
}

static struct hardware_work work_of(const struct kernel_row *row)
{
    const struct kernel_sizes *s = &row->sizes;
    struct hardware_work work = {.kind = HARDWARE_MEMORY,
                                 .dtype = kernel_work_rate(row->type),
                                 .type = row->type,
                                 .bytes = s->bytes};

    if (row->kernel == KERNEL_PRODUCT || row->kernel == KERNEL_EXPERTS) {
        work.kind = HARDWARE_MATMUL;
        work.flops = 2 * s->groups * s->m * s->n * s->k;
        work.batch = (int64_t)s->groups;
        work.m = (int64_t)ceil(s->m);
        work.n = (int64_t)s->n;
        work.k = (int64_t)s->k;
    } else if (row->kernel <= KERNEL_LATENT_DECODE) {
        work.kind = HARDWARE_ATTENTION;
        work.flops = 4 * s->batch * s->heads * s->pairs * s->head_dim;
        work.batch = (int64_t)(s->batch * s->heads);
        work.m = (int64_t)s->queries;
        work.n = (int64_t)(s->queries > 1 ? s->queries : s->pairs);
        work.k = (int64_t)s->head_dim;
    }
    return work;
}

static bool has_rate(const struct hardware *hardware, enum kernel_type type)
{
    enum shd_dtype rate = kernel_work_rate(type);

    return rate == SHD_BF16 ? hardware_flops_per_s(hardware, rate) > 0
                            : hardware->flops_per_s[rate] > 0;
}

static void set_by_model(struct kernel_row_time *out, const struct hardware *hardware,
                         const struct kernel_row *row)
{
    struct kernel_parts parts;

    out->seconds = kernel_work_model_seconds(&parts, hardware, out->model, &row->sizes);
    out->bound_by = hardware_bound_name(kernel_work_bound(&parts));
    out->beyond = kernel_model_beyond(out->model, &row->sizes);
}

/* Of a kind with names: by a model alone. */
static int named_time(struct kernel_row_time *out, const struct hardware *hardware,
                      const struct kernel_row *row, struct shd_error *err)
{
    struct nearest near;

    out->model = kernel_work_find_named(hardware, row->kernel, row->name);
    if (!out->model) {
        nearest_init(&near, row->name);
        for (size_t i = 0; hardware->models && i < hardware->models->n; i++)
            if (hardware->models->items[i].kernel == row->kernel)
                nearest_add(&near, hardware->models->items[i].name);
        return shd_error_set(err, SHD_EUNSUPPORTED, "'%.40s' was not measured on '%.30s'%s",
                             row->name, hardware->name, near.best ? nearest_hint(&near).text : "");
    }
    set_by_model(out, hardware, row);
    return SHD_OK;
}

static int kernel_time(struct kernel_row_time *out, const struct hardware *hardware,
                       const struct kernel_row *row, struct shd_error *err)
{
    const struct hardware_work work = work_of(row);

    if (!has_rate(hardware, row->type))
        return shd_error_set(err, SHD_EUNSUPPORTED, "cluster '%.40s' has no rate of %s",
                             hardware->name, shd_dtype_name(kernel_work_rate(row->type)));
    out->model = kernel_work_find(hardware, row->kernel, row->type);
    if (out->model) {
        set_by_model(out, hardware, row);
    } else {
        out->seconds = hardware_kernel_seconds(hardware, &work);
        out->bound_by = hardware_bound_name(hardware_kernel_bound(hardware, &work));
    }
    out->seconds = row->count * out->seconds + kernel_row_copies_seconds(hardware, row);
    return SHD_OK;
}

/* Whether latency takes longer than the bytes do. */
static const char *bound_of(const struct hardware_collective *c)
{
    double latency = 0, bandwidth = 0;

    for (int p = 0; p < c->nparts; p++) {
        latency += c->parts[p].start_s + c->parts[p].latency_s;
        bandwidth += c->parts[p].bandwidth_s;
    }
    if (c->host_s > 0 && c->seconds <= c->host_s)
        return "host";
    return latency > bandwidth ? "latency" : "bandwidth";
}

static int collective_time(struct kernel_row_time *out, const struct hardware *hardware,
                           const struct kernel_row *row, struct shd_error *err)
{
    static const enum coll_kind kinds[KERNEL_NKERNELS] = {
        [KERNEL_ALL_REDUCE] = COLL_ALL_REDUCE,
        [KERNEL_ALL_GATHER] = COLL_ALL_GATHER,
        [KERNEL_REDUCE_SCATTER] = COLL_REDUCE_SCATTER,
        [KERNEL_ALL_TO_ALL] = COLL_ALL_TO_ALL,
        [KERNEL_ENGINE_ALL_REDUCE] = COLL_ALL_REDUCE};
    enum coll_kind kind = kinds[row->kernel];
    int32_t devices = (int32_t)row->sizes.devices;
    struct hardware laid = *hardware;
    struct hardware_collective c;
    struct hardware_group group;
    struct shd_mesh *mesh;
    int status = laid.tiers[0].torus ? hardware_lay_out(&laid, devices, 1, NULL, err) : SHD_OK;

    if (status == SHD_OK)
        status = shd_mesh_create(&mesh, (const char *[]){"x"}, &devices, 1, err);
    if (status != SHD_OK)
        return status;
    hardware_group_of(&group, &laid, mesh, (const uint8_t[]){0}, 1);
    hardware_collective(&c, &laid, kind, &group,
                        row->sizes.bytes / (kind == COLL_ALL_GATHER ? devices : 1));
    shd_mesh_destroy(mesh);
    out->seconds = c.seconds;
    out->bound_by = bound_of(&c);
    if (c.schedule == HARDWARE_MEASURED) {
        out->model = kernel_work_collective_model(&laid, kind);
        out->beyond = kernel_model_beyond(out->model, &row->sizes);
    }
    return SHD_OK;
}

int kernel_row_time(struct kernel_row_time *out, const struct hardware *hardware,
                    const struct kernel_row *row, struct shd_error *err)
{
    bool nccl = row->kernel >= KERNEL_ALL_REDUCE && row->kernel < KERNEL_ENGINE_ALL_REDUCE;
    struct hardware used = nccl ? hardware_as_measured(hardware) : hardware_as_served(hardware);

    *out = (struct kernel_row_time){.model = NULL};
    if (shipped_models_bind(&used) != SHD_OK)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the models of '%.40s'", used.name);
    if (row->kernel >= KERNEL_FIRST_NAMED)
        return named_time(out, &used, row, err);
    return row->kernel >= KERNEL_ALL_REDUCE ? collective_time(out, &used, row, err)
                                            : kernel_time(out, &used, row, err);
}

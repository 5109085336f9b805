/* Reading what reshard is asked for (reshard_asked.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/explain/reshard_asked.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "hardware/reshard.h"
#include "command/asked.h"
#include "command/cluster.h"
#include "command/command.h"

#define DEVICES_MAX (1 << 24) /* takes minutes, as each device is examined by itself */

/* A whole number, or -1. */
static long parse_number(const char *text, long most)
{
    char *end;
    long n = strtol(text, &end, 10);

    return end != text && !*end && n >= 0 && n <= most ? n : -1;
}

/* The mesh again, of the devices from `first` on. */
static struct shd_mesh *mesh_from(struct shd_mesh *mesh, const char *first, struct shd_error *err)
{
    const char *names[SHD_MESH_AXES_MAX];
    int32_t sizes[SHD_MESH_AXES_MAX];
    size_t naxes = shd_mesh_naxes(mesh), n = (size_t)shd_mesh_size(mesh);
    long start = parse_number(first, INT32_MAX - (long)n);
    int32_t *ids = start < 0 ? NULL : malloc(n * sizeof *ids);
    struct shd_mesh *moved = NULL;

    if (start < 0)
        shd_error_set(err, SHD_EINVAL, "the first device is '%.40s'; expected an id", first);
    else if (!ids)
        shd_error_set(err, SHD_ENOMEM, "no memory for a mesh");
    for (size_t a = 0; a < naxes; a++) {
        names[a] = shd_mesh_axis_name(mesh, a);
        sizes[a] = shd_mesh_axis_size(mesh, a);
    }
    for (size_t p = 0; ids && p < n; p++)
        ids[p] = (int32_t)start + (int32_t)p;
    if (ids && shd_mesh_create_with_ids(&moved, names, sizes, naxes, ids, err) != SHD_OK)
        moved = NULL;
    free(ids);
    return moved;
}

/* "8:1us:200GB/s", "all:10us:25GB/s". */
static int parse_link(struct shd_link_tier *out, const char *text, struct shd_error *err)
{
    char part[3][32];
    int64_t ns;
    uint64_t rate;
    long n;
    int end = 0;

    if (sscanf(text, "%31[^:]:%31[^:]:%31[^:]%n", part[0], part[1], part[2], &end) != 3 ||
        text[end])
        return shd_error_set(err, SHD_EINVAL,
                             "'%.60s'; expected N:LATENCY:RATE, such as 8:1us:200GB/s", text);
    n = strcmp(part[0], "all") == 0 ? 0 : parse_number(part[0], INT32_MAX);
    if (n < 0)
        return shd_error_set(err, SHD_EINVAL, "'%.60s' joins '%s'; expected a number or 'all'",
                             text, part[0]);

    int status = units_parse_ns(&ns, part[1], err);

    if (status == SHD_OK)
        status = units_parse_rate(&rate, part[2], err);
    if (status == SHD_OK)
        *out = (struct shd_link_tier){(int32_t)n, (double)ns * 1e-9, (double)rate};
    return status;
}

static int parse_limits(struct reshard_question *q, const struct reshard_asked *o)
{
    struct shd_error err;
    int status = SHD_OK;

    if (o->memory && strcmp(o->memory, "any") == 0)
        q->opts.memory_bytes = UINT64_MAX;
    else if (o->memory)
        status = units_parse_memory(&q->opts.memory_bytes, o->memory, &err);
    if (status != SHD_OK)
        return cmd_failure("memory", &err);
    if (o->memory && q->opts.memory_bytes == 0)
        return cmd_wrong("memory", "--memory is 0 bytes; expected more, or 'any'");
    q->opts.ntiers = o->nlinks;
    for (size_t t = 0; t < o->nlinks; t++)
        if (parse_link(&q->opts.tiers[t], o->links[t], &err) != SHD_OK)
            return cmd_failure("link", &err);
    return CMD_OK;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* One more than the largest id of a mesh with consecutive ids. */
static int64_t end_of(const struct shd_mesh *mesh)
{
    return (int64_t)shd_mesh_device_id(mesh, shd_mesh_size(mesh) - 1) + 1;
}

static int parse_hardware(struct reshard_question *q, const struct reshard_asked *o)
{
    int64_t ndevices = larger(end_of(q->mesh), end_of(q->to_mesh));
    int status;

    if (!o->hardware)
        return CMD_OK;
    status = cluster_find(&q->hardware, o->hardware, q->mesh, ndevices, o->slices);
    if (status == CMD_OK)
        hardware_reshard_tiers(&q->opts, q->hardware, ndevices);
    return status;
}

static int parse_partial(struct reshard_question *q, const struct reshard_asked *o)
{
    uint8_t axes[SHD_MESH_AXES_MAX];
    size_t naxes = 0;

    if (o->partial && asked_axes(axes, &naxes, o->partial, q->mesh) != CMD_OK)
        return CMD_USAGE;
    for (size_t i = 0; i < naxes; i++)
        q->from.partial |= (uint16_t)(1u << axes[i]);
    return CMD_OK;
}

static int parse_meshes(struct reshard_question *q, const struct reshard_asked *o)
{
    struct shd_mesh *moved;
    struct shd_error err;
    int status;

    status = asked_mesh(&q->mesh, o->mesh);
    q->to_mesh = q->mesh;
    if (status == CMD_OK && o->to_mesh) {
        q->to_mesh = NULL;
        status = asked_mesh(&q->to_mesh, o->to_mesh);
    }
    if (status != CMD_OK)
        return status;
    if (shd_mesh_size(q->mesh) > DEVICES_MAX || shd_mesh_size(q->to_mesh) > DEVICES_MAX) {
        cmd_error("the mesh has %d devices; expected at most %d",
                  (int)shd_mesh_size(shd_mesh_size(q->mesh) > DEVICES_MAX ? q->mesh : q->to_mesh),
                  DEVICES_MAX);
        return CMD_CANNOT;
    }
    if (!o->to_first)
        return CMD_OK;
    moved = mesh_from(q->to_mesh, o->to_first, &err);
    if (!moved)
        return cmd_failure("to-first", &err);
    shd_mesh_destroy(q->to_mesh);
    q->to_mesh = moved;
    return CMD_OK;
}

int reshard_asked_read(struct reshard_question *q, const struct reshard_asked *o)
{
    struct shd_error err;
    int rank = asked_shape(q->shape, o->shape), status;

    if (rank < 0)
        return cmd_wrong("shape", "expected a shape such as '8,16', of at most 16 dimensions");
    q->rank = (size_t)rank;
    q->dtype = SHD_F32;
    if (o->dtype && shd_dtype_parse(&q->dtype, o->dtype, &err) != SHD_OK)
        return cmd_failure("dtype", &err);
    status = parse_meshes(q, o);
    if (status != CMD_OK)
        return status;
    if (asked_sharding(&q->from, q->mesh, o->from, q->shape, q->rank, &err))
        return cmd_failure("from", &err);
    if (asked_sharding(&q->to, q->to_mesh, o->to, q->shape, q->rank, &err))
        return cmd_failure("to", &err);
    status = parse_partial(q, o);
    if (status == CMD_OK)
        status = parse_limits(q, o);
    return status == CMD_OK ? parse_hardware(q, o) : status;
}

void reshard_asked_fini(struct reshard_question *q)
{
    hardware_destroy(q->hardware);
    if (q->to_mesh != q->mesh)
        shd_mesh_destroy(q->to_mesh);
    shd_mesh_destroy(q->mesh);
}

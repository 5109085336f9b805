/* The functions that a device's function may call.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/device.h"

#include <inttypes.h>
#include <string.h>

#include "run/collective.h"

const struct shd_mesh *shd_device_mesh(const struct shd_device *dev)
{
    if (!dev)
        return NULL;
    return dev->run->mesh;
}

int32_t shd_device_position(const struct shd_device *dev)
{
    if (!dev)
        return -1;
    return dev->position;
}

int32_t shd_device_coord(const struct shd_device *dev, const char *axis)
{
    if (!dev || !axis)
        return -1;

    int id = shd_mesh_find_axis(dev->run->mesh, axis);

    return id < 0 ? -1 : shd_mesh_coord(dev->run->mesh, dev->position, (size_t)id);
}

int shd_device_alloc(struct shd_device *dev, uint64_t bytes, const char *label, void **out,
                     struct shd_error *err)
{
    if (!SHD_GIVEN(err, dev, out))
        return SHD_EINVAL;
    return arena_alloc(&dev->arena, bytes, label, out, err);
}

void shd_device_free(struct shd_device *dev, void *memory)
{
    arena_free(&dev->arena, memory);
}

uint64_t shd_device_live_bytes(const struct shd_device *dev)
{
    if (!dev)
        return 0;
    return dev->arena.live_bytes;
}

uint64_t shd_device_peak_bytes(const struct shd_device *dev)
{
    if (!dev)
        return 0;
    return dev->arena.peak_bytes;
}

int shd_device_check_stop(struct shd_device *dev, struct shd_error *err)
{
    if (!SHD_GIVEN(err, dev))
        return SHD_EINVAL;
    if (atomic_load_explicit(&dev->run->board.called_off, memory_order_relaxed) ==
        RUN_STOP_REQUESTED) {
        dev->gave_up = SHD_ESTOPPED;
        return shd_error_set(err, SHD_ESTOPPED, "stopped by request");
    }
    return SHD_OK;
}

/* ---- groups by the names of axes ---- */

/* The axis named by the first `length` bytes of `name`, or -1. */
static int find_axis(const struct shd_mesh *mesh, const char *name, size_t length)
{
    for (size_t a = 0; a < shd_mesh_naxes(mesh); a++) {
        const char *axis = shd_mesh_axis_name(mesh, a);

        if (!strncmp(axis, name, length) && axis[length] == '\0')
            return (int)a;
    }
    return -1;
}

static int parse_axes(const struct shd_mesh *mesh, const char *text, uint8_t *axes, size_t *naxes,
                      struct shd_error *err)
{
    *naxes = 0;
    if (*text == '\0')
        return SHD_OK;
    for (;;) {
        size_t length = strcspn(text, ",");
        int axis = find_axis(mesh, text, length);

        if (axis < 0)
            return shd_error_set(err, SHD_ENOAXIS, "the mesh has no axis '%.*s'",
                                 (int)(length < 64 ? length : 64), text);
        if (*naxes == SHD_MESH_AXES_MAX)
            return shd_error_set(err, SHD_EDUPAXIS, "more axes than a mesh can have");
        axes[(*naxes)++] = (uint8_t)axis;
        if (text[length] == '\0')
            return SHD_OK;
        text += length + 1;
    }
}

static int take_seat(struct run_seat *out, struct shd_device *dev, const char *text,
                     struct shd_error *err)
{
    const struct shd_mesh *mesh = dev->run->mesh;
    uint8_t axes[SHD_MESH_AXES_MAX];
    size_t naxes = shd_mesh_naxes(mesh);
    int status = SHD_OK;

    for (size_t a = 0; a < naxes; a++)
        axes[a] = (uint8_t)a;
    if (text)
        status = parse_axes(mesh, text, axes, &naxes, err);
    if (status != SHD_OK)
        return status;
    return run_group_over_axes(out, dev, axes, naxes, err);
}

int shd_device_group(struct shd_device *dev, const char *axes, uint32_t *member,
                     uint32_t *nmembers, struct shd_error *err)
{
    if (!SHD_GIVEN(err, dev, member, nmembers))
        return SHD_EINVAL;

    struct run_seat seat;
    int status = take_seat(&seat, dev, axes, err);

    if (status != SHD_OK)
        return status;
    *member = seat.member;
    *nmembers = seat.group->nmembers;
    return SHD_OK;
}

/* ---- collectives ---- */

/* Fill in the group and the buffers of a call, and make it. */
static int call_over(struct shd_device *dev, const char *axes, struct coll_call *call,
                     const void *in, void *out, struct shd_error *err)
{
    int status = take_seat(&call->seat, dev, axes, err);

    if (status != SHD_OK)
        return status;
    call->where = axes ? axes : "all axes";
    call->in.base = (void *)in;
    call->out.base = out;
    return run_collective(dev, call, err);
}

int shd_device_all_reduce(struct shd_device *dev, const char *axes, const void *in, void *out,
                          uint64_t count, enum shd_dtype dtype, enum shd_reduce_op op,
                          struct shd_error *err)
{
    if (!SHD_GIVEN(err, dev))
        return SHD_EINVAL;

    struct coll_call call = {.kind = COLL_ALL_REDUCE, .dtype = dtype, .red = op, .count = count};

    return call_over(dev, axes, &call, in, out, err);
}

int shd_device_all_gather(struct shd_device *dev, const char *axes, const void *in, void *out,
                          uint64_t count, enum shd_dtype dtype, struct shd_error *err)
{
    if (!SHD_GIVEN(err, dev))
        return SHD_EINVAL;

    struct coll_call call = {.kind = COLL_ALL_GATHER, .dtype = dtype, .count = count};

    return call_over(dev, axes, &call, in, out, err);
}

int shd_device_reduce_scatter(struct shd_device *dev, const char *axes, const void *in, void *out,
                              uint64_t count, enum shd_dtype dtype, enum shd_reduce_op op,
                              struct shd_error *err)
{
    if (!SHD_GIVEN(err, dev))
        return SHD_EINVAL;

    struct coll_call call = {
        .kind = COLL_REDUCE_SCATTER, .dtype = dtype, .red = op, .count = count};

    return call_over(dev, axes, &call, in, out, err);
}

int shd_device_all_to_all(struct shd_device *dev, const char *axes, const void *in, void *out,
                          uint64_t count, enum shd_dtype dtype, struct shd_error *err)
{
    if (!SHD_GIVEN(err, dev))
        return SHD_EINVAL;

    struct coll_call call = {.kind = COLL_ALL_TO_ALL, .dtype = dtype, .count = count};

    return call_over(dev, axes, &call, in, out, err);
}

int shd_device_permute(struct shd_device *dev, const char *axes, const uint32_t *source,
                       const void *in, void *out, uint64_t count, enum shd_dtype dtype,
                       struct shd_error *err)
{
    if (!SHD_GIVEN(err, dev))
        return SHD_EINVAL;

    struct coll_call call = {
        .kind = COLL_PERMUTE, .dtype = dtype, .count = count, .source = source};

    return call_over(dev, axes, &call, in, out, err);
}

int shd_device_broadcast(struct shd_device *dev, const char *axes, uint32_t root, const void *in,
                         void *out, uint64_t count, enum shd_dtype dtype, struct shd_error *err)
{
    if (!SHD_GIVEN(err, dev))
        return SHD_EINVAL;

    struct coll_call call = {.kind = COLL_BROADCAST, .dtype = dtype, .count = count, .root = root};

    return call_over(dev, axes, &call, in, out, err);
}

int shd_device_gather(struct shd_device *dev, const char *axes, uint32_t root, const void *in,
                      void *out, uint64_t count, enum shd_dtype dtype, struct shd_error *err)
{
    if (!SHD_GIVEN(err, dev))
        return SHD_EINVAL;

    struct coll_call call = {.kind = COLL_GATHER, .dtype = dtype, .count = count, .root = root};

    return call_over(dev, axes, &call, in, out, err);
}

int shd_device_reduce(struct shd_device *dev, const char *axes, uint32_t root, const void *in,
                      void *out, uint64_t count, enum shd_dtype dtype, enum shd_reduce_op op,
                      struct shd_error *err)
{
    if (!SHD_GIVEN(err, dev))
        return SHD_EINVAL;

    struct coll_call call = {
        .kind = COLL_REDUCE, .dtype = dtype, .red = op, .count = count, .root = root};

    return call_over(dev, axes, &call, in, out, err);
}

int shd_device_scatter(struct shd_device *dev, const char *axes, uint32_t root, const void *in,
                       void *out, uint64_t count, enum shd_dtype dtype, struct shd_error *err)
{
    if (!SHD_GIVEN(err, dev))
        return SHD_EINVAL;

    struct coll_call call = {.kind = COLL_SCATTER, .dtype = dtype, .count = count, .root = root};

    return call_over(dev, axes, &call, in, out, err);
}

/* Take part in a send and its receive, of which the device is one side. */
static int send_or_receive(struct shd_device *dev, int32_t from, int32_t to, struct coll_call call,
                           struct shd_error *err)
{
    int status;

    if (from == to)
        return shd_error_set(err, SHD_EINVAL,
                             "device %" PRId32
                             " sends to itself or receives from itself, and would "
                             "wait for its own call; copy the elements instead",
                             dev->position);
    status = run_group_of_pair(&call.seat, dev, from, to, err);
    return status == SHD_OK ? run_collective(dev, &call, err) : status;
}

int shd_device_send(struct shd_device *dev, int32_t to, const void *in, uint64_t count,
                    enum shd_dtype dtype, struct shd_error *err)
{
    if (!SHD_GIVEN(err, dev))
        return SHD_EINVAL;

    struct coll_call call = {
        .kind = COLL_SEND_RECV, .dtype = dtype, .count = count, .in.base = (void *)in};

    return send_or_receive(dev, dev->position, to, call, err);
}

int shd_device_recv(struct shd_device *dev, int32_t from, void *out, uint64_t count,
                    enum shd_dtype dtype, struct shd_error *err)
{
    if (!SHD_GIVEN(err, dev))
        return SHD_EINVAL;

    struct coll_call call = {
        .kind = COLL_SEND_RECV, .dtype = dtype, .count = count, .out.base = out};

    return send_or_receive(dev, from, dev->position, call, err);
}

int shd_device_barrier(struct shd_device *dev, const char *axes, struct shd_error *err)
{
    if (!SHD_GIVEN(err, dev))
        return SHD_EINVAL;

    struct coll_call call = {.kind = COLL_BARRIER};

    return call_over(dev, axes, &call, NULL, NULL, err);
}

static void forget(struct shd_device *dev)
{
    if (dev->matrix_row)
        memset(dev->matrix_row, 0, (size_t)dev->run->ndevices * sizeof *dev->matrix_row);
    dev->received_bytes = dev->sent_bytes = 0;
}

void device_count_anew(struct shd_device *dev)
{
    struct run *run = dev->run;

    forget(dev);
    for (int32_t d = 0; d < dev->position; d++)
        if (run->devices[d].here)
            return;
    for (int32_t d = 0; d < run->ndevices; d++) /* the first device here: what was counted here for
                                                   devices that are away */
        if (!run->devices[d].here)
            forget(&run->devices[d]);
}

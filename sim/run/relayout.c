/* Copying boxes between shards (relayout.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/relayout.h"

#include <string.h>

#include "base/hash.h"
#include "kern/kern.h"
#include "run/collective.h"
#include "run/device.h"

static void row_major(int64_t *strides, const int64_t *extent, size_t rank)
{
    int64_t stride = 1;

    for (size_t d = rank; d-- > 0;) {
        strides[d] = stride;
        stride *= extent[d];
    }
}

uint64_t relayout_copy(enum shd_dtype dtype, size_t rank, const struct shd_fetch *box, void *dest,
                       const int64_t *dest_shape, const void *source, const int64_t *source_shape)
{
    int64_t to_stride[SHD_RANK_MAX], from_stride[SHD_RANK_MAX], to = 0, from = 0;
    size_t size = shd_dtype_size(dtype);

    row_major(to_stride, dest_shape, rank);
    row_major(from_stride, source_shape, rank);
    for (size_t d = 0; d < rank; d++) {
        to += box->dest_offset[d] * to_stride[d];
        from += box->source_offset[d] * from_stride[d];
        if (box->source_stride[d] != 0)
            from_stride[d] *= box->source_stride[d];
    }
    return size * kern_copy_box(size, (uint32_t)rank, box->extent, (char *)dest + (size_t)to * size,
                                to_stride, (const char *)source + (size_t)from * size, from_stride);
}

/* Whether a box has the same position in the whole array at its source and destination. */
static bool fits(const struct shd_reshard_step *step, const int64_t *shape, int32_t position,
                 const struct shd_fetch *box)
{
    int64_t from[SHD_RANK_MAX], to[SHD_RANK_MAX];
    bool same = true;

    shd_sharding_offset(&step->from, shape, box->source, from);
    shd_reshard_step_offset(step, shape, position, to);
    if (step->shift > 0)
        from[step->dim] += step->shift;
    for (size_t d = 0; d < step->to.rank; d++)
        same &= shape[d] > 0 && (from[d] + box->source_offset[d]) % shape[d] ==
                                    to[d] + box->dest_offset[d] * box->source_stride[d];
    return same;
}

void relayout_fetch(struct run_pull *pull, const struct shd_reshard_step *step,
                    const int64_t *shape, enum shd_dtype dtype, void *out)
{
    int32_t position = pull->dev->position;
    int64_t made[SHD_RANK_MAX], from_shape[SHD_RANK_MAX], to_shape[SHD_RANK_MAX];
    int64_t n = shd_reshard_fetch_count(step, shape, position);

    shd_sharding_shard_shape(&step->from, shape, from_shape);
    shd_reshard_step_shape(step, shape, made);
    shd_sharding_shard_shape(&step->to, made, to_shape);
    for (int64_t i = 0; i < n; i++) {
        struct shd_fetch box;
        uint32_t source;
        uint64_t bytes;

        shd_reshard_fetch(step, shape, position, i, &box);
        source = run_pull_member(pull, box.source);
        bytes = relayout_copy(dtype, step->to.rank, &box, out, to_shape,
                              run_pull_peer(pull, source), from_shape);
        run_pull_count(pull, source, bytes, fits(step, shape, position, &box));
    }
}

struct relayout {
    struct shd_reshard_step step;
    const int64_t *shape;
    enum shd_dtype dtype;
    void *out;
};

static int fetch(struct run_pull *pull, void *arg, struct shd_error *err)
{
    const struct relayout *r = arg;

    (void)err;
    relayout_fetch(pull, &r->step, r->shape, r->dtype, r->out);
    return SHD_OK;
}

/* Equal on all devices that make the same call, as shardings are plain bytes. */
static uint64_t tag_of(const struct relayout *r)
{
    uint64_t tag = hash_bytes(HASH_BEGIN, &r->dtype, sizeof(r->dtype));

    tag = hash_bytes(tag, r->shape, r->step.to.rank * sizeof(*r->shape));
    tag = hash_bytes(tag, r->step.from.dims, sizeof(r->step.from.dims));
    return hash_bytes(tag, r->step.to.dims, sizeof(r->step.to.dims));
}

static uint64_t shard_bytes(const struct shd_sharding *from, const int64_t *shape,
                            enum shd_dtype dtype)
{
    int64_t local[SHD_RANK_MAX];
    uint64_t bytes = shd_dtype_size(dtype);

    shd_sharding_shard_shape(from, shape, local);
    for (size_t d = 0; d < from->rank; d++)
        bytes *= (uint64_t)local[d];
    return bytes;
}

int relayout_run(struct shd_device *dev, const struct shd_sharding *from,
                 const struct shd_sharding *to, const int64_t *shape, enum shd_dtype dtype,
                 const void *in, void *out, const char *where, struct shd_error *err)
{
    struct relayout r = {.shape = shape, .dtype = dtype, .out = out};
    uint8_t axes[SHD_MESH_AXES_MAX];
    size_t naxes = shd_mesh_naxes(dev->run->mesh);
    struct run_seat seat;
    int status;

    r.step = (struct shd_reshard_step){
        .kind = SHD_RESHARD_EXCHANGE, .dim = -1, .dim2 = -1, .from = *from, .to = *to};
    for (size_t a = 0; a < naxes; a++)
        axes[a] = (uint8_t)a;
    status = run_group_over_axes(&seat, dev, axes, naxes, err);
    if (status != SHD_OK)
        return status;
    return run_pull_phase(dev, seat, in, shard_bytes(from, shape, dtype), tag_of(&r), where, fetch, &r, NULL, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "trial/collect.h"

#include <stdlib.h>

#include "program/shard.h"

static const struct program_buffer *buffer_of(const struct program *program, uint32_t result)
{
    return &program->buffers[program->results[result].buffer];
}

int collect_init(struct collect *out, const struct program *program, struct shd_error *err)
{
    struct collect c = {program, calloc((size_t)program->nresults + 1, sizeof *c.wholes)};
    int status = c.wholes ? SHD_OK : shd_error_set(err, SHD_ENOMEM, "no memory for results");

    for (uint32_t r = 0; r < program->nresults && status == SHD_OK; r++) {
        const struct program_buffer *b = buffer_of(program, r);
        uint64_t bytes;

        status = shd_shape_bytes(&bytes, b->held, b->rank, b->dtype, err);
        if (status == SHD_OK && !(c.wholes[r] = malloc(bytes + 1)))
            status = shd_error_set(err, SHD_ENOMEM, "no memory for a result of %llu bytes",
                                   (unsigned long long)bytes);
    }
    if (status == SHD_OK)
        *out = c;
    else
        collect_fini(&c);
    return status;
}

void collect_fini(struct collect *collect)
{
    for (uint32_t r = 0; collect->wholes && r < collect->program->nresults; r++)
        free(collect->wholes[r]);
    free(collect->wholes);
    collect->wholes = NULL;
}

/* Whether the device is the first replica of its shard: coordinate 0 on every axis that does not
 * shard the array, except the axis of stages. */
static bool first_replica(const struct program *program, const struct shd_sharding *s,
                          int32_t position)
{
    uint32_t used = shd_sharding_axes(s);

    for (size_t a = 0; a < shd_mesh_naxes(s->mesh); a++)
        if ((int)a != program->stage_axis && !(used >> a & 1) && shd_mesh_coord(s->mesh, position, a) != 0)
            return false;
    return true;
}

static void place_box(const struct program_buffer *b, const struct shd_box *box, const void *shard,
                      void *whole)
{
    int64_t from[PROGRAM_RANK_MAX], to[PROGRAM_RANK_MAX];
    int64_t local = 1, all = 1, at = 0;
    size_t size = shd_dtype_size(b->dtype);

    for (uint32_t d = b->rank; d-- > 0;) {
        from[d] = local;
        to[d] = all;
        at += box->start[d] * all;
        local *= box->extent[d];
        all *= b->held[d];
    }
    kern_copy_box(size, b->rank, box->extent, (char *)whole + (size_t)at * size, to,
                  (const char *)shard + (size_t)box->at * size, from);
}

static void place(const struct program_buffer *b, int32_t position, const void *shard, void *whole)
{
    struct program_boxes boxes = program_boxes_begin(b, position);
    struct shd_box box;

    while (program_boxes_next(&boxes, &box))
        place_box(b, &box, shard, whole);
}

void collect_place(const struct program *program, const struct program_buffer *buffer,
                   int32_t position, const void *shard, void *whole)
{
    if (first_replica(program, &buffer->sharding, position))
        place(buffer, position, shard, whole);
}

void collect_finish(void *arg, int32_t position, const void *const *shards)
{
    const struct collect *c = arg;

    for (uint32_t r = 0; r < c->program->nresults; r++) {
        const struct program_buffer *b = buffer_of(c->program, r);

        if (shards[r])
            collect_place(c->program, b, position, shards[r], c->wholes[r]);
    }
}

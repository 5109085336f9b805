/* Tests reaches of lib/reshard: each device gets the elements of its interval, from where they are,
 * and the reported bytes are those of the boxes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include <shd/reshard.h>

#include "../support/layout.h"
#include "../support/tap.h"

enum { ROWS = 12, COLUMNS = 8 };

static const int64_t shape[2] = {ROWS, COLUMNS};

struct told {
    uint64_t received, sent;
};

/* Fetch the boxes of a device; false if a place gets another element than it should, twice, or none
 * though the array has it. */
static bool fetch(const struct shd_reshard_step *step, int32_t position, struct told *devices)
{
    int64_t made[2], local[2], origin[2], from[2], n, stride = step->reach.stride;
    bool right = true, *seen;

    shd_reshard_step_shape(step, shape, made);
    shd_sharding_shard_shape(&step->to, made, local);
    shd_reshard_step_offset(step, shape, position, origin);
    seen = calloc((size_t)(local[0] * local[1]) + 1, sizeof *seen);
    if (!seen)
        abort();
    n = shd_reshard_fetch_count(step, shape, position);
    for (int64_t i = 0; i < n; i++) {
        struct shd_fetch box;

        shd_reshard_fetch(step, shape, position, i, &box);
        shd_sharding_offset(&step->from, shape, box.source, from);
        if (!box.own) {
            devices[position].received += shd_fetch_bytes(&box, 2, SHD_F32);
            devices[box.source].sent += shd_fetch_bytes(&box, 2, SHD_F32);
        }
        for (int64_t r = 0; r < box.extent[0]; r++)
            for (int64_t c = 0; c < box.extent[1]; c++) {
                int64_t row = box.dest_offset[0] + r, column = box.dest_offset[1] + c;

                right &= row < local[0] && column < local[1] && !seen[row * local[1] + column] &&
                         from[0] + box.source_offset[0] + r * stride == origin[0] + row * stride &&
                         from[1] + box.source_offset[1] + c == origin[1] + column;
                if (row < local[0] && column < local[1])
                    seen[row * local[1] + column] = true;
            }
    }
    for (int64_t i = 0; i < local[0] * local[1]; i++) {
        int64_t row = origin[0] + i / local[1] * stride, column = origin[1] + i % local[1];

        right &= seen[i] == (row >= 0 && row < ROWS && column >= 0 && column < COLUMNS);
    }
    free(seen);
    return right;
}

static bool run(const struct shd_sharding *sharding, const struct shd_sharding *to, int dim,
                const struct shd_reach *reach, struct shd_reshard_step *step)
{
    struct told devices[64] = {{0, 0}};
    int32_t ndevices = shd_mesh_size(sharding->mesh);
    bool right = shd_reshard_reach(step, sharding, to, shape, SHD_F32, dim, reach, NULL) == SHD_OK;
    uint64_t moved = 0;

    for (int32_t p = 0; p < ndevices && right; p++)
        right = fetch(step, p, devices);
    for (int32_t p = 0; p < ndevices && right; p++) {
        right = devices[p].received == shd_reshard_step_received(step, shape, SHD_F32, p) &&
                devices[p].sent == shd_reshard_step_sent(step, shape, SHD_F32, p);
        moved += devices[p].received;
    }
    return right && moved == step->received_bytes;
}

/* Mesh a=2, b=2, c=3: rows over b and c in either order, or over c; columns over a or whole. */
static void test_all(const struct shd_mesh *mesh)
{
    static const struct shd_dim_axes rows[] = {{1, {2}}, {2, {1, 2}}, {2, {2, 1}}};
    struct shd_reshard_step step;
    struct shd_sharding s;

    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (int columns = 0; columns < 2; columns++) {
            unsigned wrong = 0;

            shd_sharding_init(&s, mesh, 2);
            s.dims[0] = rows[r];
            if (columns)
                s.dims[1] = (struct shd_dim_axes){1, {0}};
            for (int64_t by = 0; by < 5; by++)
                for (int64_t first = -13; first <= 13; first++)
                    for (int64_t extent = 1; extent < 14; extent += 3) {
                        const struct shd_reach reach = {.by = by, .first = first, .extent = extent};

                        wrong += !run(&s, &s, 0, &reach, &step);
                    }
            ok(wrong == 0, "layout %zu, columns %s: all reaches", r, columns ? "cut" : "whole");
        }
}

/* Six shards of two rows: a row of each neighbour is 2 * 5 rows of 8 elements, on each of 2
 * devices. */
static void test_halo(const struct shd_mesh *mesh)
{
    const struct shd_reach halo = {.by = 2, .first = -1, .extent = 4};
    const struct shd_reach own = {.by = 2, .extent = 2};
    struct shd_reshard_step step;
    struct shd_sharding s;
    struct shd_error err;
    uint8_t axes[SHD_MESH_AXES_MAX];

    shd_sharding_init(&s, mesh, 2);
    s.dims[0] = (struct shd_dim_axes){2, {1, 2}};
    ok(run(&s, &s, 0, &halo, &step) && step.kind == SHD_RESHARD_EXCHANGE &&
           step.received_bytes == 2 * 2 * 5 * 8 * 4 && shd_reshard_step_axes(&step, axes) == 2,
       "a row of each neighbour: (k - 1) rows up and as many down");
    ok(run(&s, &s, 0, &own, &step) && step.kind == SHD_RESHARD_SLICE && step.received_bytes == 0,
       "what a device has moves nothing");
    ok(shd_reshard_reach(&step, &s, &s, shape, SHD_F32, 2, &halo, &err) == SHD_EINVAL,
       "a missing dimension");
}

/* Slices along rows that lie in one way, in parts that lie in another: strides up and down, with
 * gaps between the places that they go to. */
static void test_slices(const struct shd_mesh *mesh)
{
    static const struct shd_dim_axes rows[] = {
        {0, {0}}, {1, {0}}, {1, {2}}, {2, {1, 2}}, {2, {2, 0}}};
    const size_t n = sizeof rows / sizeof *rows;
    struct shd_sharding from, to;
    struct shd_reshard_step step;
    unsigned wrong = 0;

    shd_sharding_init(&from, mesh, 2);
    shd_sharding_init(&to, mesh, 2);
    for (size_t r = 0; r < n * n; r++)
        for (int64_t stride = -3; stride <= 3; stride++)
            for (int64_t base = 0; base < ROWS; base += 3)
                for (int64_t apart = 1; apart < 4; apart++)
                    for (int64_t by = 1; by < 5; by += 2) {
                        const struct shd_reach reach = {by, -base, by, apart, base, stride};

                        from.dims[0] = rows[r % n];
                        to.dims[0] = rows[r / n];
                        wrong += stride != 0 && !run(&from, &to, 0, &reach, &step);
                    }
    ok(wrong == 0, "slices: each device gets its part and receives only missing elements");
}

/* The second half of six shards of two rows, in six parts of one: each device lacks its row, but
 * the last, and a row of 8 columns goes to each of 2 devices; what is held whole is nowhere
 * received. */
static void test_half(const struct shd_mesh *mesh)
{
    const struct shd_reach half = {.by = 1, .extent = 1, .base = 6};
    struct shd_sharding cut, whole;
    struct shd_reshard_step step;

    shd_sharding_init(&cut, mesh, 2);
    shd_sharding_init(&whole, mesh, 2);
    cut.dims[0] = (struct shd_dim_axes){2, {1, 2}};
    ok(run(&cut, &cut, 0, &half, &step) && step.received_bytes == 2 * 5 * 8 * 4,
       "half of an array with unchanged sharding: a row from a neighbour each");
    ok(run(&whole, &cut, 0, &half, &step) && step.kind == SHD_RESHARD_SLICE,
       "half of a replicated array is local");
}

int main(void)
{
    static const struct test_axis axes[] = {{"a", 2}, {"b", 2}, {"c", 3}, {NULL, 0}};
    struct shd_mesh *mesh = mesh_of(axes);

    plan(0);
    test_all(mesh);
    test_halo(mesh);
    test_slices(mesh);
    test_half(mesh);
    shd_mesh_destroy(mesh);
    return done();
}

/* Tests shifts of lib/reshard: the boxes that devices fetch make the array whose element i was
 * element i - by, and the reported bytes are those of the boxes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>

#include <shd/reshard.h>

#include "../support/layout.h"
#include "../support/tap.h"

enum { ROWS = 12, COLUMNS = 8 };

static const int64_t shape[2] = {ROWS, COLUMNS};

/* The number of the element that belongs at a place of the shifted array. */
static int64_t wanted(int dim, int64_t by, int64_t row, int64_t column)
{
    if (dim == 0)
        row = ((row - by) % ROWS + ROWS) % ROWS;
    else
        column = ((column - by) % COLUMNS + COLUMNS) % COLUMNS;
    return row * COLUMNS + column;
}

struct told {
    uint64_t received, sent;
};

/* Fetch the boxes of a device and check each element; false if an element is wrong, missing or
 * fetched twice. */
static bool fetch(const struct shd_reshard_step *step, int dim, int64_t by, int32_t position,
                  struct told *devices)
{
    int64_t local[2], to[2], from[2];
    bool seen[ROWS * COLUMNS] = {false}, right = true;
    int64_t n = shd_reshard_fetch_count(step, shape, position), nseen = 0;

    shd_sharding_shard_shape(&step->to, shape, local);
    shd_sharding_offset(&step->to, shape, position, to);
    for (int64_t i = 0; i < n; i++) {
        struct shd_fetch box;

        shd_reshard_fetch(step, shape, position, i, &box);
        shd_sharding_offset(&step->from, shape, box.source, from);
        right &= box.own == (box.source == position);
        if (!box.own) {
            devices[position].received += shd_fetch_bytes(&box, 2, SHD_F32);
            devices[box.source].sent += shd_fetch_bytes(&box, 2, SHD_F32);
        }
        for (int64_t r = 0; r < box.extent[0]; r++)
            for (int64_t c = 0; c < box.extent[1]; c++) {
                int64_t row = box.dest_offset[0] + r, column = box.dest_offset[1] + c;
                int64_t got = (from[0] + box.source_offset[0] + r) * COLUMNS + from[1] +
                              box.source_offset[1] + c;

                right &= row < local[0] && column < local[1] && !seen[row * COLUMNS + column] &&
                         got == wanted(dim, by, to[0] + row, to[1] + column);
                seen[row * COLUMNS + column] = true;
                nseen++;
            }
    }
    return right && nseen == local[0] * local[1];
}

/* Run a step on all devices; *moved gets the bytes that they move. */
static bool run(const struct shd_sharding *sharding, int dim, int64_t by,
                struct shd_reshard_step *step, uint64_t *moved)
{
    struct told devices[64] = {{0, 0}};
    int32_t ndevices = shd_mesh_size(sharding->mesh);
    bool right = shd_reshard_shift(step, sharding, shape, SHD_F32, dim, by, NULL) == SHD_OK;

    *moved = 0;
    for (int32_t p = 0; p < ndevices && right; p++)
        right = fetch(step, dim, by, p, devices);
    for (int32_t p = 0; p < ndevices && right; p++) {
        right = devices[p].received == shd_reshard_step_received(step, shape, SHD_F32, p) &&
                devices[p].sent == shd_reshard_step_sent(step, shape, SHD_F32, p);
        *moved += devices[p].received;
    }
    return right && *moved == step->received_bytes;
}

/* Mesh a=2, b=2, c=3: rows are sharded over b and c or fewer axes, columns over a or none. */
static void test_all(const struct shd_mesh *mesh)
{
    static const struct shd_dim_axes rows[] = {{0}, {1, {1}}, {1, {2}}, {2, {1, 2}}, {2, {2, 1}}};
    struct shd_sharding s;
    struct shd_reshard_step step;
    uint64_t moved;

    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (int columns = 0; columns < 2; columns++) {
            unsigned wrong = 0;

            shd_sharding_init(&s, mesh, 2);
            s.dims[0] = rows[r];
            if (columns)
                s.dims[1] = (struct shd_dim_axes){1, {0}};
            for (int dim = 0; dim < 2; dim++)
                for (int64_t by = -13; by <= 13; by++)
                    wrong += !run(&s, dim, by, &step, &moved);
            ok(wrong == 0, "layout %zu, columns %s: all shifts", r, columns ? "cut" : "whole");
        }
}

static void test_kinds(const struct shd_mesh *mesh)
{
    struct shd_sharding s;
    struct shd_reshard_step step;
    struct shd_error err;
    uint64_t moved;

    shd_sharding_init(&s, mesh, 2);
    s.dims[0] = (struct shd_dim_axes){2, {1, 2}};
    ok(run(&s, 0, 2, &step, &moved) && step.kind == SHD_RESHARD_PERMUTE &&
           moved == 12 * 2 * COLUMNS * 4,
       "whole shards: a permute; every device receives a shard");
    ok(run(&s, 0, 5, &step, &moved) && step.kind == SHD_RESHARD_EXCHANGE, "parts: an exchange");
    ok(run(&s, 0, 1, &step, &moved) && moved == 12 * 1 * COLUMNS * 4,
       "half a shard on: half of it is received");
    ok(run(&s, 0, 12, &step, &moved) && step.kind == SHD_RESHARD_SLICE && moved == 0,
       "once around: nothing");
    ok(run(&s, 1, 3, &step, &moved) && step.kind == SHD_RESHARD_SLICE && moved == 0,
       "along what is whole: local");
    s.partial = 1;
    s.partial_op = SHD_SUM;
    ok(run(&s, 0, 2, &step, &moved) && step.to.partial == 1, "parts of a sum stay parts");
    s.partial = s.partial_op = 0;
    ok(shd_reshard_shift(&step, &s, shape, SHD_F32, 2, 1, &err) == SHD_EINVAL, "refused: %s",
       err.text);
    s.dims[1] = (struct shd_dim_axes){1, {2}};
    s.dims[0].naxes = 0;
    ok(shd_reshard_shift(&step, &s, shape, SHD_F32, 0, 1, &err) == SHD_EINDIVISIBLE, "refused: %s",
       err.text);
}

int main(void)
{
    static const struct test_axis axes[] = {{"a", 2}, {"b", 2}, {"c", 3}, {NULL, 0}};
    struct shd_mesh *mesh = mesh_of(axes);

    plan(0);
    test_all(mesh);
    test_kinds(mesh);
    shd_mesh_destroy(mesh);
    return done();
}

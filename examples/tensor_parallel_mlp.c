/* tensor_parallel_mlp - a multilayer perceptron over four virtual devices, by hand.
 *
 *     y = relu(x * up) * down
 *
 *     x: [TOKENS][MODEL], up: [MODEL][HIDDEN], down: [HIDDEN][MODEL], y: [TOKENS][MODEL]
 *
 * Each device holds a block of columns of `up` and the rows of `down` that belong to them.  The
 * hidden layer then needs no communication, and one all-reduce adds up the partial results.  It
 * prints how far that is from the same computation on one device, and what was moved.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <inttypes.h>
#include <math.h>
#include <shd/run.h>
#include <stdio.h>
#include <stdlib.h>

enum { TOKENS = 16, MODEL = 32, HIDDEN = 64, DEVICES = 4 };
enum { COLUMNS = HIDDEN / DEVICES };

/* Any fixed numbers will do. */
static float number(int which, int row, int column)
{
    return (float)((which * 131 + row * 29 + column * 17) % 23 - 11) / 16.0F;
}

/* c[rows][columns] = a[rows][inner] * b[inner][columns] */
static void multiply(const float *a, const float *b, float *c, int rows, int inner, int columns)
{
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < columns; j++) {
            float sum = 0;

            for (int k = 0; k < inner; k++)
                sum += a[i * inner + k] * b[k * columns + j];
            c[i * columns + j] = sum;
        }
    }
}

static void relu(float *x, int count)
{
    for (int i = 0; i < count; i++)
        x[i] = x[i] > 0 ? x[i] : 0;
}

/* The share of one device: hidden units first..first+nunits-1. */
static void fill(float *x, float *up, float *down, int first, int nunits)
{
    for (int i = 0; i < TOKENS * MODEL; i++)
        x[i] = number(0, i / MODEL, i % MODEL);
    for (int i = 0; i < MODEL * nunits; i++)
        up[i] = number(1, i / nunits, first + i % nunits);
    for (int i = 0; i < nunits * MODEL; i++)
        down[i] = number(2, first + i / MODEL, i % MODEL);
}

static int get_floats(struct shd_device *dev, int count, const char *label, float **out,
                      struct shd_error *err)
{
    void *memory;
    int status = shd_device_alloc(dev, (uint64_t)count * sizeof(float), label, &memory, err);

    if (status == SHD_OK)
        *out = memory;
    return status;
}

/* What every device runs; arg: y of device 0, for the comparison. */
static int device_main(struct shd_device *dev, void *arg, struct shd_error *err)
{
    float *result = arg;
    float *x, *up, *down, *hidden, *y;
    int status = get_floats(dev, TOKENS * MODEL, "x", &x, err);

    if (status == SHD_OK)
        status = get_floats(dev, MODEL * COLUMNS, "up", &up, err);
    if (status == SHD_OK)
        status = get_floats(dev, COLUMNS * MODEL, "down", &down, err);
    if (status == SHD_OK)
        status = get_floats(dev, TOKENS * COLUMNS, "hidden", &hidden, err);
    if (status == SHD_OK)
        status = get_floats(dev, TOKENS * MODEL, "y", &y, err);
    if (status != SHD_OK)
        return status;

    fill(x, up, down, shd_device_coord(dev, "tp") * COLUMNS, COLUMNS);
    multiply(x, up, hidden, TOKENS, MODEL, COLUMNS);
    relu(hidden, TOKENS * COLUMNS);
    multiply(hidden, down, y, TOKENS, COLUMNS, MODEL);
    status = shd_device_all_reduce(dev, "tp", y, y, TOKENS * MODEL, SHD_F32, SHD_SUM, err);
    for (int i = 0; i < TOKENS * MODEL && shd_device_position(dev) == 0; i++)
        result[i] = y[i];
    return status;
}

static void unsharded(float *y)
{
    static float x[TOKENS * MODEL], up[MODEL * HIDDEN], down[HIDDEN * MODEL];
    static float hidden[TOKENS * HIDDEN];

    fill(x, up, down, 0, HIDDEN);
    multiply(x, up, hidden, TOKENS, MODEL, HIDDEN);
    relu(hidden, TOKENS * HIDDEN);
    multiply(hidden, down, y, TOKENS, HIDDEN, MODEL);
}

static float relative_difference(const float *got, const float *want)
{
    float difference = 0;
    float largest = 0;

    for (int i = 0; i < TOKENS * MODEL; i++) {
        difference = fmaxf(difference, fabsf(got[i] - want[i]));
        largest = fmaxf(largest, fabsf(want[i]));
    }
    return difference / largest;
}

int main(void)
{
    static float got[TOKENS * MODEL], want[TOKENS * MODEL];
    const char *names[] = {"tp"};
    const int32_t sizes[] = {DEVICES};
    struct shd_mesh *mesh;
    struct shd_run_stats stats;
    struct shd_error err;
    float difference;

    if (shd_mesh_create(&mesh, names, sizes, 1, &err) != SHD_OK) {
        fprintf(stderr, "tensor_parallel_mlp: %s\n", err.text);
        return 2;
    }
    if (shd_run(mesh, device_main, got, NULL, &stats, &err) != SHD_OK) {
        fprintf(stderr, "tensor_parallel_mlp: %s\n", err.text);
        return 1;
    }
    unsharded(want);
    difference = relative_difference(got, want);
    printf("%d devices: max |a-b| / max |b| = %.1e, received %" PRIu64 " bytes, peak %" PRIu64
           " bytes a device\n",
           DEVICES, (double)difference, stats.received_bytes[0], stats.peak_bytes[0]);
    shd_run_stats_fini(&stats);
    shd_mesh_destroy(mesh);
    return difference < 1e-5F ? 0 : 1;
}

/* Tests shd/topology.h: devices, chips and hosts of TPUs and other clusters.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/topology.h>

#include <string.h>

#include "../support/tap.h"

static int same(const int64_t *a, size_t na, const int64_t *b, size_t nb)
{
    return na == nb && !memcmp(a, b, na * sizeof *a);
}

static void test_device(void)
{
    const struct shd_topology_device chip = {
        .has_coords = true, .ncoords = 3, .coords = {3, 3, 0}, .core = 1};
    const struct shd_topology_device flat = {
        .has_coords = true, .ncoords = 2, .coords = {2, 3}, .core = 1};
    const struct shd_topology_device gpu = {.process = 1, .id = 9};
    const struct shd_topology_device negative = {.process = 1, .id = -3};
    const struct shd_topology_device far = {
        .has_coords = true, .ncoords = 3, .coords = {0, INT64_MAX, 0}};
    int64_t out[SHD_DEVICE_COORDS_MAX + 1];
    size_t n;

    ok(shd_device_bounds(out, &n, &chip, 1, 8, NULL) == SHD_OK &&
           same(out, n, (const int64_t[]){4, 4, 1, 2}, 4),
       "bounds: a chip at (3,3,0), core 1");
    ok(shd_device_bounds(out, &n, &gpu, 1, 8, NULL) == SHD_OK &&
           same(out, n, (const int64_t[]){1, 8}, 2),
       "bounds: one process of 8");
    ok(shd_device_bounds(out, &n, &flat, 2, 4, NULL) == SHD_OK &&
           same(out, n, (const int64_t[]){2, 4}, 2),
       "bounds: two coordinates are treated like none");
    ok(shd_device_bounds(out, &n, &far, 1, 1, NULL) == SHD_ERANGE, "bounds: too far");
    ok(shd_device_coords(out, &n, &chip, 0, NULL) == SHD_OK &&
           same(out, n, (const int64_t[]){3, 3, 0, 1}, 4),
       "coords: of a chip");
    ok(shd_device_coords(out, &n, &flat, 8, NULL) == SHD_OK &&
           same(out, n, (const int64_t[]){2, 3, 1}, 3),
       "coords: of any number");
    ok(shd_device_coords(out, &n, &gpu, 8, NULL) == SHD_OK &&
           same(out, n, (const int64_t[]){1, 1}, 2),
       "coords: process 1, id 9 of 8 a process");
    ok(shd_device_coords(out, &n, &negative, 8, NULL) == SHD_OK &&
           same(out, n, (const int64_t[]){1, 5}, 2),
       "coords: a negative id");
    ok(shd_device_coords(out, &n, &gpu, 0, NULL) == SHD_EINVAL, "coords: a process of none");
}

static void test_chips(void)
{
    const int64_t bounds[] = {4, 4, 2, 2}, host[] = {2, 2, 1, 2};
    struct shd_topology t;
    struct shd_topology_device d;

    ok(shd_topology_init_chips(&t, "TPU v4", bounds, host, NULL) == SHD_OK && t.ndevices == 64 &&
           t.nprocesses == 8 && t.nlocal == 8,
       "chips: counted");
    shd_topology_device(&t, 2 * 3 + 8 * 2 + 32 * 1 + 1, &d);
    ok(d.coords[0] == 3 && d.coords[1] == 2 && d.coords[2] == 1 && d.core == 1 && d.slice == -1,
       "chips: ids go through cores, x, y, z");
    ok(d.process == 1 + 2 * (1 + 2 * 1), "chips: processes go through hosts likewise");
}

static void test_hosts(void)
{
    struct shd_topology t;
    struct shd_topology_device d;

    ok(shd_topology_init_hosts(&t, "gpu", 4, 8, 2, NULL) == SHD_OK && t.ndevices == 32, "hosts");
    shd_topology_device(&t, 19, &d);
    ok(d.process == 2 && d.slice == 1 && !d.has_coords, "hosts: device 19 of 8 a process");
    ok(shd_topology_process(&t, 31) == 3, "hosts: the last process");
}

static void test_bad(void)
{
    const int64_t four[] = {4, 4, 4, 1}, three[] = {3, 1, 1, 1}, zero[] = {4, 0, 1, 1};
    const int64_t big[] = {65536, 65536, 1, 1}, ones[] = {1, 1, 1, 1};
    char name[100];
    struct shd_topology t;

    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    ok(shd_topology_init_chips(&t, "", four, three, NULL) == SHD_EINDIVISIBLE, "hosts do not fit");
    ok(shd_topology_init_chips(&t, "", zero, ones, NULL) == SHD_EINVAL, "no chips along y");
    ok(shd_topology_init_chips(&t, "", four, zero, NULL) == SHD_EINVAL, "hosts of no chips");
    ok(shd_topology_init_chips(&t, "", big, ones, NULL) == SHD_ERANGE, "too many chips");
    ok(shd_topology_init_chips(&t, name, four, ones, NULL) == SHD_EINVAL, "a name too long");
    ok(shd_topology_init_hosts(&t, "cpu", 0, 1, 0, NULL) == SHD_EINVAL, "no processes");
    ok(shd_topology_init_hosts(&t, "cpu", 1, -1, 0, NULL) == SHD_EINVAL, "negative devices");
    ok(shd_topology_init_hosts(&t, "cpu", 4, 1, 3, NULL) == SHD_EINVAL, "4 processes, 3 slices");
    ok(shd_topology_init_hosts(&t, "cpu", 2, 1, 4, NULL) == SHD_EINVAL, "2 processes, 4 slices");
    ok(shd_topology_init_hosts(&t, "cpu", 2, 1, -1, NULL) == SHD_EINVAL, "negative slices");
}

int main(void)
{
    plan(0);
    test_device();
    test_chips();
    test_hosts();
    test_bad();
    return done();
}

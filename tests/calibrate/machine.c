/* Tests fits of a machine's constants: fits of made-up measurements recover the constants, and the
 * constants determine a kernel's time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/least_squares.h"
#include "hardware/hardware.h"
#include "../support/tap.h"

static bool near(double got, double want)
{
    return fabs(got - want) <= 1e-6 * fabs(want);
}

static void test_least_squares(void)
{
    static const double k[] = {16, 64, 100, 512};
    struct fit_row rows[4];
    double x[3];

    for (int i = 0; i < 4; i++) { /* 2 + 30 / k seconds */
        double seconds = 2 + 30 / k[i];

        rows[i] = (struct fit_row){{1 / seconds, 1 / k[i] / seconds}};
    }
    fit_least_squares(x, 2, rows, 4);
    ok(near(x[0], 2) && near(x[1], 30), "two unknowns are found");
    for (int i = 0; i < 4; i++) { /* 2 + 30 / k + 5 k seconds */
        double seconds = 2 + 30 / k[i] + 5 * k[i];

        rows[i] = (struct fit_row){{1 / seconds, 1 / k[i] / seconds, k[i] / seconds}};
    }
    fit_least_squares(x, 3, rows, 4);
    ok(near(x[0], 2) && near(x[1], 30) && near(x[2], 5), "three unknowns are found");
    for (int i = 0; i < 4; i++) { /* 2 - 1 / k seconds: the second constant may not be negative */
        double seconds = 2 - 1 / k[i];

        rows[i] = (struct fit_row){{1 / seconds, 1 / k[i] / seconds}};
    }
    fit_least_squares(x, 2, rows, 4);
    ok(x[0] > 1.9 && x[0] < 2 && x[1] == 0, "none is below 0");
    fit_least_squares(x, 2, rows, 0);
    ok(x[0] == 0 && x[1] == 0, "without rows all constants are 0");
}

/* Ten kernels, half of them bound by bytes and half by operations. */
static void test_rates(void)
{
    struct fit_kernel kernels[10];

    for (int i = 0; i < 10; i++) {
        kernels[i] = (struct fit_kernel){.bytes = 1e6 * (i + 1), .flops = i % 2 ? 1e8 : 1e3};
        kernels[i].seconds = fmax(kernels[i].bytes / 2e10, kernels[i].flops / 3e9);
    }
    ok(near(fit_bytes_per_s(kernels, 10, 3e9), 2e10), "the rate of bytes");
    ok(near(fit_flops_per_s(kernels, 10, 2e10), 3e9), "the rate of operations");
    ok(fit_bytes_per_s(kernels, 10, 1e9) > 1e14,
       "operations that are told too slow leave no time for bytes");
}

static const char plain[] = "version: 1\n"
                            "name: made-up\n"
                            "source: none\n"
                            "rates: {float32: 100GFLOP/s}\n"
                            "memory: {size: 1GiB, rate: 10GB/s}\n"
                            "kernels: {launch: 1us, matmul_efficiency: 1, memory_efficiency: 0.5,\n"
                            "  attention_efficiency: 0.5, attention_backward_efficiency: 0.25}\n"
                            "tiers: [{name: links, rate: 1GB/s, latency: 1us, step: 0ns}]\n";
static const char full[] = "version: 1\n"
                           "name: made-up\n"
                           "source: none\n"
                           "rates: {float32: 100GFLOP/s}\n"
                           "elementwise: {float32: 1GFLOP/s}\n"
                           "memory: {size: 1GiB, rate: 10GB/s, cache: 1MB, cache_rate: 40GB/s}\n"
                           "kernels: {launch: 1us, matmul_efficiency: 1, memory_efficiency: 0.5,\n"
                           "  attention_efficiency: 0.5, attention_backward_efficiency: 0.25,\n"
                           "  attention_half_head: 64, attention_half_keys: 100}\n"
                           "tiers: [{name: links, rate: 1GB/s, latency: 1us, step: 0ns}]\n";

static struct hardware *parse(const char *text)
{
    struct diag diagnosis = DIAG_INIT;
    struct hardware *hardware = NULL;

    if (hardware_parse(&hardware, "made-up", text, strlen(text), &diagnosis) != SHD_OK) {
        diag_write(&diagnosis, stderr);
        exit(99);
    }
    diag_fini(&diagnosis);
    return hardware;
}

static void test_kernels(void)
{
    struct hardware *a = parse(plain), *b = parse(full);
    struct hardware_work small = {HARDWARE_MEMORY, SHD_F32, .flops = 1000, .bytes = 1e6};
    struct hardware_work large = {HARDWARE_MEMORY, SHD_F32, .flops = 1000, .bytes = 2e6};
    struct hardware_work dense = {HARDWARE_MEMORY, SHD_F32, .flops = 1e6, .bytes = 1e6};
    struct hardware_work scores = {HARDWARE_ATTENTION, SHD_F32,   .m = 50, .n = 50, .k = 64,
                                   .flops = 1e9,       .bytes = 1};

    ok(near(hardware_kernel_seconds(a, &small), 1e6 / 5e9), "bytes come from memory ...");
    ok(near(hardware_kernel_seconds(b, &small), 1e6 / 40e9), "... or of a cache if they fit");
    ok(near(hardware_kernel_seconds(b, &large), 2e6 / 5e9),
       "bytes beyond the cache's size come from memory");
    ok(near(hardware_kernel_seconds(a, &dense), 1e6 / 5e9), "elementwise work is its bytes ...");
    ok(near(hardware_kernel_seconds(b, &dense), 1e-3), "... or its operations, where told");
    ok(near(hardware_kernel_seconds(a, &scores), 1e9 / 50e9), "attention at its efficiency ...");
    ok(near(hardware_kernel_seconds(b, &scores), 2 * 3 * 1e9 / 50e9),
       "... of which short heads and few keys leave a part");
    scores.kind = HARDWARE_ATTENTION_BACKWARD;
    ok(near(hardware_kernel_seconds(b, &scores), 2 * 3 * 1e9 / 25e9), "backward likewise");
    hardware_destroy(a);
    hardware_destroy(b);
}

int main(void)
{
    test_least_squares();
    test_rates();
    test_kernels();
    return done();
}

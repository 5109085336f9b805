/* Tests the files of hardware/hardware.h: shipped files are read, and faults are reported.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "hardware/hardware.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hardware/constant.h"
#include "hardware/reshard.h"
#include "hardware/shipped.h"
#include "../support/tap.h"

#define HEAD "version: 1\nname: n\nsource: s\n"
#define RATES "rates: {bfloat16: 100TFLOP/s}\n"
#define MEMORY "memory: {size: 16GiB, rate: 1TB/s}\n"
#define KERNELS                                                             \
    "kernels: {launch: 4us, matmul_efficiency: 0.5, memory_efficiency: 1, " \
    "attention_efficiency: 0.5, attention_backward_efficiency: 0.5}\n"
#define TIERS "tiers: [{name: l, rate: 1GB/s, latency: 1us, step: 0}]\n"
#define TIER(more) "tiers: [{name: l, rate: 1GB/s, latency: 1us, step: 0, " more "}]\n"

/* One fault per row; the message from its line and column on. */
static const struct {
    const char *what, *text, *message;
} faults[] = {
    {"a list", "[]", "1:1: error: the file is a list; expected a map"},
    {"version 2", "version: 2\nname: n\nsource: s\n" RATES MEMORY KERNELS TIERS,
     "1:10: error: version is '2'; expected 1"},
    {"no version", "name: n\nsource: s\n" RATES MEMORY KERNELS TIERS,
     "1:1: error: the file has no 'version': of this format: 1"},
    {"no tiers", HEAD RATES MEMORY KERNELS, "1:1: error: the file has no 'tiers'"},
    {"an unknown key", HEAD RATES MEMORY KERNELS TIERS "tier: []\n",
     "8:1: error: the file has no key 'tier'; did you mean 'tiers'?"},
    {"an unknown constant", HEAD RATES MEMORY KERNELS TIER("latencies: 1us"),
     "7:55: error: a tier has no key 'latencies'; did you mean 'latency'?"},
    {"no name", "version: 1\nname:\nsource: s\n" RATES MEMORY KERNELS TIERS,
     "name of the file is null; expected a text"},
    {"an unknown type", HEAD "rates: {bfloat: 1TFLOP/s}\n" MEMORY KERNELS TIERS,
     "4:9: error: 'bfloat' is not a valid type; expected for example bfloat16"},
    {"a rate without a unit", HEAD "rates: {bfloat16: 100}\n" MEMORY KERNELS TIERS,
     "4:19: error: rate of bfloat16 is '100'; expected a rate above 0, for example 312TFLOP/s"},
    {"a rate of nothing", HEAD "rates: {bfloat16: 0TFLOP/s}\n" MEMORY KERNELS TIERS,
     "rate of bfloat16 is '0TFLOP/s'"},
    {"no rate at all", HEAD "rates: {}\n" MEMORY KERNELS TIERS,
     "4:8: error: rates is a map; expected a map of types to rates, at least one"},
    {"rates of words alone", HEAD "rates: {source: x}\n" MEMORY KERNELS TIERS,
     "4:8: error: rates is a map; expected a map of types to rates, at least one"},
    {"memory without size", HEAD RATES "memory: {rate: 1TB/s}\n" KERNELS TIERS,
     "5:9: error: memory has no 'size': of a device"},
    {"memory of nothing", HEAD RATES "memory: {size: 0B, rate: 1TB/s}\n" KERNELS TIERS,
     "5:16: error: size of memory is '0B'; expected a size above 0, for example 80GiB"},
    {"memory that is no map", HEAD RATES "memory: 16GiB\n" KERNELS TIERS,
     "5:9: error: memory is '16GiB'; expected a map"},
    {"a host of no devices",
     HEAD RATES MEMORY KERNELS TIERS
     "host: {memory: 1GiB, devices: 0, to_host: 1GB/s, from_host: 1GB/s, memory_rate: 1GB/s, "
     "flops: 1TFLOP/s}\n",
     "8:31: error: devices of host is 0; expected those of a node, at least 1"},
    {"a host without links", HEAD RATES MEMORY KERNELS TIERS "host: {memory: 1GiB, devices: 8}\n",
     "8:7: error: host has no 'to_host': device-to-host copies"},
    {"an efficiency of 0",
     HEAD RATES MEMORY "kernels: {launch: 4us, matmul_efficiency: 0, memory_efficiency: 1, "
                       "attention_efficiency: 1, attention_backward_efficiency: 1}\n" TIERS,
     "6:43: error: matmul_efficiency of kernels is '0'; expected a number above 0 and at most 1"},
    {"an efficiency above 1", HEAD RATES MEMORY KERNELS TIER("efficiency: 1.01"),
     "7:67: error: efficiency of a tier is '1.01'; expected a number above 0 and at most 1"},
    {"a rate below 0",
     HEAD RATES MEMORY KERNELS "tiers: [{name: l, rate: -1GB/s, latency: 1us, "
                               "step: 0}]\n",
     "7:25: error: rate of a tier is '-1GB/s'; expected a rate above 0, for example 300GB/s"},
    {"a time of no unit",
     HEAD RATES MEMORY KERNELS "tiers: [{name: l, rate: 1GB/s, latency: 5, step: 0}]\n",
     "7:41: error: latency of a tier is '5'; expected a time, for example 4us"},
    {"oversubscription below 1", HEAD RATES MEMORY KERNELS TIER("oversubscription: 0.5"),
     "oversubscription of a tier is '0.5'; expected a number of at least 1"},
    {"a count that is a fraction", HEAD RATES MEMORY KERNELS TIER("devices: 1.5"),
     "devices of a tier is '1.5'; expected a whole number"},
    {"no tier", HEAD RATES MEMORY KERNELS "tiers: []\n",
     "7:8: error: tiers has 0 entries; expected 1 to 4"},
    {"five tiers", HEAD RATES MEMORY KERNELS "tiers: [1, 2, 3, 4, 5]\n",
     "7:8: error: tiers has 5 entries; expected 1 to 4"},
    {"a last tier that ends", HEAD RATES MEMORY KERNELS TIER("devices: 8"),
     "7:64: error: devices of the last tier is 8; expected 0 (all devices)"},
    {"a first tier of all",
     HEAD RATES MEMORY KERNELS "tiers: [{name: a, rate: 1GB/s, latency: 1us, step: 0}, "
                               "{name: b, rate: 1GB/s, latency: 1us, step: 0}]\n",
     "7:9: error: devices of a is 0 (all devices); expected 0 in the last tier only"},
    {"tiers that do not nest",
     HEAD RATES MEMORY KERNELS "tiers: [{name: a, devices: 8, rate: 1GB/s, latency: 1us, step: 0}, "
                               "{name: b, devices: 12, rate: 1GB/s, latency: 1us, step: 0}, "
                               "{name: c, rate: 1GB/s, latency: 1us, step: 0}]\n",
     "7:87: error: devices is 12; expected a multiple of the 8 of the tier before"},
    {"a torus of four axes", HEAD RATES MEMORY KERNELS TIER("torus: [2, 2, 2, 2]"),
     "7:62: error: torus has 4 entries; expected 1 to 3"},
    {"a torus of length 0", HEAD RATES MEMORY KERNELS TIER("torus: [2, 0]"),
     "7:66: error: length of a torus is '0'; expected a whole number from 1 to 4096"},
    {"a torus with devices", HEAD RATES MEMORY KERNELS TIER("torus: [2, 2], devices: 4"),
     "devices of a torus is the product of its axes"},
    {"a torus further out",
     HEAD RATES MEMORY KERNELS "tiers: [{name: a, devices: 2, rate: 1GB/s, latency: 1us, step: 0}, "
                               "{name: b, torus: [2, 2], rate: 1GB/s, latency: 1us, step: 0}]\n",
     "tier 2 is a torus; expected only the first to be one"},
    {"software that is a number",
     HEAD RATES MEMORY KERNELS TIERS "software: {overlaps_gradients: 1}\n",
     "8:32: error: overlaps_gradients of software is '1'; expected true or false"},
    {"software of no such name", HEAD RATES MEMORY KERNELS TIERS "software: megatorn\n",
     "8:11: error: software is 'megatorn'; expected one of megatron, megatron-2021, fsdp1, fsdp2, "
     "jax, vllm, sglang, trtllm, shardsim, or a map; did you mean 'megatron'?"},
    {"software whose name is a list", HEAD RATES MEMORY KERNELS TIERS "software: {name: [jax]}\n",
     "8:18: error: software is a list; expected one of megatron"},
    {"software and a key that is none",
     HEAD RATES MEMORY KERNELS TIERS "software: {name: jax, overlap: true}\n",
     "8:23: error: software has no key 'overlap'"},
    {"fitted: no constant", HEAD RATES MEMORY KERNELS TIERS "fitted: [kernels.speed]\n",
     "8:10: error: fitted is 'kernels.speed'; expected the path of a constant"},
    {"fitted: no such tier", HEAD RATES MEMORY KERNELS TIERS "fitted: [tiers.1.step]\n",
     "8:10: error: fitted is 'tiers.1.step'"},
    {"a validation without rows",
     HEAD RATES MEMORY KERNELS TIERS
     "validation: [{set: x, mape: 0.1, cross_validated_mape: 0.1, parameters_least: 1, "
     "parameters_most: 2, devices_least: 1, devices_most: 2}]\n",
     "8:14: error: a validation has no 'rows'"},
};

static bool refuses(const char *text, const char *message)
{
    struct diag errors = DIAG_INIT;
    struct text said = TEXT_INIT;
    struct hardware *hardware = NULL;
    int status = hardware_parse(&hardware, "f", text, strlen(text), &errors);
    bool as_expected;

    diag_print(&errors, &said);
    as_expected = status == SHD_EINVAL && !hardware && strstr(text_get(&said), message);
    if (!as_expected)
        diag("%s: %s", message, text_get(&said));
    hardware_destroy(hardware);
    text_fini(&said);
    diag_fini(&errors);
    return as_expected;
}

static void test_faults(void)
{
    struct diag errors = DIAG_INIT;
    struct hardware *hardware = NULL;
    static const char many[] = "version: 1\nname: n\nsource: s\nrates: {f: 1TFLOP/s}\n"
                               "memory: {size: 1, rate: x}\nkernels: {}\ntiers: [{}]\n";

    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        ok(refuses(faults[i].text, faults[i].message), "refused: %s", faults[i].what);
    ok(hardware_parse(&hardware, "f", many, strlen(many), &errors) == SHD_EINVAL && !hardware,
       "refused: many faults");
    ok(errors.nerrors == 11, "one message per fault: %zu",
       errors.nerrors); /* 1 type, 1 rate, 5 constants, 4 numbers of the tier */
    diag_fini(&errors);
}

static void test_shipped(void)
{
    size_t n = 0;

    for (const struct shipped_file *file = shipped_files; file->name; file++, n++) {
        struct diag errors = DIAG_INIT;
        struct text said = TEXT_INIT;
        struct hardware *hardware = NULL;
        int status = hardware_find(&hardware, file->name, NULL, (struct place){0}, &errors);

        diag_print(&errors, &said);
        ok(status == SHD_OK && !strcmp(hardware->name, file->name) &&
               hardware->flops_per_s[SHD_BF16] > 0 && hardware->ntiers >= 1 && *hardware->source,
           "shipped: %s %s", file->name, text_get(&said));
        hardware_destroy(hardware);
        text_fini(&said);
        diag_fini(&errors);
    }
    ok(n >= 18, "shipped: every file is read");
}

static void test_find(void)
{
    struct diag errors = DIAG_INIT;
    struct text said = TEXT_INIT;
    struct hardware *hardware = NULL;

    ok(hardware_find(&hardware, "tpu-v5", NULL, (struct place){"s", 2, 3}, &errors) == SHD_EINVAL,
       "find: no such name");
    ok(hardware_find(&hardware, "./none.yaml", "x/y", (struct place){"s", 4, 5}, &errors) ==
           SHD_EINVAL,
       "find: no such file");
    diag_print(&errors, &said);
    ok(strstr(text_get(&said), "s:2:3: error: no hardware 'tpu-v5'; expected the path of") != NULL,
       "find: what was meant");
    ok(strstr(text_get(&said), "hardware'; did you mean 'tpu-v5e'?") != NULL, "find: the nearest");
    ok(strstr(text_get(&said), "s:4:5: error: hardware x/./none.yaml: ") != NULL,
       "find: a path is relative to the file with the path");
    text_fini(&said);
    diag_fini(&errors);
}

static void test_values(void)
{
    static const char text[] =
        HEAD "rates: {bfloat16: 100TFLOP/s, float32: 50TFLOP/s}\n"
             "memory: {size: 16GiB, rate: 1TB/s, reserved: 1GiB, fragmentation: 0.1}\n" KERNELS
             "tiers: [{name: l, devices: 4, rate: 8GB/s, latency: 1.5us, step: 20ns, source: x}, "
             "{name: m, rate: 1GB/s, latency: 2us, step: 0, oversubscription: 2}]\n"
             "software: {overlaps_gradients: true}\nfitted: [tiers.0.step, kernels.launch]\n"
             "validation: [{set: v, rows: 3, mape: 0.05, cross_validated_mape: 0.06, "
             "parameters_least: 1e9, parameters_most: 2e9, devices_least: 8, devices_most: 64}]\n";
    struct diag errors = DIAG_INIT;
    struct hardware *h = NULL;

    if (!ok(hardware_parse(&h, "f", text, strlen(text), &errors) == SHD_OK, "values: read")) {
        diag_write(&errors, stdout);
        return;
    }
    ok(h->memory_bytes == 17179869184.0 && h->memory_bytes_per_s == 1e12 &&
           h->reserved_bytes == 1073741824.0 && h->fragmentation == 0.1,
       "values: memory");
    ok(h->ntiers == 2 && h->tiers[0].devices == 4 && h->tiers[1].devices == 0 &&
           h->tiers[0].bytes_per_s == 8e9 && h->tiers[1].oversubscription == 2 &&
           h->tiers[0].efficiency == 1,
       "values: tiers");
    ok(fabs(h->tiers[0].latency_s - 1.5e-6) < 1e-12, "values: a time");
    ok(h->software.overlaps_gradients && !h->software.recomputes_layers, "values: software");
    ok(hardware_is_fitted(h, "tiers.0.step") && !hardware_is_fitted(h, "tiers.1.step"),
       "values: fitted");
    ok(h->nvalidations == 1 && h->validations[0].rows == 3 &&
           h->validations[0].parameters_most == 2e9,
       "values: validation");
    ok(hardware_flops_per_s(h, SHD_F32) == 50e12, "rates: its own");
    ok(hardware_flops_per_s(h, SHD_F16) == 100e12, "rates: half by the other half type");
    ok(hardware_flops_per_s(h, SHD_I8) == 100e12, "rates: a byte by the next wider");
    ok(hardware_flops_per_s(h, SHD_F64) == 50e12, "rates: double by the widest there is");
    hardware_destroy(h);
    diag_fini(&errors);
}

/* Software by name does the same on every cluster, and a file or --set says what is different. */
static void test_software(void)
{
    static const char text[] =
        HEAD RATES MEMORY KERNELS TIERS "software: {name: megatron, overlaps_sends: false}\n";
    struct diag errors = DIAG_INIT;
    struct hardware *h = NULL;

    if (!ok(hardware_parse(&h, "f", text, strlen(text), &errors) == SHD_OK, "software: read"))
        return;
    ok(!strcmp(h->software.name, "megatron") && h->software.overlaps_products &&
           !h->software.overlaps_sends,
       "software: the named cluster, overridden by the file");
    ok(!hardware_halves_gradients(&h->software, false) &&
           hardware_halves_gradients(&h->software, true),
       "software: megatron halves gradients with FP8 matmuls");
    ok(hardware_run_software(h, "megatron") && !h->software.overlaps_sends && !h->other_software,
       "software: the file's own name wins");
    ok(hardware_run_software(h, "fsdp2") && h->software.fsdp && !h->software.overlaps_products &&
           h->other_software,
       "software: another name is another software");
    ok(!hardware_run_software(h, "megatorn"), "software: no such name");
    hardware_set(h, "software.name=jax, software.bucket=1MiB", (struct place){0}, &errors);
    ok(errors.nerrors == 0 && h->software.sequence_parallel && h->software.bucket_bytes == 1 << 20,
       "software: set by name, then a key of it");
    hardware_set(h, "software.name=jaxx", (struct place){0}, &errors);
    hardware_set(h, "software.bucket=x", (struct place){0}, &errors);
    hardware_set(h, "software.source=x", (struct place){0}, &errors);
    ok(errors.nerrors == 3, "software: what is set wrong is refused");
    hardware_destroy(h);
    diag_fini(&errors);
}

/* A host that four devices share: a copy has a device's own link, a kernel a share of the rest. */
static void test_host(void)
{
    static const char text[] = HEAD RATES MEMORY KERNELS TIERS
        "host: {memory: 64GiB, devices: 4, to_host: 10GB/s, from_host: 20GB/s, latency: 5us, "
        "memory_rate: 100GB/s, memory_efficiency: 0.5, flops: 1TFLOP/s}\n";
    const struct hardware_work moves = {.kind = HARDWARE_MEMORY, .bytes = 1e9, .flops = 1},
                               computes = {.kind = HARDWARE_MEMORY, .bytes = 1, .flops = 1e12};
    struct diag errors = DIAG_INIT;
    struct hardware *h = NULL;
    struct hardware_constant constant;

    if (!ok(hardware_parse(&h, "f", text, strlen(text), &errors) == SHD_OK, "host: read"))
        return;
    ok(h->host.memory_bytes == 68719476736.0 && h->host.devices == 4 &&
           hardware_host_check(h, NULL) == SHD_OK,
       "host: memory, devices");
    ok(fabs(hardware_host_copy_seconds(h, true, 1e9) - 0.100005) < 1e-9 &&
           fabs(hardware_host_copy_seconds(h, false, 1e9) - 0.050005) < 1e-9,
       "host: a copy in each direction");
    ok(fabs(hardware_host_kernel_seconds(h, &moves, 8) - 4 * 0.02) < 1e-9 &&
           fabs(hardware_host_kernel_seconds(h, &moves, 2) - 2 * 0.02) < 1e-9,
       "host: its memory is shared by the devices of a node");
    ok(fabs(hardware_host_kernel_seconds(h, &computes, 1) - 1) < 1e-9, "host: its cores");
    ok(hardware_constant_find(&constant, h, "host.to_host"), "host: its numbers have paths");
    h->host.memory_bytes = 0;
    ok(hardware_host_check(h, NULL) == SHD_EINVAL &&
           !hardware_constant_find(&constant, h, "host.to_host"),
       "host: nothing known");
    hardware_destroy(h);
    diag_fini(&errors);
}

/* Each device holds a part, and the first device gathers: parts of its eight come over their
 * links, other parts over the links of the outer tier, whatever the number of devices. */
static void test_between_meshes(void)
{
    static const char text[] = HEAD RATES MEMORY KERNELS
        "tiers: [{name: l, devices: 8, rate: 8GB/s, latency: 0s, step: 0s}, "
        "{name: m, rate: 500MB/s, latency: 0s, step: 0s}]\n";
    static const char *const name = "d";
    struct diag errors = DIAG_INIT;
    struct hardware *h = NULL;

    if (!ok(hardware_parse(&h, "f", text, strlen(text), &errors) == SHD_OK, "meshes: read"))
        return;
    for (int32_t k = 0; k < 10; k++) {
        const int32_t n = 6 + k / 2;
        const int64_t shape[] = {n * 1000000};
        int32_t ids[10];
        const int32_t one = 1;
        struct shd_mesh *from = NULL, *to = NULL;
        struct shd_sharding held, wanted;
        struct shd_reshard_plan plan;
        double seconds = n > 8 ? (n - 8) * 1e6 / 5e8 : (n - 1) * 1e6 / 8e9;

        for (int32_t i = 0; i < n; i++)
            ids[i] = k % 2 ? i : n - 1 - i;
        if (shd_mesh_create_with_ids(&from, &name, &n, 1, ids, NULL) != SHD_OK ||
            shd_mesh_create(&to, &name, &one, 1, NULL) != SHD_OK)
            abort();
        shd_sharding_init(&held, from, 1);
        shd_sharding_init(&wanted, to, 1);
        held.dims[0] = (struct shd_dim_axes){1, {0}};
        ok(shd_reshard_build(&plan, &held, &wanted, shape, SHD_I8, NULL) == SHD_OK &&
               plan.nsteps == 1 &&
               fabs(hardware_reshard_seconds(h, &plan.steps[0], shape, SHD_I8) - seconds) < 1e-9,
           "meshes: parts on %d devices to the first, by the links of %s", (int)n,
           n > 8 ? "all" : "eight");
        shd_mesh_destroy(from);
        shd_mesh_destroy(to);
    }
    hardware_destroy(h);
    diag_fini(&errors);
}

int main(void)
{
    plan(0);
    test_faults();
    test_shipped();
    test_find();
    test_values();
    test_software();
    test_host();
    test_between_meshes();
    return done();
}

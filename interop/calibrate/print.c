/* print.c - print this machine as a hardware file (machine.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>

#include "base/yaml.h"
#include "calibrate/machine.h"

static void add_rate(struct text *out, const char *key, double per_s, const char *unit)
{
    text_addf(out, "%s: %.2fG%s/s\n", key, per_s * 1e-9, unit);
}

static void add_types(struct text *out, const char *section, const double *per_s)
{
    text_addf(out, "%s:\n", section);
    for (int t = 0; t < SHD_NDTYPES; t++)
        if (per_s[t] > 0)
            text_addf(out, "  %s: %.3fGFLOP/s\n", shd_dtype_name((enum shd_dtype)t),
                      per_s[t] * 1e-9);
}

static void add_memory(struct text *out, const struct hardware *h)
{
    text_addf(out,
              "memory:\n"
              "  size: %.0fMiB # a core's share of the machine\n",
              h->memory_bytes / 1048576);
    add_rate(out, "  rate", h->memory_bytes_per_s, "B");
    text_addf(out, "  cache: %.0fKiB\n", h->cache_bytes / 1024);
    add_rate(out, "  cache_rate", h->cache_bytes_per_s, "B");
}

static void add_kernels(struct text *out, const struct hardware *h)
{
    const struct hardware_kernels *k = &h->kernels;

    text_addf(out,
              "kernels:\n"
              "  launch: %.0fns\n"
              "  matmul_efficiency: %.3f # fraction of `rates`, the fastest kernel's rate\n"
              "  half_k: %.1f\n"
              "  memory_efficiency: %.3f\n"
              "  attention_efficiency: %.3f\n"
              "  attention_backward_efficiency: %.3f\n"
              "  attention_half_head: %.1f\n"
              "  attention_half_keys: %.1f\n",
              k->launch_s * 1e9, k->matmul_efficiency, k->half_k, k->memory_efficiency,
              k->attention_efficiency, k->attention_backward_efficiency, k->attention_half_head,
              k->attention_half_keys);
}

static void add_tier(struct text *out, const struct hardware_tier *tier)
{
    text_add(out, "tiers:\n"
                  "  - name: memory # devices communicate through shared memory\n");
    add_rate(out, "    rate", tier->bytes_per_s, "B");
    if (tier->copy_bytes_per_s > 0)
        add_rate(out, "    copy_rate", tier->copy_bytes_per_s, "B");
    text_addf(out, "    latency: %.0fns\n    step: %.0fns\n", tier->latency_s * 1e9,
              tier->step_s * 1e9);
}

void machine_print(const struct machine *machine, struct text *out)
{
    const struct hardware *h = &machine->hardware;
    struct text source = TEXT_INIT;

    text_addf(&source, "measured by shardsim bench --hardware: %s, %" PRIu32 " cores",
              *machine->processor ? machine->processor : "an unnamed processor", machine->ncores);

    text_add(out, "# A machine whose devices are threads of shardsim, one core each.\n"
                  "#\n"
                  "# SPDX-License-Identifier: Apache-2.0\n"
                  "version: 1\n"
                  "name: this-machine\n"
                  "source: ");
    yaml_print_quoted(out, text_get(&source));
    text_add(out, "\n");
    out->failed |= source.failed;
    text_fini(&source);
    add_types(out, "rates", h->flops_per_s);
    add_types(out, "elementwise", h->elementwise_per_s);
    add_memory(out, h);
    add_kernels(out, h);
    add_tier(out, &h->tiers[0]);
    text_add(out, "software:\n"
                  "  waits_for_collectives: true # devices walk a program op by op\n"
                  "  source: \"shardsim\"\n");
}

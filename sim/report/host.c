/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "report/host.h"

#include <inttypes.h>

#include "base/units.h"
#include "hardware/hardware.h"

uint128 host_offloaded(const struct record *record)
{
    return record_sum(record, record->to_host_bytes) + record_sum(record, record->from_host_bytes);
}

static int64_t devices_of_node(const struct record *record)
{
    return hardware_host_devices(record->modelled->hardware, record->ndevices);
}

uint128 host_node_bytes(const struct record *record)
{
    if (!record->modelled || !program_uses_host(record->program))
        return 0;
    return record_balance_of(record, record->host_peak_bytes).max *
           (uint128)devices_of_node(record);
}

bool host_fits(const struct record *record)
{
    return !record->modelled ||
           (double)host_node_bytes(record) <= record->modelled->hardware->host.memory_bytes;
}

void host_times_of(struct host_times *out, const struct record *record)
{
    const struct record_modelled *m = record->modelled;

    *out = (struct host_times){0};
    for (uint32_t i = record->program->first_op; i < record->program->nops; i++) {
        const struct program_op *op = &record->program->ops[i];

        if (op->kind == PROGRAM_HOST) {
            *(op->to_host ? &out->to_host_ns : &out->from_host_ns) += m->op_ns[i];
            *(op->to_host ? &out->exposed_to_host_ns : &out->exposed_from_host_ns) +=
                m->exposed_ns[i];
        } else if (op->on_host) {
            out->kernels_ns += m->op_ns[i];
            out->exposed_kernels_ns += m->exposed_ns[i];
        }
    }
}

/* Bytes that a device of the first rank with any copies in one direction, by use, in a step. */
static void sum_by_use(uint128 uses[PROGRAM_NUSES], const struct program *program, bool to_host)
{
    for (int use = 0; use < PROGRAM_NUSES; use++)
        uses[use] = 0;
    for (uint32_t i = program->first_op; i < program->nops; i++) {
        const struct program_op *op = &program->ops[i];
        const struct program_buffer *b = &program->buffers[op->inputs[0]];

        if (op->kind == PROGRAM_HOST && op->to_host == to_host)
            uses[b->use] += (uint128)b->bytes * op->times;
    }
}

static void print_direction(struct text *out, const struct record *record, bool to_host)
{
    const uint128 *bytes = to_host ? record->to_host_bytes : record->from_host_bytes;
    uint128 uses[PROGRAM_NUSES];
    int n = 0;

    text_addf(out, "  %-11s %s a device", to_host ? "to host" : "from host",
              units_print_bytes(record_balance_of(record, bytes).max).text);
    sum_by_use(uses, record->program, to_host);
    for (int use = 0; use < PROGRAM_NUSES && record->program->nranks == 1; use++)
        if (uses[use] > 0)
            text_addf(out, "%s %s %s", n++ ? "," : ":", program_use_name((enum program_use)use),
                      units_print_bytes(uses[use]).text);
    text_add(out, "\n");
}

void host_text(struct text *out, const struct record *record)
{
    if (!program_uses_host(record->program))
        return;
    text_addf(out,
              "\n"
              "host          at most %s of its memory per device\n",
              units_print_bytes(record_balance_of(record, record->host_peak_bytes).max).text);
    print_direction(out, record, true);
    print_direction(out, record, false);
}

static void print_times(struct text *out, const char *what, int64_t ns, int64_t exposed_ns)
{
    if (ns > 0)
        text_addf(out, "\n              %s %s (%s hidden)", what,
                  units_print_seconds((double)ns * 1e-9).text,
                  units_print_seconds((double)(ns > exposed_ns ? ns - exposed_ns : 0) * 1e-9).text);
}

void host_modelled_text(struct text *out, const struct record *record)
{
    const struct record_modelled *m = record->modelled;
    double exposed_s, step_s = (double)m->timeline->step_ns * 1e-9;
    uint128 uses[PROGRAM_NUSES];
    struct host_times t;

    if (!program_uses_host(record->program))
        return;
    host_times_of(&t, record);
    exposed_s = (double)m->timeline->devices[m->row].exposed_host_ns * 1e-9;
    text_addf(out, "  host        %s, %.1f %% exposed", units_print_seconds(exposed_s).text,
              step_s > 0 ? 100 * exposed_s / step_s : 0);
    print_times(out, "to host", t.to_host_ns, t.exposed_to_host_ns);
    print_times(out, "from host", t.from_host_ns, t.exposed_from_host_ns);
    print_times(out, "update", t.kernels_ns, t.exposed_kernels_ns);
    sum_by_use(uses, record->program, true);
    text_addf(out, "\n              %s of the %s of a node's %" PRId64 " devices: %s\n",
              units_print_bytes(host_node_bytes(record)).text,
              units_print_bytes((uint128)m->hardware->host.memory_bytes).text,
              devices_of_node(record), host_fits(record) ? "fits" : "does not fit");
    if (uses[PROGRAM_OPTIMIZER] > 0)
        text_add(
            out,
            "              counted: these arrays, not an offload engine's gradients and buffers\n"
            "              (DeepSpeed's estimate: 24 to 27 bytes per parameter and node)\n");
}

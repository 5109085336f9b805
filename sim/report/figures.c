/* The table of figures, and their numbers in text and JSON (figures.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/figures.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/units.h"

/* clang-format off */
#define BYTES "bytes received"
#define PEAK "peak memory"
#define HOST "host"
#define BASE "against the base"
#define IN_PLAN(field) .in_plan = true, .modelled = offsetof(struct modelled_figures, field)

/* key, label, group, title */
const struct figure_row figure_table[NFIGURES] = {
    [FIGURE_SCENARIO] = {"scenario", "scenario", "", NULL, .unit = FIGURE_TEXT},
    [FIGURE_STRATEGY] = {"strategy", "strategy", "", "strategy", .unit = FIGURE_TEXT},
    [FIGURE_MESH] = {"mesh", "mesh", "", "mesh", .unit = FIGURE_TEXT},
    [FIGURE_MICROBATCHES] = {"microbatches", "microbatches", "micro-", "batches",
        .unit = FIGURE_COUNT},
    [FIGURE_MODE] = {"mode", "planned or executed", "", NULL, .unit = FIGURE_TEXT},
    [FIGURE_DEVICES] = {"devices", "devices", "", "devices", .unit = FIGURE_COUNT},
    [FIGURE_RECEIVED_MOST] = {"received_bytes_most", "received by a device", BYTES, "a device",
        .unit = FIGURE_BYTES, .origin = FIGURE_COUNTED, .better = -1, .kept = 5,
        .was = "received_bytes_of_device"},
    [FIGURE_BYTES_TIMES] = {"received_bytes_ratio", "bytes received by a device / the base's",
        BASE, "bytes", .unit = FIGURE_TIMES, .origin = FIGURE_COMPARED, .less = "fewer",
        .more = "more"},
    [FIGURE_MEMORY_TIMES] = {"peak_memory_ratio", "peak memory of a device / the base's", BASE,
        "peak memory", .unit = FIGURE_TIMES, .origin = FIGURE_COMPARED, .less = "less",
        .more = "more"},
    [FIGURE_STEP_TIMES] = {"replayed_step_ratio", "replayed step, to the base's", BASE,
        "replayed step", .unit = FIGURE_TIMES, .origin = FIGURE_COMPARED, .less = "faster",
        .more = "slower"},
    [FIGURE_DOMINATED] = {"dominated_by", "strategy that dominates this one", "",
        "dominated by", .unit = FIGURE_TEXT, .origin = FIGURE_COMPARED},
    [FIGURE_RECEIVED] = {"received_bytes", "total received", BYTES, "in total",
        .unit = FIGURE_BYTES, .origin = FIGURE_COUNTED, .better = -1, .kept = 3, .judged = true},
    [FIGURE_FORWARD] = {"received_forward_bytes", "bytes received in the forward phase", BYTES,
        "forward", .unit = FIGURE_BYTES, .origin = FIGURE_COUNTED, .better = -1},
    [FIGURE_BACKWARD] = {"received_backward_bytes", "bytes received in the backward phase", BYTES,
        "backward", .unit = FIGURE_BYTES, .origin = FIGURE_COUNTED, .better = -1},
    [FIGURE_OPTIMIZER] = {"received_optimizer_bytes", "bytes received by the optimizer", BYTES,
        "optimizer", .unit = FIGURE_BYTES, .origin = FIGURE_COUNTED, .better = -1},
    [FIGURE_COLLECTIVES] = {"collectives", "collectives", "", "collectives", .unit = FIGURE_COUNT,
        .origin = FIGURE_COUNTED, .better = -1},
    [FIGURE_FLOPS_MOST] = {"flops_most", "flops of a device", "flops", "most", .unit = FIGURE_COUNT,
        .origin = FIGURE_COUNTED, .better = -1, .kept = 7, .judged = true, .was = "flops_max"},
    [FIGURE_FLOPS] = {"flops", "flops of all devices", "flops", NULL, .unit = FIGURE_COUNT,
        .origin = FIGURE_COUNTED, .better = -1, .kept = 8},
    [FIGURE_MODEL_FLOPS] = {"model_flops", "flops of the model, with causal attention counted in full", "flops", NULL,
        .unit = FIGURE_COUNT, .origin = FIGURE_COUNTED},
    [FIGURE_FLOPS_BALANCE] = {"flops_balance", "mean / most flops of the devices", "flops",
        "balance", .unit = FIGURE_RATIO, .origin = FIGURE_COUNTED, .better = 1},
    [FIGURE_ATTENTION] = {"attention_balance", "mean / maximum attention flops of devices",
        "flops", "attention", .unit = FIGURE_RATIO, .origin = FIGURE_COUNTED, .better = 1},
    [FIGURE_EXPERTS] = {"expert_balance", "mean / maximum expert flops of devices", "flops",
        "experts", .unit = FIGURE_RATIO, .origin = FIGURE_COUNTED, .better = 1},
    [FIGURE_EFFICIENCY] = {"flops_efficiency", "flops of the unsharded step / flops of all devices",
        "flops", "efficiency", .unit = FIGURE_RATIO, .origin = FIGURE_COUNTED, .better = 1},
    [FIGURE_BUBBLE] = {"pipeline_bubble", "pipeline bubble", "flops", "bubble",
        .unit = FIGURE_SHARE, .origin = FIGURE_COUNTED, .better = -1},
    [FIGURE_PEAK_MOST] = {"peak_memory_bytes_most", "peak memory of a device", PEAK, "most",
        .unit = FIGURE_BYTES, .origin = FIGURE_COUNTED, .better = -1, .kept = 4, .judged = true,
        .was = "peak_memory_bytes"},
    [FIGURE_PEAK_TOTAL] = {"peak_memory_bytes_total", "peak memory of all devices", PEAK, NULL,
        .unit = FIGURE_BYTES, .origin = FIGURE_COUNTED, .better = -1, .kept = 6},
    [FIGURE_PEAK_BALANCE] = {"peak_memory_balance", "mean / maximum peak memory of devices", PEAK,
        "balance", .unit = FIGURE_RATIO, .origin = FIGURE_COUNTED, .better = 1},
    [FIGURE_OFFLOADED] = {"offloaded_bytes", "bytes copied between devices and hosts", HOST,
        "copied", .unit = FIGURE_BYTES, .origin = FIGURE_COUNTED, .better = -1},
    [FIGURE_TO_HOST_MOST] = {"to_host_bytes_most", "bytes copied from a device to its host", HOST,
        NULL, .unit = FIGURE_BYTES, .origin = FIGURE_COUNTED, .better = -1},
    [FIGURE_FROM_HOST_MOST] = {"from_host_bytes_most", "bytes copied from the host to a device",
        HOST, NULL, .unit = FIGURE_BYTES, .origin = FIGURE_COUNTED, .better = -1},
    [FIGURE_HOST_PEAK_MOST] = {"host_memory_bytes_most", "memory of the host for a device", HOST,
        "memory", .unit = FIGURE_BYTES, .origin = FIGURE_COUNTED, .better = -1},
    [FIGURE_PEAK_WORST] = {"peak_memory_bytes_worst_routing",
        "peak memory of a device if every expert may get all tokens; a plan assumes uniform routing", PEAK, NULL, .unit = FIGURE_BYTES, .origin = FIGURE_COUNTED,
        .better = -1},
    [FIGURE_CACHE_MOST] = {"cache_bytes_most", "KV cache of a device", "cache", "a device",
        .unit = FIGURE_BYTES, .origin = FIGURE_COUNTED, .better = -1, .kept = 9, .judged = true},
    [FIGURE_CACHE_TOTAL] = {"cache_bytes", "KV cache of all devices", "cache", NULL,
        .unit = FIGURE_BYTES, .origin = FIGURE_COUNTED, .better = -1},
    [FIGURE_CACHE_TOKEN] = {"cache_bytes_per_token",
        "KV cache of all devices per token of a sequence", "cache", "a token",
        .unit = FIGURE_BYTES, .origin = FIGURE_COUNTED, .better = -1, .kept = 10, .judged = true},
    [FIGURE_SEQUENCES] = {"sequences_that_fit",
        "sequences whose KV cache fits in the memory of all devices", "cache", "sequences",
        .unit = FIGURE_COUNT, .origin = FIGURE_COUNTED, .better = 1},
    [FIGURE_FITS] = {"fits", "whether the step fits in memory", PEAK, "fits", .unit = FIGURE_TEXT},
    [FIGURE_REPLAYED_STEP] = {"replayed_step_seconds", "replayed step", "replayed", "step",
        .unit = FIGURE_SECONDS, .origin = FIGURE_REPLAYED, .better = -1},
    [FIGURE_REPLAYED_SPREAD] = {"replayed_step_spread", "spread of the replayed steps", "replayed",
        "spread", .unit = FIGURE_SHARE, .origin = FIGURE_REPLAYED},
    [FIGURE_REPLAYED_BUSY] = {"replayed_busy_seconds", "busy time of a device, replayed",
        "replayed", "busy", .unit = FIGURE_SECONDS, .origin = FIGURE_REPLAYED, .better = -1},
    [FIGURE_REPLAYED_WAITING] = {"replayed_waiting_seconds", "waiting of a device, replayed",
        "replayed", "waiting", .unit = FIGURE_SECONDS, .origin = FIGURE_REPLAYED, .better = -1},
    [FIGURE_REPLAYED_EXPOSED] = {"replayed_exposed_communication_seconds",
        "exposed communication of a device, replayed", "replayed", "exposed",
        .unit = FIGURE_SECONDS, .origin = FIGURE_REPLAYED, .better = -1},
    [FIGURE_REPLAYED_IDLE] = {"replayed_idle_seconds",
        "time of a device after its last work, replayed", "replayed", NULL, .unit = FIGURE_SECONDS,
        .origin = FIGURE_REPLAYED, .better = -1},
    [FIGURE_REPLAYED_COMMUNICATION] = {"replayed_communication_seconds",
        "communication of a device, hidden or not, replayed", "replayed", NULL,
        .unit = FIGURE_SECONDS, .origin = FIGURE_REPLAYED, .better = -1},
    [FIGURE_REPLAYED_EXPOSED_HOST] = {"replayed_exposed_host_seconds",
        "exposed host transfers of a device, replayed", "replayed", NULL,
        .unit = FIGURE_SECONDS, .origin = FIGURE_REPLAYED, .better = -1, .optional = true},
    [FIGURE_MODELLED_STEP] = {"modelled_step_seconds", "modelled step", "modelled", "step",
        .unit = FIGURE_SECONDS, .origin = FIGURE_MODELLED, .better = -1, .kept = 1, .judged = true,
        IN_PLAN(step_s)},
    [FIGURE_MODELLED_MFU] = {"modelled_mfu", "modelled MFU, causal attention counted in full",
        "modelled", NULL, .unit = FIGURE_SHARE, .origin = FIGURE_MODELLED, .better = 1,
        IN_PLAN(mfu)},
    [FIGURE_MODELLED_MFU_CAUSAL_HALF] = {"modelled_mfu_causal_half",
        "modelled MFU, causal attention counted half, as Megatron-LM does", "modelled", "MFU",
        .unit = FIGURE_SHARE, .origin = FIGURE_MODELLED, .better = 1, IN_PLAN(mfu_causal_half)},
    [FIGURE_MODELLED_HFU] = {"modelled_hfu", "modelled HFU", "modelled", NULL, .unit = FIGURE_SHARE,
        .origin = FIGURE_MODELLED, IN_PLAN(hfu)},
    [FIGURE_MODELLED_TOKENS] = {"modelled_tokens_per_second", "modelled tokens/s",
        "modelled", NULL, .unit = FIGURE_RATE, .origin = FIGURE_MODELLED, .better = 1,
        IN_PLAN(tokens_per_s)},
    [FIGURE_MODELLED_DEVICE_TOKENS] = {"modelled_tokens_per_second_per_device",
        "modelled tokens/s per device of a serving step", "modelled", "tokens/s/device",
        .unit = FIGURE_RATE, .origin = FIGURE_MODELLED, .better = 1, .optional = true},
    [FIGURE_MODELLED_TOKEN] = {"modelled_token_seconds", "modelled time per token of a decode step",
        "modelled", "a token", .unit = FIGURE_SECONDS, .origin = FIGURE_MODELLED, .better = -1,
        .optional = true},
    [FIGURE_MODELLED_MBU] = {"modelled_mbu",
        "share of the memory bandwidth used by a serving step", "modelled", "MBU",
        .unit = FIGURE_SHARE, .origin = FIGURE_MODELLED, .better = 1, .optional = true},
    [FIGURE_MODELLED_BOUND] = {"modelled_bound_by", "bound of a modelled serving step",
        "modelled", "bound by", .unit = FIGURE_TEXT, .origin = FIGURE_MODELLED},
    [FIGURE_MODELLED_COMPUTE] = {"modelled_compute_seconds", "modelled computations of a device",
        "modelled", NULL, .unit = FIGURE_SECONDS, .origin = FIGURE_MODELLED, .better = -1,
        IN_PLAN(compute_s)},
    [FIGURE_MODELLED_MATMUL] = {"modelled_matmul_seconds", "modelled matmuls of a device",
        "modelled", NULL, .unit = FIGURE_SECONDS, .origin = FIGURE_MODELLED, .better = -1},
    [FIGURE_MODELLED_ATTENTION] = {"modelled_attention_seconds", "modelled attention of a device",
        "modelled", NULL, .unit = FIGURE_SECONDS, .origin = FIGURE_MODELLED, .better = -1},
    [FIGURE_MODELLED_ELEMENTWISE] = {"modelled_elementwise_seconds",
        "modelled elementwise computations of a device", "modelled", NULL, .unit = FIGURE_SECONDS,
        .origin = FIGURE_MODELLED, .better = -1},
    [FIGURE_MODELLED_AGAIN] = {"modelled_again_seconds", "modelled recomputation of a device",
        "modelled", NULL, .unit = FIGURE_SECONDS, .origin = FIGURE_MODELLED, .better = -1},
    [FIGURE_MODELLED_EXPOSED] = {"modelled_exposed_communication_seconds",
        "modelled exposed communication", "modelled", "exposed", .unit = FIGURE_SECONDS,
        .origin = FIGURE_MODELLED, .better = -1, IN_PLAN(exposed_s)},
    [FIGURE_MODELLED_EXPOSED_HOST] = {"modelled_exposed_host_seconds",
        "exposed host transfers and host update, modelled", "modelled", "host",
        .unit = FIGURE_SECONDS, .origin = FIGURE_MODELLED, .better = -1, .optional = true},
    [FIGURE_MODELLED_TO_HOST] = {"modelled_to_host_seconds",
        "copies from a device to its host, hidden or not, modelled", "modelled", NULL,
        .unit = FIGURE_SECONDS, .origin = FIGURE_MODELLED, .better = -1, .optional = true},
    [FIGURE_MODELLED_FROM_HOST] = {"modelled_from_host_seconds",
        "copies from the host to a device, hidden or not, modelled", "modelled", NULL,
        .unit = FIGURE_SECONDS, .origin = FIGURE_MODELLED, .better = -1, .optional = true},
    [FIGURE_MODELLED_HOST_UPDATE] = {"modelled_host_update_seconds",
        "the host's update for a device, hidden or not, modelled", "modelled", NULL,
        .unit = FIGURE_SECONDS, .origin = FIGURE_MODELLED, .better = -1, .optional = true},
    [FIGURE_MODELLED_WAITING] = {"modelled_waiting_seconds", "modelled waiting for other devices",
        "modelled", "waiting", .unit = FIGURE_SECONDS, .origin = FIGURE_MODELLED, .better = -1,
        IN_PLAN(bubble_s), .was = "modelled_bubble_seconds"},
    [FIGURE_MODELLED_UPDATE] = {"modelled_update_seconds", "modelled update of the parameters",
        "modelled", NULL, .unit = FIGURE_SECONDS, .origin = FIGURE_MODELLED, .better = -1,
        IN_PLAN(update_s)},
    [FIGURE_MODELLED_MEMORY] = {"modelled_memory_bytes", "modelled memory of a device", "modelled",
        "memory", .unit = FIGURE_BYTES, .origin = FIGURE_MODELLED, .better = -1, .kept = 2,
        IN_PLAN(memory_bytes)},
    [FIGURE_MODELLED_HOST_MEMORY] = {"modelled_host_memory_bytes", "memory of a node's host",
        "modelled", NULL, .unit = FIGURE_BYTES, .origin = FIGURE_MODELLED, .better = -1,
        .optional = true},
    [FIGURE_MODELLED_ERROR] = {"modelled_expected_error", "expected error of the modelled step",
        "modelled", NULL, .unit = FIGURE_SHARE, .origin = FIGURE_MODELLED, IN_PLAN(expected_error)},
    [FIGURE_MEASURED_STEP] = {"measured_step_seconds", "measured step", "measured", NULL,
        .unit = FIGURE_SECONDS, .origin = FIGURE_MEASURED},
    [FIGURE_MEASURED_FASTEST] = {"measured_fastest_step_seconds", "fastest measured step",
        "measured", NULL, .unit = FIGURE_SECONDS, .origin = FIGURE_MEASURED},
    [FIGURE_MEASURED_FIRST] = {"measured_first_step_seconds", "first measured step", "measured",
        NULL, .unit = FIGURE_SECONDS, .origin = FIGURE_MEASURED},
    [FIGURE_MEASURED_CPU] = {"measured_cpu_seconds", "processor time of a step", "measured", NULL,
        .unit = FIGURE_SECONDS, .origin = FIGURE_MEASURED},
    [FIGURE_VERIFIED] = {"verified", "whether the numbers are right", "", "verified",
        .unit = FIGURE_TEXT},
    [FIGURE_LARGEST_ERROR] = {"largest_error", "largest error relative to its bound", "", "error",
        .unit = FIGURE_ERROR},
    [FIGURE_BY_AXIS] = {"received_by_axis", "bytes received by axis", BYTES, "by axis",
        .unit = FIGURE_TEXT},
    [FIGURE_BY_OP] = {"received_by_op", "bytes received by op", BYTES, "by op",
        .unit = FIGURE_TEXT},
    [FIGURE_WHY] = {"why_uneven", "reason for uneven load of devices", "", NULL, .unit = FIGURE_TEXT},
};
/* clang-format on */

const char *figure_unit_name(enum figure_unit unit)
{
    static const char *const names[FIGURE_NUNITS] = {
        [FIGURE_TEXT] = "text",     [FIGURE_COUNT] = "number",    [FIGURE_BYTES] = "bytes",
        [FIGURE_RATIO] = "ratio",   [FIGURE_SECONDS] = "seconds", [FIGURE_SHARE] = "fraction",
        [FIGURE_RATE] = "a second", [FIGURE_MEAN] = "number",     [FIGURE_ERROR] = "relative",
        [FIGURE_TIMES] = "ratio"};

    return names[unit];
}

const char *figure_origin_prefix(enum figure_origin origin)
{
    static const char *const prefixes[FIGURE_NORIGINS] = {[FIGURE_COUNTED] = "",
                                                          [FIGURE_MEASURED] = "measured_",
                                                          [FIGURE_REPLAYED] = "replayed_",
                                                          [FIGURE_MODELLED] = "modelled_",
                                                          [FIGURE_COMPARED] = ""};

    return prefixes[origin];
}

const char *figure_short_key(enum figure_id id)
{
    const struct figure_row *f = &figure_table[id];

    return f->key + strlen(figure_origin_prefix(f->origin));
}

enum figure_id figure_kept(int rank)
{
    int id = 0;

    while (id < NFIGURES && figure_table[id].kept != rank)
        id++;
    return (enum figure_id)id;
}

bool figure_is_whole(enum figure_id id)
{
    return figure_table[id].unit == FIGURE_COUNT || figure_table[id].unit == FIGURE_BYTES;
}

void figure_unit_add(struct text *out, enum figure_unit unit, uint128 whole, double number)
{
    switch (unit) {
    case FIGURE_BYTES:
        text_add(out, units_print_bytes(whole).text);
        break;
    case FIGURE_COUNT:
        text_add(out, units_print_count(whole).text);
        break;
    case FIGURE_SECONDS:
        text_add(out, units_print_seconds(number).text);
        break;
    case FIGURE_SHARE:
        text_addf(out, "%.1f %%", 100 * number);
        break;
    case FIGURE_RATIO:
        text_addf(out, "%.3f", number);
        break;
    case FIGURE_RATE:
        text_addf(out, "%.0f", number);
        break;
    case FIGURE_MEAN:
        if (number < 1000)
            text_addf(out, "%.3g", number);
        else
            text_add(out, units_print_count((uint128)llround(number)).text);
        break;
    case FIGURE_ERROR:
        text_addf(out, "%.1e", number);
        break;
    case FIGURE_TEXT:
    case FIGURE_TIMES:
    case FIGURE_NUNITS:
        break;
    }
}

void figure_add_number(struct text *out, enum figure_id id, uint128 whole, double number)
{
    figure_unit_add(out, figure_table[id].unit, whole, number);
}

void figure_add_modelled(struct text *out, enum figure_id id, const struct modelled_figures *from)
{
    double value = *(const double *)(const void *)((const char *)from + figure_table[id].modelled);

    figure_add_number(out, id, (uint128)value, value);
}

static void write_number(struct json_out *out, const char *key, const struct figures *figures,
                         enum figure_id id)
{
    const struct figure_value *v = &figures->values[id];

    json_out_key(out, key);
    if (!v->known)
        json_out_null(out);
    else if (figure_is_whole(id))
        json_out_uint(out, v->whole);
    else
        json_out_double(out, v->number);
}

void figures_json(struct json_out *out, const struct figures *figures, enum figure_origin origin,
                  bool all)
{
    for (int id = 0; id < NFIGURES; id++)
        if (figure_table[id].origin == origin && figure_table[id].unit != FIGURE_TEXT &&
            ((all && !figure_table[id].optional) || figures->values[id].known))
            write_number(out, figure_short_key((enum figure_id)id), figures, (enum figure_id)id);
}

void figures_json_all(struct json_out *out, const struct figures *figures)
{
    json_out_begin_object(out);
    for (int id = 0; id < NFIGURES; id++)
        if (figure_table[id].unit != FIGURE_TEXT && figures->values[id].known)
            write_number(out, figure_table[id].key, figures, (enum figure_id)id);
    json_out_end_object(out);
}

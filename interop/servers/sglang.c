/* Reads a command of SGLang's server, or the script that launches it.
 *
 * The size of tensor parallelism counts all devices of a copy.  With attention done apart for parts
 * of the batch ("DP attention") heads are sharded inside of a part, and widths over all devices;
 * experts are dealt out over the outermost devices, as many as --ep-size says.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "servers/serving.h"

static bool find(const struct shell *s, size_t *program)
{
    static const struct serving_program sglang = {"sglang", "sglang.launch_server", ""};

    return serving_find_program(s, &sglang, program);
}

static const struct launch_system sglang_system = {
    .name = "SGLang",
    .options = sglang_options,
    .example = "python3 -m sglang.launch_server --model-path MODEL",
    .printed = LAUNCH_PRINTED("python3"),
    .argparse = true,
    .bare = sglang_bare,
    .valued = "",
    .lists = sglang_lists,
    .positional = "--model-path",
    .by_node = "--node-rank --dist-init-addr --nccl-init-addr --host --port --nccl-port "
               "--disaggregation-bootstrap-port --disaggregation-ib-device --base-gpu-id",
    .find = find};

static bool sends(const struct import_server *o)
{
    return (o->exchange && strcmp(o->exchange, "none") != 0) || o->experts_apart;
}

/* An exchange that sends tokens to experts has experts on all devices, and shared ones whole. */
static void find_spans(struct serving *v, const struct import_server *o)
{
    bool sent = sends(o);

    v->experts = v->model.moe.experts == 0 ? 1 : sent ? o->tensor : o->expert_devices;
    v->gathers = !sent;
    v->dense = o->dense_devices == 1 ? SERVING_NONE : o->local_dense ? SERVING_INSIDE : SERVING_ALL;
    v->shared = !sent ? SERVING_ALL : o->local_shared ? SERVING_INSIDE : SERVING_NONE;
}

static void find_layout(struct serving *v, struct import_job *job)
{
    const struct import_server *o = &job->server;
    int64_t parts = o->attention_apart && o->batch_parts == 1 ? o->replicas : o->batch_parts;

    v->copies = o->attention_apart ? 1 : o->replicas;
    v->parts = parts;
    v->devices = o->tensor;
    v->cache_parts = o->cache_parts;
    v->prefill = o->phase && !strcmp(o->phase, "prefill");
    find_spans(v, o);
    if (o->copies > 0 && !o->balances)
        text_add(&job->notes, "# The plan copies the experts with the most tokens; without "
                              "--enable-eplb SGLang copies the first experts.\n");
    if (parts > 1 && !o->local_head)
        text_add(&job->notes, "# The plan shards the LM head over tp alone; without "
                              "--enable-dp-lm-head SGLang also shards it over dp.\n");
}

static void check_sizes(const struct import_job *job, const struct serving *v, struct diag *diag)
{
    const struct import_server *o = &job->server;

    if (v->devices % v->parts)
        diag_error(diag, job->end,
                   "data-parallel attention %" PRId64
                   ": --tp-size counts all devices and is %" PRId64 "; expected a multiple",
                   v->parts, v->devices);
    if (v->parts > 1 && o->batch_parts > 1 && o->replicas > 1 && !o->attention_apart)
        diag_error(diag, job->end,
                   "--dp-size %" PRId64 " and --attn-dp-size exclude each other in SGLang; "
                   "expected one",
                   o->replicas);
    if (v->experts > v->devices || v->devices % v->experts)
        diag_error(diag, job->end,
                   "--ep-size %" PRId64 ": expected a divisor of --tp-size %" PRId64 " (all "
                   "devices)",
                   v->experts, v->devices);
    if (job->devices > 0 && job->devices != v->copies * v->devices)
        diag_error(diag, job->end, "--devices %" PRId64 ": the command's sizes need %" PRId64,
                   job->devices, v->copies * v->devices);
}

static void check(const struct import_job *job, struct diag *diag)
{
    const struct import_server *o = &job->server;

    serving_refuse_cuts(job, "--pp-size", "--attn-cp-size", diag);
    if (o->dense_devices > 1)
        diag_error(diag, job->end, "--moe-dense-tp-size %" PRId64 ": expected 1, or none",
                   o->dense_devices);
}

/* --mem-fraction-static by default on devices of 80 GB: less where more devices work together. */
static double memory_of(int64_t devices)
{
    return devices >= 16  ? 0.79
           : devices >= 8 ? 0.81
           : devices >= 4 ? 0.85
           : devices >= 2 ? 0.87
                          : 0.88;
}

void import_sglang(struct import_job *job, struct place first, const char *text, struct diag *diag)
{
    struct serving v = {.copies = 1, .fills = true};

    job->software = "sglang";
    serving_read(&v, job, &sglang_system, check, first, text, diag);
    if (diag->nerrors > 0)
        return;
    find_layout(&v, job);
    check_sizes(job, &v, diag);
    if (diag->nerrors == 0)
        serving_find_load(job, &v, v.copies, memory_of(v.devices), diag);
    if (diag->nerrors == 0)
        serving_print(job, &v, diag);
}

/* Divides a job's devices and its batch over the kinds of parallelism; what does not divide is
 * reported at the option whose value does not fit.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "training/job_shape.h"

#include <inttypes.h>
#include <stddef.h>

#define FIELD(name) offsetof(struct import_job, name)

/* Divide the axis of experts into one of nodes and one inside a node, whose other ranks are of
 * tensor and context parallelism; false: they do not divide so. */
static bool divide_by_node(struct import_shape *s, const struct import_job *job)
{
    int64_t parts = job->tensor * job->context, inside = job->node_devices / parts;

    if (!job->once_a_node || s->experts * parts <= job->node_devices)
        return true;
    if (job->node_devices == 0 || job->node_devices % parts || s->experts % inside)
        return false;
    s->nodes = s->experts / inside;
    s->experts = inside;
    return true;
}

static int64_t world(const struct import_job *job)
{
    int64_t parts = job->tensor * job->stages * job->context;

    if (job->devices > 0)
        return job->devices;
    if (job->node_devices > 0)
        return job->node_devices * (job->nodes > 0 ? job->nodes : 1);
    return job->shards > 0 ? parts * job->replicas * job->shards : 0;
}

/* Where the devices do not divide: the parallelism without which they would, or, if none is, the
 * first that does not divide them by itself. */
static struct place place_of_parts(const struct import_job *job, int64_t devices)
{
    const struct {
        int64_t size;
        size_t field;
    } parts[] = {{job->stages, FIELD(stages)},
                 {job->context, FIELD(context)},
                 {job->tensor, FIELD(tensor)},
                 {job->replicas, FIELD(replicas)}};
    int64_t all = job->stages * job->context * job->tensor * job->replicas;
    size_t n = sizeof parts / sizeof *parts, alone = n;

    for (size_t i = 0; i < n; i++) {
        if (parts[i].size > 1 && devices % (all / parts[i].size) == 0)
            return import_job_place(job, parts[i].field);
        if (alone == n && devices % parts[i].size)
            alone = i;
    }
    return import_job_place(job, parts[alone < n ? alone : 0].field);
}

void import_job_find_data(struct import_shape *out, const struct import_job *job, struct diag *diag)
{
    int64_t devices = world(job), parts = job->tensor * job->stages * job->context;
    int64_t data, inner;

    if (devices == 0) {
        diag_error(diag, job->end, "how many devices? expected --devices N");
        return;
    }
    if (devices > INT32_MAX || devices % (parts * job->replicas)) {
        diag_error(diag, place_of_parts(job, devices),
                   "%" PRId64 " devices are not a multiple of %" PRId64 " (tensor x context x "
                   "pipeline parallelism) times %" PRId64 " replicas",
                   devices, parts, job->replicas);
        return;
    }
    data = devices / parts / job->replicas;
    if (job->shards > 0 && job->shards != data)
        diag_error(diag, import_job_place(job, FIELD(shards)),
                   "%" PRId64 " data-parallel shards, but the devices allow %" PRId64, job->shards,
                   data);
    out->replicas = job->replicas;
    out->folded = job->expert_devices > 1 && job->context > 1;
    out->over_tensor = job->expert_devices > 1 && import_job_is_expert_whole(job);
    inner = (out->folded ? job->context : 1) * (out->over_tensor ? job->tensor : 1);
    out->experts = job->expert_devices / inner;
    if (job->expert_devices % inner || out->experts == 0 || data % out->experts)
        diag_error(diag, import_job_place(job, FIELD(expert_devices)),
                   "expert parallelism over %" PRId64 " devices does not divide the %" PRId64 " "
                   "devices of data%s parallelism in blocks of %" PRId64,
                   job->expert_devices, data * inner,
                   out->over_tensor ? ", context and tensor" : " and context", inner);
    else
        out->data = data / out->experts;
    out->nodes = 1;
    if (out->experts > 0 && !divide_by_node(out, job))
        diag_error(diag, import_job_place(job, FIELD(expert_devices)),
                   "tokens are dispatched once per node, but expert parallelism %" PRId64 " is not "
                   "a multiple of a node's devices; expected --nproc-per-node",
                   out->experts);
}

/* Where the batch does not divide: its own option, else that of a device's sequences. */
static const size_t batch_fields[] = {FIELD(batch), FIELD(batch_tokens), FIELD(sequences),
                                      FIELD(tokens), 0};

/* Megatron-LM takes groups of microbatches through a virtual stage and refuses a last group of
 * fewer than the pipeline's ranks (schedules.py); a timetable has equal groups. */
static void check_rounds(const struct import_shape *s, const struct import_job *job,
                         struct diag *diag)
{
    static const size_t fields[] = {FIELD(schedule_group), FIELD(batch), FIELD(sequences), 0};
    struct place place = import_job_place_of(job, fields);
    int64_t m = s->microbatches, group = job->schedule_group, p = job->stages;
    int64_t round = m / p > 0 ? m / (m / p) : m;

    if (p == 1 || job->virtual_stages <= 1 || group == 0 || m < 1)
        return;
    if (group < p || group > m)
        diag_error(diag, place,
                   "Megatron-LM stops: %" PRId64 " microbatches in groups of %" PRId64 " per "
                   "virtual stage; expected groups of at least %" PRId64 " (the pipeline's ranks) "
                   "and at most %" PRId64,
                   m, group, p, m);
    else if (m % group > 0 && m % group < p)
        diag_error(diag, place,
                   "Megatron-LM stops: %" PRId64 " microbatches in groups of %" PRId64
                   " leave %" PRId64 ", fewer than the %" PRId64 " ranks of the pipeline; expected "
                   "--microbatch-group-size-per-virtual-pipeline-stage %" PRId64
                   ", or a multiple of %" PRId64 " microbatches",
                   m, group, m % group, p, round, p);
    else if (group != round)
        diag_error(diag, place,
                   "%" PRId64 " microbatches in groups of %" PRId64 " are not modelled, only in "
                   "groups of %" PRId64 "; expected "
                   "--microbatch-group-size-per-virtual-pipeline-stage %" PRId64,
                   m, group, round, round);
}

void import_job_find_batch(struct import_shape *out, const struct import_job *job,
                           struct diag *diag)
{
    int64_t ways = out->replicas * out->data * out->nodes * out->experts;
    int64_t batch = job->batch > 0 ? job->batch : ways * (job->local ? job->local : job->sequences);

    if (job->sequences == 0 || job->seq == 0)
        diag_error(diag, job->end,
                   "no batch size; expected the sequences of a microbatch and their length");
    else if (batch % (job->sequences * ways))
        diag_error(diag, import_job_place_of(job, batch_fields),
                   "a global batch of %" PRId64 " is not a multiple of microbatch %" PRId64 " x "
                   "data parallelism %" PRId64,
                   batch, job->sequences, ways);
    else
        out->microbatches = batch / (job->sequences * ways);
    check_rounds(out, job, diag);
}

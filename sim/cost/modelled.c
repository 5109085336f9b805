/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "cost/modelled.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost/events.h"

#define NO_STRAGGLER ((struct record_straggler){-1, 1, 1, 0})

struct modelled {
    const struct program *program;
    const struct record *record;
    const struct hardware *hardware;
    struct op_seconds seconds;
    const struct program_classes *classes; /* one lane per class */
    struct program_classes *own;           /* with a straggler: the record's classes, with the
                                              straggler in a class by itself */
    struct record_straggler straggler;
    int32_t slow; /* the straggler's lane; -1: none */
    uint32_t nlanes;
    bool *even;          /* [op]: takes the same time on every lane */
    uint8_t *streams;    /* [op] */
    int64_t *op_ns;      /* [lane][op]; for an even op lane 0's time holds for all lanes */
    int32_t *positions;  /* [lane]: the first device of its class */
    int32_t *last;       /* [lane]: in a meeting, the lane that arrives last in the group whose
                            first lane this is */
    int64_t *exposed_ns; /* [lane][op] */
    const struct events_watch *watch;
};

static uint32_t rank(void *arg, int32_t lane)
{
    const struct modelled *m = arg;

    return program_rank(m->program, m->positions[lane]);
}

static int32_t doer(void *arg, uint32_t op, int32_t lane)
{
    const struct modelled *m = arg;
    int32_t position = program_doer(m->program, &m->program->ops[op], m->positions[lane]);

    return (int32_t)program_classes_find(m->classes, position);
}

/* First lane of the group that a lane belongs to in a transfer: lanes whose coordinates differ only
 * along the transfer's axes.  Boxes may be fetched from any lane of the group. */
static uint32_t group_of(const struct modelled *m, uint32_t op, int32_t lane)
{
    const struct program_op *o = &m->program->ops[op];
    uint8_t axes[SHD_MESH_AXES_MAX];
    size_t naxes = program_op_axes(o, axes);
    uint32_t others = UINT32_MAX;

    for (size_t k = 0; k < naxes; k++)
        others &= ~(UINT32_C(1) << axes[k]);
    return program_classes_project(m->classes, (uint32_t)lane, others);
}

/* Whether the straggler sends or receives a message. */
static bool meets_slow(const struct modelled *m, uint32_t op, int32_t lane)
{
    const struct program_channel *channel = &m->program->channels[m->program->ops[op].channel];

    return lane == m->slow || doer((void *)m, channel->send, lane) == m->slow ||
           doer((void *)m, channel->recv, lane) == m->slow;
}

/* Slowdown of an op by the straggler.  All lanes of a transfer end when the slowest has its
 * part. */
static double slower_of(const struct modelled *m, uint32_t op, int32_t lane)
{
    const struct program_op *o = &m->program->ops[op];

    if (m->slow < 0)
        return 1;
    if (!program_is_beside(o))
        return lane == m->slow ? m->straggler.compute : 1;
    if (!program_communicates(o))
        return 1; /* the straggler's host is not slowed down */
    if (o->kind == PROGRAM_SEND || o->kind == PROGRAM_RECV)
        return meets_slow(m, op, lane) ? m->straggler.links : 1;
    return group_of(m, op, lane) == group_of(m, op, m->slow) ? m->straggler.links : 1;
}

static int64_t op_ns(void *arg, int32_t lane, uint32_t op)
{
    const struct modelled *m = arg;
    int64_t ns = m->op_ns[m->even[op] ? op : (size_t)lane * m->program->nops + op];

    return m->slow < 0 ? ns : llround((double)ns * slower_of(m, op, lane));
}

static unsigned stream(void *arg, uint32_t op)
{
    return ((const struct modelled *)arg)->streams[op];
}

/* Whether an op sums gradients that no op of the backward phase reads: the cluster's software
 * decides whether such a sum overlaps with the backward phase. */
static bool sums_gradients(const struct program *program, const struct program_op *op)
{
    return op->kind == PROGRAM_RESHARD &&
           (op->part == PROGRAM_UPDATE ||
            program->buffers[op->outputs[0]].use == PROGRAM_GRADIENTS);
}

/* Whether an op reads only arguments, or what comes from the host.  Such an op could run at the
 * start, and its results would take memory long before they are used: so it is issued at its place
 * in the program, like repeated gathers. */
static bool reads_arguments(const struct program *program, const struct program_op *op)
{
    for (uint32_t k = 0; k < op->ninputs; k++) {
        const struct program_buffer *b = &program->buffers[op->inputs[k]];

        if (!b->argument && program->ops[b->first_op].kind != PROGRAM_HOST)
            return false;
    }
    return true;
}

static enum events_issue issue(void *arg, uint32_t op)
{
    const struct modelled *m = arg;
    const struct hardware_software *software = &m->hardware->software;
    const struct program_op *o = &m->program->ops[op];
    bool again;

    if (o->kind == PROGRAM_SEND || o->kind == PROGRAM_RECV)
        return software->overlaps_sends && m->program->nstages > m->program->nranks ? EVENTS_FILLS
                                                                                    : EVENTS_ISSUED;
    if (!program_communicates(o))
        return events_host_issue(o);
    if (software->waits_for_weights && o->part == PROGRAM_UPDATE &&
        m->program->buffers[o->outputs[0]].use == PROGRAM_PARAMETERS)
        return EVENTS_BLOCKS;
    if (sums_gradients(m->program, o))
        return software->overlaps_gradients ? EVENTS_FILLS
               : o->part == PROGRAM_UPDATE  ? EVENTS_ISSUED
                                            : EVENTS_BLOCKS;
    again = program_gathers_again(m->program, o);
    if (software->waits_for_collectives)
        return again && software->overlaps_regathers ? EVENTS_ISSUED : EVENTS_BLOCKS;
    return again || reads_arguments(m->program, o) ? EVENTS_ISSUED : EVENTS_IN_ORDER;
}

/* ---- meetings ---- */

static void find_last(const struct modelled *m, const struct events_meeting *meeting)
{
    for (int32_t k = 0; k < meeting->nlanes; k++)
        m->last[group_of(m, meeting->op, meeting->lanes[k])] = -1;
    for (int32_t k = 0; k < meeting->nlanes; k++) {
        int32_t *found = &m->last[group_of(m, meeting->op, meeting->lanes[k])];

        if (*found < 0 || meeting->arrival[meeting->lanes[k]] > meeting->arrival[*found])
            *found = meeting->lanes[k];
    }
}

static void meet(void *arg, const struct events_meeting *meeting, int64_t *start)
{
    const struct modelled *m = arg;

    find_last(m, meeting);
    for (int32_t k = 0; k < meeting->nlanes; k++) {
        int32_t lane = meeting->lanes[k];

        start[lane] = meeting->arrival[m->last[group_of(m, meeting->op, lane)]];
    }
}

static int32_t last(void *arg, const struct events_meeting *meeting, int32_t lane)
{
    const struct modelled *m = arg;

    find_last(m, meeting);
    return m->last[group_of(m, meeting->op, lane)];
}

/* ---- the modelled step ---- */

static int64_t nanoseconds(double seconds)
{
    return llround(seconds * 1e9);
}

/* Number of domains of the innermost tier. */
static int64_t nodes_of(const struct modelled *m)
{
    int64_t devices = shd_mesh_size(m->program->mesh), each = m->hardware->tiers[0].devices;

    return each > 0 ? (devices + each - 1) / each : 1;
}

/* Time of an op on a device; computations take as long as on the slowest of all nodes. */
static int64_t time_of(const struct modelled *m, uint32_t i, int32_t position)
{
    double slower =
        program_is_beside(&m->program->ops[i]) ? 1 : hardware_slowest(m->hardware, nodes_of(m));

    return nanoseconds(op_seconds_of(&m->seconds, i, position) * slower);
}

/* Set the times of all ops; an even op's on one device that does it. */
static void set_times(struct modelled *m)
{
    uint32_t nops = m->program->nops;

    for (uint32_t i = m->program->first_op; i < nops; i++) {
        const struct program_op *op = &m->program->ops[i];

        m->even[i] = op_seconds_even(&m->seconds, i);
        if (program_is_beside(op))
            m->streams[i] = (uint8_t)op_seconds_stream(&m->seconds, i);
        if (m->even[i])
            m->op_ns[i] = time_of(m, i, program_doer(m->program, op, 0));
        for (uint32_t lane = 0; lane < m->nlanes && !m->even[i]; lane++)
            m->op_ns[(size_t)lane * nops + i] = time_of(m, i, m->positions[lane]);
    }
}

static bool allocate(struct modelled *m)
{
    size_t n = m->nlanes, nops = m->program->nops;

    m->even = calloc(nops + 1, sizeof *m->even);
    m->streams = calloc(nops + 1, sizeof *m->streams);
    m->op_ns = calloc(n * nops + 1, sizeof *m->op_ns);
    m->exposed_ns = calloc(n * nops + 1, sizeof *m->exposed_ns);
    m->positions = calloc(n, sizeof *m->positions);
    m->last = calloc(n, sizeof *m->last);
    if (!m->even || !m->streams || !m->op_ns || !m->exposed_ns || !m->positions || !m->last)
        return false;
    for (uint32_t row = 0; row < n; row++)
        m->positions[row] = program_classes_get(m->classes, row).first;
    return true;
}

/* Record the time and bound of an op on the busiest lane. */
static void keep_op(struct record_modelled *out, struct modelled *m, uint32_t i)
{
    static const enum record_work works[] = {[HARDWARE_MATMUL] = RECORD_MATMUL,
                                             [HARDWARE_ATTENTION] = RECORD_ATTENTION,
                                             [HARDWARE_ATTENTION_BACKWARD] = RECORD_ATTENTION,
                                             [HARDWARE_MEMORY] = RECORD_ELEMENTWISE};
    static const uint8_t bounds[] = {[HARDWARE_BY_COMPUTE] = RECORD_BY_COMPUTE,
                                     [HARDWARE_BY_MEMORY] = RECORD_BY_MEMORY,
                                     [HARDWARE_BY_LAUNCH] = RECORD_BY_LAUNCH,
                                     [HARDWARE_BY_TILES] = RECORD_BY_TILES};
    const struct program_op *op = &m->program->ops[i];
    struct hardware_work work;
    int64_t ns = op_ns(m, (int32_t)out->row, i) * op->times;

    out->op_ns[i] = ns;
    out->exposed_ns[i] = m->exposed_ns[(size_t)out->row * m->program->nops + i];
    if (!op_seconds_work(&work, &m->seconds, i, m->positions[out->row]))
        return;
    out->bound[i] = bounds[op_seconds_bound(&m->seconds, i, m->positions[out->row])];
    out->work_ns[op->part == PROGRAM_UPDATE ? RECORD_UPDATE : works[work.kind]] += ns;
    out->again_ns += op->again ? ns : 0;
    if (op_seconds_timed(&work, &m->seconds, i, m->positions[out->row]))
        out->moved_bytes += work.bytes * (double)op->times;
}

/* The lane that computes longest, since the others wait for it; of equals the lane that ends
 * last. */
static uint32_t busiest(const struct record_replay *timeline, uint32_t nlanes)
{
    const struct record_replayed *d = timeline->devices;
    uint32_t found = 0;

    for (uint32_t k = 1; k < nlanes; k++)
        if (d[k].busy_ns > d[found].busy_ns ||
            (d[k].busy_ns == d[found].busy_ns && d[k].idle_ns < d[found].idle_ns))
            found = k;
    return found;
}

/* Record the busiest lane's figures by op. */
static int keep(struct record *record, struct modelled *m, struct record_replay *timeline,
                struct shd_error *err)
{
    struct record_modelled *out = record_modelled_create(record->program->nops);
    uint32_t its_rank;

    if (!out)
        return shd_error_set(err, SHD_ENOMEM, "no memory for a modelled step");
    out->row = busiest(timeline, m->nlanes);
    its_rank = program_rank(m->program, m->positions[out->row]);
    for (uint32_t i = m->program->first_op; i < m->program->nops; i++)
        if (program_holds(m->program, its_rank, &m->program->ops[i]))
            keep_op(out, m, i);
    out->hardware = m->hardware;
    out->straggler = m->straggler;
    out->timeline = timeline;
    record_modelled_destroy(record->modelled);
    record->modelled = out;
    return SHD_OK;
}

static int lay_out(struct record_replay **timeline, struct modelled *m, struct shd_error *err)
{
    const struct events_view view = {.program = m->program,
                                     .interleaves = m->hardware->software.overlaps_pairs,
                                     .nlanes = (int32_t)m->nlanes,
                                     .rank = rank,
                                     .op_ns = op_ns,
                                     .stream = stream,
                                     .issue = issue,
                                     .doer = doer,
                                     .last = last,
                                     .meet = meet,
                                     .arg = m,
                                     .exposed_ns = m->exposed_ns,
                                     .watch = m->watch};

    memset(m->exposed_ns, 0, (size_t)m->nlanes * m->program->nops * sizeof *m->exposed_ns);
    return events_run(timeline, &view, err);
}

/* Schedule the step without the straggler, then with the straggler. */
static int lay_out_all(struct record *record, struct modelled *m, struct shd_error *err)
{
    struct record_replay *timeline;
    int32_t slow = m->slow;
    int status;

    m->slow = -1;
    status = lay_out(&timeline, m, err);
    if (status != SHD_OK)
        return status;
    if (slow >= 0) {
        m->straggler.without_ns = timeline->step_ns;
        m->slow = slow;
        record_replay_destroy(timeline);
        status = lay_out(&timeline, m, err);
    }
    if (status == SHD_OK)
        status = keep(record, m, timeline, err);
    if (status != SHD_OK)
        record_replay_destroy(timeline);
    return status;
}

/* Classes of alike devices; the straggler is a class by itself. */
static int classes_of(struct program_classes **out, const struct program *program,
                      const struct record_straggler *straggler, struct shd_error *err)
{
    struct program_classes *classes;
    int status = program_classes_create(&classes, program, err);

    if (status != SHD_OK)
        return status;
    if (straggler->device >= 0)
        status = program_classes_single_out(classes, straggler->device, err);
    if (status == SHD_OK)
        *out = classes;
    else
        program_classes_destroy(classes);
    return status;
}

static int find_lanes(struct modelled *m, struct shd_error *err)
{
    m->classes = m->record->classes;
    if (m->straggler.device >= 0) {
        int status = classes_of(&m->own, m->program, &m->straggler, err);

        if (status != SHD_OK)
            return status;
        m->classes = m->own;
        m->slow = (int32_t)program_classes_find(m->classes, m->straggler.device);
    }
    m->nlanes = m->classes->nclasses;
    return SHD_OK;
}

/* Find the lanes and the times of ops on them. */
static int prepare(struct modelled *m, struct shd_error *err)
{
    int status = program_uses_host(m->program) ? hardware_host_check(m->hardware, err) : SHD_OK;

    if (status == SHD_OK)
        status = op_seconds_init(&m->seconds, m->program, m->hardware, err);

    if (status == SHD_OK)
        status = find_lanes(m, err);
    if (status == SHD_OK && !allocate(m))
        status = shd_error_set(err, SHD_ENOMEM, "no memory for a modelled step");
    if (status == SHD_OK)
        set_times(m);
    return status;
}

static void free_all(struct modelled *m)
{
    op_seconds_fini(&m->seconds);
    program_classes_destroy(m->own);
    free(m->even);
    free(m->streams);
    free(m->op_ns);
    free(m->exposed_ns);
    free(m->positions);
    free(m->last);
}

int modelled_run(struct record *record, const struct hardware *hardware,
                 const struct record_straggler *straggler, struct shd_error *err)
{
    struct modelled m = {.program = record->program,
                         .record = record,
                         .hardware = hardware,
                         .straggler = straggler ? *straggler : NO_STRAGGLER,
                         .slow = -1};
    int status = prepare(&m, err);

    if (status == SHD_OK)
        status = lay_out_all(record, &m, err);
    free_all(&m);
    return status;
}

int modelled_tell(const struct record *record, const struct events_watch *watch,
                  struct shd_error *err)
{
    struct modelled m = {.program = record->program,
                         .record = record,
                         .hardware = record->modelled->hardware,
                         .straggler = record->modelled->straggler,
                         .slow = -1,
                         .watch = watch};
    struct record_replay *again;
    int status = prepare(&m, err);

    if (status == SHD_OK)
        status = lay_out(&again, &m, err);
    if (status == SHD_OK)
        record_replay_destroy(again);
    free_all(&m);
    return status;
}

int modelled_classes(struct program_classes **out, const struct record *record,
                     struct shd_error *err)
{
    return classes_of(out, record->program, &record->modelled->straggler, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "cost/modelled.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cost/events.h"

#define NONE PROGRAM_NONE
#define NO_STRAGGLER ((struct record_straggler){-1, 1, 1, 0})

/* Groups of lanes whose coordinates differ only along some axes.  Boxes may be fetched from any
 * lane of the group. */
struct groups {
    uint32_t others; /* bit mask of all other axes */
    uint32_t *first; /* [lane]: first lane of its group */
};

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
    uint8_t *streams;      /* [op] */
    uint32_t *uneven;      /* [op]: row in uneven_ns; NONE: takes the same time on every lane */
    uint32_t *beside;      /* [op]: row in exposed_ns; NONE: no op beside the computations */
    int64_t *even_ns;      /* [op] */
    int64_t *uneven_ns;    /* [row][lane], of the lanes that do the op */
    int64_t *exposed_ns;   /* [row][lane] */
    size_t nbeside;        /* rows of exposed_ns */
    int32_t *positions;    /* [lane]: the first device of its class */
    struct groups *groups; /* of all transfers in which lanes meet */
    uint32_t ngroups;
    uint32_t *groups_of; /* [op]: in groups[] */
    int32_t *last;       /* [lane]: in a meeting, the lane that arrives last in the group whose
                            first lane this is */
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

/* [lane]: first lane of the group that a lane belongs to in a transfer. */
static const uint32_t *groups_in(const struct modelled *m, uint32_t op)
{
    return m->groups[m->groups_of[op]].first;
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
    return groups_in(m, op)[lane] == groups_in(m, op)[m->slow] ? m->straggler.links : 1;
}

static void op_ns(void *arg, uint32_t op, const int32_t *lanes, int32_t nlanes, int64_t *out)
{
    const struct modelled *m = arg;
    uint32_t row = m->uneven[op];
    const int64_t *ns = row == NONE ? NULL : m->uneven_ns + (size_t)row * m->nlanes;

    for (int32_t k = 0; k < nlanes; k++)
        out[k] = ns ? ns[lanes[k]] : m->even_ns[op];
    for (int32_t k = 0; m->slow >= 0 && k < nlanes; k++)
        out[k] = llround((double)out[k] * slower_of(m, op, lanes[k]));
}

static void expose(void *arg, int32_t lane, uint32_t op, int64_t ns)
{
    const struct modelled *m = arg;

    m->exposed_ns[(size_t)m->beside[op] * m->nlanes + (size_t)lane] += ns;
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
    const uint32_t *groups = groups_in(m, meeting->op);

    for (int32_t k = 0; k < meeting->nlanes; k++)
        m->last[groups[meeting->lanes[k]]] = -1;
    for (int32_t k = 0; k < meeting->nlanes; k++) {
        int32_t *found = &m->last[groups[meeting->lanes[k]]];

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

        start[lane] = meeting->arrival[m->last[groups_in(m, meeting->op)[lane]]];
    }
}

static int32_t last(void *arg, const struct events_meeting *meeting, int32_t lane)
{
    const struct modelled *m = arg;

    find_last(m, meeting);
    return m->last[groups_in(m, meeting->op)[lane]];
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
    for (uint32_t i = m->program->first_op; i < m->program->nops; i++) {
        const struct program_op *op = &m->program->ops[i];
        uint32_t row = m->uneven[i];

        if (program_is_beside(op))
            m->streams[i] = (uint8_t)op_seconds_stream(&m->seconds, i);
        if (row == NONE)
            m->even_ns[i] = time_of(m, i, program_doer(m->program, op, 0));
        for (uint32_t k = 0; k < m->nlanes && row != NONE; k++)
            if (program_holds(m->program, rank(m, (int32_t)k), op))
                m->uneven_ns[(size_t)row * m->nlanes + k] = time_of(m, i, m->positions[k]);
    }
}

/* The groups of lanes that meet in a transfer, added if new; NONE: no memory. */
static uint32_t find_groups(struct modelled *m, const struct program_op *op)
{
    uint8_t axes[SHD_MESH_AXES_MAX];
    size_t naxes = program_op_axes(op, axes);
    uint32_t others = UINT32_MAX, *first;

    for (size_t k = 0; k < naxes; k++)
        others &= ~(UINT32_C(1) << axes[k]);
    for (uint32_t k = 0; k < m->ngroups; k++)
        if (m->groups[k].others == others)
            return k;
    first = calloc(m->nlanes, sizeof *first);
    if (!first || !array_make_room32(&m->groups, m->ngroups, sizeof *m->groups)) {
        free(first);
        return NONE;
    }
    for (uint32_t lane = 0; lane < m->nlanes; lane++)
        first[lane] = program_classes_project(m->classes, lane, others);
    m->groups[m->ngroups] = (struct groups){others, first};
    return m->ngroups++;
}

/* Number the ops that have rows, and find the groups of those that meet; false: no memory. */
static bool number_rows(struct modelled *m, size_t *nuneven, size_t *nbeside)
{
    *nuneven = *nbeside = 0;
    for (uint32_t i = 0; i < m->program->nops; i++) {
        const struct program_op *op = &m->program->ops[i];
        bool there = i >= m->program->first_op;

        m->uneven[i] = there && !op_seconds_even(&m->seconds, i) ? (uint32_t)(*nuneven)++ : NONE;
        m->beside[i] = there && program_is_beside(op) ? (uint32_t)(*nbeside)++ : NONE;
        if (program_communicates(op) && op->kind != PROGRAM_SEND && op->kind != PROGRAM_RECV)
            m->groups_of[i] = find_groups(m, op);
        if (m->groups_of[i] == NONE)
            return false;
    }
    return true;
}

static bool allocate(struct modelled *m)
{
    size_t n = m->nlanes, nops = m->program->nops, nuneven;

    m->streams = calloc(nops + 1, sizeof *m->streams);
    m->uneven = calloc(nops + 1, sizeof *m->uneven);
    m->beside = calloc(nops + 1, sizeof *m->beside);
    m->groups_of = calloc(nops + 1, sizeof *m->groups_of);
    m->even_ns = calloc(nops + 1, sizeof *m->even_ns);
    m->positions = calloc(n, sizeof *m->positions);
    m->last = calloc(n, sizeof *m->last);
    if (!m->streams || !m->uneven || !m->beside || !m->groups_of || !m->even_ns || !m->positions ||
        !m->last || !number_rows(m, &nuneven, &m->nbeside))
        return false;
    m->uneven_ns = calloc(nuneven * n + 1, sizeof *m->uneven_ns);
    m->exposed_ns = calloc(m->nbeside * n + 1, sizeof *m->exposed_ns);
    for (uint32_t row = 0; row < n; row++)
        m->positions[row] = program_classes_get(m->classes, row).first;
    return m->uneven_ns && m->exposed_ns;
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
    int32_t lane = (int32_t)out->row;
    int64_t ns;

    op_ns(m, i, &lane, 1, &ns);
    ns *= op->times;
    out->op_ns[i] = ns;
    if (m->beside[i] != NONE)
        out->exposed_ns[i] = m->exposed_ns[(size_t)m->beside[i] * m->nlanes + out->row];
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
                                     .expose = expose,
                                     .watch = m->watch};

    memset(m->exposed_ns, 0, m->nbeside * m->nlanes * sizeof *m->exposed_ns);
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
    for (uint32_t k = 0; k < m->ngroups; k++)
        free(m->groups[k].first);
    free(m->groups);
    free(m->groups_of);
    free(m->streams);
    free(m->uneven);
    free(m->beside);
    free(m->even_ns);
    free(m->uneven_ns);
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

/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "cost/timeline.h"

#include <stdlib.h>

#include "cost/modelled.h"
#include "cost/replay.h"

struct keeper {
    struct timeline *timeline;
    uint32_t *lane_of; /* [lane of the events]: the timeline's lane, or PROGRAM_NONE */
    bool counts;       /* first pass: count actions and intervals, to size the arrays */
};

bool timeline_is_known(const struct record *record)
{
    return record->modelled || record->replay;
}

static struct timeline_lane *lane_of(const struct keeper *k, const struct events_seen *seen)
{
    uint32_t lane = k->lane_of[seen->lane];

    return lane == PROGRAM_NONE ? NULL : &k->timeline->lanes[lane];
}

static void keep_action(void *arg, const struct events_seen *seen)
{
    const struct keeper *k = arg;
    struct timeline_lane *lane = lane_of(k, seen);

    if (lane && !k->counts)
        lane->actions[lane->nactions] = *seen;
    if (lane)
        lane->nactions++;
}

static void keep_stretch(void *arg, const struct events_seen *seen)
{
    const struct keeper *k = arg;
    struct timeline_lane *lane = lane_of(k, seen);

    if (lane && !k->counts)
        lane->stretches[lane->nstretches] = *seen;
    if (lane)
        lane->nstretches++;
}

static int no_memory(struct shd_error *err)
{
    return shd_error_set(err, SHD_ENOMEM, "no memory for the timeline");
}

static int tell(struct keeper *k, struct shd_error *err)
{
    const struct events_watch watch = {keep_action, keep_stretch, k};
    const struct record *record = k->timeline->record;

    return k->timeline->modelled ? modelled_tell(record, &watch, err)
                                 : replay_tell(record, &watch, err);
}

static uint64_t number_of(const struct timeline *t, const struct timeline_lane *lane, uint32_t op,
                          uint32_t microbatch)
{
    return lane->base[op] + (t->record->program->ops[op].times > 1 ? microbatch : 0);
}

/* Number the actions of a lane; false: no memory. */
static bool number(const struct timeline *t, struct timeline_lane *lane)
{
    const struct program *program = t->record->program;

    lane->base = calloc((size_t)program->nops + 1, sizeof *lane->base);
    lane->when = calloc(lane->nactions + 1, sizeof *lane->when);
    if (!lane->base || !lane->when)
        return false;
    program_number_actions(program, lane->rank, lane->base);
    for (size_t i = 0; i < lane->nactions; i++)
        lane->when[number_of(t, lane, lane->actions[i].op, lane->actions[i].microbatch)] = i;
    return true;
}

static int keep(struct timeline *t, uint32_t *lanes, struct shd_error *err)
{
    struct keeper k = {t, lanes, true};
    int status = tell(&k, err);

    for (uint32_t i = 0; i < t->nlanes && status == SHD_OK; i++) {
        struct timeline_lane *lane = &t->lanes[i];

        lane->actions = calloc(lane->nactions + 1, sizeof *lane->actions);
        lane->stretches = calloc(lane->nstretches + 1, sizeof *lane->stretches);
        if (!lane->actions || !lane->stretches)
            status = no_memory(err);
        lane->nactions = lane->nstretches = 0;
    }
    if (status != SHD_OK)
        return status;
    k.counts = false;
    status = tell(&k, err);
    for (uint32_t i = 0; i < t->nlanes && status == SHD_OK; i++)
        if (!number(t, &t->lanes[i]))
            status = no_memory(err);
    return status;
}

/* Map the events' lanes (classes in a modelled step, devices in a replayed one) to the timeline's
 * lanes. */
static void choose(struct timeline *t, uint32_t *lanes, uint32_t nmost, uint32_t nevents)
{
    uint32_t n = t->classes ? t->classes->nclasses : nevents;

    for (uint32_t i = 0; i < nevents; i++)
        lanes[i] = PROGRAM_NONE;
    for (uint32_t i = 0; i < n; i++) {
        struct program_class class = t->classes
                                         ? program_classes_get(t->classes, i)
                                         : program_class_of_device(t->record->program, (int32_t)i);
        uint32_t event = t->modelled ? i : (uint32_t) class.first;

        t->lane_of[i] = i < nmost ? i : PROGRAM_NONE;
        if (i >= nmost)
            continue;
        lanes[event] = i;
        t->at[i] = (int32_t)event;
        t->lanes[i].devices = class;
        t->lanes[i].rank = program_rank(t->record->program, class.first);
    }
    t->nlanes = n < nmost ? n : nmost;
    t->nleft_out = n - t->nlanes;
}

static int fill(struct timeline *t, uint32_t nmost, struct shd_error *err)
{
    uint32_t nevents = (uint32_t)t->record->ndevices, *lanes;
    int status = SHD_OK;

    if (t->modelled)
        status = modelled_classes(&t->classes, t->record, err);
    else if (nevents > nmost)
        status = program_classes_create(&t->classes, t->record->program, err);
    if (status != SHD_OK)
        return status;
    if (t->modelled)
        nevents = t->classes->nclasses;
    t->lanes = calloc((size_t)nevents + 1, sizeof *t->lanes);
    t->at = calloc((size_t)nevents + 1, sizeof *t->at);
    t->lane_of = calloc((size_t)nevents + 1, sizeof *t->lane_of);
    lanes = calloc((size_t)nevents + 1, sizeof *lanes);
    if (t->lanes && t->at && t->lane_of && lanes) {
        choose(t, lanes, nmost, nevents);
        status = keep(t, lanes, err);
    } else {
        status = no_memory(err);
    }
    free(lanes);
    return status;
}

int timeline_create(struct timeline **out, const struct record *record, uint32_t nmost,
                    struct shd_error *err)
{
    struct timeline *t = calloc(1, sizeof *t);
    int status;

    if (!t)
        return no_memory(err);
    t->record = record;
    t->modelled = record->modelled != NULL;
    t->all = t->modelled ? record->modelled->timeline : record->replay;
    t->step_ns = t->all->step_ns;
    status = fill(t, nmost, err);
    if (status == SHD_OK)
        *out = t;
    else
        timeline_destroy(t);
    return status;
}

void timeline_destroy(struct timeline *timeline)
{
    if (!timeline)
        return;
    for (uint32_t i = 0; timeline->lanes && i < timeline->nlanes; i++) {
        free(timeline->lanes[i].actions);
        free(timeline->lanes[i].stretches);
        free(timeline->lanes[i].base);
        free(timeline->lanes[i].when);
    }
    free(timeline->lanes);
    free(timeline->at);
    free(timeline->lane_of);
    program_classes_destroy(timeline->classes);
    free(timeline);
}

uint32_t timeline_find(const struct timeline *timeline, int32_t position)
{
    return timeline->lane_of[timeline->classes ? program_classes_find(timeline->classes, position)
                                               : (uint32_t)position];
}

size_t timeline_action(const struct timeline *timeline, uint32_t lane, uint32_t op,
                       uint32_t microbatch)
{
    const struct timeline_lane *l = &timeline->lanes[lane];

    return l->base[op] == UINT64_MAX ? l->nactions
                                     : l->when[number_of(timeline, l, op, microbatch)];
}

const struct record_replayed *timeline_spent(const struct timeline *timeline, uint32_t lane)
{
    return &timeline->all->devices[timeline->at[lane]];
}

/* events.h - the event simulator: the actions of a step laid along the streams of its devices.
 *
 * One simulator for times that were taken (replay.h) and for times of stated hardware (modelled.h):
 * what differs is what an op takes and how transfers are issued, which a view says.
 *
 * - A lane is a device, or one for all that are alike.  It has a stream of computations, which are
 *   done in program order, and streams of transfers.
 * - An action begins when its inputs are there and its stream has come to it.
 * - A transfer begins when the last lane that takes part has come to it, and a receive not before
 *   its send has ended; it ends, on each lane, after the lane's own time.
 * - Computations that wait for a transfer are exposed to it while bytes arrive on their own lane;
 *   else they wait for others.
 *
 * Thread class: pure function of the view.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COST_EVENTS_H
#define COST_EVENTS_H

#include "program/record.h"

#define EVENTS_STREAMS_MAX 4 /* of transfers, on a lane */

/* When a transfer may begin, besides its inputs. */
enum events_issue {
    EVENTS_IN_ORDER, /* when its stream has done the transfers before it in the program */
    EVENTS_ISSUED,   /* and the computations before it in the program are done, too: it is issued
                        from among them */
    EVENTS_BLOCKS,   /* and those behind it wait for its end */
    EVENTS_FILLS     /* as soon as its inputs are there, in the gaps that others leave */
};

/* Lanes that come to one action together: those of one rank. */
struct events_meeting {
    uint32_t op;
    const int32_t *lanes;
    int32_t nlanes;
    const int64_t *arrival; /* [lane]: when each could begin, nanoseconds */
};

/* Something that a lane does, in nanoseconds from the step's begin. */
struct events_seen {
    int32_t lane;
    uint32_t op, microbatch;
    int stream; /* of transfers; -1: computations */
    int64_t start_ns, end_ns;
};

/* Who is told what a step that was laid out consists of, one lane after the other.  Functions get
 * `arg`. */
struct events_watch {
    /* Each action of the lane, in the order of its program. */
    void (*action)(void *arg, const struct events_seen *action);
    /* Then each stretch in which a stream is busy with a transfer, in the order of time; a transfer
     * that fills gaps has several, and one that takes no time none. */
    void (*stretch)(void *arg, const struct events_seen *stretch);
    void *arg;
};

/* What is laid out.  Functions get `arg`. */
struct events_view {
    const struct program *program;
    int32_t nlanes;
    uint32_t (*rank)(void *arg, int32_t lane); /* in the pipeline */
    /* What an op takes on a lane, done once. */
    int64_t (*op_ns)(void *arg, int32_t lane, uint32_t op);
    /* Of an op that communicates: its stream, below EVENTS_STREAMS_MAX, and its issue. */
    unsigned (*stream)(void *arg, uint32_t op);
    enum events_issue (*issue)(void *arg, uint32_t op);
    /* The lane of the device that does an op (of another rank) with the coordinates of a lane's. */
    int32_t (*doer)(void *arg, uint32_t op, int32_t lane);
    /* The lane for which a lane waits in a meeting: the first that arrives last of those that take
     * part with it. */
    int32_t (*last)(void *arg, const struct events_meeting *meeting, int32_t lane);
    /* The same for all lanes of a meeting: start[lane]. */
    void (*meet)(void *arg, const struct events_meeting *meeting, int64_t *start);
    void *arg;
    int64_t *exposed_ns; /* [lane][op]: what computations were exposed to it; NULL: not wanted */
    const struct events_watch *watch; /* NULL: nobody wants to know */
};

/* Lay out a step: the devices of the timeline are lanes.  Time and memory O(lanes x actions).
 * SHD_ENOMEM; free with record_replay_destroy(). */
SHD_MUST_CHECK int events_run(struct record_replay **out, const struct events_view *view,
                              struct shd_error *err);

#endif /* COST_EVENTS_H */

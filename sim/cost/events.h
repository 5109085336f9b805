/* events.h - the event simulator: schedules the actions of a step on the streams of its devices.
 *
 * It serves measured times (replay.h) and times of a stated cluster (modelled.h); a view supplies
 * what differs: the time of each op and how transfers are issued.
 *
 * - A lane is a device, or one device for a class of alike devices.  It has a stream of
 *   computations, which run in program order, and streams of transfers.
 * - An action begins when its inputs are available and its stream has come to it.
 * - A transfer begins when the last lane that takes part has come to it, a receive not before its
 *   send has ended; it ends, on each lane, after the lane's own time.
 * - Computations that wait for a transfer are exposed to it while bytes arrive on their own lane;
 *   otherwise they wait for other devices.
 *
 * Thread class: pure function of the view.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COST_EVENTS_H
#define COST_EVENTS_H

#include "program/record.h"

/* Streams beside the computations of a lane: transfers between devices, copies to and from the
 * host, and the host's own kernels. */
#define EVENTS_LINKS_MAX 4
#define EVENTS_TO_HOST EVENTS_LINKS_MAX
#define EVENTS_FROM_HOST (EVENTS_LINKS_MAX + 1)
#define EVENTS_ON_HOST (EVENTS_LINKS_MAX + 2)
#define EVENTS_STREAMS_MAX (EVENTS_LINKS_MAX + 3)

/* When a transfer may begin, in addition to its inputs. */
enum events_issue {
    EVENTS_IN_ORDER, /* after the earlier transfers of its stream in program order */
    EVENTS_ISSUED,   /* also after the earlier computations in program order, which issue it */
    EVENTS_BLOCKS,   /* also, later computations wait for its end */
    EVENTS_FREES,    /* in order, and later computations wait for its end, since they use the memory
                        that it frees */
    EVENTS_FILLS     /* once all inputs are available, in gaps of the stream */
};

/* Lanes that come to one action together: all lanes of a rank. */
struct events_meeting {
    uint32_t op;
    const int32_t *lanes;
    int32_t nlanes;
    const int64_t *arrival; /* [lane]: when each could begin, nanoseconds */
};

/* An interval on a lane, in nanoseconds from the step's start. */
struct events_seen {
    int32_t lane;
    uint32_t op, microbatch;
    int stream; /* stream of transfers; -1: computations */
    int64_t start_ns, end_ns;
};

/* Receives the schedule of a step, one lane after the other.  Functions get `arg`. */
struct events_watch {
    /* Each action of the lane, in program order. */
    void (*action)(void *arg, const struct events_seen *action);
    /* Then each interval in which a stream is busy with a transfer, in order of time; a transfer
     * that fills gaps has several, a transfer that takes no time has none. */
    void (*stretch)(void *arg, const struct events_seen *stretch);
    void *arg;
};

/* The step to schedule.  Functions get `arg`. */
struct events_view {
    const struct program *program;
    bool interleaves; /* the forward and backward of an overlapped pair (program/paired_walk.h) */
    int32_t nlanes;
    uint32_t (*rank)(void *arg, int32_t lane); /* in the pipeline */
    /* Set the time of an op, done once, on each of some lanes of a rank. */
    void (*op_ns)(void *arg, uint32_t op, const int32_t *lanes, int32_t nlanes, int64_t *out);
    /* The stream, below EVENTS_LINKS_MAX, and the issue of an op beside the computations.  An op
     * that is none between devices has those of the host (events_host_stream()). */
    unsigned (*stream)(void *arg, uint32_t op);
    enum events_issue (*issue)(void *arg, uint32_t op);
    /* Lane of the device that does an op of another rank and has the coordinates of `lane`. */
    int32_t (*doer)(void *arg, uint32_t op, int32_t lane);
    /* The lane that a lane waits for in a meeting: the first of those that arrive last, among the
     * lanes that take part with it. */
    int32_t (*last)(void *arg, const struct events_meeting *meeting, int32_t lane);
    /* Start time of every lane of a meeting: start[lane]. */
    void (*meet)(void *arg, const struct events_meeting *meeting, int64_t *start);
    /* Computations of a lane were exposed to an op for so long; NULL: not wanted. */
    void (*expose)(void *arg, int32_t lane, uint32_t op, int64_t ns);
    void *arg;
    bool traces;                      /* the critical path is wanted */
    const struct events_watch *watch; /* NULL: none */
};

/* The stream and the issue of an op beside the computations that does not communicate: of the host.
 * Copies to the host in the forward phase free the memory that later computations use; copies from
 * it are issued where they have memory.  The update has no order: each part is done as soon as its
 * operands are there. */
unsigned events_host_stream(const struct program_op *op);
enum events_issue events_host_issue(const struct program_op *op);

/* Schedule a step: the devices of the timeline are lanes.  Time O(lanes x actions), memory too if
 * the path or a watch is wanted, else O(lanes x results in use at once).  SHD_ENOMEM; free with
 * record_replay_destroy(). */
SHD_MUST_CHECK int events_run(struct record_replay **out, const struct events_view *view,
                              struct shd_error *err);

#endif /* COST_EVENTS_H */

/* wait.h - the only way to block: events, and barriers with deadlock detection.
 *
 * Nothing here takes a lock: a waiting thread yields its core a few times, since the others may be
 * about to arrive, and then sleeps until the event has moved on from the value read.
 * The thread that lets a barrier pass makes one system call to wake sleepers, and none if there are
 * none.  An arrival is given up as soon as a member cannot arrive any more (it failed or ended), or
 * the whole run is called off; then the barrier is broken for good.
 *
 * A wait record says at which barrier a thread waits.  If all living threads of a run are blocked
 * at once, and a second look finds no change, the run is deadlocked: see wait_is_blocked().
 *
 * Thread class: everything here may be used by all threads of a run at once, except that a record
 * is written by its own thread only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_WAIT_H
#define BASE_WAIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- events ---- */

/* The lowest bit of an event says that a thread may be asleep on it, so that only then a signal
 * needs a system call.  Compare values of an event with wait_has_moved() only. */

/* Sleep until *event has moved on from `seen` (at most limit_ns; negative: for ever); may wake
 * early.  Read the event first, then the condition, then call this: no wake is lost. */
void wait_event(_Atomic uint32_t *event, uint32_t seen, int64_t limit_ns);

/* Move the event on and wake all threads that sleep on it; pairs with wait_event(). */
void wait_signal(_Atomic uint32_t *event);

bool wait_has_moved(const _Atomic uint32_t *event, uint32_t seen);

/* ---- words ---- */

/* Sleep while *word is `value`; may wake early.  A thread that changes the word must wake the
 * sleepers. */
void wait_while(_Atomic uint32_t *word, uint32_t value);
void wait_wake_one(_Atomic uint32_t *word);

/* ---- gates: at most so many threads inside ---- */

struct wait_gate {
    _Atomic uint32_t free; /* places */
    _Atomic uint32_t nasleep;
};

void wait_gate_init(struct wait_gate *gate, uint32_t nplaces);
void wait_gate_enter(struct wait_gate *gate); /* waits for a place */
void wait_gate_leave(struct wait_gate *gate);

/* ---- time ---- */

int64_t wait_clock_ns(void); /* monotonic; for limits only */

/* ---- barriers ---- */

/* Shared by all barriers of a run. */
struct wait_board {
    _Atomic int called_off; /* non-zero: all arrivals are given up */
    bool spin;              /* a core for each thread: spin a little before sleeping */
    uint32_t nyields;       /* how often to give the core away before sleeping */
};

#define WAIT_GIVEN_UP UINT32_MAX

/* Most tasks: as many as 16 bits count, see `tasks` of a barrier. */
#define WAIT_TASKS_MAX UINT16_MAX

/* Work of the last thread to arrive, before all go on.  It may leave tasks to the other threads,
 * which are idle: as many as there are cores for are woken and take one task after the other, and
 * the thread that ends the last task lets all go on. */
struct wait_duty {
    /* Returns how many threads, including itself, are to share `*ntasks` tasks (at most
     * WAIT_TASKS_MAX); 0: no tasks; WAIT_GIVEN_UP: it waited for something else in vain, and
     * everyone's arrival is given up.  Its own record then says that it waits here
     * (wait_record_at()). */
    uint32_t (*last)(void *arg, uint32_t *ntasks);
    void (*task)(void *arg, uint32_t task); /* run by any member, several at once */
    void *arg;
};

struct wait_barrier {
    const struct wait_board *board;
    uint32_t nmembers;
    _Atomic uint32_t ndead; /* members that will not arrive again */
    _Atomic uint64_t state; /* generation << 32 | broken << 31 | members here */
    _Atomic uint32_t event; /* moves when the generation passes or waiting threads must look
                               again */
    _Atomic uint32_t nasleep; /* on the event, or about to be */
    _Atomic uint64_t tasks;   /* generation << 32 | first << 16 | end of the tasks not taken */
    _Atomic uint32_t unfinished;
};

/* The barrier at which a thread waits.  The count is odd while it waits. */
struct wait_record {
    _Atomic uint64_t count;
    const struct wait_barrier *_Atomic at;
    _Atomic uint32_t generation;
};

void wait_barrier_init(struct wait_barrier *b, const struct wait_board *board, uint32_t nmembers);

/* Arrive and wait for all members.  The last to arrive does the duty (NULL: none) while the others
 * wait.  False if the arrival was given up: the record then stays as it is, for good. */
bool wait_arrive(struct wait_barrier *b, struct wait_record *record, const struct wait_duty *duty);

/* Arrive and wait inside an operation that all members take part in and none can leave.  The wait
 * cannot be given up and is not recorded: it ends when the slowest member has done its part. */
void wait_meet(struct wait_barrier *b);

/* Tell that a member will not arrive again. */
void wait_lose_member(struct wait_barrier *b);

/* Make the threads that wait here check whether the run was called off. */
void wait_poke(struct wait_barrier *b);

/* ---- posts: a barrier at which nobody meets ----
 *
 * One of its members posts and goes on, another waits until more has been posted than it has seen.
 * A barrier is used for posts or for arrivals, not both. */

uint32_t wait_posts(const struct wait_barrier *b); /* so far; wraps */
void wait_post(struct wait_barrier *b);

/* Wait until the number of posts differs from `seen`.  False if the wait was given up, like an
 * arrival: the record then stays as it is, for good. */
bool wait_for_post(struct wait_barrier *b, struct wait_record *record, uint32_t seen);

/* For the last thread to arrive, while it waits for something else before the barrier passes:
 * record that it waits at the barrier, and that it no longer does. */
void wait_record_at(struct wait_record *record, const struct wait_barrier *b);
void wait_record_over(struct wait_record *record);

/* Whether the record's thread waits at a barrier whose generation has not passed.  If true for all
 * living threads, twice in a row with the same sum of counts, all were blocked at the same time. */
bool wait_is_blocked(const struct wait_record *record);

#endif /* BASE_WAIT_H */

/* Tests base/wait.h: arrivals that are called off, and events.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "../support/tap.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "base/wait.h"

#define NSLEEPERS 6
#define NROUNDS 300
#define NSIGNALS 50
#define PATIENCE_NS INT64_C(10000000000)

static struct wait_board board;
static struct wait_barrier barrier;
static _Atomic int nreturned, npassed;

static void *arrive(void *arg)
{
    struct wait_record record = {0};

    (void)arg;
    npassed += wait_arrive(&barrier, &record, NULL);
    nreturned++;
    return NULL;
}

/* All threads but two sleep when the run is called off; then the last two arrive, so that all have
 * come to a broken barrier.  False if a thread sleeps for ever. */
static bool call_off_late(void)
{
    pthread_t threads[NSLEEPERS];
    int64_t start = wait_clock_ns();

    nreturned = 0;
    board = (struct wait_board){0};
    wait_barrier_init(&barrier, &board, NSLEEPERS + 2);
    for (int i = 0; i < NSLEEPERS; i++)
        if (pthread_create(&threads[i], NULL, arrive, NULL) != 0)
            abort();
    while (atomic_load(&barrier.nasleep) < NSLEEPERS)
        sched_yield();
    atomic_store(&board.called_off, 1);
    arrive(NULL);
    arrive(NULL);
    while (atomic_load(&nreturned) < NSLEEPERS + 2) {
        if (wait_clock_ns() - start > PATIENCE_NS)
            return false;
        sched_yield();
    }
    for (int i = 0; i < NSLEEPERS; i++)
        pthread_join(threads[i], NULL);
    return true;
}

/* ---- events ---- */

static _Atomic uint32_t event;
static _Atomic uint32_t nsignals;

/* Sleep until NSIGNALS were given, each time without a limit, so that a lost wake-up would hang
 * the test. */
static void *watch(void *arg)
{
    (void)arg;
    for (;;) {
        uint32_t seen = atomic_load(&event);

        if (atomic_load(&nsignals) == NSIGNALS)
            break;
        wait_event(&event, seen, -1);
    }
    nreturned++;
    return NULL;
}

/* Some threads sleep while others check whether the event has moved; a sleeper alone must not look
 * like a move.  False if a thread sleeps for ever. */
static bool signal_many(void)
{
    pthread_t threads[NSLEEPERS];
    int64_t start = wait_clock_ns();
    uint32_t seen = atomic_load(&event);

    nreturned = 0;
    nsignals = 0;
    for (int i = 0; i < NSLEEPERS; i++)
        if (pthread_create(&threads[i], NULL, watch, NULL) != 0)
            abort();
    for (int i = 0; i < 100; i++)
        sched_yield();
    if (wait_has_moved(&event, seen))
        return false;
    for (int i = 0; i < NSIGNALS; i++) {
        atomic_fetch_add(&nsignals, 1);
        wait_signal(&event);
    }
    while (atomic_load(&nreturned) < NSLEEPERS) {
        if (wait_clock_ns() - start > PATIENCE_NS)
            return false;
        sched_yield();
    }
    for (int i = 0; i < NSLEEPERS; i++)
        pthread_join(threads[i], NULL);
    return wait_has_moved(&event, seen);
}

/* A sleep with a limit ends without a signal. */
static bool sleeps_no_longer(void)
{
    uint32_t seen = atomic_load(&event);

    wait_event(&event, seen, 1000000);
    return !wait_has_moved(&event, seen);
}

int main(void)
{
    int n = 0;

    plan(0);
    while (n < NROUNDS && call_off_late())
        n++;
    ok(n == NROUNDS, "called off: nobody waits, though all came at last, %d times", n);
    ok(npassed == 0, "called off: nobody passes");
    n = 0;
    while (n < NROUNDS && signal_many())
        n++;
    ok(n == NROUNDS, "events: every sleeper sees the last of %d signals, %d times", NSIGNALS, n);
    ok(sleeps_no_longer(), "events: a sleep with a limit ends, and has moved nothing");
    return done();
}

/* What threads/wait.h promises of arrivals that are given up.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "tap.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "threads/wait.h"

#define NSLEEPERS 6
#define NROUNDS 300
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

/* All but two sleep when the run is called off; then the last two arrive, so that all have come to
 * a barrier that is broken.  False when somebody sleeps for ever. */
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

int main(void)
{
    int n = 0;

    plan(0);
    while (n < NROUNDS && call_off_late())
        n++;
    ok(n == NROUNDS, "called off: nobody waits, though all came at last, %d times", n);
    ok(npassed == 0, "called off: nobody passes");
    return done();
}

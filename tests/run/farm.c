/* Tests run/ranks/farm.h: all answers arrive in order, with slow, failing and stopped ranks.  Under
 * mpirun (tests/run/ranks_farm.sh) rank 0 reports for all ranks; without mpirun there is one rank, for
 * which the same holds.  With --no-memory the other ranks have no memory for an answer, which ends
 * the job.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/pack.h"
#include "run/ranks/farm.h"
#include "run/ranks/ranks.h"
#include "../support/tap.h"

#define NTASKS 60
#define NHANDS 3

/* How each rank works; all ranks have the same. */
struct worker {
    int fails_every; /* ranks other than 0 fail at every such task; 0: never */
    int slow_rank;   /* the rank whose tasks take ten times as long, if there are several; -1:
                      * none */
    int stops_at;    /* the task at which the rank that works on it is asked to stop; -1: none */
    bool no_memory;  /* ranks other than 0 have no memory for their answers */
    int stop;
    _Atomic int nworked;
};

static void sleep_ms(long ms)
{
    const struct timespec time = {.tv_nsec = ms * 1000000};

    nanosleep(&time, NULL);
}

/* Answer with the square of the task's number and the rank that worked on the task. */
static int work(void *arg, const void *task, size_t bytes, struct text *answer)
{
    struct worker *w = arg;
    struct unpack from;
    uint64_t number;

    unpack_init(&from, task, bytes);
    number = unpack_uint(&from);
    atomic_fetch_add(&w->nworked, 1);
    if (w->slow_rank >= 0)
        sleep_ms(ranks_me() == w->slow_rank && ranks_count() > 1 ? 20 : 2);
    if (w->stops_at >= 0 && number == (uint64_t)w->stops_at)
        __atomic_store_n(&w->stop, 1, __ATOMIC_RELAXED);
    pack_uint(answer, number * number);
    pack_uint(answer, (uint64_t)ranks_me());
    answer->failed |= w->no_memory && ranks_me() > 0;
    return w->fails_every && ranks_me() > 0 && number % (uint64_t)w->fails_every == 0;
}

/* The tasks that rank 0 asks for, and their answers. */
struct asker {
    uint64_t first; /* number of task 0 */
    size_t ends_at; /* the task whose answer ends the round */
    size_t ntaken;
    bool right, in_order;
    int of_rank[64];
};

static void ask(void *arg, size_t task, struct text *out)
{
    const struct asker *a = arg;

    pack_uint(out, a->first + task);
}

static int take(void *arg, size_t task, int status, const struct text *answer)
{
    struct asker *a = arg;
    uint64_t number = a->first + task;
    struct unpack from;

    a->in_order &= task == a->ntaken++;
    unpack_init(&from, text_get(answer), answer->length);
    a->right &= status == 0 && unpack_uint(&from) == number * number;
    a->of_rank[unpack_uint(&from) % 64]++;
    return task == a->ends_at;
}

static size_t go(struct farm *farm, struct asker *a, uint64_t first, size_t n, size_t ends_at)
{
    const struct farm_round round = {n, ask, take, a};
    struct shd_error err;
    size_t ntaken;

    *a = (struct asker){.first = first, .ends_at = ends_at, .right = true, .in_order = true};
    if (farm_run(farm, &round, &ntaken, &err) != SHD_OK)
        return SIZE_MAX;
    return ntaken == a->ntaken ? ntaken : SIZE_MAX;
}

/* Run `first` on rank 0 of a new farm, while the other ranks serve it. */
static void with_farm(struct worker *w, int nhands, void (*first)(struct farm *, struct worker *),
                      const char *what)
{
    const struct farm_crew crew = {work, w, nhands, &w->stop};
    struct farm *farm = farm_create(&crew);
    int64_t exits = 0;

    if (!farm)
        abort();
    if (ranks_me() == 0)
        first(farm, w);
    else
        exits = farm_serve(farm) != 42;
    farm_destroy(farm, 42);
    ranks_merge(&exits, sizeof exits, RANKS_MOST);
    ok(exits == 0, "%s: other ranks are given the exit status", what);
}

static void rounds(struct farm *farm, struct worker *w)
{
    struct asker a;

    (void)w;
    ok(go(farm, &a, 100, NTASKS, SIZE_MAX) == NTASKS && a.right && a.in_order,
       "all answers, in order");
    ok(go(farm, &a, 0, 0, SIZE_MAX) == 0, "no tasks");
    ok(go(farm, &a, 7, 1, SIZE_MAX) == 1 && a.right, "one task");
    ok(go(farm, &a, 0, NTASKS, 9) == 10 && a.right && a.in_order, "a round is ended early");
    ok(go(farm, &a, 1000, NTASKS, SIZE_MAX) == NTASKS && a.right && a.in_order,
       "the next round has only its own answers");
}

static void redone(struct farm *farm, struct worker *w)
{
    struct asker a;

    (void)w;
    ok(go(farm, &a, 0, NTASKS, SIZE_MAX) == NTASKS && a.right && a.in_order,
       "rank 0 repeats the failed tasks of other ranks");
}

static void uneven(struct farm *farm, struct worker *w)
{
    struct text told = TEXT_INIT;
    struct asker a;
    int slow = w->slow_rank, most = 0;

    ok(go(farm, &a, 0, NTASKS, SIZE_MAX) == NTASKS && a.right && a.in_order, "a rank is slow");
    for (int r = 0; r < ranks_count(); r++)
        most = r != slow && a.of_rank[r] > most ? a.of_rank[r] : most;
    farm_tell(farm, &told);
    diag("%s", text_get(&told));
    ok(ranks_count() == 1 || (a.of_rank[slow] >= 1 && 2 * a.of_rank[slow] < most),
       "the slow rank did less than half of another's tasks: %d, %d", a.of_rank[slow], most);
    ok(farm_hands(farm) == (size_t)ranks_count(), "a hand of each rank, once all ranks have come");
    text_fini(&told);
}

static void stopped(struct farm *farm, struct worker *w)
{
    struct asker a;
    size_t n = go(farm, &a, 0, 100000, SIZE_MAX);

    ok(n < 100000 && a.right && a.in_order, "a stop ends the round: %zu answers", n);
    ok(w->stop == 1 && go(farm, &a, 0, NTASKS, SIZE_MAX) == 0, "no task runs after a stop");
}

int main(int argc, char **argv)
{
    struct shd_error err;
    struct worker w;

    if (ranks_begin(&err) != SHD_OK || (ranks_me() > 0 && !freopen("/dev/null", "w", stdout)))
        return 1;
    plan(0);
    if (argc > 1 && !strcmp(argv[1], "--no-memory")) {
        w = (struct worker){.slow_rank = 0, .stops_at = -1, .no_memory = true};
        with_farm(&w, 1, redone, "no memory");
        ranks_end();
        return done();
    }
    for (int nhands = 1; nhands <= NHANDS; nhands += NHANDS - 1) {
        w = (struct worker){.slow_rank = -1, .stops_at = -1};
        with_farm(&w, nhands, rounds, nhands == 1 ? "a hand" : "several hands");
    }
    /* Rank 0 is slow: the other ranks get some of the tasks at which they fail. */
    w = (struct worker){.slow_rank = 0, .stops_at = -1, .fails_every = 7};
    with_farm(&w, 1, redone, "with failures");
    w = (struct worker){.slow_rank = ranks_count() - 1, .stops_at = -1};
    with_farm(&w, 1, uneven, "uneven");
    w = (struct worker){.slow_rank = -1, .stops_at = 500};
    with_farm(&w, 1, stopped, "stopped");
    ranks_end();
    return done();
}

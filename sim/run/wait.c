/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/wait.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BROKEN ((uint64_t)1 << 31)
#define HERE_MASK (BROKEN - 1)
#define SPINS 2000

static uint32_t generation_of(uint64_t state)
{
    return (uint32_t)(state >> 32);
}

void wait_event(_Atomic uint32_t *event, uint32_t seen, int64_t limit_ns)
{
    struct timespec limit = {limit_ns / 1000000000, limit_ns % 1000000000};

    syscall(SYS_futex, event, FUTEX_WAIT_PRIVATE, seen, limit_ns < 0 ? NULL : &limit, NULL, 0);
}

void wait_signal(_Atomic uint32_t *event)
{
    atomic_fetch_add(event, 1);
    syscall(SYS_futex, event, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

int64_t wait_clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void wait_barrier_init(struct wait_barrier *b, const struct wait_board *board, uint32_t nmembers)
{
    b->board = board;
    b->nmembers = nmembers;
    atomic_init(&b->ndead, 0);
    atomic_init(&b->state, 0);
    atomic_init(&b->event, 0);
}

/* Let all go on; only the last to arrive may, as all the others are blocked. */
static void pass(struct wait_barrier *b, uint32_t generation)
{
    atomic_store(&b->state, (uint64_t)(generation + 1) << 32);
    if (b->nmembers > 1)
        wait_signal(&b->event);
}

/* Leave an arrival for good.  False: too late, all have come. */
static bool give_up(struct wait_barrier *b, uint32_t generation)
{
    uint64_t state = atomic_load(&b->state);

    do {
        if (generation_of(state) != generation || (state & HERE_MASK) == b->nmembers)
            return false;
        if (state & BROKEN)
            return true;
    } while (!atomic_compare_exchange_weak(&b->state, &state, state | BROKEN));
    wait_signal(&b->event);
    return true;
}

/* A few looks before going to sleep, where nobody else needs the core. */
static void spin(const struct wait_barrier *b, uint32_t generation)
{
    for (int i = 0; i < SPINS; i++) {
        if (generation_of(atomic_load_explicit(&b->state, memory_order_acquire)) != generation)
            return;
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#endif
    }
}

static void record_wait(struct wait_record *record, const struct wait_barrier *b,
                        uint32_t generation)
{
    atomic_store(&record->at, b);
    atomic_store(&record->generation, generation);
    atomic_fetch_add(&record->count, 1);
}

bool wait_arrive(struct wait_barrier *b, struct wait_record *record, void (*last)(void *arg),
                 void *arg)
{
    uint64_t state = atomic_fetch_add(&b->state, 1) + 1;
    uint32_t generation = generation_of(state);

    if ((state & HERE_MASK) == b->nmembers && !(state & BROKEN)) {
        if (last)
            last(arg);
        pass(b, generation);
        return true;
    }
    record_wait(record, b, generation);
    if (state & BROKEN)
        return false;
    if (b->board->spin)
        spin(b, generation);
    for (;;) {
        /* The event first: what changes after the looks below moves it on. */
        uint32_t seen = atomic_load(&b->event);

        if (generation_of(atomic_load(&b->state)) != generation)
            break;
        if ((atomic_load(&b->ndead) > 0 || atomic_load(&b->board->called_off)) &&
            give_up(b, generation))
            return false;
        wait_event(&b->event, seen, -1);
    }
    atomic_fetch_add(&record->count, 1);
    return true;
}

void wait_meet(struct wait_barrier *b)
{
    uint64_t state = atomic_fetch_add(&b->state, 1) + 1;
    uint32_t generation = generation_of(state);

    if ((state & HERE_MASK) == b->nmembers) {
        pass(b, generation);
        return;
    }
    if (b->board->spin)
        spin(b, generation);
    for (;;) {
        uint32_t seen = atomic_load(&b->event);

        if (generation_of(atomic_load(&b->state)) != generation)
            return;
        wait_event(&b->event, seen, -1);
    }
}

void wait_lose_member(struct wait_barrier *b)
{
    atomic_fetch_add(&b->ndead, 1);
    wait_poke(b);
}

/* Who arrives later than this looks by itself before it sleeps. */
void wait_poke(struct wait_barrier *b)
{
    uint64_t state = atomic_load(&b->state);

    if ((state & HERE_MASK) > 0 && !(state & BROKEN))
        wait_signal(&b->event);
}

bool wait_is_blocked(const struct wait_record *record)
{
    const struct wait_barrier *b;

    if (atomic_load(&record->count) % 2 == 0)
        return false;
    b = atomic_load(&record->at);
    return generation_of(atomic_load(&b->state)) == atomic_load(&record->generation);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/wait.h"

#include <limits.h>
#include <sched.h>
#include <time.h>

#include "base/system.h"

/* Bit of an event: a thread may be asleep on it. */
#define SLEEPER ((uint32_t)1)

/* The lower half of a barrier's state: a bit for broken, and the number of members here. */
#define BROKEN ((uint64_t)1 << 31)
#define HERE_MASK (BROKEN - 1)

/* Looks of a spinning thread.  A pause instruction takes 10 to 140 cycles, by processor (Intel's
 * optimization reference manual), so all looks take 7 to 90 us at 3 GHz: about as long as sleeping
 * and being woken. */
#define SPINS 2000

static uint32_t generation_of(uint64_t state)
{
    return (uint32_t)(state >> 32);
}

void wait_event(_Atomic uint32_t *event, uint32_t seen, int64_t limit_ns)
{
    uint32_t awake = seen & ~SLEEPER;

    if (atomic_compare_exchange_strong(event, &awake, seen | SLEEPER) || awake == (seen | SLEEPER))
        system_sleep_while(event, seen | SLEEPER, limit_ns);
}

void wait_signal(_Atomic uint32_t *event)
{
    uint32_t before = atomic_load(event);

    while (!atomic_compare_exchange_weak(event, &before, (before | SLEEPER) + 1))
        ;
    if (before & SLEEPER)
        system_wake(event, INT_MAX);
}

bool wait_has_moved(const _Atomic uint32_t *event, uint32_t seen)
{
    return (atomic_load(event) | SLEEPER) != (seen | SLEEPER);
}

void wait_while(_Atomic uint32_t *word, uint32_t value)
{
    system_sleep_while(word, value, -1);
}

void wait_wake_one(_Atomic uint32_t *word)
{
    system_wake(word, 1);
}

void wait_gate_init(struct wait_gate *gate, uint32_t nplaces)
{
    atomic_init(&gate->free, nplaces);
    atomic_init(&gate->nasleep, 0);
}

void wait_gate_enter(struct wait_gate *gate)
{
    for (;;) {
        uint32_t n = atomic_load(&gate->free);

        while (n > 0)
            if (atomic_compare_exchange_weak(&gate->free, &n, n - 1))
                return;
        atomic_fetch_add(&gate->nasleep, 1);
        wait_while(&gate->free, 0);
        atomic_fetch_sub(&gate->nasleep, 1);
    }
}

/* A thread that counts itself asleep after this look finds a free place, and does not sleep. */
void wait_gate_leave(struct wait_gate *gate)
{
    atomic_fetch_add(&gate->free, 1);
    if (atomic_load(&gate->nasleep) > 0)
        wait_wake_one(&gate->free);
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
    atomic_init(&b->nasleep, 0);
    atomic_init(&b->tasks, 0);
    atomic_init(&b->unfinished, 0);
}

/* Move the event on, and wake at most `count` threads that sleep on it.  A thread that counts
 * itself asleep after this look finds the event moved, and does not sleep. */
static void wake(struct wait_barrier *b, int count)
{
    atomic_fetch_add(&b->event, 1);
    if (atomic_load(&b->nasleep) > 0)
        system_wake(&b->event, count);
}

static void sleep_at(struct wait_barrier *b, uint32_t seen)
{
    atomic_fetch_add(&b->nasleep, 1);
    wait_while(&b->event, seen);
    atomic_fetch_sub(&b->nasleep, 1);
}

/* Let a generation pass; only while all other members are blocked or at the last task. */
static void pass(struct wait_barrier *b, uint32_t generation)
{
    atomic_store(&b->state, (uint64_t)(generation + 1) << 32);
    if (b->nmembers > 1)
        wake(b, INT_MAX);
}

static bool has_passed(const struct wait_barrier *b, uint32_t generation)
{
    return generation_of(atomic_load(&b->state)) != generation;
}

/* Encode the tasks of a generation that no thread has taken: `low` to `high`. */
static uint64_t tasks_of(uint32_t generation, uint32_t low, uint32_t high)
{
    return (uint64_t)generation << 32 | (uint64_t)low << 16 | high;
}

static uint32_t low_of(uint64_t tasks)
{
    return (uint32_t)tasks >> 16;
}

static uint32_t high_of(uint64_t tasks)
{
    return (uint32_t)tasks & 0xffff;
}

/* Take a task of this generation.  Threads take from the low or the high end, by the parity of
 * their core's number: so each core finds its earlier work in its caches when the same work is
 * repeated.  False: none left. */
static bool take_task(struct wait_barrier *b, uint32_t generation, uint32_t *task)
{
    uint64_t tasks = atomic_load(&b->tasks), left;
    bool from_high = system_core() & 1;

    do {
        uint32_t low = low_of(tasks), high = high_of(tasks);

        if (generation_of(tasks) != generation || low == high)
            return false;
        *task = from_high ? high - 1 : low;
        left =
            from_high ? tasks_of(generation, low, high - 1) : tasks_of(generation, low + 1, high);
    } while (!atomic_compare_exchange_weak(&b->tasks, &tasks, left));
    return true;
}

static void help(struct wait_barrier *b, uint32_t generation, const struct wait_duty *duty)
{
    uint32_t task;

    while (duty && take_task(b, generation, &task)) {
        duty->task(duty->arg, task);
        if (atomic_fetch_sub(&b->unfinished, 1) == 1)
            pass(b, generation);
    }
}

/* Give an arrival up for good.  False: too late, all members have come. */
static bool give_up(struct wait_barrier *b, uint32_t generation)
{
    uint64_t state = atomic_load(&b->state);

    do {
        if (generation_of(state) != generation)
            return false;
        if (state & BROKEN) /* even if all members have come since */
            return true;
        if ((state & HERE_MASK) == b->nmembers)
            return false;
    } while (!atomic_compare_exchange_weak(&b->state, &state, state | BROKEN));
    wake(b, INT_MAX);
    return true;
}

static bool has_tasks(const struct wait_barrier *b, uint32_t generation)
{
    uint64_t tasks = atomic_load_explicit(&b->tasks, memory_order_relaxed);

    return generation_of(tasks) == generation && low_of(tasks) < high_of(tasks);
}

/* Spin before going to sleep, if no other thread needs the core. */
static void spin(const struct wait_barrier *b, uint32_t generation)
{
    for (int i = 0; i < SPINS; i++) {
        if (has_passed(b, generation) || has_tasks(b, generation))
            return;
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#endif
    }
}

/* Yield before going to sleep: if more threads are about to arrive than there are cores, the last
 * one has often arrived by this thread's next turn, and no thread had to sleep or be woken. */
static void linger(const struct wait_barrier *b, uint32_t generation)
{
    if (b->board->spin)
        spin(b, generation);
    for (uint32_t i = 0; i < b->board->nyields; i++) {
        if (has_passed(b, generation) || has_tasks(b, generation))
            return;
        sched_yield();
    }
}

static void record_wait(struct wait_record *record, const struct wait_barrier *b,
                        uint32_t generation)
{
    atomic_store(&record->at, b);
    atomic_store(&record->generation, generation);
    atomic_fetch_add(&record->count, 1);
}

/* Wait until the generation passes, without giving up. */
static void wait_to_pass(struct wait_barrier *b, uint32_t generation)
{
    linger(b, generation);
    for (;;) {
        uint32_t seen = atomic_load(&b->event);

        if (has_passed(b, generation))
            return;
        sleep_at(b, seen);
    }
}

void wait_record_at(struct wait_record *record, const struct wait_barrier *b)
{
    record_wait(record, b, generation_of(atomic_load(&b->state)));
}

void wait_record_over(struct wait_record *record)
{
    atomic_fetch_add(&record->count, 1);
}

/* Duty of the last thread to arrive.  It is not recorded as waiting, since the task that it waits
 * for is being done.  False: the arrival was given up. */
static bool finish(struct wait_barrier *b, uint32_t generation, const struct wait_duty *duty)
{
    uint32_t ntasks = 0;
    uint32_t nthreads = duty ? duty->last(duty->arg, &ntasks) : 0;

    if (nthreads == WAIT_GIVEN_UP) {
        atomic_fetch_or(&b->state, BROKEN);
        wake(b, INT_MAX);
        return false;
    }
    if (nthreads == 0 || ntasks == 0) {
        pass(b, generation);
        return true;
    }
    atomic_store(&b->unfinished, ntasks);
    atomic_store(&b->tasks, tasks_of(generation, 0, ntasks));
    if (nthreads > 1 && ntasks > 1)
        wake(b, (int)nthreads - 1);
    help(b, generation, duty);
    if (!has_passed(b, generation))
        wait_to_pass(b, generation);
    return true;
}

bool wait_arrive(struct wait_barrier *b, struct wait_record *record, const struct wait_duty *duty)
{
    uint64_t state = atomic_fetch_add(&b->state, 1) + 1;
    uint32_t generation = generation_of(state);

    if ((state & HERE_MASK) == b->nmembers && !(state & BROKEN))
        return finish(b, generation, duty);
    record_wait(record, b, generation);
    if (state & BROKEN)
        return false;
    linger(b, generation);
    for (;;) {
        /* Read the event first: later changes to what is read below move it on. */
        uint32_t seen = atomic_load(&b->event);

        help(b, generation, duty);
        if (has_passed(b, generation))
            break;
        if ((atomic_load(&b->ndead) > 0 || atomic_load(&b->board->called_off)) &&
            give_up(b, generation))
            return false;
        sleep_at(b, seen);
    }
    atomic_fetch_add(&record->count, 1);
    return true;
}

void wait_meet(struct wait_barrier *b)
{
    uint64_t state = atomic_fetch_add(&b->state, 1) + 1;
    uint32_t generation = generation_of(state);

    if ((state & HERE_MASK) == b->nmembers)
        pass(b, generation);
    else
        wait_to_pass(b, generation);
}

uint32_t wait_posts(const struct wait_barrier *b)
{
    return generation_of(atomic_load(&b->state));
}

void wait_post(struct wait_barrier *b)
{
    atomic_fetch_add(&b->state, (uint64_t)1 << 32);
    wake(b, INT_MAX);
}

bool wait_for_post(struct wait_barrier *b, struct wait_record *record, uint32_t seen_posts)
{
    bool posted = true;

    atomic_fetch_add(&b->state, 1); /* counts as here, to receive pokes */
    record_wait(record, b, seen_posts);
    linger(b, seen_posts);
    while (posted && !has_passed(b, seen_posts)) {
        uint32_t seen = atomic_load(&b->event);

        if (has_passed(b, seen_posts))
            break;
        if (atomic_load(&b->ndead) > 0 || atomic_load(&b->board->called_off))
            posted = has_passed(b, seen_posts); /* a dead member may have posted before */
        else
            sleep_at(b, seen);
    }
    if (posted) {
        atomic_fetch_sub(&b->state, 1);
        atomic_fetch_add(&record->count, 1);
    }
    return posted;
}

void wait_lose_member(struct wait_barrier *b)
{
    atomic_fetch_add(&b->ndead, 1);
    wait_poke(b);
}

/* A thread that arrives later than this checks the board itself before it sleeps. */
void wait_poke(struct wait_barrier *b)
{
    uint64_t state = atomic_load(&b->state);

    if ((state & HERE_MASK) > 0 && !(state & BROKEN))
        wake(b, INT_MAX);
}

bool wait_is_blocked(const struct wait_record *record)
{
    const struct wait_barrier *b;

    if (atomic_load(&record->count) % 2 == 0)
        return false;
    b = atomic_load(&record->at);
    return generation_of(atomic_load(&b->state)) == atomic_load(&record->generation);
}

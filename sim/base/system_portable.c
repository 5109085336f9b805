/* What every system has, in place of what Linux alone has (base/system.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/system.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Words that threads sleep on have a lock and a condition by their address; those that share one wake
 * each other early, which is allowed. */
static struct bed {
    pthread_mutex_t lock; /* held from a look at the word until asleep, and to wake */
    pthread_cond_t woken;
} beds[] = {
#define BED {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER}
#define BEDS BED, BED, BED, BED, BED, BED, BED, BED
    BEDS, BEDS, BEDS, BEDS, BEDS, BEDS, BEDS, BEDS,
};

static struct bed *bed_of(const _Atomic uint32_t *word)
{
    /* Fibonacci hashing: neighbours in an array of structs lie in different beds. */
    uint64_t mixed = (uint64_t)(uintptr_t)word * UINT64_C(0x9e3779b97f4a7c15);

    return &beds[(mixed >> 32) % (sizeof beds / sizeof beds[0])];
}

/* Not every system lets conditions wait by a clock that nobody sets. */
static struct timespec from_now(int64_t ns)
{
    struct timespec at;

    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_sec += (time_t)(ns / 1000000000);
    at.tv_nsec += (long)(ns % 1000000000);
    if (at.tv_nsec >= 1000000000) {
        at.tv_nsec -= 1000000000;
        at.tv_sec++;
    }
    return at;
}

void system_sleep_while(_Atomic uint32_t *word, uint32_t value, int64_t limit_ns)
{
    struct bed *bed = bed_of(word);

    pthread_mutex_lock(&bed->lock);
    if (atomic_load(word) == value) {
        struct timespec at = from_now(limit_ns < 0 ? 0 : limit_ns);

        if (limit_ns < 0)
            pthread_cond_wait(&bed->woken, &bed->lock);
        else
            (void)pthread_cond_timedwait(&bed->woken, &bed->lock, &at);
    }
    pthread_mutex_unlock(&bed->lock);
}

void system_wake(_Atomic uint32_t *word, int count)
{
    struct bed *bed = bed_of(word);

    (void)count; /* any of the waiters may sleep on this word: wake all */
    pthread_mutex_lock(&bed->lock);
    pthread_cond_broadcast(&bed->woken);
    pthread_mutex_unlock(&bed->lock);
}

void system_make_prompt(const char *name)
{
    (void)name;
}

void system_set_stacks(size_t bytes)
{
    (void)bytes; /* those of the library */
}

uint32_t system_cores(struct system_cores *out)
{
    long ncores = sysconf(_SC_NPROCESSORS_ONLN);

    *out = (struct system_cores){{0}};
    if (ncores > SYSTEM_CORES_MAX)
        ncores = SYSTEM_CORES_MAX;
    for (long c = 0; c < ncores; c++)
        out->bits[c / 64] |= UINT64_C(1) << c % 64;
    return ncores > 0 ? (uint32_t)ncores : 0;
}

bool system_has_core(const struct system_cores *cores, int core)
{
    return cores->bits[core / 64] >> core % 64 & 1;
}

int system_core(void)
{
    return -1;
}

void system_bind(int core)
{
    (void)core;
}

void system_unbind(const struct system_cores *cores)
{
    (void)cores;
}

void system_name_processor(char *out, size_t size)
{
    (void)size;
    *out = '\0';
}

uint64_t system_memory_bytes(void)
{
#ifdef _SC_PHYS_PAGES
    long npages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

    if (npages > 0 && page > 0)
        return (uint64_t)npages * (uint64_t)page;
#endif
    return 0;
}

void system_limit_memory(void)
{
}

void *system_map(size_t bytes)
{
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);

    return pages == MAP_FAILED ? NULL : pages;
}

void system_use_large_pages(void *memory, size_t bytes)
{
    (void)memory;
    (void)bytes;
}

int system_open_nameless(const char *folder)
{
    (void)folder;
    errno = ENOTSUP;
    return -1;
}

int system_link(int fd, const char *path)
{
    (void)fd;
    (void)path;
    errno = ENOTSUP;
    return -1;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "failing.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static struct failing *armed;

void failing_arm(struct failing *orders)
{
    __atomic_store_n(&armed, orders, __ATOMIC_RELEASE);
}

/* Whether the present request is to fail. */
static bool fails(void)
{
    struct failing *f = __atomic_load_n(&armed, __ATOMIC_ACQUIRE);
    uint64_t n;

    if (!f)
        return false;
    n = __atomic_add_fetch(&f->nasked, 1, __ATOMIC_RELAXED);
    return f->at && (n == f->at || (f->all_after && n > f->at));
}

/* The function of that name which this file replaces. */
static void *next(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);

    if (!found)
        abort();
    return found;
}

/* Define `call` as the replaced function of a name, looked up once; if two threads look at a time,
 * both find the same. */
#define NEXT(call, name, type, ...)                                        \
    static type (*known)(__VA_ARGS__);                                     \
    type (*call)(__VA_ARGS__) = __atomic_load_n(&known, __ATOMIC_RELAXED); \
                                                                           \
    if (!call) {                                                           \
        *(void **)&call = next(name);                                      \
        __atomic_store_n(&known, call, __ATOMIC_RELAXED);                  \
    }

static void *no_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

void *malloc(size_t size)
{
    NEXT(call, "malloc", void *, size_t)
    return fails() ? no_memory() : call(size);
}

void *calloc(size_t n, size_t size)
{
    NEXT(call, "calloc", void *, size_t, size_t)
    return fails() ? no_memory() : call(n, size);
}

void *realloc(void *old, size_t size)
{
    NEXT(call, "realloc", void *, void *, size_t)
    return fails() ? no_memory() : call(old, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    NEXT(call, "aligned_alloc", void *, size_t, size_t)
    return fails() ? no_memory() : call(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    NEXT(call, "posix_memalign", int, void **, size_t, size_t)
    return fails() ? ENOMEM : call(out, alignment, size);
}

/* Replaced, because the sanitizers' own strndup() does not call malloc(). */
char *strndup(const char *string, size_t most)
{
    size_t length = strnlen(string, most);
    char *copy = malloc(length + 1);

    if (copy) {
        memcpy(copy, string, length);
        copy[length] = '\0';
    }
    return copy;
}

char *strdup(const char *string)
{
    return strndup(string, strlen(string));
}

#ifdef HAVE_JEMALLOC
void *mallocx(size_t size, int flags);

void *mallocx(size_t size, int flags)
{
    NEXT(call, "mallocx", void *, size_t, int)
    return fails() ? NULL : call(size, flags);
}
#endif

void *mmap(void *at, size_t length, int protection, int flags, int file, off_t offset)
{
    NEXT(call, "mmap", void *, void *, size_t, int, int, int, off_t)
    if (!fails())
        return call(at, length, protection, flags, file, offset);
    errno = ENOMEM;
    return MAP_FAILED;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *arg)
{
    NEXT(call, "pthread_create", int, pthread_t *, const pthread_attr_t *, void *(*)(void *),
         void *)
    return fails() ? EAGAIN : call(thread, attributes, start, arg);
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
    NEXT(call, "clock_gettime", int, clockid_t, struct timespec *)
    static _Thread_local long ncalls;
    const struct failing *f = __atomic_load_n(&armed, __ATOMIC_ACQUIRE);

    if (!f || !f->clock_stands || clock == CLOCK_REALTIME)
        return call(clock, out);
    /* The wall clock is far ahead, so that no thread that waits until a time wakes up by it. */
    *out = clock == CLOCK_MONOTONIC ? (struct timespec){2000000000, 0}
                                    : (struct timespec){0, 1000 * ncalls++};
    return 0;
}

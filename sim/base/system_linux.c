/* What Linux has in its own way (base/system.h): the only file that makes these calls.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/system.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* FUTEX_WAIT_PRIVATE and FUTEX_WAKE_PRIVATE of <linux/futex.h>, which comes with the kernel's
 * headers and not with every C library. */
#define FUTEX_SLEEP 128
#define FUTEX_ROUSE 129

_Static_assert(sizeof(cpu_set_t) == sizeof(struct system_cores), "a set has a bit for each core");

void system_sleep_while(_Atomic uint32_t *word, uint32_t value, int64_t limit_ns)
{
    struct timespec limit = {limit_ns / 1000000000, limit_ns % 1000000000};

    syscall(SYS_futex, word, FUTEX_SLEEP, value, limit_ns < 0 ? NULL : &limit, NULL, 0);
}

void system_wake(_Atomic uint32_t *word, int count)
{
    syscall(SYS_futex, word, FUTEX_ROUSE, count, NULL, NULL, 0);
}

void system_make_prompt(const char *name)
{
    prctl(PR_SET_TIMERSLACK, 1000UL);
    prctl(PR_SET_NAME, name);
}

void system_set_stacks(size_t bytes)
{
    pthread_attr_t attr;

    if (pthread_attr_init(&attr) == 0) {
        (void)pthread_attr_setstacksize(&attr, bytes);
        (void)pthread_setattr_default_np(&attr);
        pthread_attr_destroy(&attr);
    }
}

uint32_t system_cores(struct system_cores *out)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) != 0)
        CPU_ZERO(&set); /* more cores than the set can hold */
    memcpy(out, &set, sizeof set);
    return (uint32_t)CPU_COUNT(&set);
}

bool system_has_core(const struct system_cores *cores, int core)
{
    cpu_set_t set;

    memcpy(&set, cores, sizeof set);
    return CPU_ISSET(core, &set);
}

int system_core(void)
{
    return sched_getcpu();
}

void system_bind(int core)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET(core, &one);
    (void)sched_setaffinity(0, sizeof one, &one); /* on failure the thread is only slower */
}

void system_unbind(const struct system_cores *cores)
{
    cpu_set_t set;

    memcpy(&set, cores, sizeof set);
    (void)sched_setaffinity(0, sizeof set, &set);
}

/* From a line "model name : AMD EPYC". */
void system_name_processor(char *out, size_t size)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256];

    *out = '\0';
    while (file && !*out && fgets(line, sizeof line, file)) {
        char *value = strchr(line, ':');

        if (strncmp(line, "model name", 10) != 0 || !value)
            continue;
        value += strspn(value, ": \t");
        value[strcspn(value, "\n")] = '\0';
        (void)snprintf(out, size, "%.100s", value);
    }
    if (file)
        (void)fclose(file);
}

uint64_t system_memory_bytes(void)
{
    long npages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

    return npages > 0 && page > 0 ? (uint64_t)npages * (uint64_t)page : 0;
}

/* The kilobytes of lines `name` of /proc/meminfo; 0: there is none. */
static uint64_t meminfo_kb(const char *name)
{
    FILE *file = fopen("/proc/meminfo", "r");
    size_t length = strlen(name);
    char line[256];
    uint64_t kb = 0;

    while (file && kb == 0 && fgets(line, sizeof line, file))
        if (strncmp(line, name, length) == 0)
            kb = strtoull(line + length, NULL, 10);
    if (file)
        (void)fclose(file);
    return kb;
}

/* The number that a file begins with; `unlimited` where it has none, as in "max". */
static uint64_t number_in(const char *path, uint64_t unlimited)
{
    FILE *file = fopen(path, "r");
    uint64_t number = unlimited;

    if (file && fscanf(file, "%" SCNu64, &number) != 1)
        number = unlimited;
    if (file)
        (void)fclose(file);
    return number;
}

/* Bytes that this process may still allocate; 0: unknown.  Inside a container the control group of
 * the container is mounted as the root of the tree. */
static uint64_t free_bytes(void)
{
    uint64_t machine = (meminfo_kb("MemAvailable:") + meminfo_kb("SwapFree:")) * 1024;
    uint64_t most = number_in("/sys/fs/cgroup/memory.max", UINT64_MAX);
    uint64_t used = number_in("/sys/fs/cgroup/memory.current", 0);
    uint64_t group = most > used ? most - used : 0;

    return group < machine ? group : machine;
}

void system_limit_memory(void)
{
    uint64_t bytes = SANITIZED ? 0 : free_bytes();
    struct rlimit limit;

    if (bytes == 0 || getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_cur <= bytes)
        return;
    limit.rlim_cur = bytes;
    (void)setrlimit(RLIMIT_DATA, &limit);
}

void *system_map(size_t bytes)
{
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return pages == MAP_FAILED ? NULL : pages;
}

void system_use_large_pages(void *memory, size_t bytes)
{
    (void)madvise(memory, bytes, MADV_HUGEPAGE);
}

int system_open_nameless(const char *folder)
{
    return open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
}

int system_link(int fd, const char *path)
{
    char self[64];

    snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}

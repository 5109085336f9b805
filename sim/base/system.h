/* base/system.h - the one door to what each system has in its own way.
 *
 * system_linux.c goes through Linux's calls.  system_portable.c does with what POSIX and the BSDs have,
 * macOS among them: it is taken on other systems, and on Linux by configure's --enable-portable.  Where
 * a system has nothing of the kind, the program is slower or tells less, and computes the same.
 *
 * Thread class: any thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_SYSTEM_H
#define BASE_SYSTEM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- threads ---- */

/* Sleep while *word is `value`, at most limit_ns (negative: for ever); may wake early. */
void system_sleep_while(_Atomic uint32_t *word, uint32_t value, int64_t limit_ns);

/* Wake `count` threads that sleep on the word, or more. */
void system_wake(_Atomic uint32_t *word, int count);

/* For a thread that sleeps shortly and often: wake it on time; debuggers show its name. */
void system_make_prompt(const char *name);

/* The least stack of threads that libraries start from now on, as OpenMP's are. */
void system_set_stacks(size_t bytes);

/* ---- cores ---- */

#define SYSTEM_CORES_MAX 1024

struct system_cores {
    uint64_t bits[SYSTEM_CORES_MAX / 64];
};

/* The cores that the process may use; returns how many, 0: unknown. */
uint32_t system_cores(struct system_cores *out);
bool system_has_core(const struct system_cores *cores, int core);

/* The core that the thread runs on; negative: unknown. */
int system_core(void);

/* Keep the thread on one core, and give it back all of these.  Without effect where the system
 * decides alone: the thread is only slower then. */
void system_bind(int core);
void system_unbind(const struct system_cores *cores);

/* The first processor's name; "" where it is unknown. */
void system_name_processor(char *out, size_t size);

/* ---- memory ---- */

/* Bytes of the machine's memory; 0: unknown. */
uint64_t system_memory_bytes(void);

/* Let allocations of this process fail where they exceed the memory that is free now, in the machine
 * or in its control group: else the kernel promises more than it has, and kills a process.  Without
 * effect under a sanitizer, which reserves more than any machine has, and where free memory is
 * unknown. */
void system_limit_memory(void);

/* Pages of zeros that take memory on use only, for munmap(); NULL: no room. */
void *system_map(size_t bytes);

/* Pages of memory that shall be large ones, where the system has these. */
void system_use_large_pages(void *memory, size_t bytes);

/* ---- files ---- */

/* A file without a name in a folder, for writing, which vanishes with the process unless it is
 * linked to a path.  Negative, with errno: the folder's file system has none. */
int system_open_nameless(const char *folder);
int system_link(int fd, const char *path); /* as link() */

#endif /* BASE_SYSTEM_H */

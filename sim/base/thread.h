/* thread.h - threads whose stack does not depend on the shell's limit (ulimit -s), which may be far
 * smaller than readers and planners need: their recursion is bounded, and fits this size.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

#define THREAD_STACK_BYTES ((size_t)8 << 20) /* Linux's usual limit */

/* As pthread_create(): 0, or an errno. */
int thread_start(pthread_t *out, void *(*run)(void *), void *arg);

/* Whether the stack of the first thread is smaller than that of one that is started here. */
bool thread_first_is_small(void);

#endif /* BASE_THREAD_H */

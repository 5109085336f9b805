/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/thread.h"

#include <sys/resource.h>

int thread_start(pthread_t *out, void *(*run)(void *), void *arg)
{
    pthread_attr_t attr;
    int failed = pthread_attr_init(&attr);

    if (failed)
        return failed;
    failed = pthread_attr_setstacksize(&attr, THREAD_STACK_BYTES);
    if (!failed)
        failed = pthread_create(out, &attr, run, arg);
    pthread_attr_destroy(&attr);
    return failed;
}

bool thread_first_is_small(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
           limit.rlim_cur < THREAD_STACK_BYTES;
}

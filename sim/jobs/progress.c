/* Showing the progress of long work from a thread (progress.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "jobs/progress.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "jobs/command.h"

#define LOOK_NS INT64_C(100000000)

struct progress {
    struct log *log;
    uint64_t ndone, ntotal;
    const char *verb, *what;
    int64_t began_ns;
    pthread_t thread;
    pthread_mutex_t mutex; /* guards `stopped` */
    pthread_cond_t changed;
    bool stopped;
};

static void say(const struct progress *p)
{
    char line[256];

    long long seconds = (long long)(p->log->now() - p->began_ns) / 1000000000;

    if (seconds > 0)
        snprintf(line, sizeof line, "%s '%.160s' for %lld s; strategies done", p->verb, p->what,
                 seconds);
    else
        snprintf(line, sizeof line, "%s '%.160s'; strategies done", p->verb, p->what);
    log_progress(p->log, p->ndone, p->ntotal, line);
}

/* By the clock of conditions, which somebody may set: at worst a line comes late. */
static struct timespec next_look(void)
{
    struct timespec at;

    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_nsec += LOOK_NS;
    if (at.tv_nsec >= 1000000000) {
        at.tv_nsec -= 1000000000;
        at.tv_sec++;
    }
    return at;
}

static void *show(void *arg)
{
    struct progress *p = arg;

    pthread_mutex_lock(&p->mutex);
    while (!p->stopped) {
        struct timespec at = next_look();

        say(p);
        pthread_cond_timedwait(&p->changed, &p->mutex, &at);
    }
    pthread_mutex_unlock(&p->mutex);
    return NULL;
}

struct progress *progress_start(struct log *log, uint64_t ndone, uint64_t ntotal, const char *verb,
                                const char *what)
{
    struct progress *p = log->quiet ? NULL : calloc(1, sizeof *p);

    if (!p)
        return NULL;
    p->log = log;
    p->ndone = ndone;
    p->ntotal = ntotal;
    p->verb = verb;
    p->what = what;
    p->began_ns = log->now();
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->changed, NULL);
    if (cmd_start_thread(&p->thread, show, p) == 0)
        return p;
    free(p);
    return NULL;
}

void progress_stop(struct progress *progress)
{
    if (!progress)
        return;
    pthread_mutex_lock(&progress->mutex);
    progress->stopped = true;
    pthread_cond_signal(&progress->changed);
    pthread_mutex_unlock(&progress->mutex);
    pthread_join(progress->thread, NULL);
    pthread_cond_destroy(&progress->changed);
    pthread_mutex_destroy(&progress->mutex);
    free(progress);
}

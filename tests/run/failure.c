/* Tests how runs fail (shd/run.h): with the same status, device and message each time, whichever
 * device is faster.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/run.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../support/tap.h"

#define TIMES 20
#define BUSY_TIMES 3 /* times to run the cases that need a look of the monitor */

/* Let other devices go first, for a time that differs by device and round. */
static void dawdle(const struct shd_device *dev, int round)
{
    for (int i = 0; i < (shd_device_position(dev) * 7 + round * 3) % 11 * 5; i++)
        sched_yield();
}

static int sum_over(struct shd_device *dev, const char *axes, uint64_t count, struct shd_error *err)
{
    float x[64] = {0};

    return shd_device_all_reduce(dev, axes, x, x, count, SHD_F32, SHD_SUM, err);
}

/* ---- what devices do; arg: the round ---- */

static int fail_one(struct shd_device *dev, void *arg, struct shd_error *err)
{
    int status = sum_over(dev, NULL, 4, err);

    dawdle(dev, *(int *)arg);
    if (status == SHD_OK && shd_device_position(dev) == 3)
        return shd_error_set(err, SHD_EINVAL, "made to fail");
    if (status == SHD_OK)
        status = sum_over(dev, "y", 4, err);
    return status == SHD_OK ? sum_over(dev, "x", 4, err) : status;
}

/* Device 5 fails, and device 2 fails although device 5 has failed: the two share no wait before. */
static int fail_two(struct shd_device *dev, void *arg, struct shd_error *err)
{
    int32_t d = shd_device_position(dev);
    int status;

    dawdle(dev, *(int *)arg);
    if (d == 5)
        return shd_error_set(err, SHD_EINVAL, "made to fail");
    status = d < 4 ? sum_over(dev, "y,z", 4, err) : SHD_OK;
    if (status == SHD_OK && d == 2)
        return shd_error_set(err, SHD_ENOTFOUND, "made to fail as well");
    return status == SHD_OK ? shd_device_barrier(dev, NULL, err) : status;
}

/* Fails with a status of its own and no message. */
static int fail_silently(struct shd_device *dev, void *arg, struct shd_error *err)
{
    dawdle(dev, *(int *)arg);
    if (shd_device_position(dev) == 6)
        return 42;
    return shd_device_barrier(dev, NULL, err);
}

static int fill_up(struct shd_device *dev, void *arg, struct shd_error *err)
{
    int32_t d = shd_device_position(dev);
    void *memory;
    int status = shd_device_alloc(dev, 600, "weights", &memory, err);

    dawdle(dev, *(int *)arg);
    if (status == SHD_OK)
        status = shd_device_barrier(dev, NULL, err);
    if (status == SHD_OK && d >= 2)
        status = shd_device_alloc(dev, 401, "activations", &memory, err);
    return status == SHD_OK ? shd_device_barrier(dev, NULL, err) : status;
}

static int call_other(struct shd_device *dev, void *arg, struct shd_error *err)
{
    float x[64] = {0};
    float y[64];

    dawdle(dev, *(int *)arg);
    if (shd_device_position(dev) == 3)
        return shd_device_all_gather(dev, NULL, x, y, 8, SHD_F32, err);
    return sum_over(dev, NULL, 16, err);
}

/* Two mismatched calls whose failure the devices ignore: the first one fails the run all the
 * same. */
static int ignore_others(struct shd_device *dev, void *arg, struct shd_error *err)
{
    float x[64] = {0};
    int first = call_other(dev, arg, err);
    int second = shd_device_all_reduce(dev, "x", x, x, shd_device_position(dev) < 4 ? 2 : 3,
                                       SHD_F32, SHD_SUM, err);

    return first != SHD_OK && second != SHD_OK ? SHD_OK : SHD_EINVAL;
}

static int call_other_op(struct shd_device *dev, void *arg, struct shd_error *err)
{
    float x[64] = {0};

    dawdle(dev, *(int *)arg);
    return shd_device_all_reduce(dev, "y,z", x, x, 64, SHD_F32,
                                 shd_device_position(dev) % 4 ? SHD_SUM : SHD_MAX, err);
}

static int call_other_root(struct shd_device *dev, void *arg, struct shd_error *err)
{
    float x[4] = {0};

    dawdle(dev, *(int *)arg);
    return shd_device_broadcast(dev, NULL, shd_device_position(dev) == 7, x, x, 4, SHD_F32, err);
}

static int call_other_sources(struct shd_device *dev, void *arg, struct shd_error *err)
{
    uint32_t source[8] = {0, 1, 2, 3, 4, 5, 6, (uint32_t)shd_device_position(dev) / 5};
    float x[4] = {0};
    float y[4];

    dawdle(dev, *(int *)arg);
    return shd_device_permute(dev, NULL, source, x, y, 4, SHD_F32, err);
}

static int end_early(struct shd_device *dev, void *arg, struct shd_error *err)
{
    int status = shd_device_barrier(dev, NULL, err);

    dawdle(dev, *(int *)arg);
    if (status != SHD_OK || shd_device_position(dev) == 5)
        return status;
    return sum_over(dev, NULL, 4, err);
}

static int end_early_two(struct shd_device *dev, void *arg, struct shd_error *err)
{
    int32_t d = shd_device_position(dev);

    dawdle(dev, *(int *)arg);
    return d == 5 || d == 2 ? SHD_OK : sum_over(dev, NULL, 4, err);
}

/* Device 1 waits for device 0, and device 0 waits for device 4, which has ended. */
static int end_far_away(struct shd_device *dev, void *arg, struct shd_error *err)
{
    int32_t d = shd_device_position(dev);
    float x = 0;

    dawdle(dev, *(int *)arg);
    if (d == 0)
        return shd_device_recv(dev, 4, &x, 1, SHD_F32, err);
    if (d < 4)
        return sum_over(dev, "y,z", 4, err);
    return SHD_OK;
}

static int circle(struct shd_device *dev, void *arg, struct shd_error *err)
{
    int32_t d = shd_device_position(dev);
    float x = 0;

    dawdle(dev, *(int *)arg);
    return shd_device_send(dev, (d + 1) % 8, &x, 1, SHD_F32, err);
}

static int cross(struct shd_device *dev, void *arg, struct shd_error *err)
{
    bool along = shd_device_coord(dev, "x") == shd_device_coord(dev, "y");
    int status;

    dawdle(dev, *(int *)arg);
    status = shd_device_barrier(dev, along ? "x" : "y", err);
    return status == SHD_OK ? shd_device_barrier(dev, along ? "y" : "x", err) : status;
}

/* Ignores the failed wait; the run stays failed all the same. */
static int ignore(struct shd_device *dev, void *arg, struct shd_error *err)
{
    dawdle(dev, *(int *)arg);
    if (shd_device_position(dev) == 0)
        return SHD_OK;
    for (int i = 0; i < 3; i++) {
        int status = shd_device_barrier(dev, i == 1 ? "z" : NULL, err);

        if (status != SHD_ESTUCK && status != SHD_ESTOPPED)
            return shd_error_set(err, SHD_EINVAL, "got %d", status);
    }
    return SHD_OK;
}

static int exit_thread(struct shd_device *dev, void *arg, struct shd_error *err)
{
    int status = sum_over(dev, NULL, 4, err);

    dawdle(dev, *(int *)arg);
    if (status == SHD_OK && shd_device_position(dev) == 6)
        pthread_exit(NULL);
    return status == SHD_OK ? shd_device_barrier(dev, NULL, err) : status;
}

/* Device 2 exits after device 4 has failed the run: the report names device 4's failure, not the
 * exit. */
static int exit_after_failure(struct shd_device *dev, void *arg, struct shd_error *err)
{
    dawdle(dev, *(int *)arg);
    if (shd_device_position(dev) == 4)
        return shd_error_set(err, SHD_EINVAL, "made to fail");
    if (shd_device_barrier(dev, NULL, err) != SHD_OK && shd_device_position(dev) == 2)
        pthread_exit(NULL);
    return SHD_OK;
}

static int cancel_thread(struct shd_device *dev, void *arg, struct shd_error *err)
{
    dawdle(dev, *(int *)arg);
    if (shd_device_position(dev) == 1) {
        pthread_cancel(pthread_self());
        pthread_testcancel();
    }
    return shd_device_barrier(dev, NULL, err);
}

static const struct {
    const char *what;
    shd_device_fn fn;
    int times;
    int status;
    int error_device;
    const char *text;
} cases[] = {
    {"one fails", fail_one, TIMES, SHD_EINVAL, 3, "device 3: made to fail"},
    {"two fail", fail_two, TIMES, SHD_ENOTFOUND, 2, "device 2: made to fail as well"},
    {"one fails silently", fail_silently, TIMES, 42, 6, "device 6: failed with status 42"},
    {"out of memory", fill_up, TIMES, SHD_EDEVMEM, 2,
     "device 2 is out of memory: cannot allocate 401 bytes for 'activations': 600 of 1000 in use; "
     "largest: 'weights' 600"},
    {"another collective", call_other, TIMES, SHD_EMISMATCH, 0,
     "device 3 calls all-gather of 8 float32 where device 0 calls all-reduce of 16 float32 "
     "(all axes)"},
    {"another collective, ignored", ignore_others, TIMES, SHD_EMISMATCH, 0,
     "device 3 calls all-gather of 8 float32 where device 0 calls all-reduce of 16 float32 "
     "(all axes)"},
    {"another operator", call_other_op, TIMES, SHD_EMISMATCH, 0,
     "device 1 calls all-reduce of 64 float32 to their sum where device 0 calls all-reduce of 64 "
     "float32 to their max (y,z)"},
    {"another root", call_other_root, TIMES, SHD_EMISMATCH, 0,
     "device 7 calls broadcast of 4 float32 with root 1 where device 0 calls broadcast of 4 "
     "float32 with root 0 (all axes)"},
    {"other sources", call_other_sources, TIMES, SHD_EMISMATCH, 0,
     "device 5 calls permute of 4 float32 with other sources where device 0 calls permute of 4 "
     "float32 with other sources (all axes)"},
    {"one ends early", end_early, TIMES, SHD_ESTUCK, 0,
     "device 0 waits in all-reduce (all axes) for device 5, which has ended"},
    {"two end early", end_early_two, TIMES, SHD_ESTUCK, 0,
     "device 0 waits in all-reduce (all axes) for device 2, which has ended"},
    {"one ends far away", end_far_away, TIMES, SHD_ESTUCK, 0,
     "device 0 waits in receive from device 4 for device 4, which has ended"},
    {"a circle of sends", circle, BUSY_TIMES, SHD_ESTUCK, 0,
     "device 0 waits in send to device 1 for device 1, which waits in send to device 2 for device "
     "2, which waits in send to device 3 for device 3, which waits in send to device 4 for device "
     "4"},
    {"crossed barriers", cross, BUSY_TIMES, SHD_ESTUCK, 0,
     "device 0 waits in barrier (x) for device 4, which waits in barrier (y) for device 6, which "
     "waits in barrier (x) for device 2, which waits in barrier (y) for device 0"},
    {"one ends its thread", exit_thread, TIMES, SHD_EINVAL, 6,
     "device 6: its thread was ended (pthread_exit, pthread_cancel) before its function returned"},
    {"one's thread is cancelled", cancel_thread, TIMES, SHD_EINVAL, 1,
     "device 1: its thread was ended (pthread_exit, pthread_cancel) before its function returned"},
    {"a device fails and another ends that device's thread", exit_after_failure, TIMES, SHD_EINVAL,
     4, "device 4: made to fail"},
    {"the failed wait ignored", ignore, TIMES, SHD_ESTUCK, 1,
     "device 1 waits in barrier (all axes) for device 0, which has ended"},
};

static struct shd_mesh *make_mesh(void)
{
    static const char *const names[] = {"x", "y", "z"};
    static const int32_t sizes[] = {2, 2, 2};
    struct shd_mesh *mesh = NULL;

    if (shd_mesh_create(&mesh, names, sizes, 3, NULL) != SHD_OK)
        abort();
    return mesh;
}

static void test_cases(const struct shd_mesh *mesh)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct shd_run_opts opts = SHD_RUN_OPTS_INIT;
        struct shd_error err;
        struct shd_run_stats stats;
        int same = 1;

        opts.memory_bytes = 1000;
        for (int round = 0; round < cases[i].times && same; round++) {
            int status = shd_run(mesh, cases[i].fn, &round, &opts, &stats, &err);

            same = status == cases[i].status && stats.error_device == cases[i].error_device &&
                   !strcmp(err.text, cases[i].text);
            if (!same)
                diag("round %d: status %d, device %d: %s", round, status, (int)stats.error_device,
                     err.text);
            shd_run_stats_fini(&stats);
        }
        ok(same, "%s: the same each time", cases[i].what);
    }
}

/* ---- while another device computes ---- */

struct busy {
    int status; /* the status with which device 3 ends */
    int nstopped, nstuck;
};

/* Device 0 computes until the waits of all other devices are over. */
static int be_busy(struct shd_device *dev, void *arg, struct shd_error *err)
{
    struct busy *busy = arg;
    int status;

    if (shd_device_position(dev) == 3)
        return busy->status ? shd_error_set(err, busy->status, "made to fail") : SHD_OK;
    if (shd_device_position(dev) == 0) {
        while (__atomic_load_n(&busy->nstopped, __ATOMIC_ACQUIRE) +
                   __atomic_load_n(&busy->nstuck, __ATOMIC_ACQUIRE) <
               6)
            sched_yield();
        return SHD_OK;
    }
    status = shd_device_barrier(dev, NULL, err);
    __atomic_add_fetch(status == SHD_ESTOPPED ? &busy->nstopped : &busy->nstuck, 1,
                       __ATOMIC_RELEASE);
    return status;
}

static void test_busy(const struct shd_mesh *mesh)
{
    struct busy failing = {.status = SHD_EINVAL};
    struct busy ending = {.status = SHD_OK};
    struct shd_error err = {0, ""};

    ok(shd_run(mesh, be_busy, &failing, NULL, NULL, &err) == SHD_EINVAL && failing.nstopped == 6 &&
           !strcmp(err.text, "device 3: made to fail"),
       "waits for a device that failed end while another one computes");
    ok(shd_run(mesh, be_busy, &ending, NULL, NULL, &err) == SHD_ESTUCK,
       "a wait for an ended device is an error");
}

/* ---- from outside ---- */

struct stopping {
    int request;
    int nstopped;
};

static int wait_for_stop(struct shd_device *dev, void *arg, struct shd_error *err)
{
    struct stopping *stopping = arg;
    int status = SHD_OK;

    if (shd_device_position(dev) == 4) { /* computes, and looks at the stop request now and then */
        __atomic_store_n(&stopping->request, 1, __ATOMIC_RELEASE);
        while (status == SHD_OK) {
            sched_yield();
            status = shd_device_check_stop(dev, err);
        }
    } else {
        status = shd_device_barrier(dev, NULL, err);
    }
    if (status == SHD_ESTOPPED)
        __atomic_add_fetch(&stopping->nstopped, 1, __ATOMIC_RELAXED);
    return status;
}

static void test_stop(const struct shd_mesh *mesh)
{
    struct stopping stopping = {0, 0};
    struct shd_run_opts opts = SHD_RUN_OPTS_INIT;
    struct shd_error err = {0, ""};
    int status;

    opts.stop_request = &stopping.request;
    status = shd_run(mesh, wait_for_stop, &stopping, &opts, NULL, &err);
    ok(status == SHD_ESTOPPED && stopping.nstopped == 8 && !strcmp(err.text, "stopped by request"),
       "a stop request ends all waits");
}

static int wait_too_long(struct shd_device *dev, void *arg, struct shd_error *err)
{
    int *over = arg;

    if (shd_device_position(dev) == 1) {
        while (!__atomic_load_n(over, __ATOMIC_ACQUIRE))
            sched_yield();
        return SHD_OK;
    }
    if (shd_device_barrier(dev, NULL, err) == SHD_OK)
        return SHD_OK;
    __atomic_store_n(over, 1, __ATOMIC_RELEASE);
    return SHD_ESTUCK;
}

static void test_limit(const struct shd_mesh *mesh)
{
    struct shd_run_opts opts = SHD_RUN_OPTS_INIT;
    struct shd_error err = {0, ""};
    int over = 0;
    int status;

    opts.wait_limit_s = 1;
    status = shd_run(mesh, wait_too_long, &over, &opts, NULL, &err);
    if (!ok(status == SHD_ESTUCK && strstr(err.text, "longer than 1 s for device 1"),
            "a wait has a limit"))
        diag("status %d: %s", status, err.text);
}

/* Device 1 is late, but within the limit on waiting. */
static int come_late(struct shd_device *dev, void *arg, struct shd_error *err)
{
    const struct timespec nap = {0, 50000000};

    (void)arg;
    for (int i = 0; i < 20 && shd_device_position(dev) == 1; i++)
        nanosleep(&nap, NULL);
    return shd_device_barrier(dev, NULL, err);
}

/* A machine may stop while its clock goes on (a suspended laptop): the pause does not count as
 * waiting. */
static void test_pause(const struct shd_mesh *mesh)
{
    const struct timespec a_moment = {0, 200000000}, a_pause = {4, 0};
    int status = -1;
    pid_t child = fork();

    if (child == 0) {
        struct shd_run_opts opts = SHD_RUN_OPTS_INIT;
        struct shd_error err = {0, ""};

        opts.wait_limit_s = 3;
        _exit(shd_run(mesh, come_late, NULL, &opts, NULL, &err) == SHD_OK ? 0 : 1);
    }
    nanosleep(&a_moment, NULL);
    kill(child, SIGSTOP);
    nanosleep(&a_pause, NULL);
    kill(child, SIGCONT);
    waitpid(child, &status, 0);
    ok(child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0,
       "a run that stood still has not waited");
}

static int never_runs(struct shd_device *dev, void *arg, struct shd_error *err)
{
    (void)dev;
    (void)err;
    __atomic_store_n((int *)arg, 1, __ATOMIC_RELAXED);
    return SHD_OK;
}

static void test_no_threads(const struct shd_mesh *mesh)
{
    struct shd_run_opts opts = SHD_RUN_OPTS_INIT;
    struct shd_error err = {0, ""};
    int ran = 0;
    int status;

    opts.stack_bytes = SIZE_MAX / 2 & ~(size_t)0xffff;
    status = shd_run(mesh, never_runs, &ran, &opts, NULL, &err);
    ok(status == SHD_ESYSTEM && !ran && strstr(err.text, "could not start thread 1 of 8"),
       "threads that cannot be had");
}

int main(void)
{
    struct shd_mesh *mesh = make_mesh();

    plan(0);
    test_cases(mesh);
    test_busy(mesh);
    test_stop(mesh);
    test_limit(mesh);
    test_pause(mesh);
    test_no_threads(mesh);
    shd_mesh_destroy(mesh);
    return done();
}

/* Start and end of a run: its devices, their threads, and its statistics.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/device.h"
#include "run/monitor.h"
#include "run/verdict.h"

/* Default stack of a device's thread; thousands of devices have one each. */
#define DEFAULT_STACK_BYTES (256 * 1024)
/* Kernels and collectives keep blocks of less than 64 KiB on the stack (kern/kern.h). */
#define LEAST_STACK_BYTES (96 * 1024)
/* Default limit for a wait for another device. */
#define DEFAULT_WAIT_LIMIT_S 60
/* Default size up to which the last member to arrive executes a call: copying a page takes less
 * than waking a thread. */
#define DEFAULT_FUSE_BYTES 4096
/* Room for one "collective=algorithm"; the longest in the table takes half of it. */
#define ALGO_TEXT_MAX 64
/* How often a thread yields its core before it sleeps, see linger() in base/wait.c. */
#define NYIELDS 4

/* ---- options ---- */

/* Parse one "kind=name" of `length` bytes. */
static int choose_algo(struct run *run, const char *text, size_t length, struct shd_error *err)
{
    char entry[ALGO_TEXT_MAX];
    char *name;
    int kind;
    const struct coll_algo *algo;
    char names[COLL_NAMES_MAX];

    if (length >= sizeof(entry))
        return shd_error_set(err, SHD_EINVAL, "algorithm choice is too long");
    memcpy(entry, text, length);
    entry[length] = '\0';
    name = strchr(entry, '=');
    if (!name)
        return shd_error_set(err, SHD_EINVAL, "algorithm choice '%s' is not collective=algorithm",
                             entry);
    *name++ = '\0';
    kind = coll_kind_parse(entry);
    if (kind < 0)
        return shd_error_set(err, SHD_EINVAL, "no collective is called '%s'; expected %s", entry,
                             coll_kind_names(names));
    algo = coll_find((enum coll_kind)kind, name);
    if (!algo)
        return shd_error_set(err, SHD_EINVAL, "%s has no algorithm '%s'; expected %s", entry, name,
                             coll_names((enum coll_kind)kind, names));
    run->algos[kind] = algo;
    return SHD_OK;
}

static int choose_algos(struct run *run, const char *text, struct shd_error *err)
{
    for (int k = 0; k < COLL_NKINDS; k++)
        run->algos[k] = coll_find((enum coll_kind)k, NULL);
    while (text && *text) {
        size_t length = strcspn(text, ",");
        int status = choose_algo(run, text, length, err);

        if (status != SHD_OK)
            return status;
        text += length + (text[length] == ',' ? 1 : 0);
    }
    return SHD_OK;
}

static int set_options(struct run *run, const struct shd_mesh *mesh,
                       const struct shd_run_opts *opts, struct shd_error *err)
{
    struct backend_choice memory;

    if (opts)
        run->opts = *opts;
    if (run->opts.stack_bytes == 0)
        run->opts.stack_bytes = DEFAULT_STACK_BYTES;
    if (run->opts.stack_bytes < LEAST_STACK_BYTES)
        return shd_error_set(err, SHD_EINVAL, "a stack of %zu bytes is too small; at least %d",
                             run->opts.stack_bytes, LEAST_STACK_BYTES);
    if (run->opts.wait_limit_s == 0)
        run->opts.wait_limit_s = DEFAULT_WAIT_LIMIT_S;
    run->fuse_bytes = run->opts.fuse_bytes > 0    ? (uint64_t)run->opts.fuse_bytes
                      : run->opts.fuse_bytes == 0 ? DEFAULT_FUSE_BYTES
                                                  : 0;
    if (!backend_choose(&memory, run->opts.memory, shd_mesh_size(mesh), 0))
        return shd_error_set(err, SHD_EINVAL, "no device memory of the kind '%.40s' here",
                             run->opts.memory);
    run->backend = memory.backend;
    return choose_algos(run, run->opts.algorithms, err);
}

/* ---- storage ---- */

static void fini_run(struct run *run)
{
    for (int32_t d = 0; run->devices && d < run->ndevices; d++) {
        arena_fini(&run->devices[d].arena);
        arena_fini(&run->devices[d].host);
        arena_fini(&run->devices[d].registers);
        run_group_fini_seats(&run->devices[d]);
        free(run->devices[d].tmp);
    }
    run_group_fini_all(run);
    free(run->devices);
    free(run->matrix);
    pthread_mutex_destroy(&run->lock);
}

/* Give a device its arena.  A lent one keeps its content; its peak is counted anew for this run. */
static void open_arena(struct shd_device *dev, struct arena *lent)
{
    if (lent) {
        arena_move(&dev->arena, lent);
        dev->arena.peak_bytes = dev->arena.live_bytes;
    } else {
        arena_init(&dev->arena, dev->position, dev->run->opts.memory_bytes, dev->run->backend);
    }
    arena_init(&dev->host, dev->position, 0, backend_find("malloc"));
    arena_init(&dev->registers, dev->position, 0, backend_find("malloc"));
}

static void return_arenas(struct run *run, struct arena *arenas)
{
    for (int32_t d = 0; arenas && run->arenas_open && d < run->ndevices; d++) {
        arena_drop(&run->devices[d].arena);
        arena_move(&arenas[d], &run->devices[d].arena);
    }
}

static int init_run(struct run *run, const struct shd_mesh *mesh, struct arena *arenas,
                    struct shd_error *err)
{
    size_t n = (size_t)shd_mesh_size(mesh);

    run->mesh = mesh;
    run->ndevices = (int32_t)n;
    atomic_store(&run->nlive, run->ndevices);
    turns_init(&run->turns);
    run->ncores = run->turns.ncores > 1 ? run->turns.ncores : 1;
    run->board.spin = n <= run->ncores && !run->away;
    run->board.nyields = NYIELDS;
    run->devices = calloc(n, sizeof(*run->devices));
    if (n <= SHD_RUN_MATRIX_MAX)
        run->matrix = calloc(n * n, sizeof(*run->matrix));
    if (!run->devices || (n <= SHD_RUN_MATRIX_MAX && !run->matrix))
        return shd_error_set(err, SHD_ENOMEM, "no memory for a run of %zu devices", n);
    for (size_t d = 0; d < n; d++) {
        struct shd_device *dev = &run->devices[d];

        dev->run = run;
        dev->position = (int32_t)d;
        dev->here = !run->away || run->away->calls->is_here(run->away, dev->position);
        dev->matrix_row = run->matrix ? run->matrix + d * n : NULL;
        open_arena(dev, arenas ? &arenas[d] : NULL);
    }
    run->arenas_open = true;
    return SHD_OK;
}

/* ---- threads ---- */

static void end_device(struct shd_device *dev, int status)
{
    enum device_state state;

    if (status == SHD_OK && dev->mismatch.status != SHD_OK) {
        dev->error = dev->mismatch;
        status = dev->mismatch.status;
    }
    state = dev->gave_up ? DEVICE_STOPPED : status ? DEVICE_FAILED : DEVICE_ENDED;
    if (state == DEVICE_FAILED && dev->error.status != status)
        shd_error_set(&dev->error, status, "failed with status %d", status);
    run_device_end(dev, state);
    if (dev->run->away)
        dev->run->away->calls->tell_end(dev->run->away, dev->position, (int)state);
}

/* Called if the device's function did not return: its thread was ended. */
static void end_gone(void *arg)
{
    struct shd_device *dev = arg;

    end_device(dev, shd_error_set(&dev->error, SHD_EINVAL,
                                  "its thread was ended (pthread_exit, pthread_cancel) before its "
                                  "function returned"));
}

static void run_function(struct shd_device *dev)
{
    int status;

    pthread_cleanup_push(end_gone, dev);
    status = dev->run->fn(dev, dev->run->arg, &dev->error);
    pthread_cleanup_pop(0);
    end_device(dev, status);
}

static void *device_main(void *arg)
{
    struct shd_device *dev = arg;
    struct run *run = dev->run;

    for (;;) {
        uint32_t seen = atomic_load(&run->gate_event);

        if (atomic_load(&run->gate) != GATE_CLOSED)
            break;
        wait_event(&run->gate_event, seen, -1);
    }
    if (atomic_load(&run->gate) == GATE_OPEN)
        run_function(dev);
    return NULL;
}

static void open_gate(struct run *run, enum run_gate gate)
{
    atomic_store(&run->gate, gate);
    wait_signal(&run->gate_event);
}

static int start_threads(struct run *run, int32_t *nstarted, struct shd_error *err)
{
    pthread_attr_t attr;
    int failed = 0;

    pthread_attr_init(&attr);
    failed = pthread_attr_setstacksize(&attr, run->opts.stack_bytes);
    for (*nstarted = 0; !failed && *nstarted < run->ndevices; ++*nstarted) {
        struct shd_device *dev = &run->devices[*nstarted];

        failed = dev->here ? pthread_create(&dev->thread, &attr, device_main, dev) : 0;
        if (failed)
            break;
    }
    pthread_attr_destroy(&attr);
    if (failed)
        return shd_error_set(err, SHD_ESYSTEM,
                             "could not start thread %" PRId32 " of %" PRId32
                             " with a stack of %zu bytes: %s",
                             *nstarted + 1, run->ndevices, run->opts.stack_bytes, strerror(failed));
    return SHD_OK;
}

/* Run all devices or none, here and away: none if the status says that this run could not begin. */
static int run_threads(struct run *run, int status, struct shd_error *err)
{
    struct monitor_watch *watch = status == SHD_OK ? monitor_create(run) : NULL;
    int32_t nstarted = 0;

    if (watch)
        status = start_threads(run, &nstarted, err);
    else if (status == SHD_OK)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for a run of %" PRId32 " devices",
                               run->ndevices);
    if (run->away)
        status = run->away->calls->start(run->away, status, err);
    open_gate(run, status == SHD_OK ? GATE_OPEN : GATE_GO_HOME);
    if (status == SHD_OK)
        monitor_run(run, watch);
    for (int32_t d = 0; d < nstarted; d++)
        if (run->devices[d].here)
            pthread_join(run->devices[d].thread, NULL);
    monitor_destroy(watch);
    if (run->away && status == SHD_OK)
        run->away->calls->end(run->away);
    return status;
}

/* ---- results ---- */

static uint64_t sent_bytes(const struct run *run, int32_t source)
{
    uint64_t sent = run->devices[source].sent_bytes;

    for (size_t d = 0; run->matrix && d < (size_t)run->ndevices; d++)
        sent += run->matrix[d * (size_t)run->ndevices + (size_t)source];
    return sent;
}

static int init_stats(struct shd_run_stats *stats, int32_t ndevices, struct shd_error *err)
{
    size_t n = (size_t)ndevices;

    *stats = (struct shd_run_stats){.ndevices = ndevices, .error_device = -1};
    stats->received_bytes = calloc(n, sizeof(uint64_t));
    stats->sent_bytes = calloc(n, sizeof(uint64_t));
    stats->peak_bytes = calloc(n, sizeof(uint64_t));
    if (stats->received_bytes && stats->sent_bytes && stats->peak_bytes)
        return SHD_OK;
    shd_run_stats_fini(stats);
    return shd_error_set(err, SHD_ENOMEM, "no memory for the counts of %zu devices", n);
}

/* Fill the statistics; the matrix passes to the caller. */
static void fill_stats(struct shd_run_stats *stats, struct run *run)
{
    for (int32_t d = 0; d < run->ndevices; d++) {
        stats->received_bytes[d] = run->devices[d].received_bytes;
        stats->sent_bytes[d] = sent_bytes(run, d);
        stats->peak_bytes[d] = run->devices[d].arena.peak_bytes;
    }
    stats->matrix = run->matrix;
    run->matrix = NULL;
}

void shd_run_stats_fini(struct shd_run_stats *stats)
{
    if (!stats)
        return;
    free(stats->received_bytes);
    free(stats->sent_bytes);
    free(stats->peak_bytes);
    free(stats->matrix);
    *stats = (struct shd_run_stats){.error_device = -1};
}

int run_devices(const struct shd_mesh *mesh, shd_device_fn fn, void *arg,
                const struct shd_run_opts *opts, struct arena *arenas, struct away *away,
                struct shd_run_stats *stats, struct shd_error *err)
{
    struct run run = {.fn = fn, .arg = arg, .away = away, .lock = PTHREAD_MUTEX_INITIALIZER};
    struct shd_error own;
    int32_t error_device = -1;
    int status = SHD_OK;

    err = err ? err : &own;
    if (stats)
        *stats = (struct shd_run_stats){.error_device = -1};
    if (!mesh)
        return shd_error_set(err, SHD_ENOMESH, "no mesh is given");
    if (!fn)
        return shd_error_set(err, SHD_EINVAL, "no function is given for the devices to run");
    if (away)
        away->run = &run;
    if (stats)
        status = init_stats(stats, shd_mesh_size(mesh), err);
    if (status == SHD_OK)
        status = set_options(&run, mesh, opts, err);
    if (status == SHD_OK)
        status = init_run(&run, mesh, arenas, err);
    if (away || status == SHD_OK)
        status = run_threads(&run, status, err);
    if (status == SHD_OK)
        status = verdict_build(&run, &error_device, err);
    if (stats && run.devices)
        fill_stats(stats, &run);
    if (stats)
        stats->error_device = error_device;
    return_arenas(&run, arenas);
    fini_run(&run);
    return status;
}

int shd_run(const struct shd_mesh *mesh, shd_device_fn fn, void *arg,
            const struct shd_run_opts *opts, struct shd_run_stats *stats, struct shd_error *err)
{
    return run_devices(mesh, fn, arg, opts, NULL, NULL, stats, err);
}

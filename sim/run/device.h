/* device.h - a run and its devices, as the rooms of execution see them.
 *
 * How a run ends: each device's thread ends with a state.  A device that fails by itself stops no
 * other: those go on until they have to wait for it.  So which devices fail by themselves depends
 * on the program only, and so does where each of the others gets stuck.  The run's error is read
 * off these records when all threads have been joined.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_DEVICE_H
#define RUN_DEVICE_H

#include <pthread.h>

#include <shd/mesh.h>
#include <shd/run.h>

#include "base/turns.h"
#include "base/wait.h"
#include "coll/coll.h"
#include "ranks/spread.h"
#include "run/arena.h"
#include "run/group.h"

enum device_state {
    DEVICE_LIVE,
    DEVICE_ENDED,  /* its function returned SHD_OK */
    DEVICE_FAILED, /* by itself */
    DEVICE_STOPPED /* one of its waits was given up */
};

/* Room for what a device waits in, as messages say it: "all-reduce (layer0.mlp)"; cut beyond. */
#define DEVICE_WHAT_MAX 80
/* Buckets of a device's table of seats; a program has a few seats for each set of axes it uses. */
#define DEVICE_SEAT_BUCKETS 32

struct span_bundle; /* what another rank tells of a call, see span.h */
struct device_seat; /* a seat that the device keeps, see group.c */
struct axes_group;  /* a group found by axes, see group.c */

struct shd_device {
    struct run *run;
    int32_t position;
    bool here; /* on this rank; of others only what is told of them is known */
    struct arena arena;
    struct wait_record record;
    uint64_t *matrix_row;  /* bytes received by source position; NULL in large runs */
    uint64_t received_bytes;
    uint64_t sent_bytes;         /* kept in large runs only, else the matrix has it */
    void *tmp;                   /* transport buffer of collectives; host memory */
    uint64_t tmp_bytes;
    struct device_seat *seats[DEVICE_SEAT_BUCKETS];

    struct run_group **groups; /* those it is a member of; guarded by the run's lock */
    size_t ngroups;

    _Atomic int state; /* enum device_state; all but LIVE are final; set under the run's lock */
    int gave_up; /* the status of a wait that was given up, which refuses all further ones */
    char waits_in[DEVICE_WHAT_MAX]; /* set with gave_up: "all-reduce over tp" */
    struct shd_error mismatch; /* the first call in which others called something else: it fails the
                                  run also when the device's function takes no notice */
    struct shd_error error;
    pthread_t thread;
};

/* Buckets of the run's tables of groups; chains are short up to some thousand groups. */
#define RUN_GROUP_BUCKETS 256

/* Threads wait at the gate until all of them are there, or go home when one could not be had. */
enum run_gate { GATE_CLOSED, GATE_OPEN, GATE_GO_HOME };

enum run_verdict { RUN_GOES_ON, RUN_STOP_REQUESTED, RUN_STUCK, RUN_OVER_LIMIT };

struct run {
    const struct shd_mesh *mesh;
    int32_t ndevices;
    struct shd_device *devices;
    bool arenas_open;
    shd_device_fn fn;
    void *arg;
    struct shd_run_opts opts;
    uint64_t fuse_bytes;
    const struct backend *backend;
    uint32_t ncores;
    const struct coll_algo *algos[COLL_NKINDS]; /* the run's choice */
    uint64_t *matrix;
    struct wait_board board;  /* called_off: enum run_verdict */
    struct turns turns;
    int32_t over_limit;       /* the device that waited too long; read after joining */
    _Atomic int gate;         /* enum run_gate */
    _Atomic uint32_t gate_event;
    _Atomic int32_t nlive;
    _Atomic uint32_t ended;   /* event: a device has ended, or all have */
    pthread_mutex_t lock;     /* guards what follows, who is in which group, and changes of state */
    struct run_group *buckets[RUN_GROUP_BUCKETS];
    struct run_group *groups; /* all */
    struct axes_group *by_axes[RUN_GROUP_BUCKETS];
    struct span_bundle *unclaimed; /* for groups that are not there yet */

    const struct spread *spread; /* over which ranks; NULL: there is one */
    uint64_t session;            /* of its letters */
    struct remote *remote;       /* what other ranks have told; NULL: there are none */
};

/* As shd_run(), on device memory that was there before: each device is lent its arena of `arenas`.
 * What was kept (arena_keep()) is still there afterwards, all else is freed.  NULL: memory of the
 * run's own.
 *
 * With `spread` (NULL: all devices are here) each rank runs its own devices, all ranks call this
 * together, and status, error and counts are the same on all of them. */
int run_devices(const struct shd_mesh *mesh, shd_device_fn fn, void *arg,
                const struct shd_run_opts *opts, struct arena *arenas, const struct spread *spread,
                struct shd_run_stats *stats, struct shd_error *err);

/* Forget the bytes that a device was counted to have received and sent so far; while nobody moves
 * any. */
void device_count_anew(struct shd_device *dev);

/* Free the seats of a device and the groups of a run. */
void run_group_fini_seats(struct shd_device *dev);
void run_group_fini_all(struct run *run);

/* The device's thread has ended: set its state, and tell all that wait for it. */
void run_group_leave_all(struct shd_device *dev, enum device_state state);

/* A device of another rank has ended its part. */
void run_group_lose(struct run *run, int32_t position, enum device_state state);

/* A bundle for a group has come (span.h). */
void run_group_deliver(struct run *run, struct span_bundle *bundle);

/* The channel between two devices; NULL: no memory. */
struct run_group *run_group_channel(struct run *run, int32_t from, int32_t to);

/* Have all devices of this rank give up their waits, unless the run was called off before. */
void run_group_call_off(struct run *run, enum run_verdict verdict);

#endif /* RUN_DEVICE_H */

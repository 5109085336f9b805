/* device.h - a run and its devices, as the files of this room see them.
 *
 * How a run ends: each device's thread ends with a state.  A device that fails by itself stops
 * nobody: others go on until they have to wait for it, so which devices fail by themselves depends
 * on the program only, and so does where each of the others gets stuck.  After all threads are
 * joined the run's error is read off these records.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_DEVICE_H
#define RUN_DEVICE_H

#include <pthread.h>

#include <shd/mesh.h>
#include <shd/run.h>

#include "coll/coll.h"
#include "memory/arena.h"
#include "run/group.h"
#include "threads/turns.h"
#include "threads/wait.h"

enum device_state {
    DEVICE_LIVE,
    DEVICE_ENDED,  /* its function returned SHD_OK */
    DEVICE_FAILED, /* by itself */
    DEVICE_STOPPED /* a wait of its was given up */
};

#define DEVICE_WHAT_MAX 80
#define DEVICE_SEAT_BUCKETS 32

struct device_seat; /* a seat the device was given, by axes or pair */
struct axes_group;  /* a group that was asked for by axes */

struct shd_device {
    struct run *run;
    int32_t position;
    struct arena arena;
    struct wait_record record;
    uint64_t *matrix_row;  /* bytes received by source position; NULL in large runs */
    uint64_t received_bytes;
    _Atomic uint64_t sent_bytes; /* kept in large runs only, else the matrix has it */
    void *tmp;                   /* transport buffer of collectives; host memory */
    uint64_t tmp_bytes;
    struct device_seat *seats[DEVICE_SEAT_BUCKETS];

    struct run_group **groups; /* those it is a member of; guarded by the run's lock */
    size_t ngroups, groups_room;

    _Atomic int state; /* enum device_state; all but LIVE are final; set under the run's lock */
    int gave_up; /* the status of a wait that was given up: all further ones are refused */
    char waits_in[DEVICE_WHAT_MAX]; /* set with gave_up: "all-reduce over tp" */
    struct shd_error mismatch; /* the first call in which others called something else: it fails the
                                  run also when the device's function takes no notice */
    struct shd_error error;
    pthread_t thread;
};

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
};

/* shd_run() on device memory that was there before: `arenas`, one a device, are lent to the devices.
 * What was kept (arena_keep()) is still there afterwards, all else is freed.  NULL: as shd_run(). */
int run_devices(const struct shd_mesh *mesh, shd_device_fn fn, void *arg,
                const struct shd_run_opts *opts, struct arena *arenas, struct shd_run_stats *stats,
                struct shd_error *err);

/* Free the seats of a device and the groups of a run. */
void run_group_fini_seats(struct shd_device *dev);
void run_group_fini_all(struct run *run);

/* The device's thread is over: set its state and tell all who wait for it. */
void run_group_leave_all(struct shd_device *dev, enum device_state state);

/* Wake all who wait, to see that the run was called off. */
void run_group_poke_all(struct run *run);

#endif /* RUN_DEVICE_H */

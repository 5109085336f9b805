/* device.h - a run and its devices, shared by the files that execute it.
 *
 * How a run ends: each device's thread ends in a final state.  A device that fails on its own does
 * not stop others: they continue until they have to wait for it.  So which devices fail on their
 * own depends only on the program, and so does where each of the others gets stuck.  The run's
 * error is determined from these states after all threads were joined.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_DEVICE_H
#define RUN_DEVICE_H

#include <pthread.h>

#include <shd/mesh.h>
#include <shd/run.h>

#include "base/map.h"
#include "base/turns.h"
#include "base/wait.h"
#include "coll/coll.h"
#include "run/arena.h"
#include "run/away.h"
#include "run/group.h"

enum device_state {
    DEVICE_LIVE,
    DEVICE_ENDED,  /* its function returned SHD_OK */
    DEVICE_FAILED, /* on its own */
    DEVICE_STOPPED /* a wait of it was given up */
};

/* Room for the call that a device waits in, as in "all-reduce (layer0.mlp)"; longer text is cut. */
#define DEVICE_WHAT_MAX 80

struct device_seat; /* a cached seat of the device, see group.c */
struct axes_group;  /* a group indexed by axes, see group.c */

struct shd_device {
    struct run *run;
    int32_t position;
    bool here; /* of a device that is away only its state is known (away.h) */
    struct arena arena;
    struct arena host;      /* host memory in use by this device; never lent */
    struct arena registers; /* what only exists inside fused kernels; never lent */
    struct wait_record record;
    uint64_t *matrix_row;  /* bytes received by source position; NULL in large runs */
    uint64_t received_bytes;
    uint64_t sent_bytes;         /* only in large runs; otherwise the matrix has it */
    void *tmp;                   /* transport buffer of collectives; host memory */
    uint64_t tmp_bytes;
    struct device_seat *seats; /* nseats, which seat_map finds by request */
    uint32_t nseats;
    struct map seat_map;

    struct run_group **groups; /* groups that it is a member of; guarded by the run's lock */
    size_t ngroups;

    _Atomic int state; /* enum device_state; all but LIVE are final; set under the run's lock */
    int gave_up; /* status of a wait that was given up; refuses all further waits */
    char waits_in[DEVICE_WHAT_MAX]; /* set with gave_up: "all-reduce over tp" */
    struct shd_error mismatch; /* the first call that did not match the other members': it fails
                                  the run even if the device's function ignores it */
    struct shd_error error;
    pthread_t thread;
};

/* Threads wait at the gate until all of them have started, or go home if one could not be
 * created. */
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
    const struct coll_algo *algos[COLL_NKINDS]; /* the run's choices */
    uint64_t *matrix;
    struct wait_board board;  /* called_off: enum run_verdict */
    struct turns turns;
    int32_t over_limit;       /* the device that waited too long; read after joining */
    _Atomic int gate;         /* enum run_gate */
    _Atomic uint32_t gate_event;
    _Atomic int32_t nlive;    /* devices, here and away, that have not ended */
    _Atomic uint32_t ended;   /* event: all devices have ended */
    pthread_mutex_t lock;     /* guards the following fields, group membership, and changes of
                                 state */
    struct run_group **groups; /* ngroups, which group_map finds by their hash */
    uint32_t ngroups;
    struct map group_map;
    struct axes_group *by_axes; /* nby_axes, which axes_map finds by axes and number */
    uint32_t nby_axes;
    struct map axes_map;

    struct away *away;    /* the devices that are not here; NULL: all are here */
    _Atomic bool settled; /* no device, here or away, can go on */
};

/* shd_run() with existing device memory: each device is lent its arena of `arenas`.  Memory kept by
 * arena_keep() survives the run, all other memory is freed.  NULL: the run allocates its own.
 *
 * `away` joins runs that share the devices (away.h), which all call this together; NULL: all
 * devices are here. */
int run_devices(const struct shd_mesh *mesh, shd_device_fn fn, void *arg,
                const struct shd_run_opts *opts, struct arena *arenas, struct away *away,
                struct shd_run_stats *stats, struct shd_error *err);

/* Reset the received and sent bytes of a device; only while no device moves any. */
void device_count_anew(struct shd_device *dev);

/* Free the seats of a device and the groups of a run. */
void run_group_fini_seats(struct shd_device *dev);
void run_group_fini_all(struct run *run);

/* Called when a device, here or away, has ended: set its state, and notify all that wait for it. */
void run_device_end(struct shd_device *dev, enum device_state state);

/* The channel between two devices; NULL: no memory. */
struct run_group *run_group_channel(struct run *run, int32_t from, int32_t to);

/* Make all devices here give up their waits, unless the run was called off before. */
void run_group_call_off(struct run *run, enum run_verdict verdict);

#endif /* RUN_DEVICE_H */

/* remote.h - communication between the ranks of a run outside the calls of groups.
 *
 * Each rank reports to all others how each of its devices ends, when all have ended, and when it
 * calls the run off.  The outcome is equal on all ranks.
 *
 * To detect that all devices of all ranks wait for each other, rank 0 sends queries in waves.  If
 * two successive waves find all devices blocked, none having moved on in between, and all letters
 * delivered, no device can ever continue.  The run is then settled: a wait for another rank's part
 * of a call is given up.  Before that, even in a run that was called off, such a wait ends only
 * when the part has arrived or its devices have ended, as ranks must agree on whether a call takes
 * place.
 *
 * Thread class: as each says; letters are delivered in the thread that looks for them (ranks.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RANKS_REMOTE_H
#define RANKS_REMOTE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <shd/error.h>

#include "ranks/ranks.h"
#include "run/mailbox.h"

struct run;
struct run_group;
struct shd_device;
struct span_bundle;

/* The first field of each letter. */
enum letter {
    LETTER_BUNDLE,
    LETTER_MESSAGE,
    LETTER_ENDED,
    LETTER_DONE,
    LETTER_VERDICT,
    LETTER_ASK,
    LETTER_ANSWER
};

/* A rank's answer in a wave, about its devices. */
struct remote_answer {
    uint32_t letter; /* LETTER_ANSWER */
    uint32_t wave;
    uint64_t blocked; /* 1: all live devices are blocked, or none is live */
    uint64_t any;     /* 1: some device is live */
    uint64_t moved;   /* the sum of their wait counts */
    uint64_t posted, delivered;
};

struct remote {
    struct span_bundle *spare;          /* without letters; guarded by the run's lock */
    _Atomic uint64_t posted, delivered; /* letters that a device may wait for */
    _Atomic int ndone;                  /* ranks whose devices have all ended */
    _Atomic bool settled;               /* no device can continue, and no letter is on its way */
    /* On rank 0; guarded by `lock`: */
    pthread_mutex_t lock;
    uint32_t wave;
    int nanswers;
    struct remote_answer all, last; /* sum of the current wave; sum of the one before */
};

/* Begin and end a run's part on this rank; `run->spread` is not NULL.  SHD_ENOMEM. */
int remote_begin(struct run *run, struct shd_error *err);
void remote_end(struct run *run);

/* Deliver letters from now on. */
void remote_listen(struct run *run);

/* Post a letter that devices may wait for; any thread. */
void remote_post(const struct run *run, int rank, const struct ranks_part *parts, uint32_t nparts);

/* Send a message to a device of another rank. */
void remote_message(const struct run *run, int32_t from, int32_t to, struct message_tag tag,
                    const void *data, uint64_t bytes);

/* Release bundles whose letters are no longer read. */
void remote_give_back(struct run *run, struct span_bundle *bundles);

/* Report to all other ranks. */
void remote_tell_ended(const struct shd_device *dev, int state);
void remote_tell_done(struct run *run);
void remote_tell_verdict(const struct run *run, int verdict, int32_t device);

/* Whether the devices of all ranks have ended. */
bool remote_all_done(const struct run *run);

/* On rank 0: start a wave, and return whether the last two found that no device can continue. */
bool remote_wave(struct run *run);

/* Called by all ranks before any device starts: `status` is how the start went on this rank;
 * returns the status of the lowest rank on which it failed. */
int remote_agree_on_start(const struct run *run, int status, struct shd_error *err);

/* Called by all ranks when all devices have ended: stops the delivery of letters, and shares the
 * states of all devices and their received, sent and peak bytes. */
void remote_agree_on_end(struct run *run);

#endif /* RANKS_REMOTE_H */

/* remote.h - what the ranks of a run tell each other besides the calls of groups.
 *
 * Each rank tells all others how each of its devices ends, when all have ended, and when it calls
 * the run off.  What is found out at the end is the same on all ranks.
 *
 * Whether all devices of all ranks wait for each other is asked in waves, by rank 0: when two in a
 * row find that all are blocked, that none has gone on between, and that every letter that was sent
 * was delivered, none can ever go on.  That settles it: whoever still waits for a rank's part of a
 * call gives up.  Before that, also in a run that was called off, such a wait ends only when the
 * part has come or its devices have ended, as ranks must agree on whether a call takes place.
 *
 * Thread class: as each says; letters are delivered in the thread that looks for them (ranks.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_REMOTE_H
#define RUN_REMOTE_H

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

/* The first number of each letter. */
enum letter {
    LETTER_BUNDLE,
    LETTER_MESSAGE,
    LETTER_ENDED,
    LETTER_DONE,
    LETTER_VERDICT,
    LETTER_ASK,
    LETTER_ANSWER
};

/* What a rank says of its devices, in a wave. */
struct remote_answer {
    uint32_t letter; /* LETTER_ANSWER */
    uint32_t wave;
    uint64_t blocked; /* 1: all that live are; or none does */
    uint64_t any;     /* 1: one lives */
    uint64_t moved;   /* the sum of their counts */
    uint64_t posted, delivered;
};

struct remote {
    struct span_bundle *spare;          /* without letters; guarded by the run's lock */
    _Atomic uint64_t posted, delivered; /* letters that a device may wait for */
    _Atomic int ndone;                  /* ranks whose devices have all ended */
    _Atomic bool settled;               /* none can go on, and no letter is on its way */
    /* On rank 0; guarded by `lock`: */
    pthread_mutex_t lock;
    uint32_t wave;
    int nanswers;
    struct remote_answer all, last; /* of the wave at hand, summed; of the one before */
};

/* Begin and end a run's part on this rank; `run->spread` is not NULL.  SHD_ENOMEM. */
int remote_begin(struct run *run, struct shd_error *err);
void remote_end(struct run *run);

/* From here on letters are delivered. */
void remote_listen(struct run *run);

/* Post a letter that devices may wait for; any thread. */
void remote_post(const struct run *run, int rank, const struct ranks_part *parts, uint32_t nparts);

/* A message for a device of another rank. */
void remote_message(const struct run *run, int32_t from, int32_t to, struct message_tag tag,
                    const void *data, uint64_t bytes);

/* Bundles whose letters nobody reads any more. */
void remote_give_back(struct run *run, struct span_bundle *bundles);

/* Tell all others. */
void remote_tell_ended(const struct shd_device *dev, int state);
void remote_tell_done(struct run *run);
void remote_tell_verdict(const struct run *run, int verdict, int32_t device);

/* Whether the devices of all ranks have ended. */
bool remote_all_done(const struct run *run);

/* On rank 0: begin a wave, and return whether the last two found that none can ever go on. */
bool remote_wave(struct run *run);

/* All ranks, before any device begins: `status` is how starting them went here; returns that of the
 * lowest rank on which it failed. */
int remote_agree_on_start(const struct run *run, int status, struct shd_error *err);

/* All ranks, when all devices have ended: no letters are delivered any more, and the states of all
 * devices and what they received, sent and held at most are known to all. */
void remote_agree_on_end(struct run *run);

#endif /* RUN_REMOTE_H */

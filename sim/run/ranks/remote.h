/* remote.h - communication between the ranks of a run outside the calls of groups.
 *
 * Each rank reports to all others how each of its devices ends, and when it calls the run off.  The
 * outcome is equal on all ranks.
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
#ifndef RUN_RANKS_REMOTE_H
#define RUN_RANKS_REMOTE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <shd/error.h>

#include "run/ranks/ranks.h"
#include "run/ranks/spread.h"
#include "run/away.h"
#include "run/monitor.h"

struct span;
struct span_bundle;

/* The first field of each letter. */
enum letter {
    LETTER_BUNDLE,
    LETTER_MESSAGE,
    LETTER_ENDED,
    LETTER_VERDICT,
    LETTER_ASK,
    LETTER_ANSWER
};

/* A rank's answer in a wave, about its devices. */
struct remote_answer {
    uint32_t letter; /* LETTER_ANSWER */
    uint32_t wave;
    struct monitor_sight sight;
    uint64_t posted, delivered;
};

/* What a rank has of a run over several ranks. */
struct remote {
    struct away away;
    const struct spread *spread;
    uint64_t session;                   /* of the run's letters */
    struct span_bundle *spare;          /* without letters; guarded by the run's lock */
    struct span_bundle *unclaimed;      /* for groups that do not exist yet; guarded by the same */
    _Atomic uint64_t posted, delivered; /* letters that a device may wait for */
    /* On rank 0; guarded by `lock`: */
    pthread_mutex_t lock;
    uint32_t wave;
    int nanswers;
    struct remote_answer all, last; /* sum of the current wave; sum of the one before */
};

static inline struct remote *remote_of(const struct away *away)
{
    return (struct remote *)(uintptr_t)away; /* its first field */
}

void remote_init(struct remote *remote, const struct spread *spread,
                 const struct away_calls *calls);
void remote_fini(struct remote *remote);

/* What run/away.h says of a whole run and of devices.  A rank without memory for it ends the job.
 */
int remote_start(struct away *away, int status, struct shd_error *err);
void remote_end(struct away *away);
void remote_call_off(struct away *away, int verdict);
bool remote_is_stuck(struct away *away);
void remote_tell_end(struct away *away, int32_t position, int state);
void remote_send(struct away *away, int32_t from, int32_t to, struct message_tag tag,
                 const void *data, uint64_t bytes);

/* Post a letter that devices may wait for; any thread. */
void remote_post(struct remote *remote, int rank, const struct ranks_part *parts, uint32_t nparts);

/* Deliver to a new span the bundles that arrived before it; with the run's lock held. */
void remote_claim(struct span *span);

/* Release bundles whose letters are no longer read. */
void remote_give_back(struct remote *remote, struct span_bundle *bundles);

#endif /* RUN_RANKS_REMOTE_H */

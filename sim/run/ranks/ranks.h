/* ranks.h - processes that work together under a launcher, and their communication.
 *
 * `mpirun -n 4 shardsim ...` starts four processes, the ranks 0 to 3.  Without a launcher, and in
 * builds without MPI, there is one rank.
 *
 * One thread of a rank at a time calls MPI (wire.h): a thread that waits for a message, or else the
 * courier, a progress thread.  It polls for messages; while a thread waits it yields its core
 * between polls, then sleeps, so that computing threads keep their cores.  There are three kinds of
 * communication:
 *
 *   letters   small, copied, sent at once; they arrive in order from each rank, and are delivered
 *             to the listener of their session, in whichever thread polls
 *   parcels   large, read from and written to the caller's own memory, of any length
 *   merges    all ranks at once: an array is combined from all ranks' arrays
 *
 * A rank that leaves while others need it, or is silent for some seconds, ends the job with one
 * message that names the rank.
 *
 * Thread class: any thread; a merge by one thread of a rank at a time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_RANKS_RANKS_H
#define RUN_RANKS_RANKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shd/error.h>

/* Join the other ranks if a launcher started this process.  Every rank ends with ranks_end().
 * SHD_ESYSTEM. */
SHD_MUST_CHECK int ranks_begin(struct shd_error *err);

/* Leave: waits until all ranks leave. */
void ranks_end(void);

bool ranks_launched(void); /* started by a launcher, even as the only rank */
int ranks_count(void);     /* 1 without other ranks */
int ranks_me(void);
int ranks_here(void); /* number of ranks on this rank's machine */

/* ---- letters ---- */

struct ranks_part {
    const void *data;
    uint64_t bytes;
};

/* Send the concatenation of `parts` in a letter. SHD_ENOMEM. */
SHD_MUST_CHECK int ranks_post(int to, uint64_t session, const struct ranks_part *parts,
                              uint32_t nparts);

/* Receives a letter, whose bytes are aligned to 16.  Return true to keep the letter until
 * ranks_put_back(). */
typedef bool (*ranks_deliver_fn)(void *arg, int from, const void *letter, uint64_t bytes);
void ranks_put_back(const void *letter); /* NULL is allowed */

/* Deliver the letters of a session, including those that have arrived already, to a listener.  All
 * ranks number sessions alike, in ascending order.  Letters of earlier sessions are dropped. */
void ranks_listen(uint64_t session, ranks_deliver_fn deliver, void *arg);
void ranks_close(void); /* when it returns, no letter is being delivered */

/* The number of the next session: equal on all ranks, since all begin the same sessions. */
uint64_t ranks_new_session(void);

/* ---- parcels ---- */

/* A send and its receive have equal bytes and tags; messages of equal tags between two ranks are
 * received in the order sent. */
#define RANKS_TAGS_EACH 4    /* consecutive tags given by ranks_new_tags() */
#define RANKS_TAGS (1 << 14) /* after which tags are reused; MPI has about 32,000 */
#define RANKS_TAG_PIECES RANKS_TAGS /* apart from these: for messages that all ranks send in the
                                       same order */

/* What is done with bytes: sent, received, or combined from all ranks. */
enum ranks_how {
    RANKS_SEND,
    RANKS_RECEIVE,
    RANKS_JOIN, /* bitwise OR over ranks (MPI_BOR); each byte is 0 or equal on the others */
    RANKS_SUM,  /* uint64_t */
    RANKS_MOST  /* int64_t */
};

struct ranks_request { /* what MPI has of it */
    _Alignas(void *) char handle[sizeof(void *)];
};

struct ranks_parcel {
    enum ranks_how how;
    int peer;
    uint32_t tag;
    void *data; /* only read when sending */
    uint64_t bytes;
    _Atomic bool done;
    /* The courier's: */
    struct ranks_request request;
    struct ranks_parcel *next;
};

/* Start a parcel, which must stay in place until it is done; the latter two fill it in. */
void ranks_start(struct ranks_parcel *parcel);
void ranks_send(struct ranks_parcel *parcel, int to, uint32_t tag, const void *data,
                uint64_t bytes);
void ranks_receive(struct ranks_parcel *parcel, int from, uint32_t tag, void *data, uint64_t bytes);

/* Wait until a parcel is done. */
void ranks_finish(const struct ranks_parcel *parcel);

/* The first of RANKS_TAGS_EACH tags that this rank has not used recently. */
uint32_t ranks_new_tags(void);

/* ---- merges ---- */

/* All ranks call it with the same number of bytes (a multiple of 8 for numbers), in the same
 * order. */
void ranks_merge(void *data, uint64_t bytes, enum ranks_how how);

/* ---- waiting ---- */

/* wait_event() (base/wait.h) for an event that another rank's letter or parcel moves: this
 * thread may poll itself.  It must hold no lock that a listener takes. */
void ranks_wait(_Atomic uint32_t *event, uint32_t seen, int64_t limit_ns);

/* Let the courier finish what this thread posted, as this thread will not wait for an answer. */
void ranks_go_on(void);

/* Between these two calls the courier polls often. */
void ranks_expect(void);
void ranks_expect_no_more(void);

/* End the job on all ranks, with a message; does not return. */
_Noreturn void ranks_abort(const char *why);

#endif /* RUN_RANKS_RANKS_H */

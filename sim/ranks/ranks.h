/* ranks.h - the processes that work together under a launcher, and what they say to each other.
 *
 * `mpirun -n 4 shardsim ...` starts four processes, the ranks 0 to 3.  Without a launcher, and in
 * builds without MPI, there is one rank, and nothing here does anything.
 *
 * One thread of a rank at a time calls MPI: one that waits for something, or else the courier, a
 * thread that is there for it.  It looks for what arrives, gives its core away between looks while
 * somebody waits, then sleeps between them: threads that compute keep their cores.  There are three
 * ways to say something:
 *
 *   letters   small, copied, sent at once; they arrive in order from each rank, and are handed to
 *             whoever listens to their session, in whichever thread looks
 *   parcels   large, read from and written to the caller's own memory, of any length
 *   merges    all ranks at once: what each has of an array becomes what all have
 *
 * A rank that leaves while others need it, or says nothing for some seconds, ends the job with one
 * message that names it.
 *
 * Thread class: any thread; a merge by one thread of a rank at a time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RANKS_RANKS_H
#define RANKS_RANKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shd/error.h>

/* Join the other ranks, if a launcher started this process.  Every rank ends by ranks_end().
 * SHD_ESYSTEM. */
SHD_MUST_CHECK int ranks_begin(struct shd_error *err);

/* Leave with an exit status: waits until all ranks leave. */
void ranks_end(int exit_status);

bool ranks_launched(void); /* by a launcher, be it as the only one */
int ranks_count(void);     /* 1 when there are no others */
int ranks_me(void);
int ranks_here(void); /* how many of them are on this rank's machine */

/* ---- letters ---- */

struct ranks_part {
    const void *data;
    uint64_t bytes;
};

/* Send the parts, one behind the other, as one letter.  SHD_ENOMEM. */
SHD_MUST_CHECK int ranks_post(int to, uint64_t session, const struct ranks_part *parts,
                              uint32_t nparts);

/* A letter has come; its bytes are aligned to 16.  True: the listener keeps them, until it puts the
 * letter back. */
typedef bool (*ranks_deliver_fn)(void *arg, int from, const void *letter, uint64_t bytes);
void ranks_put_back(const void *letter); /* NULL is allowed */

/* Listen to the letters of a session: those that have come, and those that will.  Sessions are
 * numbered alike on all ranks, each by a number greater than all before it.  Letters of earlier
 * sessions are dropped. */
void ranks_listen(uint64_t session, ranks_deliver_fn deliver, void *arg);
void ranks_close(void); /* no letter is being delivered when it returns */

/* The number of a session to come: the same on all ranks, as they all begin the same ones. */
uint64_t ranks_new_session(void);

/* ---- parcels ---- */

/* The bytes of a send and its receive are equal, and so are their tags; of equal tags between two
 * ranks the first sent is the first received. */
#define RANKS_TAGS_EACH 4    /* in a row that ranks_new_tags() gives */
#define RANKS_TAGS (1 << 14) /* after so many they are used again; MPI has some 32,000 */
#define RANKS_TAG_PIECES RANKS_TAGS /* none of these: what all ranks send in the same order */

struct ranks_parcel {
    int peer;
    bool sends;
    uint32_t tag;
    void *data; /* only read when sent */
    uint64_t bytes;
    _Atomic bool done;
    struct ranks_parcel *next; /* the courier's */
};

/* Start a parcel, which stays where it is until it is done. */
void ranks_start(struct ranks_parcel *parcel);

/* Wait until it is done. */
void ranks_finish(const struct ranks_parcel *parcel);

/* The first of RANKS_TAGS_EACH tags that this rank has not used for long. */
uint32_t ranks_new_tags(void);

/* ---- merges ---- */

enum ranks_merge {
    RANKS_JOIN, /* the bits that any rank has: of bytes that all but one have as 0, or alike */
    RANKS_SUM,  /* uint64_t */
    RANKS_MOST  /* int64_t */
};

/* All ranks call it with as many bytes (a multiple of 8 for numbers), in the same order. */
void ranks_merge(void *data, uint64_t bytes, enum ranks_merge how);

/* ---- while somebody waits ---- */

/* wait_event() (base/wait.h) for an event that another rank's letter or parcel will move: this
 * thread may look for it itself.  It must hold nothing that a listener takes. */
void ranks_wait(_Atomic uint32_t *event, uint32_t seen, int64_t limit_ns);

/* What this thread posted is on its way, and it will not wait for an answer: the courier sees to
 * it. */
void ranks_go_on(void);

/* Between the two, the courier looks often. */
void ranks_expect(void);
void ranks_expect_no_more(void);

/* End the job on all ranks, with a message; does not return. */
_Noreturn void ranks_abort(const char *why);

#endif /* RANKS_RANKS_H */

/* wire.h - what carries bytes between ranks: the calls of MPI that the courier makes, as a table.
 *
 * A build without MPI has no such table, and hence one rank.
 *
 * Thread class: begin() to end() by one thread at a time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_RANKS_WIRE_H
#define RUN_RANKS_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "run/ranks/ranks.h"

/* The most bytes of a merge, for MPI counts in int. */
#define WIRE_MERGE_MAX (UINT64_C(1) << 30)

struct wire {
    /* Join the other ranks; returns why they cannot be used, or NULL. */
    const char *(*begin)(int *count, int *me);
    void (*end)(void);
    void (*abort)(int exit_status); /* ends all ranks; may return */

    /* All ranks at once: collect `bytes` of each, in the order of ranks. */
    void (*gather)(const void *mine, void *all, int bytes);

    /* Begin to send, receive or merge bytes that stay in place until is_done(). */
    void (*send)(struct ranks_request *request, const void *data, uint64_t bytes, int to, int tag);
    void (*receive)(struct ranks_request *request, void *data, uint64_t bytes, int from, int tag);
    void (*merge)(struct ranks_request *request, void *data, uint64_t bytes, enum ranks_how how);
    bool (*is_done)(struct ranks_request *request);

    /* Look for a message with a tag; take() then receives the one that was found. */
    bool (*look)(int tag, int *from, uint64_t *bytes);
    void (*take)(void *data, uint64_t bytes);
};

#ifdef WITH_MPI
extern const struct wire wire_mpi;
#define WIRE (&wire_mpi)
#else
#define WIRE NULL
#endif

#endif /* RUN_RANKS_WIRE_H */

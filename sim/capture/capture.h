/* capture.h - what a program of another system communicates: its collectives, as they were
 * compiled or called, whoever chose them.
 *
 * A capture has no arrays and no shardings, only groups of devices and bytes; readers (reader.h)
 * fill one, and what is asked of it (sums.h, axes.h, rows.h) does not know where it came from.
 *
 * Bytes received are those of the default algorithms (coll.h).  Another system's text does not say
 * how an array is cut into chunks, so that the members of a group share its bytes evenly: what does
 * not divide goes to the first of them, a byte each.  A root is taken to be the first of its group.
 *
 * Thread class: owned by one thread while it is filled, immutable afterwards.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CAPTURE_CAPTURE_H
#define CAPTURE_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shd/error.h>

#include "base/uint128.h"
#include "coll/coll.h"

#define CAPTURE_DEVICES_MAX (1 << 20) /* of one program */

/* Of one collective: with these all sums fit a uint128. */
#define CAPTURE_BYTES_MAX (UINT64_C(1) << 50)
#define CAPTURE_TIMES_MAX (UINT64_C(1) << 40)

/* Which devices do a collective together: group g has the ids first[g] to first[g + 1] - 1.  Of a
 * permute each group is a pair: who sends, who receives. */
struct capture_groups {
    uint32_t ngroups;
    uint32_t *first;
    int32_t *ids;
    bool pairs;
    char *name; /* as the program calls them, "mesh_tp"; owned; NULL: it does not */
};

enum capture_phase { CAPTURE_FORWARD, CAPTURE_BACKWARD, CAPTURE_NPHASES };

struct capture_collective {
    enum coll_kind kind;
    const char *op;   /* as its system calls it: "all-reduce"; static, or the capture's */
    char *name;       /* of the instruction or event; owned */
    char *where;      /* in the program that it was made of; owned; NULL: not known */
    int line;         /* of the file that was read */
    uint64_t times;   /* that a step does it */
    uint64_t bytes;   /* IN of one member (coll.h); of a permute, of each pair */
    uint64_t npieces; /* arrays that it moves at once */
    bool async;       /* begins in one instruction and ends in another */
    enum capture_phase phase;
    uint32_t groups; /* number in the capture */
};

struct capture {
    char *title; /* of the module; owned */
    int32_t ndevices;
    struct capture_groups *groups;
    uint32_t ngroups;
    struct capture_collective *collectives; /* in the order of the text */
    uint32_t ncollectives;
    int32_t *traced; /* devices that have told what they do, ascending; NULL: all have */
    uint32_t ntraced;
    char **notes; /* what was assumed, sentences; owned */
    uint32_t nnotes;
};

void capture_init(struct capture *capture);
void capture_fini(struct capture *capture);

/* Add an empty groups list with room for so many groups and ids, and store its number in *out.
 * SHD_ENOMEM. */
SHD_MUST_CHECK int capture_add_groups(uint32_t *out, struct capture *capture, uint32_t ngroups,
                                      size_t nids, struct shd_error *err);

/* Take away the last list, which nothing uses. */
void capture_drop_groups(struct capture *capture);

/* Append a collective; its strings are the capture's from then on, also on failure.  SHD_ENOMEM. */
SHD_MUST_CHECK int capture_add(struct capture *capture, const struct capture_collective *collective,
                               struct shd_error *err);

/* Note what was assumed, once.  SHD_ENOMEM. */
SHD_MUST_CHECK int capture_note(struct capture *capture, struct shd_error *err, const char *fmt,
                                ...) SHD_PRINTF(3, 4);

/* Members of the largest group; and whether all groups have as many. */
uint32_t capture_group_size(const struct capture_groups *groups);
bool capture_groups_equal_size(const struct capture_groups *groups);

#endif /* CAPTURE_CAPTURE_H */

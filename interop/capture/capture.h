/* capture.h - the communication of another system's program: its collectives, as compiled or as
 * called.
 *
 * A capture has no arrays and no shardings, only groups of devices and bytes.  Readers (reader.h)
 * fill it; its users (sums.h, axes.h, rows.h) do not know the format it came from.
 *
 * Received bytes are those of the default algorithms (coll.h).  Another system's text does not say
 * how an array is cut into chunks, so members of a group share its bytes evenly: the first members
 * get one byte more each if the bytes do not divide.  The root of a collective is assumed to be the
 * group's first member.
 *
 * Thread class: owned by one thread while it is filled, immutable afterwards.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CAPTURE_CAPTURE_H
#define CAPTURE_CAPTURE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shd/error.h>

#include "base/uint128.h"
#include "coll/coll.h"

#define CAPTURE_DEVICES_MAX (1 << 20) /* of a program */

/* Limits of one collective, with which all sums fit a uint128. */
#define CAPTURE_BYTES_MAX (UINT64_C(1) << 50)
#define CAPTURE_TIMES_MAX (UINT64_C(1) << 40)

/* The devices that do a collective together: group g has the ids first[g] to first[g + 1] - 1.
 * Each group of a permute is a pair: sender, receiver. */
struct capture_groups {
    uint32_t ngroups;
    uint32_t *first;
    int32_t *ids;
    bool pairs;
    char *name; /* the program's name for the groups, "mesh_tp"; owned; NULL: none */
};

enum capture_phase { CAPTURE_FORWARD, CAPTURE_BACKWARD, CAPTURE_NPHASES };

struct capture_collective {
    enum coll_kind kind;
    const char *op;   /* the system's name for it: "all-reduce"; static, or owned by the capture */
    char *name;       /* of the instruction or event; owned */
    char *where;      /* place in the source program; owned; NULL: unknown */
    int line;         /* in the file that was read */
    uint64_t times;   /* times per step */
    uint64_t bytes;   /* IN of one member (coll.h); of each pair of a permute */
    uint64_t npieces; /* arrays moved at once */
    bool async;       /* started and ended by separate instructions */
    enum capture_phase phase;
    uint32_t groups; /* number in the capture */
};

struct capture {
    char *title; /* name of the module; owned */
    int32_t ndevices;
    struct capture_groups *groups;
    uint32_t ngroups;
    struct capture_collective *collectives; /* in the order of the text */
    uint32_t ncollectives;
    int32_t *traced; /* devices with a trace, ascending; NULL: all devices */
    uint32_t ntraced;
    char **notes; /* assumptions made, as sentences; owned */
    uint32_t nnotes;
};

void capture_init(struct capture *capture);
void capture_fini(struct capture *capture);

/* Add an empty list of groups with room for `ngroups` groups and `nids` ids, and store its number
 * in *out.  SHD_ENOMEM. */
SHD_MUST_CHECK int capture_add_groups(uint32_t *out, struct capture *capture, uint32_t ngroups,
                                      size_t nids, struct shd_error *err);

/* Remove the last list of groups, which must be unused. */
void capture_drop_groups(struct capture *capture);

/* Append a collective; the capture owns its strings from then on, also on failure.  SHD_ENOMEM. */
SHD_MUST_CHECK int capture_add(struct capture *capture, const struct capture_collective *collective,
                               struct shd_error *err);

/* Note an assumption, unless already noted.  SHD_ENOMEM. */
SHD_MUST_CHECK int capture_note(struct capture *capture, struct shd_error *err, const char *fmt,
                                ...) SHD_PRINTF(3, 4);
SHD_MUST_CHECK int capture_notev(struct capture *capture, struct shd_error *err, const char *fmt,
                                 va_list args) SHD_PRINTF(3, 0);

/* Size of a group, size of the largest, and whether all groups have equal sizes. */
uint32_t capture_size_of(const struct capture_groups *groups, uint32_t group);
uint32_t capture_group_size(const struct capture_groups *groups);
bool capture_groups_equal_size(const struct capture_groups *groups);

#endif /* CAPTURE_CAPTURE_H */

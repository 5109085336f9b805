/* group.h - groups of devices that meet: members in order, their barrier, their mailbox.
 *
 * A group is identified by its list of members.  The first device that requests it creates it, and
 * it lives as long as the run.  A device caches its seats, so that only its first request for a
 * group takes the lock.
 *
 * Thread class: internally locked.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_GROUP_H
#define RUN_GROUP_H

#include <stddef.h>
#include <stdint.h>

#include <shd/error.h>

#include "base/wait.h"
#include "run/fused.h"

struct coll_call;
struct message;
struct shd_device;

enum group_way {
    GROUP_BY_STEPS, /* each member makes its moves of the schedule, step by step */
    GROUP_BY_LAST,  /* the last member to arrive makes all moves */
    GROUP_FUSED     /* in one pass, see fused.h */
};

struct run_group {
    struct wait_barrier barrier; /* first: wait records point to it */
    uint32_t nmembers;
    int32_t *members;            /* positions in the mesh, in group order */
    struct shd_device **devices; /* by member */
    struct coll_call **calls;    /* mailbox: member m sets entry m before it arrives */
    /* Written by the last member to arrive, read by all before they arrive again: */
    int status;
    struct shd_error error;
    enum group_way way;    /* how the call is executed */
    struct fused_job job;  /* GROUP_FUSED */
    struct mailbox *mailbox; /* NULL: members meet here; else a channel, one member sending to
                                the other (channel.h) */
    struct message *part;   /* of a mailbox: a message that has arrived in part (channel_bring()) */
    void *away;             /* kept for it by the run's `away`; NULL: all members are here, or it is
                               a channel */
    _Atomic uint32_t event; /* moves when a wait for members that are away must look again */

    uint64_t hash; /* of its members */
};

/* A device's place in a group. */
struct run_seat {
    struct run_group *group;
    uint32_t member;
};

/* The group over mesh axes (the first the most significant) that contains the device; axes must be
 * distinct and in the mesh.  SHD_EINVAL, SHD_ENOMEM. */
int run_group_over_axes(struct run_seat *out, struct shd_device *dev, const uint8_t *axes,
                        size_t naxes, struct shd_error *err);

/* The group of these positions in this order.  SHD_EINVAL (outside the mesh, repeated, or without
 * the device itself), SHD_ENOMEM.  Takes the run's lock: keep the seat. */
int run_group_of_list(struct run_seat *out, struct shd_device *dev, const int32_t *members,
                      uint32_t nmembers, struct shd_error *err);

/* The group {from, to} of a send and its receive; the device is one of them. */
int run_group_of_pair(struct run_seat *out, struct shd_device *dev, int32_t from, int32_t to,
                      struct shd_error *err);

/* The channel {from, to}, for messages that the sender does not wait for. */
int run_group_of_channel(struct run_seat *out, struct shd_device *dev, int32_t from, int32_t to,
                         struct shd_error *err);

#endif /* RUN_GROUP_H */

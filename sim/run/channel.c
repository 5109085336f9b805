/* Sending and receiving messages between devices (channel.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/channel.h"

#include <inttypes.h>
#include <string.h>

#include "run/collective.h"
#include "run/device.h"
#include "ranks/remote.h"
#include "run/tally.h"

int channel_send(struct shd_device *dev, int32_t to, struct message_tag tag, const void *data,
                 uint64_t bytes, struct shd_error *err)
{
    struct run_seat seat;
    struct message *m;
    int status;

    if (!dev->run->devices[to].here) {
        remote_message(dev->run, dev->position, to, tag, data, bytes);
        return SHD_OK;
    }
    status = run_group_of_channel(&seat, dev, dev->position, to, err);

    if (status != SHD_OK)
        return status;
    m = mailbox_room(seat.group->mailbox, bytes);
    if (!m)
        return shd_error_set(err, SHD_ENOMEM, "no memory for a message of %" PRIu64 " bytes",
                             bytes);
    m->tag = tag;
    m->bytes = bytes;
    memcpy(m->data, data, bytes);
    mailbox_send(seat.group->mailbox, m);
    wait_post(&seat.group->barrier);
    return SHD_OK;
}

/* Wait for a message; NULL: the wait was given up. */
static struct message *wait_for(struct shd_device *dev, struct run_group *group,
                                const struct message_tag *tag)
{
    for (;;) {
        uint32_t seen = wait_posts(&group->barrier);
        struct message *m = mailbox_find(group->mailbox, tag);

        if (m || !wait_for_post(&group->barrier, &dev->record, seen))
            return m;
    }
}

static struct message *wait_for_rank(struct shd_device *dev, struct run_group *group,
                                     const struct message_tag *tag)
{
    struct message *m;

    ranks_expect();
    m = wait_for(dev, group, tag);
    ranks_expect_no_more();
    return m;
}

static int copy_out(struct shd_device *dev, int32_t from, const struct message *m, void *out,
                    uint64_t bytes, uint64_t *received, struct shd_error *err)
{
    if (m->bytes != bytes)
        return shd_error_set(err, SHD_EMISMATCH,
                             "device %" PRId32 " sent %" PRIu64 " bytes to device %" PRId32
                             ", which wants %" PRIu64,
                             from, m->bytes, dev->position, bytes);
    memcpy(out, m->data, bytes);
    if (from != dev->position) {
        tally_bytes(dev, &dev->run->devices[from], bytes);
        *received = bytes;
    }
    return SHD_OK;
}

int channel_take(struct shd_device *dev, int32_t from, struct message_tag tag, void *out,
                 uint64_t bytes, const char *where, uint64_t *received, struct shd_error *err)
{
    struct coll_call call = {.kind = COLL_SEND_RECV, .where = where};
    struct message *m;
    int status = run_may_wait(dev, err);

    *received = 0;
    if (status == SHD_OK)
        status = run_group_of_channel(&call.seat, dev, from, dev->position, err);
    if (status != SHD_OK)
        return status;
    m = dev->run->devices[from].here ? wait_for(dev, call.seat.group, &tag)
                                     : wait_for_rank(dev, call.seat.group, &tag);
    if (!m)
        return run_give_up(dev, &call, err);
    status = copy_out(dev, from, m, out, bytes, received, err);
    mailbox_give_back(call.seat.group->mailbox, m);
    return status;
}

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
#include "run/tally.h"

/* Add `nbytes` of a message from offset `at` on, and send the message when it is whole.  False: no
 * memory. */
static bool put(struct run_group *group, struct message_tag tag, uint64_t bytes, uint64_t at,
                const void *data, uint64_t nbytes)
{
    struct message *m = at > 0 ? group->part : mailbox_room(group->mailbox, bytes);

    if (!m)
        return false;
    m->tag = tag;
    m->bytes = bytes;
    memcpy(m->data + at, data, nbytes);
    group->part = at + nbytes < bytes ? m : NULL;
    if (group->part)
        return true;
    mailbox_send(group->mailbox, m);
    wait_post(&group->barrier);
    return true;
}

int channel_bring(struct run *run, int32_t from, int32_t to, struct message_tag tag, uint64_t bytes,
                  uint64_t at, const void *data, uint64_t nbytes)
{
    struct run_group *group = run_group_channel(run, from, to);

    return group && put(group, tag, bytes, at, data, nbytes) ? SHD_OK : SHD_ENOMEM;
}

int channel_send(struct shd_device *dev, int32_t to, struct message_tag tag, const void *data,
                 uint64_t bytes, struct shd_error *err)
{
    struct run_seat seat;
    struct away *away = dev->run->away;
    int status;

    if (!dev->run->devices[to].here) {
        away->calls->send(away, dev->position, to, tag, data, bytes);
        return SHD_OK;
    }
    status = run_group_of_channel(&seat, dev, dev->position, to, err);

    if (status != SHD_OK)
        return status;
    if (!put(seat.group, tag, bytes, 0, data, bytes))
        return shd_error_set(err, SHD_ENOMEM, "no memory for a message of %" PRIu64 " bytes",
                             bytes);
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

static struct message *wait_for_away(struct shd_device *dev, struct run_group *group,
                                     const struct message_tag *tag)
{
    struct away *away = dev->run->away;
    struct message *m;

    away->calls->expect(away, true);
    m = wait_for(dev, group, tag);
    away->calls->expect(away, false);
    return m;
}

static int copy_out(struct shd_device *dev, int32_t from, const struct message *m, void *out,
                    uint64_t bytes, uint64_t *received, struct shd_error *err)
{
    if (m->bytes != bytes)
        return shd_error_set(err, SHD_EMISMATCH,
                             "device %" PRId32 " sent %" PRIu64 " bytes to device %" PRId32
                             ", which expected %" PRIu64,
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
                                     : wait_for_away(dev, call.seat.group, &tag);
    if (!m)
        return run_give_up(dev, &call, err);
    status = copy_out(dev, from, m, out, bytes, received, err);
    mailbox_give_back(call.seat.group->mailbox, m);
    return status;
}

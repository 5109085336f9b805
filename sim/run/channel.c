/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/channel.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "run/collective.h"
#include "run/device.h"
#include "run/tally.h"

struct message {
    struct message *next;
    struct channel_tag tag;
    uint64_t bytes, room;
    char data[];
};

struct channel {
    pthread_mutex_t lock;
    struct message *sent;  /* not yet taken, the newest first */
    struct message *spare; /* to be used again */
};

struct channel *channel_create(void)
{
    struct channel *channel = calloc(1, sizeof *channel);

    if (channel)
        pthread_mutex_init(&channel->lock, NULL);
    return channel;
}

static void free_messages(struct message *m)
{
    while (m) {
        struct message *next = m->next;

        free(m);
        m = next;
    }
}

void channel_destroy(struct channel *channel)
{
    if (!channel)
        return;
    free_messages(channel->sent);
    free_messages(channel->spare);
    pthread_mutex_destroy(&channel->lock);
    free(channel);
}

/* Take a message off a list: one with a tag, or one with room for `bytes`. */
static struct message *take_off(struct message **list, const struct channel_tag *tag,
                                uint64_t bytes)
{
    for (struct message **at = list; *at; at = &(*at)->next) {
        struct message *m = *at;

        if (tag ? m->tag.kind != tag->kind || m->tag.number != tag->number : m->room < bytes)
            continue;
        *at = m->next;
        return m;
    }
    return NULL;
}

static struct message *find(struct channel *channel, const struct channel_tag *tag)
{
    struct message *m;

    pthread_mutex_lock(&channel->lock);
    m = take_off(&channel->sent, tag, 0);
    pthread_mutex_unlock(&channel->lock);
    return m;
}

static void put(struct channel *channel, struct message **list, struct message *m)
{
    pthread_mutex_lock(&channel->lock);
    m->next = *list;
    *list = m;
    pthread_mutex_unlock(&channel->lock);
}

/* Room for a message, from one that was taken if there is one that is large enough. */
static struct message *room_for(struct channel *channel, uint64_t bytes)
{
    struct message *m;

    pthread_mutex_lock(&channel->lock);
    m = take_off(&channel->spare, NULL, bytes);
    pthread_mutex_unlock(&channel->lock);
    if (m || bytes > SIZE_MAX - sizeof *m)
        return m;
    m = malloc(sizeof *m + bytes);
    if (m)
        m->room = bytes;
    return m;
}

int channel_send(struct shd_device *dev, int32_t to, struct channel_tag tag, const void *data,
                 uint64_t bytes, struct shd_error *err)
{
    struct run_seat seat;
    struct message *m;
    int status = run_group_of_channel(&seat, dev, dev->position, to, err);

    if (status != SHD_OK)
        return status;
    m = room_for(seat.group->channel, bytes);
    if (!m)
        return shd_error_set(err, SHD_ENOMEM, "no memory for a message of %" PRIu64 " bytes",
                             bytes);
    m->tag = tag;
    m->bytes = bytes;
    memcpy(m->data, data, bytes);
    put(seat.group->channel, &seat.group->channel->sent, m);
    wait_post(&seat.group->barrier);
    return SHD_OK;
}

/* Wait until the message is there; NULL: the wait was given up. */
static struct message *wait_for(struct shd_device *dev, struct run_group *group,
                                const struct channel_tag *tag)
{
    for (;;) {
        uint32_t seen = wait_posts(&group->barrier);
        struct message *m = find(group->channel, tag);

        if (m || !wait_for_post(&group->barrier, &dev->record, seen))
            return m;
    }
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

int channel_take(struct shd_device *dev, int32_t from, struct channel_tag tag, void *out,
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
    m = wait_for(dev, call.seat.group, &tag);
    if (!m)
        return run_give_up(dev, &call, err);
    status = copy_out(dev, from, m, out, bytes, received, err);
    put(call.seat.group->channel, &call.seat.group->channel->spare, m);
    return status;
}

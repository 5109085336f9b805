/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/mailbox.h"

#include <pthread.h>
#include <stdlib.h>

struct mailbox {
    pthread_mutex_t lock;
    struct message *sent;  /* not yet taken, the newest first */
    struct message *spare; /* to be used again */
};

struct mailbox *mailbox_create(void)
{
    struct mailbox *mailbox = calloc(1, sizeof *mailbox);

    if (mailbox)
        pthread_mutex_init(&mailbox->lock, NULL);
    return mailbox;
}

static void free_messages(struct message *m)
{
    while (m) {
        struct message *next = m->next;

        free(m);
        m = next;
    }
}

void mailbox_destroy(struct mailbox *mailbox)
{
    if (!mailbox)
        return;
    free_messages(mailbox->sent);
    free_messages(mailbox->spare);
    pthread_mutex_destroy(&mailbox->lock);
    free(mailbox);
}

/* Take a message off a list: one with a tag, or (NULL) one with room for `bytes`. */
static struct message *take_off(struct mailbox *mailbox, struct message **list,
                                const struct message_tag *tag, uint64_t bytes)
{
    struct message *found = NULL;

    pthread_mutex_lock(&mailbox->lock);
    for (struct message **at = list; *at && !found; at = &(*at)->next) {
        struct message *m = *at;

        if (tag ? m->tag.kind != tag->kind || m->tag.number != tag->number : m->room < bytes)
            continue;
        found = m;
        *at = m->next;
        break;
    }
    pthread_mutex_unlock(&mailbox->lock);
    return found;
}

static void put(struct mailbox *mailbox, struct message **list, struct message *m)
{
    pthread_mutex_lock(&mailbox->lock);
    m->next = *list;
    *list = m;
    pthread_mutex_unlock(&mailbox->lock);
}

struct message *mailbox_room(struct mailbox *mailbox, uint64_t bytes)
{
    struct message *m = take_off(mailbox, &mailbox->spare, NULL, bytes);

    if (m || bytes > SIZE_MAX - sizeof *m)
        return m;
    m = malloc(sizeof *m + bytes);
    if (m)
        m->room = bytes;
    return m;
}

void mailbox_send(struct mailbox *mailbox, struct message *message)
{
    put(mailbox, &mailbox->sent, message);
}

struct message *mailbox_find(struct mailbox *mailbox, const struct message_tag *tag)
{
    return take_off(mailbox, &mailbox->sent, tag, 0);
}

void mailbox_give_back(struct mailbox *mailbox, struct message *message)
{
    put(mailbox, &mailbox->spare, message);
}

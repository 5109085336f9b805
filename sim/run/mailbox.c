/* A queue of messages, and their memory (mailbox.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/mailbox.h"

#include <pthread.h>
#include <stdlib.h>

struct mailbox {
    pthread_mutex_t lock;
    /* Messages not yet taken, the oldest first: it is the one usually requested. */
    struct message *sent, **end; /* `end`: link for the next message */
    struct message *spare;       /* for reuse */
};

struct mailbox *mailbox_create(void)
{
    struct mailbox *mailbox = calloc(1, sizeof *mailbox);

    if (!mailbox)
        return NULL;
    pthread_mutex_init(&mailbox->lock, NULL);
    mailbox->end = &mailbox->sent;
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

/* Remove a message from a list: one with the tag, or (NULL) one with room for `bytes`. */
static struct message *take_off(struct mailbox *mailbox, struct message **list,
                                const struct message_tag *tag, uint64_t bytes)
{
    struct message *m;

    while ((m = *list) &&
           (tag ? m->tag.kind != tag->kind || m->tag.number != tag->number : m->room < bytes))
        list = &m->next;
    if (!m)
        return NULL;
    *list = m->next;
    if (mailbox->end == &m->next)
        mailbox->end = list;
    return m;
}

struct message *mailbox_room(struct mailbox *mailbox, uint64_t bytes)
{
    struct message *m;

    pthread_mutex_lock(&mailbox->lock);
    m = take_off(mailbox, &mailbox->spare, NULL, bytes);
    pthread_mutex_unlock(&mailbox->lock);
    if (m || bytes > SIZE_MAX - sizeof *m)
        return m;
    m = malloc(sizeof *m + bytes);
    if (m)
        m->room = bytes;
    return m;
}

void mailbox_send(struct mailbox *mailbox, struct message *message)
{
    pthread_mutex_lock(&mailbox->lock);
    message->next = NULL;
    *mailbox->end = message;
    mailbox->end = &message->next;
    pthread_mutex_unlock(&mailbox->lock);
}

struct message *mailbox_find(struct mailbox *mailbox, const struct message_tag *tag)
{
    struct message *m;

    pthread_mutex_lock(&mailbox->lock);
    m = take_off(mailbox, &mailbox->sent, tag, 0);
    pthread_mutex_unlock(&mailbox->lock);
    return m;
}

void mailbox_give_back(struct mailbox *mailbox, struct message *message)
{
    pthread_mutex_lock(&mailbox->lock);
    message->next = mailbox->spare;
    mailbox->spare = message;
    pthread_mutex_unlock(&mailbox->lock);
}

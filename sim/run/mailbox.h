/* mailbox.h - messages that were sent and not yet taken, and memory for further ones.
 *
 * A message lies in transport memory, which is the host's and no device's: it stands for the
 * buffers of a network.  Memory of messages that were taken is used again.
 *
 * Thread class: internally locked.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_MAILBOX_H
#define RUN_MAILBOX_H

#include <stdint.h>

/* What a message is told apart by: its kind, and which of those. */
struct message_tag {
    uint64_t kind, number;
};

struct message {
    struct message *next; /* the mailbox's */
    struct message_tag tag;
    uint64_t bytes, room;
    char data[];
};

struct mailbox;

struct mailbox *mailbox_create(void); /* NULL: no memory */
void mailbox_destroy(struct mailbox *mailbox); /* NULL is allowed; frees its messages */

/* Room for a message of `bytes`; NULL: no memory. */
struct message *mailbox_room(struct mailbox *mailbox, uint64_t bytes);
void mailbox_send(struct mailbox *mailbox, struct message *message);

/* Take a message out; NULL: it was not sent yet.  Give it back when it has been read. */
struct message *mailbox_find(struct mailbox *mailbox, const struct message_tag *tag);
void mailbox_give_back(struct mailbox *mailbox, struct message *message);

#endif /* RUN_MAILBOX_H */

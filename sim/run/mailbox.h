/* mailbox.h - messages sent but not yet taken, and memory for further ones.
 *
 * A message is in transport memory, which belongs to the host and not to a device: it stands for
 * network buffers.  The memory of taken messages is reused.
 *
 * Thread class: internally locked.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_MAILBOX_H
#define RUN_MAILBOX_H

#include <stdint.h>

/* What identifies a message: a kind, and a number within the kind. */
struct message_tag {
    uint64_t kind, number;
};

struct message {
    struct message *next; /* link for the mailbox */
    struct message_tag tag;
    uint64_t bytes, room;
    char data[];
};

struct mailbox;

struct mailbox *mailbox_create(void); /* NULL: no memory */
void mailbox_destroy(struct mailbox *mailbox); /* NULL is allowed; frees its messages */

/* Memory for a message of `bytes`; NULL: no memory. */
struct message *mailbox_room(struct mailbox *mailbox, uint64_t bytes);
void mailbox_send(struct mailbox *mailbox, struct message *message);

/* Take a message out; NULL: not sent yet.  Give it back after reading it. */
struct message *mailbox_find(struct mailbox *mailbox, const struct message_tag *tag);
void mailbox_give_back(struct mailbox *mailbox, struct message *message);

#endif /* RUN_MAILBOX_H */

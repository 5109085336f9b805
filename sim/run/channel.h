/* channel.h - messages from one device to another, with which the sender does not wait.
 *
 * A message is copied into transport memory (mailbox.h).  The receiver takes it by its tag, in any order, and waits where it is not
 * there yet.  Bytes are counted where they are copied to the receiver.
 *
 * Thread class: internally locked.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_CHANNEL_H
#define RUN_CHANNEL_H

#include <stdint.h>

#include <shd/error.h>

#include "run/mailbox.h"

struct shd_device;

/* Send `bytes` to the device at position `to`, which may be the sender.  SHD_ENOMEM. */
int channel_send(struct shd_device *dev, int32_t to, struct message_tag tag, const void *data,
                 uint64_t bytes, struct shd_error *err);

/* Take the message of a tag from the device at position `from`, of as many bytes (SHD_EMISMATCH).
 * `where` is what it is for, in messages.  *received is set to the bytes that came from another
 * device.  SHD_ESTOPPED, SHD_ESTUCK, SHD_ENOMEM. */
int channel_take(struct shd_device *dev, int32_t from, struct message_tag tag, void *out,
                 uint64_t bytes, const char *where, uint64_t *received, struct shd_error *err);

#endif /* RUN_CHANNEL_H */

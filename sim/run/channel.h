/* channel.h - messages between devices that the sender does not wait for.
 *
 * A message is copied into transport memory (mailbox.h).  The receiver takes messages by tag, in
 * any order, and waits for one that has not arrived.  Bytes are counted when they are copied to the
 * receiver.
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

struct run;
struct shd_device;

/* Send `bytes` to the device at position `to`, which may be the sender.  SHD_ENOMEM. */
int channel_send(struct shd_device *dev, int32_t to, struct message_tag tag, const void *data,
                 uint64_t bytes, struct shd_error *err);

/* Take the message with a tag from the device at position `from`; it must have `bytes` bytes
 * (SHD_EMISMATCH).  `where` names its purpose, for messages. *received is set to the bytes that
 * came from another device.  SHD_ESTOPPED, SHD_ESTUCK, SHD_ENOMEM. */
int channel_take(struct shd_device *dev, int32_t from, struct message_tag tag, void *out,
                 uint64_t bytes, const char *where, uint64_t *received, struct shd_error *err);

/* Bring `nbytes` of a message of `bytes` from a device that is away, from offset `at` on; its parts
 * come in order.  SHD_ENOMEM. */
SHD_MUST_CHECK int channel_bring(struct run *run, int32_t from, int32_t to, struct message_tag tag,
                                 uint64_t bytes, uint64_t at, const void *data, uint64_t nbytes);

#endif /* RUN_CHANNEL_H */

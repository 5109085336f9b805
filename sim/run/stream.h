/* stream.h - copies that bypass the caches.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_STREAM_H
#define RUN_STREAM_H

#include <stddef.h>

/* memcpy() with streaming stores; other threads see the data after stream_fence() and a release. */
void stream_copy(void *dst, const void *src, size_t bytes);
void stream_fence(void);

#endif /* RUN_STREAM_H */

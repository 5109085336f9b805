/* print.h - appending text to a caller's buffer.  Where the buffer is full the text is cut, but its
 * whole length is counted, as snprintf() does.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PRINT_H
#define PRINT_H

#include <stddef.h>

#include <shd/export.h>

struct print {
    char *buf;
    size_t size;
    size_t length; /* of the whole text */
};

/* Begin an empty text.  `buf` may be NULL where `size` is 0. */
void print_init(struct print *print, char *buf, size_t size);

/* Append. */
void print_add(struct print *print, const char *fmt, ...) SHD_PRINTF(2, 3);

#endif /* PRINT_H */

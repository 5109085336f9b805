/* print.h - appending text to a caller's buffer.  Text that does not fit is cut, but counted in the
 * length, as with snprintf().
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
    size_t length; /* of the whole text, including what was cut */
};

/* Begin an empty text.  `buf` may be NULL if `size` is 0. */
void print_init(struct print *print, char *buf, size_t size);

/* Append. */
void print_add(struct print *print, const char *fmt, ...) SHD_PRINTF(2, 3);

#endif /* PRINT_H */

/* print.h - text appended to a caller's buffer, cut where it is full, counted all the same.
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

void print_init(struct print *print, char *buf, size_t size);
void print_add(struct print *print, const char *fmt, ...) SHD_PRINTF(2, 3);

#endif /* PRINT_H */

/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "print.h"

#include <stdarg.h>
#include <stdio.h>

void print_init(struct print *print, char *buf, size_t size)
{
    *print = (struct print){buf, size, 0};
    if (size > 0)
        buf[0] = '\0';
}

void print_add(struct print *print, const char *fmt, ...)
{
    size_t room = print->length < print->size ? print->size - print->length : 0;
    va_list ap;

    va_start(ap, fmt);
    int n = vsnprintf(room > 0 ? print->buf + print->length : NULL, room, fmt, ap);
    va_end(ap);
    if (n > 0)
        print->length += (size_t)n;
}

/* decimal.h - numbers as people write them.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_DECIMAL_H
#define BASE_DECIMAL_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* As strtod(), but 0x10 is no number: *end is then `text`, as for a word. */
static inline double decimal_read(const char *text, char **end)
{
    const char *digits = text + strspn(text, " \t+-");

    if (digits[0] != '0' || (digits[1] != 'x' && digits[1] != 'X'))
        return strtod(text, end);
    *end = (char *)(uintptr_t)text;
    return 0;
}

#endif /* BASE_DECIMAL_H */

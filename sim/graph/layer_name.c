/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/layer_name.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PART "layers"
#define PART_LENGTH (sizeof PART - 1)
#define DIGITS_MAX 9 /* below 2^32 */

static bool ends_part(char c)
{
    return c == '/' || c == '.';
}

struct graph_layer graph_layer_of(const char *name)
{
    for (const char *at = strstr(name, PART); at; at = strstr(at + 1, PART)) {
        const char *digits = at + PART_LENGTH + 1;
        size_t ndigits;

        if ((at > name && !ends_part(at[-1])) || !ends_part(at[PART_LENGTH]))
            continue;
        ndigits = strspn(digits, "0123456789");
        if (ndigits > 0 && ndigits <= DIGITS_MAX)
            return (struct graph_layer){name, (size_t)(digits - name),
                                        (uint32_t)strtoul(digits, NULL, 10)};
    }
    return (struct graph_layer){name, 0, GRAPH_NO_LAYER};
}

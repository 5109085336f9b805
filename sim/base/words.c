/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/words.h"

#include <string.h>

const char *words_next(const char **at, size_t *length)
{
    const char *word = *at + strspn(*at, " ");

    *length = strcspn(word, " ");
    *at = word + *length;
    return *length > 0 ? word : NULL;
}

bool words_has_bytes(const char *words, const char *word, size_t length)
{
    size_t n;

    for (const char *one; (one = words_next(&words, &n));)
        if (n == length && !strncmp(one, word, n))
            return true;
    return false;
}

bool words_has(const char *words, const char *word)
{
    return words_has_bytes(words, word, strlen(word));
}

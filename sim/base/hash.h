/* base/hash.h - FNV-1a, a hash of texts that is equal on every machine.
 *
 * For tables and for our own files; not secure against deliberate collisions.
 * Source: http://www.isthe.com/chongo/tech/comp/fnv/
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_BEGIN UINT64_C(14695981039346656037)

/* Continue a hash (HASH_BEGIN at first) with a byte, or with a word that counts as one: faster, and
 * another number than the word's bytes give. */
static inline uint64_t hash_word(uint64_t hash, uint64_t word)
{
    return (hash ^ word) * UINT64_C(1099511628211);
}

/* Continue a hash with n bytes. */
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n)
{
    const unsigned char *at = bytes;

    for (size_t i = 0; i < n; i++)
        hash = hash_word(hash, at[i]);
    return hash;
}

#endif /* BASE_HASH_H */

/* base/hash.h - FNV-1a: a number by which texts are told apart, the same on every machine.
 *
 * For tables and for files of our own; not against anybody who means harm.
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

/* Of what was hashed before (at first HASH_BEGIN), followed by a byte, or by a word that counts as
 * one: faster, and another number than its bytes have. */
static inline uint64_t hash_word(uint64_t hash, uint64_t word)
{
    return (hash ^ word) * UINT64_C(1099511628211);
}

/* The same, followed by some bytes. */
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n)
{
    const unsigned char *at = bytes;

    for (size_t i = 0; i < n; i++)
        hash = hash_word(hash, at[i]);
    return hash;
}

#endif /* BASE_HASH_H */

/* base/hash.h - FNV-1a, a hash of texts, and SplitMix64, random numbers of counters: equal on every
 * machine.
 *
 * For tables, for data, and for our own files; not secure against deliberate collisions.
 * Sources: http://www.isthe.com/chongo/tech/comp/fnv/; Steele, Lea and Flood, "Fast splittable
 * pseudorandom number generators", 2014
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

/* Continue a hash with n words, which lie anywhere.  The high half is folded in after each word, as
 * the product alone never brings a high bit down. */
static inline uint64_t hash_words(uint64_t hash, const void *words, size_t n)
{
    const char *at = words;
    uint64_t word;

    for (size_t i = 0; i < n; i++) {
        memcpy(&word, at + i * sizeof word, sizeof word);
        hash = hash_word(hash, word);
        hash ^= hash >> 32;
    }
    return hash;
}

/* By what the counter of SplitMix64 advances for each random number. */
#define HASH_MIX_STEP UINT64_C(0x9e3779b97f4a7c15)

/* The random number of a value of the counter. */
static inline uint64_t hash_mix(uint64_t z)
{
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

#endif /* BASE_HASH_H */

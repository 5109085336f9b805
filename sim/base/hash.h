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

/* Continue a hash with a word whose high bits count as much as its low ones: a product alone never
 * brings a high bit down. */
static inline uint64_t hash_folded(uint64_t hash, const char *word)
{
    uint64_t value;

    memcpy(&value, word, sizeof value);
    hash = hash_word(hash, value);
    return hash ^ hash >> 32;
}

/* Continue a hash with n words, which lie anywhere: four hashes side by side, as a processor
 * computes several products at a time, but each only after the one that it continues. */
static inline uint64_t hash_words(uint64_t hash, const void *words, size_t n)
{
    uint64_t side[4] = {hash, hash + 1, hash + 2, hash + 3};
    const char *at = words, *rest = at + n / 4 * sizeof side;

    for (; at < rest; at += sizeof side)
        for (size_t k = 0; k < 4; k++)
            side[k] = hash_folded(side[k], at + k * sizeof hash);
    for (size_t k = 0; k < n % 4; k++)
        side[k] = hash_folded(side[k], rest + k * sizeof hash);
    for (size_t k = 1; k < 4; k++)
        side[0] = hash_word(side[0], side[k]);
    return side[0] ^ side[0] >> 32;
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

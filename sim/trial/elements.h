/* elements.h - number of elements in a device's shard of a buffer.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRIAL_ELEMENTS_H
#define TRIAL_ELEMENTS_H

#include <stdint.h>

#include "program/program.h"

static inline uint64_t elements_of(const struct program_buffer *b)
{
    return program_buffer_count(b);
}

#endif /* TRIAL_ELEMENTS_H */

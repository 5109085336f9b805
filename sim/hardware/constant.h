/* constant.h - the numbers of a cluster's file, by their paths.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef HARDWARE_CONSTANT_H
#define HARDWARE_CONSTANT_H

#include "base/text.h"
#include "hardware/hardware.h"
#include "hardware/keys.h"

/* A number in a cluster's file by its path: "kernels.launch", "memory.reserved", "tiers.0.step". */
struct hardware_constant {
    const char *name;   /* of its key; static */
    enum key_type type; /* keys.h */
    size_t offset;      /* in struct hardware */
};

/* The constant with a path; false: there is none. */
bool hardware_constant_find(struct hardware_constant *out, const struct hardware *hardware,
                            const char *path);

/* The path of constant number `index`, from 0; false: there are no more. */
bool hardware_constant_path(struct text *out, const struct hardware *hardware, size_t index);

#endif /* HARDWARE_CONSTANT_H */

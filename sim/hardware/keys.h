/* keys.h - the keys of a cluster's file: one table for each section.
 *
 * Thread class: immutable tables.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef HARDWARE_KEYS_H
#define HARDWARE_KEYS_H

#include <stdbool.h>
#include <stddef.h>

enum key_type {
    KEY_TEXT,     /* char *, owned */
    KEY_SIZE,     /* double, bytes, above 0 */
    KEY_BYTES,    /* double */
    KEY_RATE,     /* double, bytes a second, above 0 */
    KEY_FLOPS,    /* double, operations a second, above 0 */
    KEY_SECONDS,  /* double */
    KEY_SHARE,    /* double above 0 and at most 1 */
    KEY_FRACTION, /* double, 0 or more */
    KEY_FACTOR,   /* double, 1 or more */
    KEY_NUMBER,   /* double, 0 or more */
    KEY_COUNT,    /* int64_t, 0 or more */
    KEY_YES_NO,   /* bool */
    KEY_OTHER     /* read by separate code */
};

struct key {
    const char *name; /* NULL: end of the table */
    enum key_type type;
    bool required;
    size_t offset; /* in the section's struct */
    const char *help;
};

/* Top-level keys, and keys of the section `memory`, stored in struct hardware. */
extern const struct key hardware_keys[], memory_keys[];
/* Keys stored in struct hardware_kernels, _tier, _software, _validation and _near. */
extern const struct key kernel_keys[], tier_keys[], software_keys[], validation_keys[], near_keys[];
/* Keys stored in struct hardware_host, _fsdp, _serving and _sustained. */
extern const struct key host_keys[], fsdp_keys[], serving_keys[], sustained_keys[];

#endif /* HARDWARE_KEYS_H */

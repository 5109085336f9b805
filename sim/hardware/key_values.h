/* key_values.h - reading the values of a cluster's file into the fields that keys.h names.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef HARDWARE_KEY_VALUES_H
#define HARDWARE_KEY_VALUES_H

#include "base/diag.h"
#include "base/yaml.h"
#include "hardware/keys.h"

/* The key of a name in a table; NULL: none. */
const struct key *key_find(const struct key *keys, const char *name);

/* A description of valid values for messages: "a rate above 0, for example 300GB/s". */
const char *key_expected(enum key_type type);

/* Parse a quantity with a unit; false: it is none. */
bool key_read_quantity(double *out, enum key_type type, const char *text);

/* Store a value in the key's field of `base`; false: it is not of the key's type, or memory ran out
 * (no_memory). */
bool key_store(void *base, const struct key *key, const struct yaml_node *node, struct diag *diag);

#endif /* HARDWARE_KEY_VALUES_H */

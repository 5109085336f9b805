/* values.h - the numbers in small arrays on every device, before and after each op.
 *
 * Thread class: values_observe() is called by every device thread at once, each for texts of its
 * own; otherwise owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_EXPLAIN_VALUES_H
#define CMD_EXPLAIN_VALUES_H

#include <stdatomic.h>

#include "program/program.h"

/* Limits of what can be read as numbers on a page. */
#define VALUES_ELEMENTS_MAX 64 /* of a shard; larger shards are not kept */
#define VALUES_DEVICES_MAX 64

struct values {
    const struct program *program; /* not owned */
    int32_t ndevices;
    char **texts;       /* [op][operand or result][device], owned; NULL: not kept */
    atomic_bool failed; /* set by devices when memory ran out for some text */
};

/* SHD_ERANGE for more than VALUES_DEVICES_MAX devices, SHD_ENOMEM. */
SHD_MUST_CHECK int values_init(struct values *out, const struct program *program,
                               struct shd_error *err);
void values_fini(struct values *values);

/* A walk_observe_fn; `arg` is the struct values. */
void values_observe(void *arg, int32_t position, uint32_t op, uint32_t microbatch,
                    const void *const *shards);

/* Text of operand k, or result k, of an op on a device; NULL if the shard is too large. */
const char *values_input(const struct values *values, uint32_t op, uint32_t k, int32_t position);
const char *values_output(const struct values *values, uint32_t op, uint32_t k, int32_t position);

#endif /* CMD_EXPLAIN_VALUES_H */

/* collect.h - collect the results of an executed program as whole arrays.
 *
 * Thread class: collect_finish() is called by every device thread at once; threads write different
 * elements (of replicas only the first writes).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRIAL_COLLECT_H
#define TRIAL_COLLECT_H

#include "program/program.h"

struct collect {
    const struct program *program; /* not owned */
    void **wholes;                 /* by result: the whole array, row-major, in the result's type */
};

/* SHD_ENOMEM. */
SHD_MUST_CHECK int collect_init(struct collect *out, const struct program *program,
                                struct shd_error *err);
void collect_fini(struct collect *collect);

/* A walk_finish_fn; `arg` is the struct collect. */
void collect_finish(void *arg, int32_t position, const void *const *shards);

/* Copy a device's shard of a buffer to its place in the whole array, if the device is the shard's
 * first replica. */
void collect_place(const struct program *program, const struct program_buffer *buffer,
                   int32_t position, const void *shard, void *whole);

#endif /* TRIAL_COLLECT_H */

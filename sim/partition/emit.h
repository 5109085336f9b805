/* emit.h - from what was chosen to a program: ops on shards, and the steps between them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_EMIT_H
#define PARTITION_EMIT_H

#include "partition/placement.h"

/* Append everything to an empty program.  With `regather` what was gathered in one phase is
 * gathered again in the next, not kept: less memory for more bytes. */
SHD_MUST_CHECK int emit_program(struct program *program, struct placement *placement, bool regather,
                                struct shd_error *err);

#endif /* PARTITION_EMIT_H */

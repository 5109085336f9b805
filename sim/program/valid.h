/* valid.h - whether a program is consistent: a net under the partitioner, whose mistakes would else
 * be wrong figures, wrong values or a crash.
 *
 * Thread class: pure functions of a program that is built.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PROGRAM_VALID_H
#define PROGRAM_VALID_H

#include "program/program.h"

/* Check a program whose lifetimes and order are set: arrays and steps stay off the stage axis; an
 * op reads arrays that an earlier op of its rank wrote, and has the shards of its reshard step;
 * sends and receives are pairs between ranks; segments hold each op once, and turns each microbatch
 * of each segment once on the ranks that hold its ops.  The time grows with ops and turns, not with
 * devices.
 *
 * SHD_EINTERNAL: the program is inconsistent; the text says which op or array, and how. SHD_ENOMEM.
 */
SHD_MUST_CHECK int program_check(const struct program *program, struct shd_error *err);

#endif /* PROGRAM_VALID_H */

/* program/descs.h - descriptions of kernels, one for all ops that are alike.
 *
 * A description has 3 KiB, and the ops of equal layers have equal ones: a program of a thousand
 * layers keeps as many as one of two.  Owned by one thread while a program is built.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SIM_PROGRAM_DESCS_H
#define SIM_PROGRAM_DESCS_H

#include <shd/export.h>

#include "base/map.h"
#include "kern/kernel.h"

struct program_descs {
    union kern_desc **descs; /* owned */
    uint32_t ndescs;
    struct map numbers; /* by hash of all bytes */
};

/* Find or add a description with the same bytes, padding included, as `desc`. Lives as long as the
 * set. NULL: no memory. */
SHD_MUST_CHECK const union kern_desc *program_descs_keep(struct program_descs *set,
                                                         const union kern_desc *desc);

void program_descs_fini(struct program_descs *set);

#endif

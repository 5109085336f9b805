/* bundle.h - the letters in which ranks tell each other the calls of their members (span.h).
 *
 * Thread class: the last member of a rank to arrive, while all its others wait.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_RANKS_BUNDLE_H
#define RUN_RANKS_BUNDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "run/ranks/span.h"

struct shd_device;

/* The beginning of a bundle's letter. */
struct bundle_head {
    uint32_t letter; /* LETTER_BUNDLE */
    uint32_t ncalls;
    uint64_t group, number;
    int32_t status; /* SHD_OK, or the reason why the rank cannot take part */
    uint32_t tags;
};

/* A range of a call's operand in contiguous memory: its own, or else a copy at *packed, which moves
 * on behind it; and the bytes of that copy. */
const void *bundle_in_a_row(const struct coll_call *call, struct span_range range, char **packed);
uint64_t bundle_packed_bytes(const struct coll_call *call, struct span_range range);

/* Send the calls of this rank's members to the other ranks, with or without their operands; those
 * that are not contiguous are packed into span->packed.  `status`: whether this rank can take
 * part. */
void bundle_post(struct span *span, bool with_operands, int status);

/* Wait for the bundles of the other ranks.  False: a member of another rank will not come, or the
 * run is settled; the device's record then says that it waits at the group's barrier. */
bool bundle_wait(struct span *span, struct shd_device *dev);

/* Read all bundles: calls by proxy of the members of other ranks, with those operands that are in
 * the letters.  Returns the status of the lowest rank whose status is not SHD_OK. */
int bundle_open(struct span *span, int status);

#endif /* RUN_RANKS_BUNDLE_H */

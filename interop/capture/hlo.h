/* hlo.h - the collectives of a compiled XLA module, from its text.
 *
 * The text is a module printed by XLA after partitioning (`compiled.as_text()` of JAX, or a dump of
 * --xla_dump_to).  The reader takes calls between computations, trip counts of loops
 * (known_trip_count), the shapes of collectives' results, and their groups in all notations,
 *
 *   {{0,1},{2,3}}  {}  [4,2]<=[2,4]T(1,0)  source_target_pairs={{0,1},{1,0}}
 *   mesh['x'=4,'y'=2], device_ids=([2,2,2]T(0,2,1)) {'x':(2)2,'y'}
 *
 * An asynchronous collective counts where it starts.  Of a conditional, the branch that moves most
 * bytes counts.  All other text is skipped.
 *
 * Thread class: pure.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CAPTURE_HLO_H
#define CAPTURE_HLO_H

#include "base/diag.h"
#include "capture/capture.h"

struct hlo_request {
    int32_t devices; /* number of devices; 0: take the text's */
    uint64_t trips;  /* trip count of loops whose text has none; 0: one, with a note */
};

/* Read a module into an initialized capture.  Faults go to `diag` by line; SHD_EINVAL, SHD_ENOMEM.
 * End the capture with capture_fini() in any case. */
SHD_MUST_CHECK int hlo_read(struct capture *out, const char *file, const char *text, size_t length,
                            const struct hlo_request *request, struct diag *diag);

/* Whether a text begins like a module. */
bool hlo_is_module(const char *text, size_t length);

#endif /* CAPTURE_HLO_H */

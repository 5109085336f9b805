/* hlo_slices.h - which all-reduces of a computation are only read as one slice a device.
 *
 * TPUs run an all-reduce as a reduce-scatter where a custom fusion holds it together with the
 * dynamic-slice that keeps a device's part.  While a computation is read, the values that are the
 * whole result of an all-reduce are followed through reshapes to their slices.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CAPTURE_HLO_SLICES_H
#define CAPTURE_HLO_SLICES_H

#include "capture/capture.h"
#include "capture/hlo_loops.h"
#include "capture/hlo_text.h"

/* The all-reduce of a computation and its slices; of several all-reduces none is followed. */
struct hlo_slices {
    struct hlo_piece *wholes; /* names of the values that are the whole result */
    uint32_t nwholes;
    uint64_t bytes;      /* of the slices; 0: none */
    bool is_read_whole;  /* by something else than a slice */
    uint64_t root_bytes; /* of the root, if that is a dynamic-slice; else 0 */
};

/* Forget the computation before. */
void hlo_slices_begin(struct hlo_slices *slices);
void hlo_slices_fini(struct hlo_slices *slices);

/* See an instruction of the computation and its result's shape.  `is_reduced`: it is an all-reduce.
 * `sliced`: bytes of the slice that the computation which a fusion calls has as its root; 0: none.
 * False: no memory. */
bool hlo_slices_see(struct hlo_slices *slices, const struct hlo_statement *statement,
                    struct hlo_piece shape, bool is_root, bool is_reduced, uint64_t sliced);

/* Bytes of the slices of the only all-reduce; 0: none, or it is read otherwise, too. */
uint64_t hlo_slices_bytes(const struct hlo_slices *slices);

/* Count an all-reduce of which each member keeps `slice_bytes` as a reduce-scatter, if the slices
 * of a group are the whole array, of which the last may be padded. */
void hlo_slices_scatter(struct capture *capture, struct capture_collective *c,
                        uint64_t slice_bytes);

#endif /* CAPTURE_HLO_SLICES_H */

/* hlo_groups.h - which devices a collective of a module has in a group, in all notations.
 *
 * Thread class: owned by one thread; the capture is written to.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CAPTURE_HLO_GROUPS_H
#define CAPTURE_HLO_GROUPS_H

#include "capture/capture.h"
#include "capture/hlo_names.h"

/* What the numbers in a group are.  Device id = replica * partitions + partition. */
enum hlo_ids {
    HLO_REPLICAS,            /* of the same partition each */
    HLO_PARTITIONS,          /* of the same replica each */
    HLO_REPLICAS_WITH_PARTS, /* replicas, with all partitions of each */
    HLO_DEVICES
};

struct hlo_devices {
    int32_t replicas, partitions;
};

/* The lists of groups of a capture, by their text. */
struct hlo_lists {
    struct capture *capture;
    struct hlo_devices devices;
    struct hlo_names numbers; /* end with hlo_names_fini() */
};

/* The groups of `replica_groups=VALUE`, added to the capture unless it has them.  SHD_EINVAL (no
 * such notation, an id that is not there or comes twice), SHD_ENOMEM. */
SHD_MUST_CHECK int hlo_groups(uint32_t *out, struct hlo_lists *lists, struct hlo_piece value,
                              enum hlo_ids ids, struct shd_error *err);

/* The same of `source_target_pairs=VALUE`: {{0,1},{1,2}}. */
SHD_MUST_CHECK int hlo_pairs(uint32_t *out, struct hlo_lists *lists, struct hlo_piece value,
                             enum hlo_ids ids, struct shd_error *err);

#endif /* CAPTURE_HLO_GROUPS_H */

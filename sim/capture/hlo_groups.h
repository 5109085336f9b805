/* hlo_groups.h - which devices a collective of a module has in a group, in all notations.
 *
 * Thread class: pure functions of the text; the capture is written to.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CAPTURE_HLO_GROUPS_H
#define CAPTURE_HLO_GROUPS_H

#include "capture/capture.h"
#include "capture/hlo_text.h"

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

/* The groups of `replica_groups=VALUE`, added to the capture unless it has them.  SHD_EINVAL (no
 * such notation, an id that is not there or comes twice), SHD_ENOMEM. */
SHD_MUST_CHECK int hlo_groups(uint32_t *out, struct capture *capture, struct hlo_piece value,
                              enum hlo_ids ids, const struct hlo_devices *devices,
                              struct shd_error *err);

/* The same of `source_target_pairs=VALUE`: {{0,1},{1,2}}. */
SHD_MUST_CHECK int hlo_pairs(uint32_t *out, struct capture *capture, struct hlo_piece value,
                             enum hlo_ids ids, const struct hlo_devices *devices,
                             struct shd_error *err);

#endif /* CAPTURE_HLO_GROUPS_H */

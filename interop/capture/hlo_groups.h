/* hlo_groups.h - the groups of devices of a module's collectives, in all notations.
 *
 * Thread class: owned by one thread; the capture is written to.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CAPTURE_HLO_GROUPS_H
#define CAPTURE_HLO_GROUPS_H

#include "capture/capture.h"
#include "capture/hlo_names.h"

/* What the ids in a group number.  Device id = replica * partitions + partition. */
enum hlo_ids {
    HLO_REPLICAS,            /* replicas; a group of each partition */
    HLO_PARTITIONS,          /* partitions; a group of each replica */
    HLO_REPLICAS_WITH_PARTS, /* replicas, each with all its partitions */
    HLO_DEVICES
};

struct hlo_devices {
    int32_t replicas, partitions;
};

/* The lists of groups already in a capture, by their text. */
struct hlo_lists {
    struct capture *capture;
    struct hlo_devices devices;
    struct hlo_names numbers; /* end with hlo_names_fini() */
};

/* The groups of `replica_groups=VALUE`, added to the capture unless it has them.  SHD_EINVAL
 * (unknown notation, an id out of range or repeated), SHD_ENOMEM. */
SHD_MUST_CHECK int hlo_groups(uint32_t *out, struct hlo_lists *lists, struct hlo_piece value,
                              enum hlo_ids ids, struct shd_error *err);

/* As hlo_groups(), for `source_target_pairs=VALUE`: {{0,1},{1,2}}. */
SHD_MUST_CHECK int hlo_pairs(uint32_t *out, struct hlo_lists *lists, struct hlo_piece value,
                             enum hlo_ids ids, struct shd_error *err);

#endif /* CAPTURE_HLO_GROUPS_H */

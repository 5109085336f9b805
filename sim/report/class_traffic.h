/* class_traffic.h - bytes that a device of each class of a planned step receives, by the mesh axes
 * along which the senders lie.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_CLASS_TRAFFIC_H
#define REPORT_CLASS_TRAFFIC_H

#include "program/record.h"

struct class_traffic {
    uint32_t nclasses, naxes;
    char **classes; /* "dp=0, tp=1-7: 7 devices" */
    char **axes;    /* "dp", "dp,tp": axes of groups, or between which boxes are exchanged */
    uint128 *bytes; /* [class][axes], in the step, to one device */
};

/* Sum up a planned record.  SHD_ENOMEM. */
SHD_MUST_CHECK int class_traffic_init(struct class_traffic *out, const struct record *record,
                                      struct shd_error *err);
void class_traffic_fini(struct class_traffic *traffic);

/* Devices in words: their coordinates along the axes that the class does not span, and their number;
 * for free().  NULL: no memory. */
char *class_traffic_name(const struct program *program, const struct program_class *devices);

#endif /* REPORT_CLASS_TRAFFIC_H */

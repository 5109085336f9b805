/* kernel_trust.h - how far the models of a step's kernels were off on measured kernels that they
 * were not fitted to, by the part of the step that such kernels make up.
 *
 * Errors are those of kernels of the same kind, type and class of sizes, each weighed by the time
 * that it takes in the step.  The step's own error may be smaller, as errors of kernels cancel, or
 * larger, as a step has more than its kernels.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COST_KERNEL_TRUST_H
#define COST_KERNEL_TRUST_H

#include "hardware/hardware.h"
#include "program/program.h"

enum kernel_trust_kind {
    KERNEL_TRUST_PRODUCTS,
    KERNEL_TRUST_EXPERTS,
    KERNEL_TRUST_ATTENTION,
    KERNEL_TRUST_COLLECTIVES,
    KERNEL_TRUST_COPIES, /* elementwise kernels and other copies */
    KERNEL_TRUST_NKINDS
};

struct kernel_trust {
    bool measured; /* the step takes times of models; else all below is 0 */
    struct kernel_trust_part {
        double share;       /* of the time of all ops of a device */
        double median, p90; /* of errors, fractions */
        double beyond;      /* of the part: kernels of sizes that were not measured */
    } parts[KERNEL_TRUST_NKINDS];
    double rest; /* the share of the host, of messages and of kernels without a model */
};

/* "products", "experts", .. */
extern const char *const kernel_trust_names[KERNEL_TRUST_NKINDS];

/* Set what is known of the kernels of the device at position 0.  SHD_ENOMEM. */
SHD_MUST_CHECK int kernel_trust_of(struct kernel_trust *out, const struct program *program,
                                   const struct hardware *hardware, struct shd_error *err);

#endif /* COST_KERNEL_TRUST_H */

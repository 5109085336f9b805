/* sums.h - sums of a capture's bytes: per collective, per device, and from device to device.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CAPTURE_SUMS_H
#define CAPTURE_SUMS_H

#include "capture/capture.h"

/* Bytes that all devices receive in a collective, in all its runs of a step. */
uint128 sums_collective(const struct capture *capture, const struct capture_collective *collective);

/* Bytes that all devices receive in the whole step. */
uint128 sums_total(const struct capture *capture);

/* How often a step runs collectives of a name ("all-reduce"). */
uint128 sums_count(const struct capture *capture, const char *op);

/* Bytes that each device receives in a step: out[ndevices], zeros before.  SHD_ENOMEM. */
SHD_MUST_CHECK int sums_by_device(uint128 *out, const struct capture *capture,
                                  struct shd_error *err);

/* Bytes by receiver and sender: out[receiver][source], zeros before.  Members of a group receive
 * evenly from each other; in a broadcast or scatter each receives from the first, in a gather or
 * reduce the first receives from each. */
SHD_MUST_CHECK int sums_matrix(uint128 *out, const struct capture *capture, struct shd_error *err);

#endif /* CAPTURE_SUMS_H */

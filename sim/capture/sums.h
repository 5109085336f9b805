/* sums.h - the bytes of a capture: of one collective, by device, and from device to device.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CAPTURE_SUMS_H
#define CAPTURE_SUMS_H

#include "capture/capture.h"

/* Bytes that all devices receive in a collective, all times that a step does it. */
uint128 sums_collective(const struct capture *capture, const struct capture_collective *collective);

/* And in the whole step. */
uint128 sums_total(const struct capture *capture);

/* How often a step does collectives of this name ("all-reduce"). */
uint128 sums_count(const struct capture *capture, const char *op);

/* Bytes that each device receives in a step: out[ndevices], zeros before.  SHD_ENOMEM. */
SHD_MUST_CHECK int sums_by_device(uint128 *out, const struct capture *capture,
                                  struct shd_error *err);

/* The same by sender: out[receiver][source], zeros before.  Members of a group receive evenly from
 * each other; of a broadcast or scatter each receives from the first, of a gather or reduce the
 * first from each. */
SHD_MUST_CHECK int sums_matrix(uint128 *out, const struct capture *capture, struct shd_error *err);

#endif /* CAPTURE_SUMS_H */

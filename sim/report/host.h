/* host.h - offloading: a step's bytes in host memory, copies to and from the host, and host compute.
 *
 * Thread class: pure functions of the record.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_HOST_H
#define REPORT_HOST_H

#include "base/text.h"
#include "program/record.h"

/* Bytes that a record's devices copy to and from their hosts in a step. */
uint128 host_offloaded(const struct record *record);

/* Upper bound on the bytes of host memory that a modelled step needs on a node: those of the device
 * with the most, times the devices of a node; 0: nothing is offloaded. */
uint128 host_node_bytes(const struct record *record);

/* Whether host_node_bytes() is within the node's memory; true without a cluster. */
bool host_fits(const struct record *record);

/* Nanoseconds of a modelled step on its busiest device: of its host link in each direction, and of
 * its share of the host's cores. */
struct host_times {
    int64_t to_host_ns, from_host_ns, kernels_ns;
    int64_t exposed_to_host_ns, exposed_from_host_ns, exposed_kernels_ns;
};
void host_times_of(struct host_times *out, const struct record *record);

/* The block `host`, and the lines of a modelled step; nothing without offloading. */
void host_text(struct text *out, const struct record *record);
void host_modelled_text(struct text *out, const struct record *record);

#endif /* REPORT_HOST_H */

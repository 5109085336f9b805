/* shipped_models.h - the models of kernels in the files of shipped clusters.  They are read when
 * times are taken from them, which steps that train do not, and kept: a search plans with a cluster
 * a thousand times.
 *
 * Thread class: any thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef HARDWARE_SHIPPED_MODELS_H
#define HARDWARE_SHIPPED_MODELS_H

#include "hardware/hardware.h"

/* Add the kernel models of the shipped clusters that the cluster's file names, by measured_kernels
 * or by no_slower_than, unless already added. SHD_ENOMEM. */
SHD_MUST_CHECK int shipped_models_bind(struct hardware *hardware);

#endif /* HARDWARE_SHIPPED_MODELS_H */

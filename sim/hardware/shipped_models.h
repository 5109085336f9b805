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

/* Give a cluster the models of the shipped clusters that its file names, unless it has them: its
 * own, and those that its kernels are no slower than.  SHD_ENOMEM. */
SHD_MUST_CHECK int shipped_models_bind(struct hardware *hardware);

#endif /* HARDWARE_SHIPPED_MODELS_H */

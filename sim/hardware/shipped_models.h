/* shipped_models.h - the models of kernels in the files of shipped clusters, which are read once
 * and kept: a search plans with a cluster a thousand times.
 *
 * Thread class: any thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef HARDWARE_SHIPPED_MODELS_H
#define HARDWARE_SHIPPED_MODELS_H

#include "base/diag.h"
#include "hardware/hardware.h"

/* Give a cluster the models of the shipped clusters that its file names: its own, and those that
 * its kernels are no slower than.  SHD_ENOMEM, which is told. */
SHD_MUST_CHECK int shipped_models_bind(struct hardware *hardware, struct diag *diag);

#endif /* HARDWARE_SHIPPED_MODELS_H */

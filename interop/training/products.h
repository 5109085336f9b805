/* training/products.h - products of 8 and 4 bits, from the options of other systems.
 *
 * Thread class: as job.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRAINING_PRODUCTS_H
#define TRAINING_PRODUCTS_H

#include "training/job.h"

/* Find `products` of a job (options of the scenario's section) from Megatron-LM's options, once
 * layers, experts and ZeRO's stage are found; or from torchtitan's converters and their sections.
 * Adds notes on what is planned otherwise than there. */
void import_megatron_products(struct import_job *job, struct diag *diag);
void import_torchtitan_products(struct import_job *job, struct diag *diag);

#endif /* TRAINING_PRODUCTS_H */

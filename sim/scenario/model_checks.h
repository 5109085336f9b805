/* scenario/model_checks.h - constraints between the options of a model: heads, positions, layers of
 * several types, experts, compressed attention.
 *
 * Thread class: as the reader's.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_MODEL_CHECKS_H
#define SCENARIO_MODEL_CHECKS_H

#include "scenario/value_reader.h"

/* Report what the options of a model say that no layer does; called by check_scenario(). */
void check_model(struct reader *r);

#endif /* SCENARIO_MODEL_CHECKS_H */

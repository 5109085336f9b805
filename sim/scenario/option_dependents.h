/* scenario/option_dependents.h - options that say how something is done that a strategy does not do.
 *
 * Thread class: as the reader's.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_OPTION_DEPENDENTS_H
#define SCENARIO_OPTION_DEPENDENTS_H

#include "scenario/value_reader.h"

/* Report options that would change nothing, such as lora.alpha without lora.rank. */
void check_dependents(struct reader *r);

#endif /* SCENARIO_OPTION_DEPENDENTS_H */

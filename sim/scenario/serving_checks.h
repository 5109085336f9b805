/* scenario/serving_checks.h - checks of the options of serving.
 *
 * Thread class: as the reader's.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_SERVING_CHECKS_H
#define SCENARIO_SERVING_CHECKS_H

#include "scenario/value_reader.h"

/* Report options of training in a step of serving, and what a cache cannot be kept for. */
void check_serving(struct reader *r);

/* Report what keeps a decode from reading the cache of its prefill: another model or batch. */
void check_halves(const struct scenario *prefill, const struct scenario *decode, struct diag *diag);

#endif /* SCENARIO_SERVING_CHECKS_H */

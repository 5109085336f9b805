/* scenario/data.h - the text that a scenario's tokens are read from.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_DATA_H
#define SCENARIO_DATA_H

#include "scenario/value.h"

/* Look at the file that `data:` names, if any.  Reports one that cannot be read, or that
 * is too short for a step; a model whose vocabulary lacks bytes.  Give them back
 * with file_bytes_destroy(). */
void data_load(struct reader *r);

#endif /* SCENARIO_DATA_H */

/* scenario/data.h - the text that provides a scenario's tokens.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_DATA_H
#define SCENARIO_DATA_H

#include "scenario/value.h"

/* Open the file of `data:`, if any.  Reports a file that cannot be read or is too short for a step,
 * and a vocabulary too small for bytes.  Free the file with file_bytes_destroy(). */
void data_load(struct reader *r);

#endif /* SCENARIO_DATA_H */

/* scenario/data_text.h - the text that provides a scenario's tokens.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_DATA_TEXT_H
#define SCENARIO_DATA_TEXT_H

#include "scenario/value_reader.h"

/* Open the file of `data:`, if any.  Reports a file that cannot be read or is too short for a step,
 * and a vocabulary too small for bytes.  Free the file with file_bytes_destroy(). */
void data_load(struct reader *r);

#endif /* SCENARIO_DATA_TEXT_H */

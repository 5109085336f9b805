/* model/stored_values.h - arrays of a graph whose values lie in a file.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MODEL_STORED_VALUES_H
#define MODEL_STORED_VALUES_H

#include "base/stored_array.h"

/* Check that the whole numbers of a stored array are from `least` to `most`.  Reports the first
 * that is not at `place`, and what cannot be read; false then. */
bool stored_values_check(const struct stored_array *stored, double least, double most,
                         struct place place, struct diag *diag);

#endif /* MODEL_STORED_VALUES_H */
